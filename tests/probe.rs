//! `probe` as people and scripts see it. The node is a copied tree.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A node with one soft-RoCE rail on a virtio NIC behind a root port of node 1.
fn node() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let port = "sys/devices/pci0000:20/0000:20:00.0";
    let function = format!("{port}/0000:21:00.0");
    let rail = "sys/devices/virtual/infiniband/rail2";
    for (file, text) in [
        ("sys/devices/system/node/node1/cpulist", "4-7"),
        ("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 2097152 kB"),
        ("sys/devices/system/node/node1/distance", "10"),
        (&format!("{port}/max_link_speed"), "16.0 GT/s PCIe"),
        (&format!("{port}/max_link_width"), "16"),
        (&format!("{function}/current_link_speed"), "2.5 GT/s PCIe"),
        (&format!("{function}/current_link_width"), "1"),
        (&format!("{function}/max_link_speed"), "2.5 GT/s PCIe"),
        (&format!("{function}/max_link_width"), "1"),
        (&format!("{function}/numa_node"), "1"),
        (&format!("{function}/virtio2/net/nic2/mtu"), "4200"),
        (&format!("{rail}/parent"), "nic2"),
        (&format!("{rail}/node_type"), "1: CA"),
        (&format!("{rail}/ports/1/state"), "4: ACTIVE"),
        (&format!("{rail}/ports/1/link_layer"), "Ethernet"),
        (&format!("{rail}/ports/1/gids/1"), "0000:0000:0000:0000:0000:ffff:0a4d:0201"),
        (&format!("{rail}/ports/1/gid_attrs/types/1"), "RoCE v2"),
        (&format!("{rail}/ports/1/gid_attrs/ndevs/1"), "nic2"),
    ] {
        put(tree.path(), file, text);
    }
    link(tree.path(), "sys/class/infiniband/rail2", "../../devices/virtual/infiniband/rail2");
    let below = "../../devices/pci0000:20/0000:20:00.0/0000:21:00.0/virtio2/net/nic2";
    link(tree.path(), "sys/class/net/nic2", below);
    symlink("../..", tree.path().join(&function).join("virtio2/net/nic2/device")).unwrap();
    tree
}

fn put(tree: &Path, file: &str, text: &str) {
    let file = tree.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("{text}\n")).unwrap();
}

fn link(tree: &Path, at: &str, to: &str) {
    let at = tree.join(at);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(to, at).unwrap();
}

fn probe(tree: &Path, flags: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("railscope").unwrap();
    command.args(["probe", "--root", tree.to_str().unwrap()]).args(flags).assert()
}

