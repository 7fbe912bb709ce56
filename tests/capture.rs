//! `capture` as people and scripts use it. The nodes are copied trees.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

struct Node {
    dir: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        let node = Self { dir: tempfile::tempdir().unwrap() };
        for (number, cpus, distance) in [(0, "0-3", "10 32"), (1, "4-7", "32 10")] {
            let folder = format!("sys/devices/system/node/node{number}");
            node.put(&format!("{folder}/cpulist"), cpus);
            node.put(&format!("{folder}/meminfo"), &format!("Node {number} MemTotal: 2097152 kB"));
            node.put(&format!("{folder}/distance"), distance);
        }
        node.put("sys/devices/system/node/online", "0-1");
        node.put("proc/sys/kernel/hostname", "gpu17");
        node.put(
            "proc/self/limits",
            "Max locked memory         65536                65536                bytes",
        );
        node
    }

    fn put(&self, file: &str, text: &str) {
        let file = self.dir.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }

    fn link(&self, at: &str, to: &str) {
        let at = self.dir.path().join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(to, at).unwrap();
    }

    /// A RoCE rail on bus `bus` with the last byte `host` in its addresses.
    fn rail(&self, device: &str, netdev: &str, bus: u8, host: u8) -> String {
        let function = format!("sys/devices/pci0000:{bus:02x}/0000:{bus:02x}:00.0/0000:{:02x}:00.0", bus + 1);
        let (port, nic) = (function.rsplit_once('/').unwrap().0, &function);
        for (file, text) in [
            (format!("{port}/max_link_speed"), "32.0 GT/s PCIe".to_owned()),
            (format!("{port}/max_link_width"), "16".to_owned()),
            (format!("{nic}/current_link_speed"), "32.0 GT/s PCIe".to_owned()),
            (format!("{nic}/current_link_width"), "8".to_owned()),
            (format!("{nic}/max_link_speed"), "32.0 GT/s PCIe".to_owned()),
            (format!("{nic}/max_link_width"), "16".to_owned()),
            (format!("{nic}/vendor"), "0x15b3".to_owned()),
            (format!("{nic}/device"), "0x1021".to_owned()),
            (format!("{nic}/class"), "0x020000".to_owned()),
            (format!("{nic}/numa_node"), "-1".to_owned()),
            (format!("{nic}/net/{netdev}/address"), format!("b8:59:9f:a7:12:{host:02x}")),
            (format!("{nic}/net/{netdev}/mtu"), "1500".to_owned()),
        ] {
            self.put(&file, &text);
        }
        let rdma = format!("{nic}/infiniband/{device}");
        for (file, text) in [
            ("node_type", "1: CA".to_owned()),
            ("fw_ver", "28.39.1002".to_owned()),
            ("board_id", "MT_0000000834".to_owned()),
            ("sys_image_guid", format!("b859:9f03:00a7:12{host:02x}")),
            ("ports/1/state", "4: ACTIVE".to_owned()),
            ("ports/1/phys_state", "5: LinkUp".to_owned()),
            ("ports/1/rate", "400 Gb/sec (4X NDR)".to_owned()),
            ("ports/1/link_layer", "Ethernet".to_owned()),
            ("ports/1/gids/0", format!("fe80:0000:0000:0000:ba59:9fff:fea7:12{host:02x}")),
            ("ports/1/gid_attrs/types/0", "RoCE v2".to_owned()),
            ("ports/1/gid_attrs/ndevs/0", netdev.to_owned()),
        ] {
            self.put(&format!("{rdma}/{file}"), &text);
        }
        self.link(&format!("{rdma}/device"), "../..");
        self.link(&format!("{nic}/net/{netdev}/device"), "../..");
        self.link(&format!("sys/class/infiniband/{device}"), &format!("../../../{rdma}"));
        self.link(&format!("sys/class/net/{netdev}"), &format!("../../../{nic}/net/{netdev}"));
        self.link(
            &format!("sys/bus/pci/devices/{}", nic.rsplit_once('/').unwrap().1),
            &format!("../../../../{nic}"),
        );
        rdma
    }

    fn routable(&self, rdma: &str, index: u32, netdev: &str, address: &str) {
        self.put(&format!("{rdma}/ports/1/gids/{index}"), address);
        self.put(&format!("{rdma}/ports/1/gid_attrs/types/{index}"), "RoCE v2");
        self.put(&format!("{rdma}/ports/1/gid_attrs/ndevs/{index}"), netdev);
    }
}

