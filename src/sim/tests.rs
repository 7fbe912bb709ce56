//! The simulator as the rest of the program sees it.

use super::{Pace, Scenario, Setup, Simulated, node};
use crate::rules::{self, Limits, Severity};
use crate::session::{FrameSource, Recorded, Replay, Stop};
use crate::timeline::Timeline;
use probes::model::{Frame, LoadOp, RailId, WorkerPhase};
use std::path::Path;
use std::time::Duration;

fn simulated(scenario: &str, seed: u64, seconds: u64) -> Simulated {
    let every = Duration::from_millis(100);
    Simulated::new(scenario, seed, every, Pace::AsFastAsPossible, Some(Duration::from_secs(seconds))).unwrap()
}

fn frames(mut source: impl FrameSource) -> Vec<Frame> {
    std::iter::from_fn(|| source.next_frame().unwrap()).collect()
}

fn timeline(mut source: impl FrameSource) -> Timeline {
    let mut timeline = Timeline::new(source.session());
    while let Some(frame) = source.next_frame().unwrap() {
        timeline.push(frame);
    }
    timeline
}

/// What is wrong; what is only worth knowing, such as the bonds' LAG mode, is left out.
fn findings(scenario: &str, seed: u64) -> Vec<String> {
    let timeline = timeline(simulated(scenario, seed, 5));
    rules::diagnose(timeline.session().topology(), &timeline, &Limits::default())
        .iter()
        .filter(|finding| finding.severity > Severity::Info)
        .map(|finding| format!("{} {}", finding.code, finding.devices.join(" ")))
        .collect()
}

