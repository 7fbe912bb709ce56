//! What a survey costs on a machine larger than any we have seen: 64 rails on 8 nodes with 400 CPUs, GID tables of 256
//! entries, 8 GPUs. The tree lies in `TMPDIR`; on a live node sysfs makes each file anew, which `make lab` measures.

use probes::root::Root;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::LazyLock;
use std::{fs, io};

const NODES: usize = 8;
const CPUS_PER_NODE: usize = 50;
const RAILS: usize = 64;
const GPUS: usize = 8;
const GID_ENTRIES: usize = 256;

static MACHINE: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder for the tree");
    build(folder.path()).expect("the tree can be written");
    folder
});

fn main() {
    let found = survey();
    assert_eq!((found.rails.len(), found.numa.len(), found.gpus.len()), (RAILS, NODES, GPUS));
    assert!(found.rails.iter().all(|rail| rail.gid.is_some() && rail.numa_node.is_some()));
    divan::main();
}

#[divan::bench]
fn survey() -> probes::model::Topology {
    probes::survey::survey(&Root::at(MACHINE.path()))
}

fn build(root: &Path) -> io::Result<()> {
    let everything = format!("0-{}", NODES * CPUS_PER_NODE - 1);
    files(root, "sys/devices/system/cpu", &[("possible", &everything), ("online", &everything)])?;
    files(root, "sys/devices/system/node", &[("online", &format!("0-{}", NODES - 1))])?;
    for node in 0..NODES {
        let distances: Vec<&str> = (0..NODES).map(|other| if other == node { "10" } else { "32" }).collect();
        let memory = format!("Node {node} MemTotal: 134217728 kB\nNode {node} MemFree: 67108864 kB\n");
        files(
            root,
            &format!("sys/devices/system/node/node{node}"),
            &[("cpulist", &cpus(node)), ("distance", &distances.join(" ")), ("meminfo", &memory)],
        )?;
    }
    for rail in 0..RAILS {
        nic(root, rail)?;
    }
    (0..GPUS).try_for_each(|gpu| {
        let bus = format!("pci{:04x}:00", 0x100 + gpu);
        pci(root, &bus, &format!("{:04x}:00:00.0", 0x100 + gpu), ("0x030200", "0x10de", "0x2330"), gpu)
            .map(|_| ())
    })
}

fn cpus(node: usize) -> String {
    format!("{}-{}", node * CPUS_PER_NODE, (node + 1) * CPUS_PER_NODE - 1)
}

/// A `ConnectX-7` below a root port and a switch, with one port and its netdev.
fn nic(root: &Path, rail: usize) -> io::Result<()> {
    let node = rail * NODES / RAILS;
    let mut place = format!("pci{rail:04x}:00");
    for (bus, slot) in [(0, "01"), (1, "00"), (2, "00")] {
        place = pci(
            root,
            &place,
            &format!("{rail:04x}:{bus:02x}:{slot}.0"),
            ("0x060400", "0x1000", "0xc030"),
            node,
        )?;
    }
    let function = pci(root, &place, &format!("{rail:04x}:03:00.0"), ("0x020700", "0x15b3", "0x1021"), node)?;
    link(root, &format!("{function}/driver"), "sys/bus/pci/drivers/mlx5_core")?;
    let device = format!("{function}/infiniband/mlx5_{rail}");
    link(root, &format!("{device}/device"), &function)?;
    link(root, &format!("sys/class/infiniband/mlx5_{rail}"), &device)?;
    let image = format!("aaaa:0000:0000:{rail:04x}");
    let about = [
        ("node_type", "1: CA"),
        ("fw_ver", "28.39.1002"),
        ("board_id", "MT_0000000834"),
        ("sys_image_guid", &image),
    ];
    files(root, &device, &about)?;
    let port = format!("{device}/ports/1");
    let state = [
        ("state", "4: ACTIVE"),
        ("phys_state", "5: LinkUp"),
        ("rate", "400 Gb/sec (4X NDR)"),
        ("link_layer", "Ethernet"),
    ];
    files(root, &port, &state)?;
    files(root, &format!("{port}/counters"), &[("port_rcv_data", "1"), ("port_xmit_data", "1")])?;
    for index in 0..GID_ENTRIES {
        let gid = match index {
            0 | 1 => format!("fe80:0000:0000:0000:0000:00ff:fe00:{rail:04x}"),
            2 | 3 => format!("0000:0000:0000:0000:0000:ffff:0a{rail:02x}:0001"),
            _ => "0000:0000:0000:0000:0000:0000:0000:0000".to_owned(),
        };
        files(root, &format!("{port}/gids"), &[(&index.to_string(), &gid)])?;
        if index < 4 {
            let kind = if index % 2 == 0 { "IB/RoCE v1" } else { "RoCE v2" };
            files(root, &format!("{port}/gid_attrs/types"), &[(&index.to_string(), kind)])?;
            files(root, &format!("{port}/gid_attrs/ndevs"), &[(&index.to_string(), &format!("eth{rail}"))])?;
        }
    }
    let netdev = format!("{function}/net/eth{rail}");
    files(root, &netdev, &[("mtu", "4200"), ("speed", "400000"), ("operstate", "up"), ("carrier", "1")])?;
    link(root, &format!("{netdev}/device"), &function)?;
    link(root, &format!("sys/class/net/eth{rail}"), &netdev)
}

/// A PCI function below `parent`; gives its folder.
fn pci(root: &Path, parent: &str, address: &str, id: (&str, &str, &str), node: usize) -> io::Result<String> {
    let parent = parent.strip_prefix("sys/devices/").unwrap_or(parent);
    let folder = format!("sys/devices/{parent}/{address}");
    let (speed, width) = ("32.0 GT/s PCIe", "16");
    let about = [
        ("class", id.0),
        ("vendor", id.1),
        ("device", id.2),
        ("numa_node", &*node.to_string()),
        ("local_cpulist", &*cpus(node)),
        ("current_link_speed", speed),
        ("current_link_width", width),
        ("max_link_speed", speed),
        ("max_link_width", width),
    ];
    files(root, &folder, &about)?;
    link(root, &format!("sys/bus/pci/devices/{address}"), &folder)?;
    Ok(folder)
}

fn files(root: &Path, folder: &str, texts: &[(&str, &str)]) -> io::Result<()> {
    fs::create_dir_all(root.join(folder))?;
    texts.iter().try_for_each(|(name, text)| fs::write(root.join(folder).join(name), format!("{text}\n")))
}

/// Makes `path` a link to `to`, both seen from the tree's root.
fn link(root: &Path, path: &str, to: &str) -> io::Result<()> {
    let full = root.join(path);
    if let Some(parent) = full.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir_all(root.join(to))?;
    symlink(format!("{}{to}", "../".repeat(Path::new(path).components().count() - 1)), full)
}
