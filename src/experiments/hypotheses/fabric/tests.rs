//! Which counters of which end hold back the data of a READ.

use crate::experiments::counted::Counted;
use crate::experiments::far::FarRail;
use crate::experiments::plan::Kind;
use crate::experiments::testing::{Host, answer, four_rails};
use crate::experiments::{Answer, RailDiagnosis, Seen};

const COUNTERS: [&str; 4] =
    ["hw/np_cnp_sent", "hw/out_of_sequence", "eth/rx_prio3_pause", "eth/tx_prio3_pause"];

/// A node on which `mlx5_1` is slow and counts these in each load, while the other end tells this.
fn with(counts: [u64; 4], sees: impl Fn(Seen) -> Seen) -> Vec<RailDiagnosis> {
    let mut topology = four_rails();
    for rail in &mut topology.rails {
        rail.counters = COUNTERS.iter().map(|name| (*name).to_owned()).collect();
    }
    let host = Host::of(topology, |_, device| Some(if device == "mlx5_1" { 20.0 } else { 48.0 }));
    let counting = move |device: &str| if device == "mlx5_1" { counts.to_vec() } else { vec![0; 4] };
    host.counting(counting).seeing(sees).diagnose().1
}

fn unseen(seen: Seen) -> Seen {
    seen.with_far(&[], Some("its railscope 0.0.9 does not tell what it counts".to_owned()))
}

/// The other end, whose rail for `mlx5_1` received so many pauses in each load.
fn paused(count: u64) -> impl Fn(Seen) -> Seen {
    move |mut seen| {
        for rail in &mut seen.rails {
            let rx_pause = Some(if rail.device == "mlx5_1" { count } else { 0 });
            let nic = Counted { rx_pause, throttled: Some(0), retransmits: Some(0), ..Counted::default() };
            let hostname = Some("storage-1".to_owned());
            rail.far = Some(FarRail { hostname, sent_gb: Some(20.0), nic, ..FarRail::default() });
        }
        seen
    }
}

#[test]
fn pauses_received_by_the_reader_are_no_cause_of_slow_reads() {
    let rails = with([0, 0, 5000, 0], unseen);
    let (holds, because) = answer(&rails, "mlx5_1", "H5");
    assert_eq!((holds, rails[0].cause), (Answer::Unknown, Some("slow-unexplained")));
    assert!(because.starts_with("this end no: "), "{because}");
    assert!(because.contains("(they hold back requests, not the data of a READ)"), "{because}");
    assert!(
        because
            .ends_with("the other end is not seen, because its railscope 0.0.9 does not tell what it counts"),
        "{because}"
    );
}

#[test]
fn pauses_received_by_the_sender_of_the_data_are_one_and_named_as_its() {
    let rails = with([0; 4], paused(4000));
    let (holds, because) = answer(&rails, "mlx5_1", "H5");
    assert_eq!((holds, rails[0].cause), (Answer::Yes, Some("rx-pause")), "{because}");
    let says = "on storage-1: pauses received +16000, 200 for each GB, ";
    assert!(because.starts_with(says) && because.contains("; this end no: "), "{because}");
}

#[test]
fn an_end_that_was_seen_and_shows_nothing_makes_it_a_no() {
    assert_eq!(answer(&with([0; 4], paused(0)), "mlx5_1", "H5").0, Answer::No);
}

#[test]
fn pauses_that_the_reader_sends_say_that_it_cannot_take_what_arrives() {
    let rails = with([3000, 0, 0, 5000], unseen);
    let (holds, because) = answer(&rails, "mlx5_1", "H5");
    assert_eq!((holds, rails[0].cause), (Answer::Yes, Some("tx-pause")), "{because}");
}

#[test]
fn what_shows_beside_others_alone_is_no_cause_of_a_rail_that_is_as_slow_by_itself() {
    let pauses = |of_alone: u64, of_together: u64| {
        with([0; 4], move |mut seen| {
            let count = match (seen.step.kind.clone(), seen.step.round) {
                (Kind::Alone, _) => of_alone,
                (Kind::Together, _) => of_together,
                _ => 0,
            };
            let is_far = of_alone > 0 && seen.step.kind == Kind::Alone;
            for rail in seen.rails.iter_mut().filter(|rail| rail.device == "mlx5_1") {
                rail.nic.tx_pause = Some(if is_far { 0 } else { count });
                let nic = Counted {
                    rx_pause: Some(if is_far { count } else { 0 }),
                    throttled: Some(0),
                    retransmits: Some(0),
                    ..Counted::default()
                };
                rail.far = Some(FarRail { sent_gb: Some(20.0), nic, ..FarRail::default() });
            }
            seen
        })
    };
    // a link that all of them fill makes it send pauses then; what it lacks alone is another thing
    let rails = pauses(0, 4000);
    let (holds, because) = answer(&rails, "mlx5_1", "H5");
    assert_eq!((holds, rails[0].cause), (Answer::Inconclusive, Some("slow-unexplained")), "{because}");
    assert!(because.contains("+4000, 200 for each GB where it is no slower"), "{because}");
    let rails = pauses(4000, 4000);
    assert_eq!(rails[0].cause, Some("rx-pause"), "{:?}", answer(&rails, "mlx5_1", "H5"));
}
