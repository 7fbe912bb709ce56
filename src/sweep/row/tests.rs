use super::Point;
use crate::sweep::grid::Spot;
use probes::model::{
    Frame, LinkLayer, Load, PerfFrame, Rail, RailFrame, RailId, Topology, WorkerFrame, WorkerPhase,
};
use std::sync::Arc;

const SPOT: Spot = Spot { size_bytes: 4096, qps: 4, workers: 1 };

fn topology() -> Topology {
    let rail = |device: &str, counters: &[&str]| Rail {
        device: device.to_owned(),
        counters: counters.iter().map(|name| (*name).to_owned()).collect(),
        ..Rail::default()
    };
    Topology {
        rails: vec![rail("mlx5_0", &["hw/out_of_sequence", "hw/np_cnp_sent"]), rail("mlx5_1", &[])],
        ..Topology::default()
    }
}

fn frame(at_s: u64, operations: u64, counters: Vec<Option<u64>>) -> Frame {
    let worker = |rail: usize, operations: u64| WorkerFrame {
        rail: Some(RailId(rail)),
        phase: WorkerPhase::Measuring,
        bytes: operations * 4096,
        operations,
        polls: operations / 8,
        empty_polls: operations / 32,
        perf: PerfFrame { on_cpu_ns: Some(at_s * 1_000_000_000), ..PerfFrame::default() },
        ..WorkerFrame::default()
    };
    let rails = vec![RailFrame { counters, ..RailFrame::default() }, RailFrame::default()];
    let workers = vec![worker(0, operations), worker(1, operations / 2)];
    Frame { at_ns: at_s * 1_000_000_000, rails, workers, ..Frame::default() }
}

#[test]
fn bytes_messages_polls_and_counters_come_from_the_same_window() {
    let from = frame(3, 3_200_000, vec![Some(5), Some(100)]);
    let to = frame(13, 35_200_000, vec![Some(5), Some(107)]);
    let point = Point::between(SPOT, &topology(), &from, &to);
    let first = &point.rails[0].row;
    assert_eq!(point.window_s, 10.0);
    assert_eq!((first.gb_per_s, first.mpps), (Some(13.1072), Some(3.2)));
    assert_eq!((first.empty_poll_share, first.busy_share), (Some(0.25), Some(1.0)));
    assert_eq!(first.completions_per_poll.map(|n| (n * 1e3).round()), Some(10_667.0));
    assert_eq!((first.nic.retransmits, first.nic.ecn_cnp, first.nic.rx_pause), (Some(0), Some(7), None));
    assert_eq!(point.all.gb_per_s, Some(19.6608));
    assert_eq!(point.all.nic.ecn_cnp, Some(7));
    assert_eq!(point.rails[1].row.nic.ecn_cnp, None, "that NIC counts none of the kind");
}

#[test]
fn a_rail_that_failed_is_in_no_sum() {
    let (from, mut to) = (frame(0, 0, Vec::new()), frame(10, 1000, Vec::new()));
    to.workers[1].phase = WorkerPhase::Failed;
    let point = Point::between(SPOT, &topology(), &from, &to);
    assert_eq!(point.rails.len(), 1);
    assert_eq!(point.all.gb_per_s, point.rails[0].row.gb_per_s);
    assert_eq!(point.left_out.as_deref(), Some("mlx5_1 failed"));
    assert_eq!(point.good_gbit_per_s(), None);
}

#[test]
fn a_window_in_which_nothing_completed_has_no_rate() {
    let (from, to) = (frame(0, 1000, Vec::new()), frame(10, 1000, Vec::new()));
    let point = Point::between(SPOT, &topology(), &from, &to);
    assert_eq!((point.all.gbit_per_s, point.all.gb_per_s, point.all.mpps), (None, None, None));
    assert_eq!(point.left_out.as_deref(), Some("no message was completed on mlx5_0"));
    assert!(point.bound.because.ends_with("no message was completed"), "{:?}", point.bound);
}

