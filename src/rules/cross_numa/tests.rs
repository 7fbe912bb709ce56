use super::super::testing::{Traffic, described, found, named, process, rail, two_sockets};
use super::RULE;
use crate::rules::{Finding, Severity};
use probes::model::{
    Gpu, Load, LoadOp, LoadOrigin, LoadTarget, Process, ProcessSource, Rail, Topology, Worker,
};
use std::collections::BTreeMap;

const GIB: u64 = 1 << 30;

fn on(device: &str, node: u32) -> Rail {
    Rail { numa_node: Some(node), ..rail(device) }
}

/// Two rails on node 0 and one on node 1; CPUs 0-3 are node 0's, 4-7 node 1's.
fn machine() -> Topology {
    two_sockets(vec![on("mlx5_0", 0), on("mlx5_1", 0), on("mlx5_2", 1)])
}

fn with(processes: Vec<Process>) -> Vec<Finding> {
    found(
        &RULE,
        &machine(),
        &Traffic {
            processes: Some(processes),
            rx_gb_per_s: vec![vec![0.0; 3]],
            load: None,
            ..Traffic::default()
        },
    )
}

fn under(load: Load) -> Vec<Finding> {
    found(&RULE, &machine(), &Traffic { load: Some(load), ..Traffic::loaded(&[1.0, 1.0, 1.0]) })
}

fn memory(process: Process, bytes_by_node: &[(u32, u64)]) -> Process {
    Process { large_mapping_bytes_by_node: Some(bytes_by_node.iter().copied().collect()), ..process }
}

#[test]
fn a_process_bound_to_the_far_socket_is_named_with_the_command_that_mends_it() {
    let found = with(vec![memory(process(4242, "mlx5_0", "4-7"), &[(1, 2 * GIB)])]);
    assert_eq!(named(&found), ["cross-numa mlx5_0"]);
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(
        found[0].message,
        "ib_read_bw (PID 4242) uses mlx5_0, which is on node 0, but runs on CPUs 4-7 (node 1) and has 100 % \
         of its large mappings off that node, on node 1 (limit 20 %); distance 32, another socket"
    );
    assert_eq!(
        found[0].advice,
        "start it again as: `numactl --cpunodebind=0 --membind=0 ib_read_bw ...` (memory that is allocated \
         stays where it is, so moving only its threads does not mend it)"
    );
    assert_eq!(found[0].evidence["pid"], 4242);
    assert_eq!(found[0].evidence["cpu_nodes"], serde_json::json!([1]));
}

#[test]
fn a_process_on_the_rails_node_is_fine() {
    assert_eq!(named(&with(vec![memory(process(1, "mlx5_0", "0-3"), &[(0, GIB)])])), Vec::<String>::new());
}

#[test]
fn a_process_that_may_run_anywhere_is_not_called_far() {
    assert_eq!(named(&with(vec![process(1, "mlx5_0", "0-7")])), Vec::<String>::new());
}

#[test]
fn two_rails_of_one_node_make_one_finding() {
    let found = with(vec![process(1, "mlx5_0", "4-7"), process(1, "mlx5_1", "4-7")]);
    assert_eq!(named(&found), ["cross-numa mlx5_0,mlx5_1"]);
}

#[test]
fn where_only_the_cpus_are_off_a_running_process_can_be_moved() {
    let found = with(vec![memory(process(7, "mlx5_2", "0-3"), &[(1, GIB)])]);
    assert_eq!(named(&found), ["cross-numa mlx5_2"]);
    assert_eq!(found[0].advice, "its memory is on the right node already: `taskset -apc 4-7 7`");
}

#[test]
fn memory_too_small_to_be_buffers_is_not_called_right() {
    let found = with(vec![memory(process(7, "mlx5_2", "0-3"), &[])]);
    assert!(
        found[0].advice.starts_with("start it again as: `numactl --cpunodebind=1 --membind=1"),
        "{found:?}"
    );
}

#[test]
fn memory_on_the_far_node_is_found_though_the_cpus_are_right() {
    let found = with(vec![memory(process(7, "mlx5_0", "0-3"), &[(0, 3 * GIB), (1, GIB)])]);
    assert_eq!(named(&found), ["cross-numa mlx5_0"]);
    assert_eq!(found[0].evidence["far_memory_share"], 0.25);
    assert_eq!(
        named(&with(vec![memory(process(7, "mlx5_0", "0-3"), &[(0, 5 * GIB), (1, GIB)])])),
        Vec::<String>::new()
    );
    let stacks = memory(process(7, "mlx5_0", "0-3"), &[(0, 4096), (1, 65536)]);
    assert_eq!(named(&with(vec![stacks])), Vec::<String>::new());
}

