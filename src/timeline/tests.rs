//! Frames in, rates and sums out, side by side.

use super::{Quality, Timeline};
use probes::model::{
    Bond, Failure, Frame, Hop, Leg, LegFrame, Load, LoadOp, LoadOrigin, LoadTarget, PciePath, Rail,
    RailFrame, RailId, Session, Topology, WorkerFrame, WorkerPhase,
};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const GB: u64 = 1_000_000_000;

fn session() -> Arc<Session> {
    let rail = Rail {
        device: "mlx5_0".into(),
        state: Some("ACTIVE".into()),
        pcie: Some(PciePath {
            hops: vec![Hop { current_gt_per_s: Some(32.0), current_width: Some(16), ..Hop::default() }],
            ..PciePath::default()
        }),
        bond: Some(Bond { legs: vec![Leg::default(), Leg::default()], ..Bond::default() }),
        counters: vec!["hw/out_of_sequence".into()],
        ..Rail::default()
    };
    Arc::new(Session {
        generated_by: "test".into(),
        started_unix_ms: None,
        interval_ns: SECOND,
        hosts: vec![Arc::new(Topology { rails: vec![rail], ..Topology::default() })],
        clock_offset_ns: None,
        simulated: None,
    })
}

fn frame(at_s: u64, rx_bytes: Option<u64>) -> Frame {
    let rail = RailFrame { rx_bytes, tx_bytes: rx_bytes.map(|_| 0), ..RailFrame::default() };
    Frame { seq: at_s, at_ns: at_s * SECOND, rails: vec![rail], ..Frame::default() }
}

fn played(frames: impl IntoIterator<Item = Frame>) -> Timeline {
    let mut timeline = Timeline::new(session());
    frames.into_iter().for_each(|frame| timeline.push(frame));
    timeline
}

fn rx_and_quality(readings: &[Option<u64>]) -> (Option<f64>, Quality) {
    let timeline = played(readings.iter().zip(0..).map(|(bytes, at)| frame(at, *bytes)));
    let now = timeline.local().now(RailId(0)).cloned().unwrap_or_default();
    (now.rx_gb_per_s, now.quality)
}

#[test]
fn two_readings_make_a_rate_and_one_makes_none() {
    assert_eq!(rx_and_quality(&[Some(5 * GB)]), (None, Quality::NotRead));
    assert_eq!(rx_and_quality(&[Some(5 * GB), Some(54 * GB)]), (Some(49.0), Quality::Good));
}

#[test]
fn what_came_while_a_link_changed_is_kept_over_frames_without_counters() {
    let frames = (0..40).map(|at| RailFrame {
        rx_bytes: Some(at * GB / 10),
        state: Some(if at < 12 { "ACTIVE" } else { "DOWN" }.into()),
        counters: if at % 10 == 0 { vec![Some(if at < 20 { 3 } else { 8 })] } else { Vec::new() },
        ..RailFrame::default()
    });
    let frames = frames.zip(0..).map(|(rail, seq)| Frame {
        seq,
        at_ns: seq * SECOND / 10,
        rails: vec![rail],
        ..Frame::default()
    });
    let timeline = played(frames);
    let sums = &timeline.local().sums().rails[0];
    assert_eq!((&sums.growth[..], &sums.growth_at_link_changes[..]), (&[Some(5)][..], &[5][..]));
}

#[test]
fn of_a_load_that_fails_for_ever_the_first_hundred_failures_are_kept() {
    let failing = |at_s| Frame {
        failures: vec![Failure::new(Some("mlx5_0"), &format!("failure {at_s}"))],
        ..frame(at_s, None)
    };
    let timeline = played((0..130).map(failing));
    let sums = timeline.local().sums();
    assert_eq!((sums.failures.len(), sums.more_failures), (100, 30));
    let last = &sums.failures[99];
    assert_eq!((last.at_s, last.text.as_str()), (99.0, "failure 99"));
}

#[test]
fn a_reset_counter_gives_no_rate() {
    assert_eq!(rx_and_quality(&[Some(5 * GB), Some(2 * GB)]), (None, Quality::Reset));
}

#[test]
fn a_counter_that_was_never_readable_is_no_zero() {
    assert_eq!(rx_and_quality(&[None, None]), (None, Quality::Unreadable));
}

#[test]
fn a_rate_above_the_pcie_path_is_implausible() {
    assert_eq!(rx_and_quality(&[Some(0), Some(89 * GB)]), (Some(89.0), Quality::Implausible));
}

#[test]
fn a_skipped_reading_makes_the_next_interval_longer() {
    assert_eq!(rx_and_quality(&[Some(0), None, Some(98 * GB)]), (Some(49.0), Quality::Good));
}

#[test]
fn means_leave_out_resets_and_implausible_intervals() {
    let readings = [0, 40, 80, 10, 50, 250, 290].map(|gb| Some(gb * GB));
    let timeline = played(readings.into_iter().zip(0..).map(|(bytes, at)| frame(at, bytes)));
    let sums = &timeline.local().sums().rails[0];
    assert_eq!((sums.rx_gb_per_s(), sums.rx.count, sums.resets), (Some(40.0), 4, 1));
    assert_eq!(sums.implausible_rx.mean_gb_per_s(), Some(200.0));
    assert_eq!(timeline.local().sums().events[0].what, "counter-reset");
}

#[test]
fn a_rail_with_nothing_but_implausible_intervals_keeps_their_mean() {
    let timeline = played([frame(0, Some(0)), frame(1, Some(89 * GB))]);
    let sums = &timeline.local().sums().rails[0];
    assert!(sums.only_implausible());
    assert_eq!(sums.rx_gb_per_s(), Some(89.0));
}