#[test]
fn the_wire_is_that_of_the_path_mtu_of_the_load() {
    let mut topology = topology();
    for rail in &mut topology.rails {
        rail.line_gbit_per_s = Some(400.0);
        rail.path_mtu = Some(4096);
        rail.link_layer = Some(LinkLayer::Ethernet);
    }
    let spot = Spot { size_bytes: 1 << 20, ..SPOT };
    let because = |path_mtu| {
        let mut to = frame(1, 11_000_000, Vec::new());
        to.load = Some(Arc::new(Load { path_mtu, ..Load::default() }));
        let point = Point::between(spot, &topology, &frame(0, 0, Vec::new()), &to);
        point.rails[0].bound.because.clone()
    };
    assert!(because(Some(1024)).starts_with("45.06 of 46.29 GB/s the wire"), "{}", because(Some(1024)));
    assert!(because(None).starts_with("92 % of the line"), "{}", because(None));
}

#[test]
fn a_send_queue_that_holds_fewer_is_the_read_window() {
    let mut topology = topology();
    topology.rails[0].line_gbit_per_s = Some(400.0);
    let mut to = frame(1, 3_000_000, Vec::new());
    for worker in &mut to.workers {
        worker.round_trip_ns = Some(10_000);
    }
    let bound = |depth| {
        let load = Load { depth: Some(depth), read_depth: Some(16), ..Load::default() };
        let to = Frame { load: Some(Arc::new(load)), ..to.clone() };
        Point::between(SPOT, &topology, &frame(0, 0, Vec::new()), &to).rails[0].bound.by.clone()
    };
    // 4 queue pairs x 8 READs x 4 KiB / 10 us = 13.1 GB/s, of which 12.3 were read; with 16 READs it is 26.2
    assert_eq!((bound(8).as_str(), bound(128).as_str()), ("read-window", "unknown"));
}

#[test]
fn a_restart_in_the_window_leaves_the_point_out_of_statements() {
    let (from, mut to) = (frame(0, 0, Vec::new()), frame(10, 1000, Vec::new()));
    to.workers[0].restarts = 1;
    let point = Point::between(SPOT, &topology(), &from, &to);
    assert_eq!(point.left_out.as_deref(), Some("mlx5_0 was opened anew meanwhile"));
}

#[test]
fn what_the_check_of_the_data_finds_after_the_window_counts() {
    let (from, to) = (frame(0, 0, Vec::new()), frame(10, 1000, Vec::new()));
    let good = Point::between(SPOT, &topology(), &from, &to);
    assert_eq!((good.left_out.as_deref(), good.failures.len()), (None, 0));
    let mut end = to.workers.clone();
    end[1].errors.insert("DATA_MISMATCH".to_owned(), 3);
    let point = good.ended(&end, vec!["mlx5_1: 3 messages".to_owned()]);
    assert_eq!(point.errors["DATA_MISMATCH"], 3);
    assert_eq!(point.left_out.as_deref(), Some("DATA_MISMATCH"));
    assert_eq!(point.failures, ["mlx5_1: 3 messages"]);
}

#[test]
fn what_is_no_figure_of_the_fabric_is_said_at_the_point() {
    let caveat = |load: Load| {
        let mut to = frame(10, 1000, Vec::new());
        to.load = Some(Arc::new(load));
        Point::between(SPOT, &topology(), &frame(0, 0, Vec::new()), &to).caveat
    };
    let over = |transport: &str| Load { transport: Some(transport.to_owned()), ..Load::default() };
    assert_eq!(caveat(over("sim")).as_deref(), Some("simulated"));
    assert_eq!(caveat(over("tcp")).as_deref(), Some("functional check"));
    assert_eq!(caveat(Load { loopback: true, ..over("verbs") }).as_deref(), Some("loopback, not fabric"));
    assert_eq!(caveat(over("verbs")), None);
}