#[test]
fn memory_split_over_the_nodes_of_its_rails_is_right() {
    let both = |bytes: [(u32, u64); 2]| {
        with(vec![memory(process(7, "mlx5_0", "0-7"), &bytes), memory(process(7, "mlx5_2", "0-7"), &bytes)])
    };
    assert_eq!(named(&both([(0, 3 * GIB), (1, GIB)])), Vec::<String>::new());
    let one_sided = both([(0, 4 * GIB), (1, 0)]);
    assert_eq!(named(&one_sided), ["cross-numa mlx5_2"]);
    assert_eq!(
        one_sided[0].advice,
        "use only the rails near it: mlx5_0 and mlx5_1; or one process a node, each with the rails of its \
         node; for mlx5_2: `numactl --cpunodebind=1 --membind=1 ib_read_bw ...`"
    );
}

#[test]
fn a_container_without_the_rails_node_cannot_be_mended_by_a_binding() {
    let caged = Process { mems_allowed: Some("0".parse().unwrap()), ..process(7, "mlx5_2", "0-3") };
    let advice = &with(vec![caged])[0].advice;
    assert!(advice.starts_with("no binding mends this: its cpuset has memory of node 0 only"), "{advice}");
    assert!(!advice.contains("numactl"), "{advice}");
}

#[test]
fn nodes_of_one_socket_are_only_worth_knowing() {
    let mut topology = machine();
    topology.numa[1].socket = Some(0);
    let traffic = Traffic {
        processes: Some(vec![process(1, "mlx5_0", "4-7")]),
        rx_gb_per_s: vec![vec![0.0; 3]],
        ..Traffic::default()
    };
    assert_eq!(found(&RULE, &topology, &traffic)[0].severity, Severity::Info);
}

#[test]
fn a_described_load_and_its_process_are_one_user() {
    let load = Load {
        pid: Some(9),
        cpus: Some("4-7".parse().unwrap()),
        buffer_node: Some(1),
        devices: vec!["mlx5_0".into()],
        ..described(LoadOp::Read)
    };
    let traffic = Traffic {
        load: Some(load.clone()),
        processes: Some(vec![process(9, "mlx5_0", "4-7")]),
        ..Traffic::loaded(&[1.0, 1.0, 1.0])
    };
    assert_eq!(named(&found(&RULE, &machine(), &traffic)), ["cross-numa mlx5_0"]);
    assert_eq!(named(&under(load)), ["cross-numa mlx5_0"]);
}

#[test]
fn a_gpu_is_where_its_node_is() {
    let mut topology = machine();
    topology.gpus = vec![Gpu { name: "gpu0".into(), numa_node: Some(0), ..Gpu::default() }];
    let load = Load { target: LoadTarget::Gpu("gpu0".into()), ..described(LoadOp::Read) };
    let found = found(&RULE, &topology, &Traffic { load: Some(load), ..Traffic::loaded(&[1.0, 1.0, 1.0]) });
    assert_eq!(named(&found), ["cross-numa mlx5_2"]);
    assert_eq!(found[0].advice, "data for gpu0 belong on rails of its own node: mlx5_0 and mlx5_1");
}

#[test]
fn data_of_our_own_load_in_a_far_gpu_are_said_to_be_the_gpus() {
    let mut topology = machine();
    topology.gpus = vec![Gpu { name: "gpu0".into(), numa_node: Some(1), ..Gpu::default() }];
    let worker = Worker {
        device: "mlx5_0".into(),
        cpus: Some("0-3".parse().unwrap()),
        buffer_node: Some(1),
        ..Worker::default()
    };
    let load = Load {
        origin: LoadOrigin::Ours,
        target: LoadTarget::Gpu("gpu0".into()),
        workers: vec![worker],
        ..described(LoadOp::Read)
    };
    let found = found(&RULE, &topology, &Traffic { load: Some(load), ..Traffic::loaded(&[1.0, 1.0, 1.0]) });
    assert_eq!(named(&found), ["cross-numa mlx5_0"]);
    assert!(found[0].message.contains("its data belong to gpu0 on node 1"), "{}", found[0].message);
}

