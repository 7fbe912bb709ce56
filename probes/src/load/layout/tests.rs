use super::{Layout, Ticket};
use crate::load::{Params, WorkingSet};

fn layout(depth: u32, cq_mod: Option<u32>, size_bytes: u64) -> Layout {
    Layout::new(&Params { qps: 2, depth, cq_mod, size_bytes, ..Params::default() })
}

fn chains_and_signals(layout: &Layout) -> (Vec<u32>, Vec<u32>) {
    let requests = layout.requests(0, 0);
    let slots = |wanted: fn(&crate::ffi::verbs::Request) -> bool| {
        (0..).zip(&requests).filter(|(_, request)| wanted(request)).map(|(slot, _)| slot).collect()
    };
    (slots(|r| r.ends_chain), slots(|r| r.signaled))
}

#[test]
fn one_completion_and_one_doorbell_for_a_quarter_of_a_short_queue() {
    assert_eq!(chains_and_signals(&layout(8, None, 4096)), (vec![1, 3, 5, 7], vec![1, 3, 5, 7]));
}

#[test]
fn chains_of_a_deep_queue_are_sixteen_long() {
    let (chains, signals) = chains_and_signals(&layout(128, None, 4096));
    assert_eq!((chains.len(), chains[0]), (8, 15));
    assert_eq!(chains, signals);
}

#[test]
fn a_queue_of_one_completes_every_request() {
    assert_eq!(chains_and_signals(&layout(1, None, 4096)), (vec![0], vec![0]));
    assert_eq!(chains_and_signals(&layout(1, Some(100), 4096)), (vec![0], vec![0]));
}

#[test]
fn an_asked_for_moderation_is_kept_up_to_half_the_queue() {
    assert_eq!(chains_and_signals(&layout(16, Some(1), 4096)).1, (0..16).collect::<Vec<_>>());
    assert_eq!(chains_and_signals(&layout(16, Some(2), 4096)).1, [1, 3, 5, 7, 9, 11, 13, 15]);
    assert_eq!(chains_and_signals(&layout(16, Some(100), 4096)).1, [7, 15]);
}

#[test]
fn an_asked_for_chain_is_kept_and_the_moderation_fits_it() {
    let of = |chain, cq_mod| Params { depth: 128, chain, cq_mod, ..Params::default() }.chain_and_signal();
    assert_eq!(of(None, None), (16, 16));
    assert_eq!(of(Some(4), None), (4, 4));
    assert_eq!(of(Some(1), Some(16)), (1, 16));
    assert_eq!(of(Some(6), Some(4)), (6, 3));
    assert_eq!(of(Some(6), Some(16)), (6, 12));
    assert_eq!(of(Some(500), Some(500)), (128, 128));
    assert_eq!(of(None, Some(100)), (16, 64));
}

#[test]
fn one_completion_frees_several_chains() {
    let layout = Layout::new(&Params { depth: 10, chain: Some(2), cq_mod: Some(4), ..Params::default() });
    assert_eq!(layout.group(), 2);
    let (chains, signals) = chains_and_signals(&layout);
    assert_eq!((chains, signals), (vec![1, 3, 5, 7, 9], vec![3, 7, 9]));
}

#[test]
fn the_last_chain_of_an_uneven_queue_is_shorter_and_still_asks() {
    let (chains, signals) = chains_and_signals(&layout(10, Some(3), 4096));
    assert_eq!(chains, [2, 5, 8, 9]);
    assert_eq!(signals, [2, 5, 8, 9]);
}

#[test]
fn small_messages_walk_over_a_page_and_large_ones_stay() {
    let small = layout(128, None, 1000);
    assert_eq!([0, 1, 3, 4].map(|slot| small.offset(1, slot)), [4096, 5120, 7168, 4096]);
    let large = layout(128, None, 65_536);
    assert_eq!([0, 1].map(|slot| large.offset(1, slot)), [65_536, 65_536]);
    assert_eq!((small.bytes(), large.bytes()), (8192, 131_072));
}

#[test]
fn a_walk_visits_every_place_as_often_as_any_other() {
    for places in [1_u64, 2, 3, 4, 6, 10, 64, 1000, 4095] {
        let working_set = WorkingSet::Bytes(2 * 4096 * places);
        let layout = Layout::new(&Params { qps: 2, working_set, size_bytes: 4096, ..Params::default() });
        assert_eq!(layout.bytes(), 2 * 4096 * places);
        let mut visited: Vec<u64> = (0..places).map(|nth| layout.offset(1, nth) - 4096 * places).collect();
        if places > 8 {
            assert!(visited.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 8192), "{places}: neighbours");
        }
        visited.sort_unstable();
        assert_eq!(visited, (0..places).map(|place| place * 4096).collect::<Vec<_>>());
        assert_eq!(layout.offset(0, places), layout.offset(0, 0));
        assert_eq!((layout.places_filled(1), layout.places_filled(u64::MAX)), (1, places));
    }
}

#[test]
fn a_working_set_has_a_message_for_each_queue_pair_at_least() {
    let params = Params { qps: 3, working_set: WorkingSet::Bytes(1), size_bytes: 5000, ..Params::default() };
    assert_eq!(params.bytes_per_rail(), 3 * 8192);
    let hostile = Params { working_set: WorkingSet::Bytes(u64::MAX), qps: 1, ..params };
    assert!(hostile.bytes_per_rail() > 1 << 60);
}

#[test]
fn a_ticket_survives_its_id() {
    let ticket = Ticket { lane: 65_535, group: 8_388_607, slot: 8_388_607, ends_group: true };
    assert_eq!(Ticket::from_id(ticket.id()), ticket);
    let ticket = Ticket { lane: 3, group: 2, slot: 47, ends_group: false };
    assert_eq!(Ticket::from_id(ticket.id()), ticket);
}