#[test]
fn nothing_is_wrong_with_the_healthy_node() {
    for seed in 1..=5 {
        assert_eq!(findings("healthy", seed), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn the_two_slow_bonds_of_the_mixed_node_are_found_each_with_its_cause() {
    for seed in 1..=5 {
        let expected =
            ["bond-leg-imbalance mlx5_bond_3", "pcie-downgraded mlx5_bond_4", "rail-imbalance mlx5_bond_3"];
        assert_eq!(findings("mixed", seed), expected, "seed {seed}");
    }
}

#[test]
fn each_scenario_is_found_by_its_cause_and_nothing_else_is_wrong() {
    for (scenario, cause, wrong) in [
        ("one-leg", "bond-leg-imbalance 3", &["bond-leg-imbalance 3", "rail-imbalance 3"][..]),
        ("cross-numa", "cross-numa 5", &["cross-numa 5", "rail-imbalance 5"]),
        ("shared-uplink", "shared-pcie 3 4", &[]),
        ("gen4-slot", "pcie-capped-by-slot 2", &[]),
        ("congested", "ecn-cnp 6", &["ecn-cnp 6", "rail-imbalance 6"]),
        (
            "memory",
            "tx-pause 8",
            &["tx-pause 5", "tx-pause 6", "tx-pause 7", "tx-pause 8", "rail-imbalance 5 6 7 8"],
        ),
    ] {
        for seed in 1..=3 {
            let timeline = timeline(simulated(scenario, seed, 5));
            let found = rules::diagnose(timeline.topology(), &timeline, &Limits::default());
            let named = |finding: &rules::Finding| {
                format!("{} {}", finding.code, finding.devices.join(" ").replace("mlx5_bond_", ""))
            };
            assert!(
                found.iter().any(|finding| named(finding) == cause),
                "{scenario}, seed {seed}: {found:#?}"
            );
            let above_info = found.iter().filter(|finding| finding.severity > Severity::Info);
            assert_eq!(above_info.map(named).collect::<Vec<_>>(), wrong, "{scenario}, seed {seed}");
        }
    }
}

#[test]
fn rails_read_what_their_ceilings_allow() {
    let timeline = timeline(simulated("mixed", 1, 5));
    let rates = timeline.local().sums().rails.iter().map(|rail| rail.load.mean_gb_per_s().unwrap().round());
    assert_eq!(rates.collect::<Vec<_>>(), [48.0, 48.0, 24.0, 28.0, 48.0, 48.0, 48.0, 48.0]);
}

/// A load of the user's on the healthy node; the mean rate of its first rail, and its last frame.
fn loaded(setup: Setup) -> (f64, Frame) {
    let setup = Setup { duration: Some(Duration::from_secs(4)), warmup: Duration::from_secs(1), ..setup };
    let topology = node::topology(Scenario::Healthy);
    let source = || {
        let every = Duration::from_millis(100);
        Simulated::with(topology.clone(), &setup, 1, every, Pace::AsFastAsPossible).unwrap()
    };
    let timeline = timeline(source());
    let rate = timeline.local().sums().rails[0].load.mean_gb_per_s().unwrap();
    (rate, frames(source()).pop().unwrap())
}

#[test]
fn a_load_of_the_users_moves_what_its_parameters_allow() {
    let (rate, last) = loaded(Setup::default());
    assert_eq!((rate.round(), last.at_ns), (48.0, 5_000_000_000), "warm-up and time");
    let (rate, _) = loaded(Setup { qps: 1, ..Setup::default() });
    assert_eq!(rate.round(), 24.0, "one queue pair takes one leg");
    let (rate, last) = loaded(Setup { workers: 2, size_bytes: 1 << 20, ..Setup::default() });
    assert_eq!((rate.round(), last.workers.len()), (48.0, 16));
    assert_eq!(last.workers[1].bytes, last.workers[1].operations << 20);
    let load = last.load.unwrap();
    assert_eq!((load.workers[1].number, load.workers[1].qps, load.qps), (Some(2), Some(2), Some(4)));
}

#[test]
fn a_write_leaves_by_the_nic_and_a_read_arrives() {
    let moved = |op| {
        let (_, last) = loaded(Setup { op, ..Setup::default() });
        let before = loaded(Setup { op, qps: 4, ..Setup::default() }).1.rails[0].clone();
        assert_eq!(before, last.rails[0], "equal seeds, equal bytes");
        let first = frames(simulated("healthy", 1, 1)).swap_remove(0);
        [last.rails[0].rx_bytes, last.rails[0].tx_bytes]
            .into_iter()
            .zip([first.rails[0].rx_bytes, first.rails[0].tx_bytes])
            .map(|(after, before)| (after.unwrap() - before.unwrap()) / 1_000_000_000)
            .collect::<Vec<_>>()
    };
    let [read, write] = [moved(LoadOp::Read), moved(LoadOp::Write)];
    assert!(read[0] > 200 && read[1] < 5, "{read:?}");
    assert!(write[1] > 200 && write[0] < 5, "{write:?}");
}

#[test]
fn rails_that_are_down_or_without_a_bound_are_left_out_with_the_reason() {
    let mut topology = node::topology(Scenario::Healthy);
    topology.rails[1].state = Some("DOWN".into());
    (topology.rails[2].bond, topology.rails[2].line_gbit_per_s, topology.rails[2].pcie) = (None, None, None);
    let left_out = Setup::leave_out(&mut topology);
    assert_eq!(
        left_out,
        [
            "mlx5_bond_2: it is DOWN",
            "mlx5_bond_3: neither what its wire nor what its PCIe path can carry is known"
        ]
    );
    assert_eq!(topology.rails.len(), 6);
}

#[test]
fn the_nic_counts_headers_and_so_a_little_more_than_the_payload() {
    let last = frames(simulated("healthy", 1, 5)).pop().unwrap();
    let first = frames(simulated("healthy", 1, 1)).swap_remove(0);
    for (at, worker) in last.workers.iter().enumerate() {
        let counted = last.rails[at].rx_bytes.unwrap() - first.rails[at].rx_bytes.unwrap();
        let over = counted as f64 / worker.bytes as f64;
        assert!((1.010..1.020).contains(&over), "{over}");
    }
}

#[test]
fn equal_seeds_give_equal_files_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, seed: u64| {
        let path = folder.path().join(name);
        let recorded = Recorded::create(simulated("mixed", seed, 3), &path).unwrap();
        assert_eq!(frames(recorded).len(), 31);
        std::fs::read(Path::new(&path)).unwrap()
    };
    let (one, again, other) = (file("one", 7), file("again", 7), file("other", 8));
    assert!(one == again, "equal seeds");
    assert!(one != other, "different seeds");
}

#[test]
fn frames_say_that_nothing_is_measured() {
    let source = simulated("mixed", 9, 1);
    let session = source.session();
    assert_eq!(session.simulated.as_ref().map(|s| (s.scenario.as_str(), s.seed)), Some(("mixed", 9)));
    let frames = frames(source);
    let (first, last) = (&frames[0], &frames[10]);
    assert_eq!(first.workers[0].phase, WorkerPhase::Warmup);
    assert_eq!(last.workers[0].phase, WorkerPhase::Measuring);
    assert_eq!(last.workers[7].rail, Some(RailId(7)));
    let load = last.load.as_ref().unwrap();
    assert_eq!(load.transport.as_deref(), Some("sim"));
    assert_eq!(load.perf_gaps["cycles"], "simulated");
    assert!(frames.iter().flat_map(|f| &f.workers).all(|w| w.perf.cycles.is_none()));
    let full: Vec<u64> = frames.iter().filter(|f| !f.rails[0].legs.is_empty()).map(|f| f.seq).collect();
    assert_eq!(full, [0, 10], "legs are read once a second");
}

#[test]
fn the_end_of_a_session_is_seen_however_long_the_interval_is() {
    let times = |every: u64, end: u64| {
        let (every, end) = (Duration::from_millis(every), Duration::from_millis(end));
        let source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let frames = frames(source);
        assert!(!frames.last().unwrap().rails[0].legs.is_empty(), "the last frame reads everything");
        frames.iter().map(|frame| frame.at_ns / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(times(100, 300), [0, 100, 200, 300]);
    assert_eq!(times(200, 500), [0, 200, 400]);
    assert_eq!(times(200, 550), [0, 200, 400, 550]);
    assert_eq!(times(10_000, 5_000), [0, 5_000]);
}

#[test]
fn a_recorded_simulation_and_its_replay_are_judged_alike_after_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.rsz");
    let judge = |mut source: Box<dyn FrameSource>| {
        let session = source.session();
        let mut timeline = Timeline::new(session.clone());
        let mut judged = Vec::new();
        while let Some(frame) = source.next_frame().unwrap() {
            timeline.push(frame);
            judged.push(rules::diagnose(session.topology(), &timeline, &Limits::default()));
        }
        judged
    };
    let live = judge(Box::new(Recorded::create(simulated("mixed", 3, 5), &path).unwrap()));
    let wrong = |found: &Vec<rules::Finding>| found.iter().filter(|f| f.severity > Severity::Info).count();
    assert_eq!(live.last().map(wrong), Some(3));
    assert_eq!(judge(Box::new(Replay::open(&path).unwrap())), live);
}

#[test]
fn an_unknown_scenario_names_those_there_are() {
    let error = Simulated::new("broken", 1, Duration::from_millis(100), Pace::RealTime, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no scenario `broken`; there are: healthy, mixed, one-leg, hashed, cross-numa, shared-uplink, gen4-slot, congested, memory, planted"
    );
    let error = Simulated::new("mixed", 1, Duration::from_nanos(1), Pace::RealTime, None).unwrap_err();
    assert!(error.to_string().starts_with("--every:"), "{error}");
}

#[test]
fn a_session_without_end_ends_when_it_is_told_to() {
    let stop = Stop::new();
    let every = Duration::from_hours(1);
    let mut source =
        Simulated::new("mixed", 1, every, Pace::RealTime, None).unwrap().stopped_by(stop.clone());
    assert!(source.next_frame().unwrap().is_some(), "the first frame is due at once");
    stop.stop();
    assert_eq!(source.next_frame().unwrap(), None);
}

#[test]
fn a_load_of_some_rails_leaves_the_others_alone() {
    let world = Scenario::world("healthy", 1).unwrap();
    let rails = Some(vec!["mlx5_bond_2".to_owned()]);
    let setup = Setup { rails, in_all: Some(Duration::from_secs(2)), ..Setup::default() };
    let source = Simulated::of(&world, &setup, 1, Duration::from_millis(100), Pace::AsFastAsPossible);
    let mut source = source.unwrap();
    let mut last = None;
    while let Some(frame) = source.next_frame().unwrap() {
        last = Some(frame);
    }
    let last = last.unwrap();
    assert_eq!(last.load.as_ref().unwrap().devices, ["mlx5_bond_2"]);
    let moved: Vec<bool> = last.rails.iter().map(|rail| rail.rx_bytes > Some(0)).collect();
    assert_eq!(moved, [false, true, false, false, false, false, false, false]);
}
