//! Captures of small trees, unpacked and surveyed again.

use super::{Capture, Entry, tree};
use crate::model::Topology;
use crate::root::Root;
use crate::survey::survey;
use crate::survey::testing::Tree;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A node that has every kind of original that a mask must replace.
fn node() -> Tree {
    let tree = Tree::with_nic();
    let nic = "sys/class/infiniband/mlx5_0";
    let config = {
        let mut bytes = vec![0_u8; 0x120];
        bytes[0x100..0x104].copy_from_slice(&0x0001_0003_u32.to_le_bytes());
        bytes[0x104..0x10c].copy_from_slice(&0xb859_9fff_fea7_1234_u64.to_le_bytes());
        bytes
    };
    tree.file("proc/sys/kernel/hostname", "n7.cluster.internal\n")
        .file("proc/version", "Linux version 6.1.0 (bob@forge) (gcc 12)\n")
        .file("proc/cmdline", "root=UUID=3f2504e0-4f89-11d3-9a0c-0305e82c3301 ip=10.1.2.3::10.1.2.254\n")
        .file("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nnas9:/x /x nfs rw,addr=10.1.2.3 0 0\n")
        .file("proc/self/cgroup", "0::/pods/c5b166bc6fcbe9287fd0280d1b01cd7b\n")
        .file("sys/fs/cgroup/pods/c5b166bc6fcbe9287fd0280d1b01cd7b/cpuset.cpus.effective", "0-2\n")
        .file(&format!("{nic}/node_guid"), "b859:9f03:00a7:1234\n")
        .file(&format!("{nic}/sys_image_guid"), "b859:9f03:00a7:1234\n")
        .file(&format!("{nic}/node_desc"), "n7 mlx5_0\n")
        .file(&format!("{nic}/ports/1/gids/0"), "fe80:0000:0000:0000:ba59:9fff:fea7:1234\n")
        .file(&format!("{nic}/ports/1/gids/1"), "fe80:0000:0000:0000:ba59:9fff:fea7:1234\n")
        .file("sys/class/net/eth0/address", "b8:59:9f:a7:12:34\n")
        .file("sys/bus/pci/devices/0000:41:00.0/config", config)
        .file("captured/ibv_devinfo", "hca_id:\tmlx5_0\n\tfw_ver:\t28.39.10.2\n\t\tport:\t1\n\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tGID[  3]:\t\t::ffff:198.51.100.11, RoCE v2\n")
        .file("captured/ethtool-S/eth0", "NIC statistics:\n     rx_discards_phy: 3\n")
        .file("captured/rdma-res-qp.json", "[{\"ifname\":\"mlx5_0\",\"lqpn\":9,\"pid\":42}]\n");
    tree
}

/// The vendor's three bytes of a MAC stay, so each is looked for by what follows them.
const ORIGINALS: [&str; 13] = [
    "nas9",
    "c5b166bc",
    "n7",
    "cluster",
    "bob",
    "forge",
    "3f2504e0",
    "10.1.2.3",
    "a7:12:34",
    "00a7:1234",
    "fea7:1234",
    "198.51.100.11",
    "c633:640b",
];

fn unpacked(capture: &Capture) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    capture.write_to(&mut bytes).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice())).unpack(dir.path()).unwrap();
    dir
}

fn of(dir: &Path) -> Topology {
    survey(&Root::at(dir))
}

#[test]
fn the_copy_of_a_tree_surveys_as_the_tree_does() {
    let tree = node();
    let copy = unpacked(&self::tree(tree.root().base()));
    assert_eq!(of(copy.path()), of(tree.root().base()));
    assert_eq!(std::fs::read_link(copy.path().join("sys/class/net/eth0")).unwrap(), tree_link(&tree));
}

fn tree_link(tree: &Tree) -> PathBuf {
    std::fs::read_link(tree.root().base().join("sys/class/net/eth0")).unwrap()
}

