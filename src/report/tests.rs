use super::build;
use crate::rules::testing::{Traffic, bonded, described, process, rail, session, timeline, two_sockets};
use crate::rules::{Limits, Severity};
use crate::timeline::Timeline;
use probes::model::{
    Failure, Frame, Gap, Gid, GidChoice, GidType, Hop, Latencies, LegFrame, Load, LoadOp, LoadOrigin,
    PerfFrame, Rail, RailFrame, RailId, Registered, Simulation, Topology, Worker, WorkerFrame, WorkerPhase,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A bond with one busy leg, a card at half width on the far node, and a process bound to the wrong node.
fn slow_node() -> (Topology, Traffic) {
    let mut bond = bonded("mlx5_bond_1");
    bond.netdev = Some("bond1".into());
    bond.driver = Some("mlx5_core".into());
    bond.gids = vec![Gid {
        index: 3,
        address: "::ffff:10.0.0.1".parse().unwrap(),
        kind: Some(GidType::RoceV2),
        netdev: Some("bond1".into()),
    }];
    bond.gid = Some(GidChoice { index: 3, reason: "RoCE v2, routable IPv4".into() });
    let mut half = Rail { numa_node: Some(1), ..rail("mlx5_2") };
    half.pcie.as_mut().unwrap().hops =
        vec![Hop { current_width: Some(8), ..crate::rules::testing::hop("0000:81:00.0", 32.0, 16) }];
    let mut topology = two_sockets(vec![bond, half]);
    topology.host.hostname = Some("n1".into());
    topology.host.kernel = Some("6.1.0".into());
    topology.host.memlock_unlimited = Some(true);
    topology.gap("firmware", "mlx5_2", "fw_ver: permission denied");
    let traffic = Traffic {
        legs_rx_gb_per_s: vec![24.4, 0.1],
        processes: Some(vec![process(4242, "mlx5_bond_1", "4-7")]),
        ..Traffic::loaded(&[24.5, 20.0])
    };
    (topology, traffic)
}

fn slow_report() -> super::Report {
    let (topology, traffic) = slow_node();
    build(&timeline(topology, &traffic), &Limits::default(), &[])
}

#[test]
fn a_slow_node_in_words() {
    insta::assert_snapshot!(slow_report().to_string());
}

#[test]
fn a_slow_node_as_json() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&slow_report()).unwrap());
}

#[test]
fn a_load_of_ours_in_words() {
    insta::assert_snapshot!(loaded_report().to_string());
}

#[test]
fn a_load_of_ours_as_json() {
    let load = serde_json::to_value(loaded_report()).unwrap()["load"].clone();
    insta::assert_snapshot!(serde_json::to_string_pretty(&load).unwrap());
}

