//! Sessions of whatever a frame can hold.

use super::{Listed, frames, later_look, load, process, record, session};
use crate::session::Replay;
use probes::model::{
    Failure, Frame, Latencies, LegFrame, Measured, PerfFrame, RailFrame, RailId, WorkerFrame, WorkerPhase,
};
use proptest::prelude::*;
use std::sync::Arc;

fn any_counter() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        Just(None),
        any::<u64>().prop_map(Some),
        (0..1000u64).prop_map(Some),
        (0..4u64).prop_map(|n| Some(u64::MAX - n))
    ]
}

fn any_word() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), Just(Some("ACTIVE".into())), ".{0,6}".prop_map(Some)]
}

prop_compose! {
    fn any_leg()(counts in [any_counter(), any_counter(), any_counter(), any_counter()],
                 link_up in any::<Option<bool>>(), active in any::<Option<bool>>()) -> LegFrame {
        let [rx_rdma_bytes, tx_rdma_bytes, rx_port_bytes, tx_port_bytes] = counts;
        LegFrame { rx_rdma_bytes, tx_rdma_bytes, rx_port_bytes, tx_port_bytes, link_up, active }
    }
}

prop_compose! {
    fn any_rail()(rx_bytes in any_counter(), tx_bytes in any_counter(), state in any_word(), phys_state in any_word(),
                  counters in prop::collection::vec(any_counter(), 0..4),
                  legs in prop::collection::vec(any_leg(), 0..3), lost in any::<bool>()) -> RailFrame {
        RailFrame { rx_bytes, tx_bytes, state, phys_state, counters, legs, lost }
    }
}

prop_compose! {
    fn any_worker()(rail in prop::option::of(0..2usize), counts in any::<[u64; 4]>(), phase in 0..5usize,
                    perf in prop::collection::vec(any_counter(), PerfFrame::NAMES.len()),
                    errors in prop::collection::btree_map("[A-Z_]{1,5}", any::<u64>(), 0..2), restarts in 0..3u64,
                    measured in prop::option::of(any::<[u64; 2]>()),
                    latency in prop::collection::btree_map(0..Latencies::BUCKETS, any::<u64>(), 0..4),
                    round_trip_ns in any::<Option<u64>>()) -> WorkerFrame {
        use WorkerPhase::{Done, Failed, Measuring, Waiting, Warmup};
        let [bytes, operations, polls, empty_polls] = counts;
        WorkerFrame {
            rail: rail.map(RailId), phase: [Waiting, Warmup, Measuring, Done, Failed][phase],
            bytes, operations, polls, empty_polls, errors, restarts,
            measured: measured.map(|[bytes, ns]| Measured { bytes, ns }),
            perf: PerfFrame::of_values(perf.try_into().unwrap()),
            latency: Latencies::from_counts(latency), round_trip_ns,
        }
    }
}

fn any_failure() -> impl Strategy<Value = Failure> {
    (any_word(), ".{0,20}").prop_map(|(device, text)| Failure { device, text })
}

prop_compose! {
    fn any_frame()(host in 0..2usize, seq in any::<u64>(), at_ns in any::<u64>(),
                   rails in prop::collection::vec(any_rail(), 0..=2), processes in prop::option::of(0..3u64),
                   with_load in any::<bool>(), workers in prop::collection::vec(any_worker(), 0..3),
                   sampled_in_ns in any_counter(), peer in any::<Option<(u64, u64)>>(),
                   look in prop::option::weighted(0.2, 0..40u64), marks in prop::collection::vec(".{0,9}", 0..2),
                   failures in prop::collection::vec(any_failure(), 0..3)) -> Frame {
        Frame {
            host, seq, at_ns, rails, workers, failures, sampled_in_ns,
            peer: peer.map(|(bytes, ns)| Measured { bytes, ns }),
            processes: processes.map(|bytes| Arc::new(if bytes == 0 { Vec::new() } else { vec![process(bytes)] })),
            experiment: None,
            topology: look.filter(|_| host == 0).map(later_look), marks,
            load: with_load.then(|| Arc::new(load())),
        }
    }
}

/// Frames with the time since the one before, in milliseconds.
pub(super) fn any_course() -> impl Strategy<Value = Vec<(u64, Frame)>> {
    let pause = prop_oneof![8 => 0..400u64, 2 => 400..3000u64, 1 => 20_000..90_000u64];
    prop::collection::vec((pause, any_frame()), 1..30)
}

/// The same frames one after the other, as a session has them: times and numbers rise, and the clocks of its hosts
/// differ as its header says.
pub(super) fn course(steps: Vec<(u64, Frame)>) -> Vec<Frame> {
    let (session, mut now_ns, mut seqs) = (session(2), 0, [0; 2]);
    let placed = steps.into_iter().map(|(pause_ms, mut frame)| {
        now_ns += pause_ms * 1_000_000;
        frame.at_ns = session.on_own_clock(frame.host, now_ns);
        frame.seq = seqs[frame.host];
        seqs[frame.host] += 1;
        frame
    });
    placed.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_session_is_read_back_to_the_last_bit(listed in prop::collection::vec(any_frame(), 0..24)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.rsz");
        record(Listed { session: session(2), frames: listed.clone().into() }, &path);
        let mut replay = Replay::open(&path).unwrap();
        prop_assert_eq!(frames(&mut replay), listed);
        prop_assert_eq!(replay.warning(), None);
    }
}