#[test]
fn only_what_is_read_is_taken() {
    let tree = node();
    tree.file("etc/shadow", "secret").file("sys/class/net/eth0/phys_port_name", "p0");
    let capture = self::tree(tree.root().base());
    let paths: Vec<String> = capture.entries.keys().map(|path| path.display().to_string()).collect();
    assert!(!paths.iter().any(|path| path.contains("shadow")), "{paths:?}");
    // its folder is listed, so its name is there
    let port_name = capture.entries.iter().find(|(path, _)| path.ends_with("eth0/phys_port_name"));
    assert_eq!(port_name.unwrap().1, &Entry::File(vec![]));
    let mut told: Vec<String> = capture.told().collect();
    told.sort();
    assert_eq!(told, ["ethtool-S/eth0", "ibv_devinfo", "rdma-res-qp.json"]);
}

#[test]
fn interrupts_are_names_that_a_copy_has_too() {
    let tree = node();
    for irq in [25, 26, 27] {
        tree.file(&format!("sys/bus/pci/devices/0000:41:00.0/msi_irqs/{irq}"), "msix\n")
            .file(&format!("proc/irq/{irq}/smp_affinity_list"), "0-3\n")
            .file(&format!("proc/irq/{irq}/effective_affinity_list"), "1\n");
    }
    let before = of(tree.root().base()).rails.remove(0).interrupts;
    assert_eq!(before.as_ref().unwrap().count, 3);
    for capture in [self::tree(tree.root().base()), self::tree(tree.root().base()).masked().0] {
        assert_eq!(of(unpacked(&capture).path()).rails.remove(0).interrupts, before);
    }
}

#[test]
fn of_processes_only_what_tells_rank_and_memory_is_taken() {
    let tree = node();
    tree.file("proc/42/comm", "train\n")
        .file(
            "proc/42/environ",
            "TOKEN=hunter2\0RANK=3\0MASTER_ADDR=gpu-b9\0MASTER_PORT=29500\0DB=postgres://x:hunter2@db\0",
        )
        .file(
            "proc/42/numa_maps",
            "7f20 default file=/home/hunter2/libx.so mapped=9000 N0=9000 kernelpagesize_kB=4\n\
             7f40 bind:1 anon=1024 dirty=1024 N1=1024 kernelpagesize_kB=4\n",
        );
    let processes = |base: &Path| {
        let mut topology = of(base);
        let mut watcher = crate::processes::Watcher::open(&Root::at(base), &mut topology);
        watcher.look(&Root::at(base), 0).unwrap()
    };
    let capture = self::tree(tree.root().base());
    assert!(!everything(&capture).contains("hunter2"));
    assert_eq!(processes(unpacked(&capture).path()), processes(tree.root().base()));
    let (masked, _) = capture.masked();
    assert!(!everything(&masked).contains("gpu-b9"));
    let process = processes(unpacked(&masked).path()).remove(0);
    assert_eq!(process.large_mapping_bytes_by_node, Some([(1, 4 << 20)].into()));
    assert_eq!(process.rank.unwrap().rank, 3);
}

#[test]
fn a_folder_that_may_not_be_entered_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let tree = node();
    let base = tree.root().base().to_owned();
    let ports = base.join("sys/class/infiniband/mlx5_0/ports");
    let set = |mode| std::fs::set_permissions(&ports, std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o000);
    let may_enter = std::fs::read_dir(&ports).is_ok();
    let capture = self::tree(&base);
    set(0o755);
    if may_enter {
        eprintln!("skipped: root may enter every folder");
        return;
    }
    let reasons = capture.not_taken.iter().filter(|not| not.path.ends_with("mlx5_0/ports"));
    assert_eq!(reasons.map(|not| not.reason.as_str()).collect::<Vec<_>>(), ["permission denied"]);
}

/// Everything of an archive in one text: names, link targets and contents.
fn everything(capture: &Capture) -> String {
    let entry = |(path, entry): (&PathBuf, &Entry)| match entry {
        Entry::Folder => path.display().to_string(),
        Entry::Link(to) => format!("{} -> {}", path.display(), to.display()),
        Entry::File(bytes) => format!("{}\n{}", path.display(), String::from_utf8_lossy(bytes)),
    };
    capture.entries.iter().map(entry).collect::<Vec<_>>().join("\n")
}

