//! `export` and `probe --format md` as people and scripts use them. The node is a copied tree.

use assert_cmd::Command;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn put(tree: &Path, file: &str, text: &str) {
    let file = tree.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("{text}\n")).unwrap();
}

/// One RoCE rail on node 0 of two.
fn node() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let function = "sys/devices/pci0000:20/0000:21:00.0";
    let rail = format!("{function}/infiniband/mlx5_0");
    put(tree.path(), "sys/devices/system/node/node0/cpulist", "0-3");
    put(tree.path(), "sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 2097152 kB");
    put(tree.path(), "sys/devices/system/node/node1/cpulist", "4-7");
    put(tree.path(), &format!("{function}/numa_node"), "0");
    for (file, text) in [
        ("node_type", "1: CA"),
        ("ports/1/state", "4: ACTIVE"),
        ("ports/1/link_layer", "Ethernet"),
        ("ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:0a4d:0201"),
        ("ports/1/gid_attrs/types/3", "RoCE v2"),
        ("ports/1/gid_attrs/ndevs/3", "eth0"),
    ] {
        put(tree.path(), &format!("{rail}/{file}"), text);
    }
    symlink("../..", tree.path().join(&rail).join("device")).unwrap();
    fs::create_dir_all(tree.path().join("sys/class/infiniband")).unwrap();
    symlink(format!("../../../{rail}"), tree.path().join("sys/class/infiniband/mlx5_0")).unwrap();
    tree
}

fn stdout(args: &[&str]) -> String {
    let done = Command::cargo_bin("railscope").unwrap().args(args).assert().code(0);
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

#[test]
fn a_shell_that_sources_the_variables_has_them() {
    let tree = node();
    let text = stdout(&["export", "--format", "env", "--root", tree.path().to_str().unwrap()]);
    let file = tree.path().join("env.sh");
    fs::write(&file, &text).unwrap();
    let script = ". \"$0\" && echo \"$NCCL_IB_HCA $UCX_NET_DEVICES $NCCL_IB_GID_INDEX $ON_mlx5_0\"";
    let done =
        std::process::Command::new("sh").args(["-c", script, file.to_str().unwrap()]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        "=mlx5_0:1 mlx5_0:1 3 numactl --cpunodebind=0 --membind=0\n",
        "{text}"
    );
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}

#[test]
fn flags_that_no_form_of_export_honours_are_refused() {
    let tree = node();
    let root = tree.path().to_str().unwrap();
    for flag in ["--json", "--headless"] {
        let args = ["export", "--format", "env", "--root", root, flag];
        Command::cargo_bin("railscope").unwrap().args(args).assert().code(2);
    }
    assert!(
        stdout(&["export", "--format", "env", "--root", root, "--rails", "mlx5_0"]).contains("=mlx5_0:1")
    );
}

#[test]
fn a_probe_has_three_forms() {
    let tree = node();
    let root = tree.path().to_str().unwrap();
    assert!(stdout(&["probe", "--root", root, "--format", "md"]).contains("| mlx5_0:1 | "));
    let json = stdout(&["probe", "--root", root, "--json"]);
    assert_eq!(stdout(&["probe", "--root", root, "--format", "json"]), json);
    assert_eq!(stdout(&["probe", "--root", root, "--format", "text"]), stdout(&["probe", "--root", root]));
    let both = ["probe", "--root", root, "--json", "--format", "md"];
    Command::cargo_bin("railscope").unwrap().args(both).assert().code(2);
}
