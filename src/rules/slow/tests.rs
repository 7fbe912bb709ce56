//! Rails that are slow for no reason that was found, and those with one.

use super::RULE;
use crate::rules::testing::{
    Traffic, behind, described, found, found_in, hop, named, rail, session, two_sockets,
};
use crate::timeline::Timeline;
use probes::model::{Frame, Hop, Load, LoadOp, LoadTarget, Rail, RailFrame, Topology};
use std::sync::Arc;

fn codes(rails: Vec<Rail>, load: Option<Load>, rates: &[f64]) -> Vec<String> {
    named(&found(&RULE, &two_sockets(rails), &Traffic { load, ..Traffic::loaded(rates) }))
}

/// Rails in slots of their own.
fn in_slots(count: u8) -> Topology {
    let at =
        |at| behind(&format!("mlx5_{at}"), vec![hop(&format!("0000:{:02x}:00.0", 0x41 + 2 * at), 32.0, 16)]);
    two_sockets((0..count).map(at).collect())
}

#[test]
fn rails_that_are_slow_for_no_reason_are_named_together() {
    let alone = |device: &str| {
        let mut rail = rail(device);
        rail.pcie.as_mut().unwrap().hops[0].upstream = Some(format!("port of {device}"));
        rail
    };
    let rails = || ["mlx5_0", "mlx5_1"].map(alone).to_vec();
    let load = || Some(described(LoadOp::Read));
    assert_eq!(codes(rails(), load(), &[20.0, 21.0]), ["slow-unexplained mlx5_0,mlx5_1"]);
    assert_eq!(codes(rails(), load(), &[40.0, 41.0]), Vec::<String>::new());
    assert_eq!(codes(rails(), None, &[20.0, 21.0]), Vec::<String>::new());
    let held_back = Load { rate_gb_per_s: Some(21.0), ..described(LoadOp::Read) };
    assert_eq!(codes(rails(), Some(held_back), &[20.0, 21.0]), Vec::<String>::new());
}

#[test]
fn rails_that_stop_alike_are_told_once_with_their_sum() {
    let load = Traffic::loaded(&[24.6, 24.5, 24.4, 24.5, 48.0, 48.0]);
    let found = found(&RULE, &in_slots(6), &load);
    assert_eq!(named(&found), ["slow-unexplained mlx5_0,mlx5_1,mlx5_2,mlx5_3"]);
    assert_eq!(
        found[0].message,
        "mlx5_0, mlx5_1, mlx5_2 and mlx5_3 do 24.4 to 24.6 GB/s each, 98.0 together, of 49.7 GB/s each could: below 70 % \
         of what they could do under load, and nothing that was found here explains it; that they stop alike speaks for one \
         limit outside this host that they share, such as a switch's uplink or the peer"
    );
}

#[test]
fn being_slower_than_others_or_behind_a_shared_link_is_no_reason_by_itself() {
    let codes = |topology: &Topology, rates: &[f64]| named(&found(&RULE, topology, &Traffic::loaded(rates)));
    let quiet = Vec::<String>::new();
    // `rail-imbalance` fires here and says nothing of why
    assert_eq!(codes(&in_slots(3), &[48.0, 48.0, 24.5]), ["slow-unexplained mlx5_2"]);
    let mut shared = in_slots(2);
    for rail in &mut shared.rails {
        let uplink = Hop { upstream: Some("0000:15:01.0".into()), ..hop("0000:16:00.0", 32.0, 16) };
        rail.pcie.as_mut().unwrap().hops.push(uplink);
    }
    // 57.6 GB/s for both of them: 28.4 each is all there is, 15 is not
    assert_eq!(codes(&shared, &[28.4, 28.4]), quiet);
    assert_eq!(codes(&shared, &[15.0, 15.0]), ["slow-unexplained mlx5_0,mlx5_1"]);
    assert_eq!(codes(&shared, &[28.4, 0.0]), ["slow-unexplained mlx5_0,mlx5_1"], "the neighbour rests");
    let gen4 = two_sockets(vec![behind("mlx5_0", vec![hop("0000:41:00.0", 16.0, 16)])]);
    assert_eq!(codes(&gen4, &[27.0]), quiet, "of 28.8");
    assert_eq!(codes(&gen4, &[15.0]), ["slow-unexplained mlx5_0"]);
}

#[test]
fn a_ladder_of_loads_is_judged_by_its_last_step() {
    let steps = |rates: &[(u32, u64)]| {
        let topology = two_sockets(vec![rail("mlx5_0")]);
        let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
        let mut bytes = 0;
        for (seq, (qps, gb_per_s)) in (0..).zip(rates) {
            bytes += gb_per_s * 1_000_000_000;
            let moved = RailFrame { rx_bytes: Some(bytes), tx_bytes: Some(0), ..RailFrame::default() };
            let load = Some(Arc::new(Load { qps: Some(*qps), ..described(LoadOp::Read) }));
            let at_ns = seq * 1_000_000_000;
            timeline.push(Frame { seq, at_ns, rails: vec![moved], load, ..Frame::default() });
        }
        named(&found_in(&RULE, &topology, &timeline))
    };
    let ladder =
        [(1, 10), (1, 10), (1, 10), (1, 10), (4, 22), (4, 22), (4, 22), (32, 48), (32, 48), (32, 48)];
    assert_eq!(steps(&ladder), Vec::<String>::new());
    let slow = [(1, 10), (1, 10), (4, 22), (4, 22), (32, 25), (32, 25), (32, 25), (32, 25)];
    assert_eq!(steps(&slow), ["slow-unexplained mlx5_0"]);
}