#[test]
fn a_load_into_a_gpu_says_which_and_how_its_memory_was_registered() {
    let mut report = loaded_report();
    report.load.as_mut().unwrap().gpu = Some("gpu0".into());
    // lines are broken between words
    let words = |report: &super::Report| {
        report.to_string().split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert!(words(&report).contains(", data in gpu0, "), "{report}");
    report.load.as_mut().unwrap().threads[0].registered = Some(Registered::Dmabuf);
    assert!(words(&report).contains(", data in gpu0 (dmabuf), "), "{report}");
}

#[test]
fn a_load_on_one_leg_says_which_leg_received() {
    let (topology, mut traffic) = slow_node();
    traffic.load = Some(Load { leg: Some(2), ..described(LoadOp::Read) });
    let report = build(&timeline(topology, &traffic), &Limits::default(), &[]);
    let text = report.to_string();
    for line in [
        "  mlx5_bond_1 received: leg 1 (eth0) 100 %; the hash of the switch put all queue\n",
        "  mlx5_2 received: not measurable here, because it is no bond on this host\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("SENT ON LEG 2 of each bond"), "{text}");
    assert!(report.findings.iter().all(|found| found.code != "bond-leg-imbalance"), "{text}");
}

/// Four seconds of READ over one rail, 49.02 GB/s of its wire.
fn loaded_report() -> super::Report {
    let worker = Worker {
        device: "mlx5_0".into(),
        cpus: Some("0-3".parse().unwrap()),
        buffer_node: Some(0),
        read_depth: Some(16),
        ..Worker::default()
    };
    let load = Load {
        origin: LoadOrigin::Ours,
        transport: Some("verbs".into()),
        devices: vec!["mlx5_0".into()],
        depth: Some(128),
        read_depth: Some(16),
        place: Some("local".into()),
        duration_s: Some(4.0),
        workers: vec![worker],
        perf_gaps: BTreeMap::from([("cycles".into(), "this machine has no counter for them".into())]),
        ..described(LoadOp::Read)
    };
    let load = Arc::new(load);
    let mut timeline = Timeline::new(Arc::new(session(two_sockets(vec![rail("mlx5_0")]))));
    for seq in 0..5 {
        let done = WorkerFrame {
            rail: Some(RailId(0)),
            phase: WorkerPhase::Measuring,
            bytes: seq * 48_000_000_000,
            operations: seq * 732_421,
            polls: 100,
            empty_polls: 25,
            errors: BTreeMap::from([("RETRY_EXC_ERR".to_owned(), 2)]),
            restarts: 1,
            measured: None,
            perf: PerfFrame { context_switches: Some(seq * 7), ..PerfFrame::default() },
            latency: Latencies::from_counts([
                (Latencies::bucket(171_000), seq * 900),
                (Latencies::bucket(350_000), seq * 100),
            ]),
            round_trip_ns: Some(80_000),
        };
        let rail =
            RailFrame { rx_bytes: Some(seq * 48_960_000_000), tx_bytes: Some(0), ..RailFrame::default() };
        let failed = [
            "mlx5_0: RETRY_EXC_ERR: the peer did not acknowledge in time; it is gone, or the path to it is",
            "mlx5_0: back after 1.1 s",
        ];
        let failures =
            if seq == 2 { failed.map(|text| Failure::new(Some("mlx5_0"), text)).into() } else { vec![] };
        timeline.push(Frame {
            seq,
            at_ns: seq * 1_000_000_000,
            rails: vec![rail],
            load: Some(load.clone()),
            workers: vec![done],
            failures,
            ..Frame::default()
        });
    }
    build(&timeline, &Limits::default(), &[])
}

#[test]
fn every_key_of_the_contract_is_there_and_unknown_is_null() {
    let topology = two_sockets(vec![Rail { device: "rxe0".into(), port: 1, ..Rail::default() }]);
    let report = build(&timeline(topology, &Traffic::default()), &Limits::default(), &[]);
    let json = serde_json::to_value(&report).unwrap();
    for key in ["schema", "generated_by", "host", "numa", "rails", "total", "findings", "gaps", "events"] {
        assert!(json.get(key).is_some(), "{key}");
    }
    for key in [
        "netdev",
        "driver",
        "is_vf",
        "link_layer",
        "state",
        "phys_state",
        "lid",
        "sm_lid",
        "numa_node",
        "firmware",
        "board_id",
        "line_gbit_per_s",
        "path_mtu",
        "netdev_mtu",
        "gid",
        "pcie",
        "bond",
        "max_read_depth",
        "rx_gb_per_s",
        "tx_gb_per_s",
        "load_gb_per_s",
    ] {
        assert_eq!(json["rails"][0].get(key), Some(&serde_json::Value::Null), "{key}");
    }
    for key in ["line_raw", "line", "pcie", "read_window"] {
        assert_eq!(json["rails"][0]["ceilings_gb_per_s"].get(key), Some(&serde_json::Value::Null), "{key}");
    }
    assert_eq!(json["total"]["rx_gb_per_s"], serde_json::Value::Null);
    assert_eq!(json.get("load"), None);
}

#[test]
fn no_line_for_people_is_wider_than_a_terminal() {
    let (mut topology, traffic) = slow_node();
    topology.rails[0].device = "rocep129s0f1np1_with_a_very_long_name".into();
    topology.gaps = (0..9)
        .map(|at| Gap {
            probe: "pcie".into(),
            subject: "x".into(),
            reason: format!("{at} {}", "why ".repeat(60)),
        })
        .collect();
    topology.host.cpu_model = Some("A processor with a name ".repeat(6));
    let text = build(&timeline(topology, &traffic), &Limits::default(), &[]).to_string();
    for line in text.lines().filter(|line| !line.contains('`')) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(text.contains("and 3 more facts"), "{text}");
}

#[test]
fn an_ignored_code_is_left_out() {
    let (topology, traffic) = slow_node();
    let ignore = ["cross-numa".to_owned(), "bond-leg-imbalance".to_owned(), "pcie-downgraded".to_owned()];
    let report = build(&timeline(topology, &traffic), &Limits::default(), &ignore);
    assert_eq!(report.worst(), None);
    assert!(report.to_string().contains("nothing wrong found"), "{report}");
    assert_eq!(slow_report().worst(), Some(Severity::Warning));
}

#[test]
fn a_load_that_was_cut_short_is_not_fine() {
    let (topology, traffic) = slow_node();
    let ignore = ["cross-numa".to_owned(), "bond-leg-imbalance".to_owned(), "pcie-downgraded".to_owned()];
    let mut report = build(&timeline(topology, &traffic), &Limits::default(), &ignore);
    report.load.as_mut().unwrap().ended = Some("n2 closed the control connection".to_owned());
    let text = report.to_string();
    assert!(
        text.contains("the load ended before its time") && !text.contains("nothing wrong found"),
        "{text}"
    );
    assert!(text.contains("n2 closed the control"), "{text}");
}

#[test]
fn a_rail_on_which_nothing_completed_is_not_fine() {
    let load = Arc::new(Load {
        origin: LoadOrigin::Ours,
        transport: Some("verbs".into()),
        devices: vec!["mlx5_0".into(), "mlx5_1".into()],
        ..described(LoadOp::Read)
    });
    let rails = vec![rail("mlx5_0"), rail("mlx5_1")];
    let mut timeline = Timeline::new(Arc::new(session(two_sockets(rails))));
    for seq in 0..4 {
        let worker = |at: usize| WorkerFrame {
            rail: Some(RailId(at)),
            phase: WorkerPhase::Measuring,
            bytes: seq * 48_000_000_000 * at as u64,
            operations: seq * 732_421 * at as u64,
            polls: 100,
            ..WorkerFrame::default()
        };
        let idle = RailFrame { rx_bytes: Some(0), tx_bytes: Some(0), ..RailFrame::default() };
        timeline.push(Frame {
            seq,
            at_ns: seq * 1_000_000_000,
            rails: vec![idle.clone(), idle],
            load: Some(load.clone()),
            workers: vec![worker(0), worker(1)],
            ..Frame::default()
        });
    }
    let report = build(&timeline, &Limits::default(), &[]);
    let silent = report.load.as_ref().unwrap().silent();
    assert_eq!(silent, ["mlx5_0"]);
    assert_eq!(report.worst(), Some(Severity::Error));
    let text = report.to_string().replace('\n', " ");
    assert!(text.contains("mlx5_0: no operation completed in 3.00 s: nothing came back"), "{text}");
    assert!(!text.contains("nothing wrong found"), "{text}");
}

#[test]
fn a_load_that_met_errors_is_not_fine_whatever_the_rules_say() {
    let report = loaded_report();
    assert!(report.findings.iter().all(|finding| finding.severity == Severity::Info), "{report}");
    assert_eq!(report.worst(), Some(Severity::Error));
}

#[test]
fn a_rail_whose_load_was_stopped_by_an_error_does_not_look_well() {
    let mut report = loaded_report();
    assert!(report.to_string().contains("\nmlx5_0    0 ACTIVE"), "{report}");
    report.load.as_mut().unwrap().threads[0].phase = WorkerPhase::Failed;
    assert!(report.to_string().contains("\nmlx5_0    0 FAILED"), "{report}");
    report.rails[0].state = Some("DOWN".to_owned());
    assert!(report.to_string().contains("\nmlx5_0    0 DOWN"), "{report}");
}

#[test]
fn the_pages_and_the_path_mtu_of_a_load_are_said() {
    let mut report = loaded_report();
    let mut said = |each: &[Option<u64>]| {
        let load = report.load.as_mut().unwrap();
        load.path_mtu = Some(1024);
        load.threads = vec![load.threads[0].clone(); each.len()];
        load.threads.iter_mut().zip(each).for_each(|(thread, bytes)| thread.page_bytes = *bytes);
        report.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(
        said(&[Some(4096)])
            .contains(", path MTU 1024, READ depth 16, 1 thread, placed local, buffers in ordinary pages,")
    );
    assert!(said(&[Some(2 << 20), Some(2 << 20)]).contains("buffers in huge pages of 2 MiB,"));
    assert!(said(&[Some(2 << 20), Some(4096)]).contains("1 of 2 buffers in huge pages of 2 MiB, the others"));
    assert!(!said(&[None]).contains("pages"));
}

#[test]
fn of_many_failures_the_first_are_told_and_the_rest_counted() {
    let mut report = loaded_report();
    let load = report.load.as_mut().unwrap();
    load.failures = vec![load.failures[0].clone(); 100];
    load.more_failures = 5;
    let text = report.to_string();
    assert_eq!(text.matches("  at 2.0 s: mlx5_0: RETRY_EXC_ERR").count(), 12, "{text}");
    assert!(text.contains("\n  and 93 more of these: --json lists the first hundred\n"), "{text}");
}

#[test]
fn a_recording_without_a_sample_is_not_called_a_look() {
    let report = build(&Timeline::new(Arc::new(session(slow_node().0))), &Limits::default(), &[]);
    assert!(report.to_string().contains("no samples, no rates"), "{report}");
}

#[test]
fn a_target_is_judged_like_the_reader() {
    let (far, _) = slow_node();
    let mut header = session(two_sockets(vec![rail("mlx5_0")]));
    header.hosts.push(Arc::new(far));
    let report = build(&Timeline::new(Arc::new(header)), &Limits::default(), &[]);
    assert_eq!((report.findings.len(), report.worst()), (0, Some(Severity::Warning)));
    let peer = report.peer.as_ref().unwrap();
    assert_eq!(
        (peer.findings[0].code.as_ref(), peer.host.hostname.as_deref()),
        ("pcie-downgraded", Some("n1"))
    );
    assert!(report.to_string().contains("peer n1: 1 warning"), "{report}");
    assert_eq!(serde_json::to_value(&report).unwrap()["peer"]["schema"], "railscope.report/1");
}

#[test]
fn a_rail_is_shown_as_it_was_last_seen() {
    let mut timeline = Timeline::new(Arc::new(session(two_sockets(["a", "b", "c"].map(rail).into()))));
    let down = RailFrame { state: Some("DOWN".into()), ..RailFrame::default() };
    let gone = RailFrame { lost: true, ..RailFrame::default() };
    timeline.push(Frame { rails: vec![down, gone, RailFrame::default()], ..Frame::default() });
    let report = build(&timeline, &Limits::default(), &[]);
    let rows: Vec<_> = report.rails.iter().map(|r| (r.state.as_deref(), r.line_gbit_per_s, r.lost)).collect();
    assert_eq!(rows, [(Some("DOWN"), None, false), (None, None, true), (Some("ACTIVE"), Some(400.0), false)]);
    assert_eq!(report.total.physical_ports, 1);
    assert!(report.to_string().contains("GONE"), "{report}");
}

#[test]
fn what_is_simulated_says_so() {
    let mut header = session(two_sockets(vec![rail("mlx5_0")]));
    header.simulated = Some(Simulation { scenario: "mixed".into(), seed: 7 });
    let report = build(&Timeline::new(Arc::new(header)), &Limits::default(), &[]);
    assert!(report.to_string().contains("SIMULATED: scenario mixed, seed 7"), "{report}");
    assert_eq!(serde_json::to_value(&report).unwrap()["simulated"]["scenario"], "mixed");
}

/// Frames as no honest recording holds them.
fn any_frame() -> impl proptest::strategy::Strategy<Value = Frame> {
    use proptest::collection::vec;
    use proptest::option::of;
    use proptest::prelude::{Strategy, any};
    let leg = || of(any::<u64>()).prop_map(|rx_rdma_bytes| LegFrame { rx_rdma_bytes, ..LegFrame::default() });
    let rail =
        (of(any::<u64>()), of(any::<u64>()), vec(leg(), 0..4)).prop_map(|(rx_bytes, tx_bytes, legs)| {
            RailFrame { rx_bytes, tx_bytes, legs, ..RailFrame::default() }
        });
    let worker = (of(0..9_usize), any::<u64>()).prop_map(|(rail, bytes)| WorkerFrame {
        rail: rail.map(RailId),
        phase: WorkerPhase::Measuring,
        bytes,
        operations: bytes,
        perf: PerfFrame { cycles: Some(bytes), instructions: Some(0), ..PerfFrame::default() },
        ..WorkerFrame::default()
    });
    (vec(rail, 0..4), vec(worker, 0..4), 0..u64::MAX, any::<bool>()).prop_map(
        |(rails, workers, at_ns, loaded)| {
            let load = loaded.then(|| Arc::new(described(LoadOp::Write)));
            let far = Arc::new(vec![process(1, "mlx5_9", "9"), process(1, "mlx5_2", "0")]);
            Frame { at_ns, rails, workers, load, processes: Some(far), ..Frame::default() }
        },
    )
}

proptest::proptest! {
    #[test]
    fn whatever_the_frames_hold_the_report_has_finite_numbers(
        frames in proptest::collection::vec(any_frame(), 0..12)
    ) {
        let mut timeline = Timeline::new(Arc::new(session(slow_node().0)));
        for frame in frames {
            timeline.push(frame);
        }
        let report = build(&timeline, &Limits::default(), &[]);
        for rail in &report.rails {
            for rate in [rail.rx_gb_per_s, rail.tx_gb_per_s, rail.load_gb_per_s].into_iter().flatten() {
                proptest::prop_assert!(rate.is_finite() && rate >= 0.0);
            }
        }
        serde_json::to_string(&report).unwrap();
        proptest::prop_assert!(!report.to_string().contains("NaN"));
    }
}