#[test]
fn our_own_threads_are_judged_one_by_one() {
    let worker = |device: &str, cpus: &str, node: u32| Worker {
        device: device.into(),
        cpus: Some(cpus.parse().unwrap()),
        buffer_node: Some(node),
        ..Worker::default()
    };
    let load = Load {
        origin: LoadOrigin::Ours,
        workers: vec![worker("mlx5_0", "0-3", 0), worker("mlx5_1", "4-7", 1), worker("mlx5_2", "4-7", 1)],
        perf_gaps: BTreeMap::new(),
        ..described(LoadOp::Read)
    };
    let itself = Process { source: ProcessSource::OurLoad, ..process(1, "mlx5_0", "4-7") };
    let placed = |place: Option<&str>| {
        let load = Some(Load { place: place.map(str::to_owned), ..load.clone() });
        let processes = Some(vec![itself.clone()]);
        found(&RULE, &machine(), &Traffic { load, processes, ..Traffic::loaded(&[1.0, 1.0, 1.0]) })
    };
    let found = placed(Some("0-7"));
    assert_eq!(named(&found), ["cross-numa mlx5_1"]);
    assert_eq!(found[0].advice, "start the load again with `--place local` (node 0 for these rails)");
    let advice = &placed(Some("local"))[0].advice;
    assert!(advice.starts_with("it was placed `local` and is elsewhere all the same"), "{advice}");
    assert!(!advice.contains("--place local"), "{advice}");
}

#[test]
fn what_serve_has_beside_its_buffers_is_no_evidence_and_its_cpus_are_none() {
    let serve = Process { source: ProcessSource::OurLoad, ..process(4242, "mlx5_0", "4-7") };
    assert_eq!(named(&with(vec![memory(serve.clone(), &[(1, 8 << 20)])])), [""; 0]);
    let far = with(vec![memory(serve, &[(1, 2 * GIB)])]);
    assert_eq!(named(&far), ["cross-numa mlx5_0"], "buffers as large as that are seen");
    assert!(!far[0].message.contains("CPUs"), "{}", far[0].message);
}

#[test]
fn a_far_heap_is_no_evidence_where_the_kernel_tells_that_little_of_it_is_registered() {
    let with_registered = |bytes: u64, mapped: &[(u32, u64)]| {
        let user = memory(process(7, "mlx5_0", "0-3"), mapped);
        with(vec![Process { registered_large_bytes: Some(bytes), ..user }])
    };
    let heap = [(0, GIB / 64), (1, 4 * GIB)];
    assert_eq!(named(&with_registered(0, &heap)), [""; 0], "buffers below 2 MiB lie anywhere");
    assert_eq!(named(&with_registered(16 << 20, &heap)), [""; 0]);
    assert_eq!(
        named(&with(vec![memory(process(7, "mlx5_0", "0-3"), &heap)])),
        ["cross-numa mlx5_0"],
        "not told"
    );
    // it may all lie in what is near
    assert_eq!(named(&with_registered(GIB, &[(0, GIB), (1, 3 * GIB)])), [""; 0]);
    let far = with_registered(4 * GIB, &[(0, GIB), (1, 4 * GIB)]);
    assert_eq!(named(&far), ["cross-numa mlx5_0"]);
    let says =
        "has 75 % or more of the 4295.0 MB it registered off that node, on node 1 (limit 20 %); distance 32";
    assert!(far[0].message.contains(says), "{}", far[0].message);
    assert_eq!(far[0].evidence["registered_bytes"], 4 * GIB);
}

#[test]
fn cpus_that_are_far_are_told_whatever_the_mappings_say() {
    let user = memory(process(7, "mlx5_0", "4-7"), &[(1, 4 * GIB)]);
    let found = with(vec![Process { registered_large_bytes: Some(0), ..user }]);
    assert_eq!(named(&found), ["cross-numa mlx5_0"]);
    assert!(!found[0].message.contains("mappings"), "{}", found[0].message);
}

#[test]
fn what_is_registered_with_rails_of_both_nodes_counts_once() {
    let both = |bytes: [(u32, u64); 2]| {
        let user = |device: &str| {
            let user = memory(process(7, device, "0-7"), &bytes);
            Process { registered_large_bytes: Some(4 * GIB), ..user }
        };
        with(vec![user("mlx5_0"), user("mlx5_2")])
    };
    assert_eq!(named(&both([(0, 2 * GIB), (1, 2 * GIB)])), [""; 0]);
    assert_eq!(named(&both([(0, 4 * GIB), (1, 0)])), ["cross-numa mlx5_2"]);
}
