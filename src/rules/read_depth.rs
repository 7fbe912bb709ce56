//! `read-depth`: few READs outstanding per queue pair, though the device can do more.
//!
//! A queue pair keeps at most `max_rd_atomic` READs on the wire (IBTA 1.4, 9.4.4); below 8 of them latency
//! bounds the rate long before the wire does. Fires when a READ load uses fewer than 8 and the device can do
//! more than it uses, unless size, queue pairs and the measured round trip show that even so few bring twice what the rail
//! could carry. Which depth is in use only the load tells: ours per thread, a described one in its file.

use super::means::latest_load;
use super::wording::{list, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Load, LoadOp, Rail, RailId, Topology};
use std::collections::BTreeMap;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["read-depth"], check };

/// Fewest outstanding READs that keep a wire of today busy at ordinary round trips.
pub(super) const ENOUGH: u32 = 8;

/// A window so many times what the rail could carry does not bind: a round trip under load is longer than one alone.
const AMPLE: f64 = 2.0;

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let Some(load) = latest_load(timeline).filter(|load| load.op == LoadOp::Read) else {
        return Vec::new();
    };
    let mut alike: BTreeMap<(u32, u32), Vec<&str>> = BTreeMap::new();
    let driven = topology.rails_with_id().filter(|(_, rail)| load.drives(&rail.device));
    for (_, rail) in driven.filter(|(id, rail)| !is_ample(timeline, *id, rail)) {
        let can = load.device_read_depth.or(rail.max_read_depth);
        let (Some(used), Some(can)) = (load.read_depth_on(&rail.device), can) else { continue };
        if used < ENOUGH && can > used {
            alike.entry((used, can)).or_default().push(&rail.device);
        }
    }
    alike.into_iter().map(|((used, can), devices)| finding(load, used, can, devices)).collect()
}

/// Whether the READs that may be under way bring more over the measured round trip than the rail could carry: then their
/// depth is not what holds it back, however small. `false` where no round trip was measured.
fn is_ample(timeline: &Timeline, id: RailId, rail: &Rail) -> bool {
    let ceilings = timeline.local().ceilings(id, rail);
    let others = [ceilings.line.or(ceilings.line_raw), ceilings.pcie].into_iter().flatten().reduce(f64::min);
    ceilings.read_window.zip(others).is_some_and(|(window, other)| window >= AMPLE * other)
}

fn finding(load: &Load, used: u32, can: u32, mut devices: Vec<&str>) -> Finding {
    devices.dedup();
    let message = format!(
        "{}: READ depth {used}: each queue pair keeps only {used} {} on the wire, the device can do {can} \
         (limit {ENOUGH})",
        list(devices.iter().copied()),
        verb(used as usize, "READ", "READs"),
    );
    let advice = format!(
        "set max_rd_atomic of the queue pairs to the device's maximum (`ib_read_bw -o {can}`, `railscope load \
         --read-depth {can}`), at both ends; more queue pairs help too"
    );
    Finding::new("read-depth", Severity::Warning, devices, message)
        .with("read_depth", used)
        .with("device_read_depth", can)
        .with("limit_read_depth", ENOUGH)
        .with("queue_pairs", load.qps)
        .advise(advice)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, described, found, named, rail, two_sockets};
    use super::RULE;
    use probes::model::{Load, LoadOp, Rail, Worker};

    fn codes(load: Load, device_can: Option<u32>) -> Vec<String> {
        let rails = ["mlx5_0", "mlx5_1"].map(|d| Rail { max_read_depth: device_can, ..rail(d) });
        let traffic = Traffic { load: Some(load), ..Traffic::loaded(&[21.1, 21.1]) };
        named(&found(&RULE, &two_sockets(rails.into()), &traffic))
    }

    fn deep(op: LoadOp, read_depth: Option<u32>) -> Load {
        Load { read_depth, devices: vec!["mlx5_0".into()], ..described(op) }
    }

    #[test]
    fn one_outstanding_read_where_sixteen_could_be_is_named() {
        assert_eq!(codes(deep(LoadOp::Read, Some(1)), Some(16)), ["read-depth mlx5_0"]);
        let told = Load { device_read_depth: Some(16), ..deep(LoadOp::Read, Some(1)) };
        assert_eq!(codes(told, None), ["read-depth mlx5_0"]);
    }

    #[test]
    fn enough_depth_a_device_that_can_no_more_and_a_write_are_fine() {
        let quiet = Vec::<String>::new();
        assert_eq!(codes(deep(LoadOp::Read, Some(8)), Some(16)), quiet);
        assert_eq!(codes(deep(LoadOp::Read, Some(4)), Some(4)), quiet);
        assert_eq!(codes(deep(LoadOp::Read, Some(1)), None), quiet);
        assert_eq!(codes(deep(LoadOp::Read, None), Some(16)), quiet);
        assert_eq!(codes(deep(LoadOp::Write, Some(1)), Some(16)), quiet);
    }

    #[test]
    fn few_reads_that_are_large_enough_for_the_round_trip_are_fine() {
        use crate::rules::testing::{found_in, session};
        use crate::timeline::Timeline;
        use probes::model::{Frame, LoadOrigin, RailFrame, RailId, WorkerFrame, WorkerPhase};
        use std::sync::Arc;

        let codes = |size_bytes| {
            let topology = two_sockets(vec![Rail { max_read_depth: Some(16), ..rail("mlx5_0") }]);
            let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
            let worker = Worker { device: "mlx5_0".into(), read_depth: Some(1), ..Worker::default() };
            let load = Arc::new(Load {
                origin: LoadOrigin::Ours,
                size_bytes: Some(size_bytes),
                qps: Some(8),
                depth: Some(128),
                read_depth: Some(1),
                workers: vec![worker],
                ..Load::default()
            });
            for seq in 0..5_u64 {
                timeline.push(Frame {
                    seq,
                    at_ns: seq * 1_000_000_000,
                    rails: vec![RailFrame::default()],
                    load: Some(load.clone()),
                    workers: vec![WorkerFrame {
                        rail: Some(RailId(0)),
                        phase: WorkerPhase::Measuring,
                        round_trip_ns: Some(10_000),
                        ..WorkerFrame::default()
                    }],
                    ..Frame::default()
                });
            }
            named(&found_in(&RULE, &topology, &timeline))
        };
        // 8 x 4096 / 10 us = 3.3 GB/s, 8 x 1 MiB / 10 us = 839 GB/s
        assert_eq!(codes(4096), ["read-depth mlx5_0"]);
        assert_eq!(codes(1 << 20), Vec::<String>::new());
    }

    #[test]
    fn our_own_threads_are_judged_by_their_own_depth() {
        let worker = |device: &str, depth| Worker {
            device: device.into(),
            read_depth: Some(depth),
            ..Worker::default()
        };
        let workers = vec![worker("mlx5_0", 16), worker("mlx5_1", 4)];
        let load = Load { read_depth: Some(4), workers, ..described(LoadOp::Read) };
        assert_eq!(codes(load, Some(16)), ["read-depth mlx5_1"]);
    }
}
