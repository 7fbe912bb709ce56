//! Who uses the rails of small trees.

use super::Watcher;
use crate::model::{ProcessSource, Rail, Topology};
use crate::root::Root;

const QPS: &str = r#"[
    {"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":1,"type":"GSI","state":"RTS","comm":"[ib_core]"},
    {"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":300,"type":"RC","state":"RTS","pid":42,"comm":"train"},
    {"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":301,"type":"RC","state":"RTS","pid":42,"comm":"train"},
    {"ifindex":1,"ifname":"mlx5_9","port":1,"lqpn":301,"type":"RC","state":"RTS","pid":42,"comm":"train"}]"#;

fn topology() -> Topology {
    Topology {
        rails: vec![Rail { device: "mlx5_0".into(), port: 1, ..Rail::default() }],
        ..Topology::default()
    }
}

fn tree() -> Root {
    let mut root = Root::at("/nowhere");
    for (path, text) in [
        ("captured/rdma-res-qp.json", QPS),
        ("proc/42/comm", "train\n"),
        ("proc/42/status", "Name:\ttrain\n"),
        ("proc/42/task/42/status", "Cpus_allowed_list:\t16-23\nMems_allowed_list:\t0-1\n"),
        ("proc/42/numa_maps", "7f20 bind:1 anon=1024 dirty=1024 N1=1024 kernelpagesize_kB=4\n"),
    ] {
        root.lay_over(path, Some(text));
    }
    root
}

#[test]
fn a_process_is_found_with_its_cpus_nodes_and_memory() {
    let root = tree();
    let mut topology = topology();
    let mut watcher = Watcher::open(&root, &mut topology);
    let processes = watcher.look(&root, 0).unwrap();
    assert_eq!(processes.len(), 1, "the kernel's queue pairs and other devices are left out");
    let train = &processes[0];
    assert_eq!((train.pid, train.name.as_str(), train.device.as_str()), (42, "train", "mlx5_0"));
    assert_eq!((train.queue_pairs, train.source), (Some(2), ProcessSource::QueuePairs));
    assert_eq!(train.cpus_allowed.as_ref().unwrap().to_string(), "16-23");
    assert_eq!(train.mems_allowed.as_ref().unwrap().to_string(), "0-1");
    assert_eq!(train.large_mapping_bytes_by_node, Some([(1, 4 << 20)].into()));
    assert_eq!(topology.gaps, []);
}

#[test]
fn queue_pairs_that_threads_of_a_process_made_are_the_process_s() {
    let mut root = tree();
    for (path, text) in [
        (
            "captured/rdma-res-qp.json",
            r#"[{"ifname":"mlx5_0","pid":42},{"ifname":"mlx5_0","pid":43},{"ifname":"mlx5_0","pid":44}]"#,
        ),
        ("proc/42/status", "Name:\ttrain\nTgid:\t42\n"),
        ("proc/43/status", "Name:\tpoller\nTgid:\t42\n"),
        ("proc/44/status", "Name:\tpoller\nTgid:\t42\n"),
    ] {
        root.lay_over(path, Some(text));
    }
    let mut topology = topology();
    let processes = Watcher::open(&root, &mut topology).look(&root, 0).unwrap();
    assert_eq!(processes.len(), 1);
    assert_eq!(
        (processes[0].pid, processes[0].name.as_str(), processes[0].queue_pairs),
        (42, "train", Some(3))
    );
}

#[test]
fn what_did_not_change_is_not_told_again() {
    let mut root = tree();
    let mut watcher = Watcher::open(&root, &mut topology());
    assert!(watcher.look(&root, 0).is_some());
    assert_eq!(watcher.look(&root, 1_000_000_000), None);
    root.lay_over("captured/rdma-res-qp.json", Some("[]"));
    assert_eq!(watcher.look(&root, 2_000_000_000), Some(Vec::new()));
}

#[test]
fn what_is_not_known_of_a_process_is_a_gap_and_the_process_stays() {
    let mut root = tree();
    root.lay_over("proc/42/numa_maps", None);
    let mut topology = topology();
    let mut watcher = Watcher::open(&root, &mut topology);
    assert_eq!(watcher.look(&root, 0).unwrap()[0].large_mapping_bytes_by_node, None);
    assert_eq!(topology.gaps.len(), 1);
    let gap = &topology.gaps[0];
    assert_eq!((gap.probe.as_str(), gap.subject.as_str()), ("processes", "mlx5_0"));
    assert!(gap.reason.starts_with("process 42 (train): proc/42/numa_maps: "), "{gap:?}");
}

#[test]
fn a_tree_without_a_list_of_queue_pairs_says_so_and_knows_nobody() {
    let mut topology = topology();
    let root = Root::at("/nowhere");
    let mut watcher = Watcher::open(&root, &mut topology);
    assert_eq!(watcher.look(&root, 0), None);
    assert!(
        topology.gaps[0].reason.contains("which processes use the rails is not known"),
        "{:?}",
        topology.gaps
    );
}

#[test]
fn a_broken_list_is_a_gap() {
    let mut root = tree();
    root.lay_over("captured/rdma-res-qp.json", Some("{"));
    let mut topology = topology();
    assert_eq!(Watcher::open(&root, &mut topology).look(&root, 0), None);
    assert!(
        topology.gaps[0].reason.starts_with("captured/rdma-res-qp.json: invalid type"),
        "{:?}",
        topology.gaps
    );
}

#[test]
fn what_is_registered_in_large_regions_is_told_and_a_heap_beside_it_leaves_a_gap() {
    let mut root = tree();
    let regions =
        r#"[{"ifname":"mlx5_0","pid":42,"mrlen":4096},{"ifname":"mlx5_0","pid":42,"mrlen":2097152}]"#;
    root.lay_over("captured/rdma-res-mr.json", Some(regions));
    let mut few = topology();
    let mut watcher = Watcher::open(&root, &mut few);
    assert_eq!(watcher.look(&root, 0).unwrap()[0].registered_large_bytes, Some(2 << 20));
    assert_eq!(few.gaps, []);
    let elsewhere = r#"[{"ifname":"mlx5_9","pid":42,"mrlen":2097152}]"#;
    root.lay_over("captured/rdma-res-mr.json", Some(elsewhere));
    let mut with_another = topology();
    let mut watcher = Watcher::open(&root, &mut with_another);
    assert_eq!(watcher.look(&root, 0).unwrap()[0].registered_large_bytes, Some(0));
    assert_eq!(with_another.gaps, [], "it is the process's memory, whichever device it gave it to");
    root.lay_over("captured/rdma-res-mr.json", Some(r#"[{"ifname":"mlx5_0","pid":42,"mrlen":4096}]"#));
    let mut none = topology();
    let _watcher = Watcher::open(&root, &mut none);
    assert_eq!(
        none.gaps[0].reason,
        "process 42 (train): 4 MiB in large mappings, and 0 MiB registered in regions as large: where its buffers are is not known"
    );
}