/// Several rails in one subnet; link-local GIDs only; a port without any GID.
fn nodes() -> Vec<Node> {
    let one_subnet = Node::new();
    for (number, netdev) in [(1_u8, "eth1"), (2, "eth2")] {
        let rdma = one_subnet.rail(&format!("mlx5_{number}"), netdev, 0x40 + 0x10 * number, number);
        one_subnet.routable(&rdma, 3, netdev, &format!("0000:0000:0000:0000:0000:ffff:0a4d:02{number:02x}"));
    }
    let link_local = Node::new();
    link_local.rail("mlx5_0", "eth0", 0x60, 9);
    let differs = Node::new();
    for (number, netdev) in [(1_u8, "eth1"), (2, "eth2")] {
        let rdma = differs.rail(&format!("mlx5_{number}"), netdev, 0x40 + 0x10 * number, number);
        let index = 2 + u32::from(number);
        differs.routable(&rdma, index, netdev, &format!("2001:0db8:0000:000{number}:0000:0000:0000:0005"));
    }
    let none = Node::new();
    let rdma = none.rail("mlx5_0", "eth0", 0x60, 9);
    fs::remove_file(none.dir.path().join(rdma).join("ports/1/gids/0")).unwrap();
    vec![one_subnet, link_local, differs, none]
}

fn railscope(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("railscope").unwrap().args(args).assert()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Captures a tree and unpacks the archive with the system's tar.
fn copy(tree: &Path, into: &Path, flags: &[&str]) -> PathBuf {
    let archive = into.join("node.tar.gz");
    let mut args = vec!["capture", "--root", text(tree), "-o", text(&archive)];
    args.extend(flags);
    railscope(&args).code(0);
    let copy = into.join("node");
    fs::create_dir(&copy).unwrap();
    let done = std::process::Command::new("tar").args(["-xzf", text(&archive), "-C", text(&copy)]).status();
    assert!(done.unwrap().success());
    copy
}

fn findings(tree: &Path) -> Vec<(String, Value)> {
    let done = railscope(&["check", "--root", text(tree), "--json", "--fail-on", "never"]).code(0);
    let report: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|f| (f["code"].as_str().unwrap().to_owned(), f["devices"].clone())).collect()
}

#[test]
fn a_masked_tree_has_the_same_findings_on_the_same_devices() {
    for node in nodes() {
        let original = findings(node.dir.path());
        assert!(!original.is_empty());
        for flags in [&[][..], &["--mask"]] {
            let dir = tempfile::tempdir().unwrap();
            assert_eq!(findings(&copy(node.dir.path(), dir.path(), flags)), original, "{flags:?}");
        }
    }
}

#[test]
fn no_original_is_left_in_a_masked_archive() {
    let node = &nodes()[0];
    let dir = tempfile::tempdir().unwrap();
    let copy = copy(node.dir.path(), dir.path(), &["--mask"]);
    let done = std::process::Command::new("grep")
        .args(["-rlE", "gpu17|9f:a7:12|9f03:00a7:12|fea7:12|0a4d:02", text(&copy)])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "");
}

#[test]
fn it_says_what_it_took_and_scripts_get_one_object() {
    let node = &nodes()[0];
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("a.tar.gz");
    let args = ["capture", "--root", text(node.dir.path()), "-o", text(&archive)];
    let done = railscope(&args).code(0);
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(said.contains("not masked") && said.contains("railscope check --root node"), "{said}");
    let again = railscope(&args).code(2);
    assert!(String::from_utf8_lossy(&again.get_output().stderr).contains("a.tar.gz: exists already"));
    let other = dir.path().join("b.tar.gz");
    let flags = ["capture", "--root", text(node.dir.path()), "-o", text(&other), "--mask", "--json"];
    let json: Value = serde_json::from_slice(&railscope(&flags).code(0).get_output().stdout).unwrap();
    assert_eq!(json["schema"], "railscope.capture/1");
    assert_eq!(json["bytes"], fs::metadata(&other).unwrap().len());
    assert_eq!(json["masked"]["GUIDs"], 2);
    assert_eq!(json["not_taken"], serde_json::json!([]));
}
