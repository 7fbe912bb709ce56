use super::{Asked, Pins, Seen, judge};
use crate::rules::testing::{process, rail, session, two_sockets};
use crate::rules::{Limits, Severity};
use probes::model::{Gpu, GpuPath, PathClass, PciePath, Rail, Topology};
use probes::processes::{Mapped, Placement, Registered, ThreadGroup};
use std::sync::Arc;

fn group(cpus: &str, count: u32, busy_ticks: u64) -> ThreadGroup {
    ThreadGroup {
        cpus: cpus.parse().unwrap(),
        count,
        busiest: 4300 + count,
        name: "ib-poll".into(),
        busy_ticks,
        last_cpus: vec![cpus.parse::<probes::model::CpuSet>().unwrap().iter().next().unwrap()],
    }
}

/// Threads and mappings (policy, node, MiB) of PID 4242, which has a queue pair on `mlx5_0` of node 0.
fn seen(threads: Vec<ThreadGroup>, memory: &[(&str, u32, u64)]) -> Seen {
    let mapped = |(policy, node, mib): &(&str, u32, u64)| Mapped {
        policy: (*policy).to_owned(),
        bytes_by_node: [(*node, mib << 20)].into(),
    };
    Seen {
        processes: vec![process(4242, "mlx5_0", "0-7")],
        placement: Ok(Placement {
            threads,
            mems_allowed: Some("0-1".parse().unwrap()),
            memory: Ok(memory.iter().map(mapped).collect()),
            gpu: None,
        }),
        registered: None,
    }
}

fn topology() -> Topology {
    two_sockets(vec![rail("mlx5_0"), Rail { numa_node: Some(1), ..rail("mlx5_1") }])
}

fn pins(seen: Seen, command: &str) -> Pins {
    let words: Vec<String> = command.split_ascii_whitespace().map(str::to_owned).collect();
    judge(&Arc::new(session(topology())), &[seen], Asked::of(&words), &Limits::default(), &[])
}

#[test]
fn threads_and_memory_on_the_rails_node_are_near() {
    let pins = pins(seen(vec![group("0-3", 4, 900)], &[("bind:0", 0, 512)]), "numactl -N 0 -m 0 ib_read_bw");
    assert_eq!(pins.processes[0].verdict, "near");
    assert_eq!((pins.worst(), pins.processes[0].distance), (None, Some(10)));
}

#[test]
fn the_threads_that_do_the_work_are_judged_and_not_the_one_that_waits() {
    // the main thread kept its binding, and a library bound the pollers elsewhere
    let rebound = seen(vec![group("4-5", 2, 980), group("0-3", 1, 20)], &[("bind:0", 0, 512)]);
    let pins = pins(rebound, "");
    assert_eq!(pins.processes[0].verdict, "cross-numa");
    assert_eq!((pins.worst(), pins.processes[0].distance), (Some(Severity::Warning), Some(32)));
    assert_eq!(pins.processes[0].cpus.as_deref(), Some("4-5"));
}

#[test]
fn threads_that_left_what_numactl_was_asked_for_are_told_with_the_busiest() {
    let rebound = seen(vec![group("4-5", 2, 750), group("0-3", 1, 250)], &[("bind:0", 0, 512)]);
    let pins = pins(rebound, "numactl --cpunodebind=0 --membind=0 ./launch.sh");
    assert_eq!(pins.processes[0].verdict, "not where it was bound to");
    assert_eq!(
        pins.processes[0].lost,
        [
            "2 of 3 threads, with 75 % of the work, may run on CPUs off 0-3, which `numactl --cpunodebind=0 --membind=0` \
          asked for; the busiest is ib-poll (thread 4302) on 4-5 (node 1)"
        ]
    );
    assert_eq!(pins.worst(), Some(Severity::Warning));
}

#[test]
fn memory_that_another_process_touched_first_is_told_against_what_was_asked() {
    let shared = seen(vec![group("0-3", 3, 900)], &[("bind:0", 0, 256), ("default", 1, 768)]);
    let pins = pins(shared, "numactl --cpunodebind=0 --membind=0 ./launch.sh");
    assert_eq!(pins.processes[0].lost.len(), 1);
    let lost = &pins.processes[0].lost[0];
    assert!(lost.starts_with("75 % of its large mappings are on node 1 (policy default), though"), "{lost}");
    assert_eq!(pins.processes[0].findings[0].code, "cross-numa");
}

#[test]
fn a_process_that_may_be_near_and_far_is_not_pinned() {
    let pins = pins(seen(vec![group("0-7", 3, 900)], &[("default", 0, 256)]), "");
    assert_eq!(pins.processes[0].verdict, "not-pinned");
    assert_eq!(pins.worst(), Some(Severity::Info));
}