fn stdout(done: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

#[test]
fn a_rail_is_described_where_it_sits() {
    let text = stdout(&probe(node().path(), &[]).code(0));
    let from = text.find("node 1").expect("the node is listed");
    let expected = [
        "  rail2 | nic2 | ACTIVE | Ethernet | rate unknown | MTU 4096 (netdev 4200)",
        "    gid   1 = 10.77.2.1, RoCE v2, routable IPv4, on this device's netdev",
        "    pcie  0000:21:00.0 - 0000:20:00.0: 2.5 GT/s x1",
        "            all the card can; its slot can 16 GT/s x16",
        "    card  firmware unknown, board unknown, driver rdma_rxe",
    ];
    for line in expected {
        assert!(text[from..].lines().any(|printed| printed == line), "{line}\nis not in\n{text}");
    }
    assert!(text.contains("rail2: msi_irqs, config, board_id, fw_ver"), "{text}");
}

#[test]
fn scripts_get_the_report_s_object_with_rates_null() {
    let json: Value = serde_json::from_str(&stdout(&probe(node().path(), &["--json"]).code(0))).unwrap();
    let rail = &json["rails"][0];
    assert_eq!(json["schema"], "railscope.report/1");
    assert_eq!((&rail["device"], &rail["numa_node"]), (&"rail2".into(), &1.into()));
    assert_eq!((&rail["rx_gb_per_s"], &rail["line_gbit_per_s"]), (&Value::Null, &Value::Null));
    assert_eq!(rail["gid"]["index"], 1);
    assert_eq!(rail["gids"][0]["address"], "10.77.2.1");
    assert_eq!(rail["pcie"]["hops"][0]["upstream"], "0000:20:00.0");
    assert_eq!(json["numa"][0]["cpus"], "4-7");
}

#[test]
fn a_gpu_is_told_with_its_way_to_each_rail_and_what_its_memory_lacks() {
    let tree = node();
    // both cards hang below the root port of node 1
    let gpu = "sys/devices/pci0000:20/0000:20:00.0/0000:21:01.0";
    for (file, text) in
        [("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x2330"), ("numa_node", "1")]
    {
        put(tree.path(), &format!("{gpu}/{file}"), text);
    }
    put(tree.path(), "proc/modules", "nvidia 180224 1 - Live 0x0");
    put(tree.path(), "proc/sys/kernel/osrelease", "5.10.0");
    put(
        tree.path(),
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  x",
    );
    fs::create_dir_all(tree.path().join("sys/bus/pci/drivers/nvidia")).unwrap();
    link(tree.path(), &format!("{gpu}/driver"), "../../../../bus/pci/drivers/nvidia");
    for address in ["0000:20:00.0/0000:21:01.0", "0000:20:00.0/0000:21:00.0", "0000:20:00.0"] {
        let name = address.rsplit('/').next().unwrap();
        link(
            tree.path(),
            &format!("sys/bus/pci/devices/{name}"),
            &format!("../../../devices/pci0000:20/{address}"),
        );
    }

    let json: Value = serde_json::from_str(&stdout(&probe(tree.path(), &["--json"]).code(0))).unwrap();
    let gpu = &json["gpus"][0];
    assert_eq!((&gpu["name"], &gpu["driver"]), (&"gpu0".into(), &"nvidia".into()));
    assert_eq!(gpu["paths"][0]["device"], "rail2");
    assert_eq!(gpu["paths"][0]["class"], "PIX");
    assert_eq!(gpu["peermem"]["ready"], false);
    assert_eq!(gpu["dmabuf"]["reason"], "kernel 5.10.0 is older than 5.12");

    let text = stdout(&probe(tree.path(), &[]).code(0));
    for line in [
        "  root port 0000:20:00.0, rate unknown, is shared by rail2, gpu0",
        "  rail2  PIX",
        "  peermem NOT ready, module nvidia_peermem is not loaded",
        "  dmabuf  NOT ready, kernel 5.10.0 is older than 5.12",
    ] {
        assert!(text.lines().any(|printed| printed == line), "{line}\nis not in\n{text}");
    }
}

#[test]
fn a_node_without_rdma_is_described_too() {
    let tree = tempfile::tempdir().unwrap();
    put(tree.path(), "proc/sys/kernel/hostname", "laptop");
    let text = stdout(&probe(tree.path(), &[]).code(0));
    assert!(text.contains("laptop") && text.contains("no RDMA driver is loaded"), "{text}");
}

#[test]
fn what_cannot_be_looked_at_ends_with_2_and_one_line() {
    let tree = node();
    let stderr = |done: assert_cmd::assert::Assert| {
        let stderr = String::from_utf8(done.code(2).get_output().stderr.clone()).unwrap();
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        stderr
    };
    assert!(stderr(probe(&tree.path().join("none"), &[])).contains("none: No such file"));
    let unknown = stderr(probe(tree.path(), &["--rails", "rail9"]));
    assert!(unknown.contains("no rail `rail9`; rails here: rail2"), "{unknown}");
}

/// Root may read everything, so as root the survey is run by nobody, through util-linux's `setpriv`.
#[test]
fn what_one_may_not_read_is_unknown_with_that_reason() {
    use std::os::unix::fs::PermissionsExt;
    let (tree, place) = (node(), tempfile::tempdir().unwrap());
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    allow(tree.path(), 0o755);
    allow(place.path(), 0o755);
    let function = tree.path().join("sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0");
    for file in ["numa_node", "current_link_speed"] {
        allow(&function.join(file), 0o000);
    }
    // where it was built nobody else may come
    let binary = place.path().join("railscope");
    fs::copy(assert_cmd::cargo::cargo_bin("railscope"), &binary).unwrap();
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary);
        command
    } else {
        Command::new(&binary)
    };
    let done = command.args(["probe", "--json", "--root"]).arg(tree.path()).assert().success();
    let report: Value = serde_json::from_str(&stdout(&done)).unwrap();
    let rail = &report["rails"][0];
    assert_eq!(
        (&rail["numa_node"], &rail["pcie"]["current_gt_per_s"]),
        (&Value::Null, &Value::Null),
        "{rail}"
    );
    for file in ["numa_node", "current_link_speed"] {
        let told = format!("{file}: permission denied");
        let gaps = report["gaps"].as_array().unwrap();
        assert!(gaps.iter().any(|gap| gap["reason"] == told.as_str()), "{told}: {gaps:?}");
    }
}