#[test]
fn a_load_that_a_person_holds_is_not_slow() {
    let topology = two_sockets(vec![rail("mlx5_0")]);
    let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
    let mut bytes = 0;
    for seq in 0..12 {
        let is_held = seq > 5;
        bytes += if is_held { 0 } else { 48_000_000_000 };
        let moved = RailFrame { rx_bytes: Some(bytes), tx_bytes: Some(0), ..RailFrame::default() };
        let load = Load { rate_gb_per_s: is_held.then_some(0.0), ..described(LoadOp::Read) };
        let (at_ns, load) = (seq * 1_000_000_000, Some(Arc::new(load)));
        timeline.push(Frame { seq, at_ns, rails: vec![moved], load, ..Frame::default() });
    }
    assert_eq!(named(&found_in(&RULE, &topology, &timeline)), Vec::<String>::new());
}

#[test]
fn what_is_explained_is_not_called_unexplained() {
    let mut narrow = rail("mlx5_0");
    narrow.pcie.as_mut().unwrap().hops[0].current_width = Some(8);
    // 15 GB/s is far below even the 28.8 of x8, and the narrow link is still what to mend first
    assert_eq!(codes(vec![narrow], Some(described(LoadOp::Read)), &[15.0]), Vec::<String>::new());
    let deep = Load { read_depth: Some(1), device_read_depth: Some(16), ..described(LoadOp::Read) };
    let deep = Load { size_bytes: Some(1 << 20), ..deep };
    assert_eq!(codes(vec![rail("mlx5_0")], Some(deep), &[21.0]), Vec::<String>::new());
}

#[test]
fn few_reads_on_the_wire_are_told_where_the_device_s_maximum_is_not_known() {
    let load =
        Load { qps: Some(8), size_bytes: Some(1 << 20), read_depth: Some(1), ..described(LoadOp::Read) };
    let said = |load| {
        let traffic = Traffic { load: Some(load), ..Traffic::loaded(&[21.0]) };
        found(&RULE, &two_sockets(vec![rail("mlx5_0")]), &traffic).remove(0)
    };
    let shallow = said(load.clone());
    assert_eq!(
        shallow.message,
        "mlx5_0 does 21.0 of 49.7 GB/s: below 70 % of what it could do under load, and nothing that was found here proves \
         why; what is known: READ depth 1, and not what the device can do: 8 queue pairs keep 1 READ of 1M each on the \
         wire, which are 21.0 GB/s at a round trip of 399 us (none was measured)"
    );
    assert!(shallow.advice.starts_with("first a greater READ depth at both ends"), "{}", shallow.advice);
    assert_eq!(shallow.evidence["read_depth"], 1);
    let deep = said(Load { read_depth: Some(16), ..load.clone() });
    assert!(deep.message.ends_with("and nothing that was found here explains it"), "{}", deep.message);
    let written = said(Load { op: LoadOp::Write, ..load });
    assert!(!written.message.contains("READ depth"), "{}", written.message);
}

#[test]
fn what_the_other_end_explains_is_not_called_unexplained() {
    let far = |width| {
        let mut far = rail("far_0");
        far.pcie.as_mut().unwrap().hops[0].current_width = Some(width);
        Arc::new(two_sockets(vec![far]))
    };
    let peer_devices = [("mlx5_0".to_owned(), "far_0".to_owned())].into();
    let load = Arc::new(Load { peer_devices, ..described(LoadOp::Read) });
    let codes = |width| {
        let here = two_sockets(vec![rail("mlx5_0")]);
        let mut session = session(here.clone());
        session.hosts.push(far(width));
        let mut timeline = Timeline::new(Arc::new(session));
        for seq in 0..5 {
            let moved =
                RailFrame { rx_bytes: Some(seq * 20_000_000_000), tx_bytes: Some(0), ..RailFrame::default() };
            let at_ns = seq * 1_000_000_000;
            let load = Some(load.clone());
            timeline.push(Frame { seq, at_ns, rails: vec![moved], load, ..Frame::default() });
            timeline.push(Frame {
                host: 1,
                seq,
                at_ns,
                rails: vec![RailFrame::default()],
                ..Frame::default()
            });
        }
        named(&found_in(&RULE, &here, &timeline))
    };
    assert_eq!(codes(16), ["slow-unexplained mlx5_0"]);
    assert_eq!(codes(4), Vec::<String>::new());
}

#[test]
fn a_small_window_or_a_software_device_is_bound_by_other_things() {
    let small =
        Load { size_bytes: Some(4096), qps: Some(1), read_depth: Some(16), ..described(LoadOp::Read) };
    assert_eq!(codes(vec![rail("mlx5_0")], Some(small), &[6.6]), Vec::<String>::new());
    let software = Rail { driver: Some("rdma_rxe".into()), ..rail("rxe0") };
    assert_eq!(codes(vec![software], Some(described(LoadOp::Read)), &[0.02]), Vec::<String>::new());
    let two_ports = vec![rail("mlx4_0"), Rail { port: 2, ..rail("mlx4_0") }];
    assert_eq!(codes(two_ports, Some(described(LoadOp::Read)), &[45.0, 0.0]), Vec::<String>::new());
    let gpu = Load { target: LoadTarget::Gpu("gpu0".into()), ..described(LoadOp::Read) };
    assert_eq!(codes(vec![rail("mlx5_0")], Some(gpu), &[6.0]), Vec::<String>::new());
}