#[test]
fn a_32_bit_counter_that_wraps_has_grown() {
    let counted = |at, value| {
        let mut frame = frame(at, Some(0));
        frame.rails[0].counters = vec![Some(value)];
        frame
    };
    let timeline = played([counted(0, (1 << 32) - 3), counted(1, 4)]);
    assert_eq!(timeline.local().sums().rails[0].growth, [Some(7)]);
    let timeline = played([counted(0, 1000), counted(1, 4)]);
    assert_eq!(timeline.local().sums().rails[0].growth, [None], "a reset is no growth");
}

#[test]
fn legs_read_once_a_second_have_the_rate_of_that_second() {
    let legs = |at_s, bytes| {
        let mut frame = frame(at_s, Some(0));
        let leg = |rx| LegFrame { rx_rdma_bytes: Some(rx), ..LegFrame::default() };
        frame.rails[0].legs = vec![leg(bytes), leg(0)];
        frame
    };
    let timeline = played([legs(0, 0), frame(1, Some(0)), legs(2, 48 * GB)]);
    let sums = &timeline.local().sums().rails[0];
    assert_eq!(sums.legs[0].rx.mean_gb_per_s(), Some(24.0));
    assert_eq!(sums.legs[1].rx.mean_gb_per_s(), Some(0.0));
}

fn our_load(at_s: u64, phase: WorkerPhase, bytes: u64) -> Frame {
    let worker = WorkerFrame { rail: Some(RailId(0)), phase, bytes, ..WorkerFrame::default() };
    Frame { workers: vec![worker], ..frame(at_s, Some(bytes)) }
}

#[test]
fn warm_up_shows_a_rate_but_counts_towards_no_mean() {
    use WorkerPhase::{Done, Measuring, Warmup};
    let timeline = played([
        our_load(0, Warmup, 0),
        our_load(1, Warmup, 10 * GB),
        our_load(2, Measuring, 30 * GB),
        our_load(3, Measuring, 79 * GB),
        our_load(4, Done, 80 * GB),
    ]);
    let shown: Vec<_> = timeline.local().intervals().map(|i| i.rails[0].load_gb_per_s).collect();
    assert_eq!(shown, [Some(10.0), Some(20.0), Some(49.0), None]);
    let sums = &timeline.local().sums().rails[0];
    assert_eq!((sums.load.mean_gb_per_s(), sums.loaded_rx.mean_gb_per_s()), (Some(49.0), Some(49.0)));
}

#[test]
fn a_described_load_covers_its_devices_only() {
    let described = |devices: &[&str]| Load {
        origin: LoadOrigin::Described,
        op: LoadOp::Read,
        loopback: false,
        target: LoadTarget::Host,
        devices: devices.iter().map(|d| (*d).to_owned()).collect(),
        size_bytes: None,
        qps: None,
        read_depth: None,
        device_read_depth: None,
        relaxed_ordering: None,
        ..Load::default()
    };
    let loaded = |devices: &[&str]| {
        let with = |at, gb| Frame { load: Some(Arc::new(described(devices))), ..frame(at, Some(gb * GB)) };
        played([with(0, 0), with(1, 20)]).local().sums().rails[0].loaded_rx.count
    };
    assert_eq!((loaded(&["mlx5_0"]), loaded(&[]), loaded(&["mlx5_1"])), (1, 1, 0));
}

#[test]
fn a_port_that_goes_down_and_up_leaves_two_events() {
    let state = |at_s, state: &str| {
        let mut frame = frame(at_s, Some(0));
        frame.rails[0].state = Some(state.into());
        frame
    };
    let timeline = played([state(0, "ACTIVE"), state(1, "DOWN"), state(2, "DOWN"), state(3, "ACTIVE")]);
    let events: Vec<_> = timeline.local().sums().events.iter().map(|e| (e.at_s, e.what.as_str())).collect();
    assert_eq!(events, [(1.0, "link-down"), (3.0, "link-up")]);
}

#[test]
fn the_window_is_a_minute_and_the_sums_are_not() {
    let timeline = played((0..=200).map(|at| frame(at, Some(at * 10 * GB))));
    assert_eq!(timeline.local().frames().len(), 61);
    assert_eq!(timeline.local().intervals().len(), 60);
    assert_eq!(timeline.local().sums().rails[0].rx.count, 200);
}

#[test]
fn legs_that_only_their_ports_count_have_the_same_rates_after_a_seek() {
    // bytes at every frame, legs at every other
    let frame = |seq: u64| {
        let port = |moved| LegFrame { rx_port_bytes: Some(moved * seq * GB), ..LegFrame::default() };
        let legs = if seq.is_multiple_of(2) { vec![port(30), port(10)] } else { Vec::new() };
        let rail =
            RailFrame { rx_bytes: Some(40 * seq * GB), tx_bytes: Some(0), legs, ..RailFrame::default() };
        Frame { seq, at_ns: seq * SECOND, rails: vec![rail], ..Frame::default() }
    };
    let mut resumed = Timeline::resume(session(), played((0..2).map(frame)).past());
    resumed.push(frame(2));
    let whole = played((0..3).map(frame));
    let legs = |timeline: &Timeline| timeline.local().now(RailId(0)).unwrap().legs.clone();
    assert_eq!(legs(&whole)[0].rx_gb_per_s, Some(30.0));
    assert_eq!(legs(&resumed), legs(&whole));
}