#[test]
fn what_is_registered_with_a_rail_is_said_and_that_its_place_is_not_told() {
    let registered = Registered { regions: 2, bytes: 96 << 20, large_regions: 2, large_bytes: 96 << 20 };
    let seen = Seen {
        registered: Some([("mlx5_0".to_owned(), registered)].into()),
        ..seen(vec![group("0-3", 4, 900)], &[("bind:0", 0, 512)])
    };
    let text = pins(seen, "").to_string().split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("1 queue pair, 100.7 MB registered in 2 memory regions)"), "{text}");
    assert!(text.contains("which of it is registered the kernel"), "{text}");
}

#[test]
fn what_is_not_known_is_said_with_its_reason() {
    let unreadable = Seen {
        placement: Ok(Placement {
            memory: Err("proc/4242/numa_maps: permission denied; run as root".into()),
            ..seen(vec![group("0-3", 1, 900)], &[]).placement.unwrap()
        }),
        ..seen(Vec::new(), &[])
    };
    let verdict = pins(unreadable, "").processes[0].verdict.clone();
    assert_eq!(
        verdict,
        "CPUs near; memory unknown, because proc/4242/numa_maps: permission denied; run as root"
    );
    let mut nowhere = seen(vec![group("0-3", 1, 900)], &[]);
    nowhere.processes[0].device = String::new();
    let verdict = pins(nowhere, "").processes[0].verdict.clone();
    assert_eq!(verdict, "unknown, because it has no queue pair on a rail of this host");
}

#[test]
fn a_gpu_whose_near_rail_is_another_one_is_named() {
    let path = |device: &str, class| GpuPath { device: device.into(), class: Some(class), ports: Vec::new() };
    let gpu = Gpu {
        name: "gpu0".into(),
        numa_node: Some(1),
        pcie: PciePath { address: "0000:b1:00.0".into(), ..PciePath::default() },
        paths: vec![path("mlx5_0", PathClass::Sys), path("mlx5_1", PathClass::Pix)],
        ..Gpu::default()
    };
    let topology = Topology { gpus: vec![gpu], ..topology() };
    let mut seen = seen(vec![group("0-3", 1, 900)], &[("bind:0", 0, 512)]);
    if let Ok(placement) = &mut seen.placement {
        placement.gpu = Some("0000:b1:00.0".into());
    }
    let pins = judge(&Arc::new(session(topology)), &[seen], None, &Limits::default(), &[]);
    assert_eq!(pins.processes[0].gpu.as_ref().unwrap().paths, ["mlx5_0 SYS"]);
    assert_eq!(
        pins.processes[0].findings[0].message,
        "ib_read_bw (PID 4242) holds gpu0 and uses mlx5_0, SYS from it; mlx5_1 is PIX"
    );
}

#[test]
fn the_text_fits_eighty_columns_and_shows_threads_memory_and_what_to_do() {
    let rebound =
        seen(vec![group("4-5", 2, 750), group("0-3", 1, 250)], &[("bind:0", 0, 256), ("default", 1, 768)]);
    let text = pins(rebound, "numactl --cpunodebind=0 --membind=0 ./launch.sh").to_string();
    for line in text.lines() {
        assert!(line.chars().count() <= 80 || line.contains('`'), "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_left_out_of_the_findings_is_not_called_near() {
    let far = seen(vec![group("4-7", 3, 900)], &[("bind:1", 1, 256)]);
    let ignore = ["cross-numa".to_owned()];
    let pins = judge(&Arc::new(session(topology())), &[far], None, &Limits::default(), &ignore);
    assert_eq!((pins.processes[0].verdict.as_str(), pins.worst()), ("cross-numa, which is left out", None));
}

#[test]
fn mappings_that_are_many_times_what_is_registered_leave_the_place_of_the_buffers_unknown() {
    let with = |registered: Registered| Seen {
        registered: Some([("mlx5_0".to_owned(), registered)].into()),
        ..seen(vec![group("0-3", 4, 900)], &[("default", 1, 512)])
    };
    let little = pins(with(Registered { regions: 9, bytes: 9 << 16, ..Registered::default() }), "");
    assert_eq!(
        little.processes[0].verdict,
        "CPUs near; memory unknown, because its large mappings are many times what it registered"
    );
    let most = Registered { regions: 1, bytes: 400 << 20, large_regions: 1, large_bytes: 400 << 20 };
    assert_eq!(pins(with(most), "").processes[0].verdict, "cross-numa");
}
