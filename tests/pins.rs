//! `pins` as people see it: a copied tree with a process on a rail.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn put(tree: &Path, path: &str, text: &str) {
    let path = tree.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// `mlx5_0` on node 0 of two, and PID 42 with two queue pairs there: its poller runs on node 1.
fn node() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path();
    for (node, cpus, distance) in [("node0", "0-3", "10 32"), ("node1", "4-7", "32 10")] {
        let put = |file: &str, text: &str| put(tree, &format!("sys/devices/system/node/{node}/{file}"), text);
        put("cpulist", &format!("{cpus}\n"));
        put("distance", &format!("{distance}\n"));
        put("meminfo", "Node 0 MemTotal:       1048576 kB\n");
    }
    let device = "sys/class/infiniband/mlx5_0";
    let function = "sys/devices/pci0000:40/0000:41:00.0";
    put(tree, &format!("{function}/numa_node"), "0\n");
    put(tree, &format!("{device}/ports/1/state"), "4: ACTIVE\n");
    symlink(Path::new("../../../..").join(function), tree.join(device).join("device")).unwrap();
    put(tree, "captured/rdma-res-qp.json", r#"[{"ifname":"mlx5_0","pid":42},{"ifname":"mlx5_0","pid":42}]"#);
    put(
        tree,
        "captured/rdma-res-mr.json",
        r#"[{"ifname":"mlx5_0","pid":42,"mrlen":1048576},{"ifname":"mlx5_0","pid":42,"mrlen":2097152}]"#,
    );
    put(tree, "proc/42/comm", "trainer\n");
    put(tree, "proc/42/status", "Name:\ttrainer\nPPid:\t1\nVmRSS:\t   9000 kB\n");
    put(tree, "proc/42/numa_maps", "7f10 bind:0 anon=1024 dirty=1024 N0=1024 kernelpagesize_kB=4\n");
    for (thread, cpus, ticks, ran_on) in [(42, "0-3", 3, 0), (43, "4-7", 500, 5)] {
        let put = |file: &str, text: &str| put(tree, &format!("proc/42/task/{thread}/{file}"), text);
        put("comm", "poller\n");
        put("status", &format!("Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n"));
        let zeros = " 0".repeat(14);
        put(
            "stat",
            &format!(
                "{thread} (poller) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 0 0{zeros} {ran_on} 0 0"
            ),
        );
    }
    folder
}

fn pins(tree: &Path, more: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("railscope").unwrap();
    command.args(["pins", "--root", tree.to_str().unwrap()]).args(more).output().unwrap()
}

#[test]
fn a_poller_that_a_library_bound_to_the_far_node_is_caught_behind_a_bound_main_thread() {
    let tree = node();
    let seen = pins(tree.path(), &[]);
    let text = String::from_utf8(seen.stdout).unwrap();
    assert_eq!(seen.status.code(), Some(1), "{text}");
    assert!(text.contains("trainer (PID 42): cross-numa"), "{text}");
    assert!(text.contains("1 on 4-7 (node 1), 99 % of the work"), "{text}");
    assert!(text.contains("`taskset -apc 0-3 42`"), "its memory is right, so moving it mends it: {text}");
}

#[test]
fn the_json_has_the_process_its_rails_threads_and_memory() {
    let tree = node();
    let seen: Value = serde_json::from_slice(&pins(tree.path(), &["--json", "42"]).stdout).unwrap();
    assert_eq!(seen["schema"], "railscope.pins/1");
    let process = &seen["processes"][0];
    assert_eq!(
        process["rails"][0],
        serde_json::json!({
            "device": "mlx5_0", "node": 0, "queue_pairs": 2, "memory_regions": 2, "registered_bytes": 3 << 20,
        })
    );
    assert_eq!(process["memory"][0]["bytes_by_node"], serde_json::json!({"0": 4 << 20}));
    assert_eq!((&process["distance"], &process["verdict"]), (&32.into(), &"cross-numa".into()));
}

#[test]
fn what_cannot_be_looked_at_is_one_clear_line_and_exit_code_2() {
    let tree = node();
    for (arguments, says) in [
        (&["77"][..], "PID 77: there is no process 77"),
        (&["--", "sleep", "1"], "--root: a copied tree can start no command"),
    ] {
        let seen = pins(tree.path(), arguments);
        let text = String::from_utf8(seen.stderr).unwrap();
        assert_eq!((seen.status.code(), text.lines().count()), (Some(2), 1), "{text}");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_host_without_a_rail_has_nothing_to_validate() {
    let empty = tempfile::tempdir().unwrap();
    put(empty.path(), "proc/version", "Linux version 6.1.0\n");
    let seen = pins(empty.path(), &[]);
    let text = String::from_utf8(seen.stderr).unwrap();
    assert_eq!(seen.status.code(), Some(2), "{text}");
    assert!(text.contains("no RDMA device"), "{text}");
}