#[test]
fn none_of_the_originals_survives_a_mask() {
    let (masked, counts) = tree(node().root().base()).masked();
    let everything = everything(&masked);
    for original in ORIGINALS {
        assert!(!everything.contains(original), "{original} in\n{everything}");
    }
    let Some(Entry::File(config)) =
        masked.entries.iter().find(|(path, _)| path.ends_with("config")).map(|(_, entry)| entry)
    else {
        panic!("no config space");
    };
    assert!(!config.windows(5).any(|bytes| bytes == [0x34, 0x12, 0xa7, 0xfe, 0xff]));
    assert_eq!(counts.values["host names"], 1);
    assert!(counts.values["IP addresses"] >= 2 && counts.values["GUIDs"] >= 1, "{counts:?}");
}

#[test]
fn a_masked_node_is_the_same_node_to_the_survey() {
    let tree = node();
    let (masked, _) = self::tree(tree.root().base()).masked();
    let copy = unpacked(&masked);
    let (before, mut after) = (of(tree.root().base()), of(copy.path()));
    let (original, rail) = (&before.rails[0], &mut after.rails[0]);
    let kinds = |rail: &crate::model::Rail| -> Vec<_> {
        rail.gids
            .iter()
            .map(|gid| (gid.index, gid.kind, gid.netdev.clone(), gid.address.to_ipv4_mapped().is_some()))
            .collect()
    };
    assert_eq!(kinds(original), kinds(rail));
    assert_eq!(original.gid, rail.gid);
    assert_eq!(rail.path_mtu, Some(4096));
    // the same but for what was masked
    rail.gids.clone_from(&original.gids);
    rail.system_image_guid.clone_from(&original.system_image_guid);
    assert_eq!(original, rail);
    assert_eq!(after.host.hostname.as_deref(), Some("masked-host.example"));
    assert_eq!(after.host.cpuset_cpus, Some("0-2".parse().unwrap()));
}

#[test]
fn a_hostile_tree_ends_in_lines_and_no_hang() {
    let tree = node();
    let base = tree.root().base().to_owned();
    let nic = base.join("sys/class/infiniband/mlx5_0");
    symlink("loop", base.join("sys/class/infiniband/loop")).unwrap();
    std::fs::remove_file(nic.join("fw_ver")).unwrap();
    std::fs::File::create(nic.join("fw_ver")).unwrap().set_len(1 << 40).unwrap();
    std::fs::write(nic.join("board_id"), [0xff, 0xfe, 0, 7, 0x9f, 0x28]).unwrap();
    tree.file("proc/version", "b8:59:9f:a7:12:34-".repeat(5_000))
        .file("proc/cmdline", "a-".repeat(40_000))
        .file("captured/ibv_devinfo", "b8:59:9f:a7:12:34-".repeat(56));
    std::fs::remove_file(nic.join("node_type")).unwrap();
    symlink("/etc/passwd", nic.join("node_type")).unwrap();
    symlink("../../../../../../../../../../etc", base.join("sys/class/net/out")).unwrap();
    let capture = self::tree(&base);
    let not_taken: Vec<String> =
        capture.not_taken.iter().map(|n| format!("{}: {}", n.path.display(), n.reason)).collect();
    assert!(
        not_taken.iter().any(|line| line.ends_with("fw_ver: larger than 16777216 bytes")),
        "{not_taken:?}"
    );
    assert!(!everything(&capture).contains("root:"));
    let (masked, _) = capture.masked();
    let copy = unpacked(&masked);
    assert_eq!(of(copy.path()).rails.len(), of(&base).rails.len());
}

#[test]
fn this_machine_can_be_captured_and_its_copy_is_this_machine() {
    let copy = unpacked(&super::live());
    let (here, there) = (survey(&Root::live()), of(copy.path()));
    assert_eq!((&here.host.kernel, &here.host.hostname), (&there.host.kernel, &there.host.hostname));
    assert_eq!((here.host.cpus, here.host.sockets), (there.host.cpus, there.host.sockets));
    // free memory changes while we look
    let nodes = |topology: &Topology| -> Vec<_> {
        topology.numa.iter().map(|n| (n.node, n.cpus.clone(), n.memory_bytes, n.distances.clone())).collect()
    };
    assert_eq!(nodes(&here), nodes(&there));
    assert_eq!(here.host.memlock_bytes, there.host.memlock_bytes);
    assert!(!copy.path().join("proc/self").is_symlink());
}
