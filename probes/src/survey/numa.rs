//! NUMA nodes: CPUs, memory, distances, sockets.

use super::Probe;
use super::look::{Look, quoted};
use super::pci::cpus_of_mask;
use crate::model::{CpuSet, NumaNode, Topology};
use crate::root::{ReadError, Root};
use std::collections::BTreeMap;

const NODES: &str = "sys/devices/system/node";

/// Reads `/sys/devices/system/node`.
///
/// Source: Documentation/ABI/stable/sysfs-devices-node.
pub(super) struct Numa;

impl Probe for Numa {
    fn name(&self) -> &'static str {
        "numa"
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let numbers: Vec<u32> = {
            let names = root.names(NODES)?;
            let mut numbers: Vec<u32> =
                names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
            numbers.sort_unstable();
            numbers
        };
        let online = root.text(format!("{NODES}/online")).ok().and_then(|text| text.parse::<CpuSet>().ok());
        // the kernel writes one distance per online node, in their order
        let columns: Vec<u32> = online.as_ref().map_or_else(|| numbers.clone(), |set| set.iter().collect());
        for node in numbers {
            let folder = format!("{NODES}/node{node}");
            let mut look = Look::into(root, self.name(), format!("node {node}"), folder, &mut topology.gaps);
            let cpus = cpus(&mut look);
            let socket = cpus.as_ref().and_then(|cpus| package_of(root, cpus.iter().next()?));
            let memory_bytes = memory(&mut look);
            let distances = distances(&mut look, &columns);
            topology.numa.push(NumaNode { node, cpus, memory_bytes, socket, distances });
        }
        Ok(())
    }
}

/// CPUs of the node; kernels before 2.6.30 have the mask alone.
fn cpus(look: &mut Look<'_>) -> Option<CpuSet> {
    // an empty file is the empty list of a memory-only node
    if let Some(list) = look.maybe_empty("cpulist") {
        let set = list.parse().ok();
        if set.is_none() {
            look.gap(format!("cpulist: says {}", quoted(&list)));
        }
        return set;
    }
    let mask = look.text("cpumap")?;
    let set = cpus_of_mask(&mask);
    if set.is_none() {
        look.gap(format!("cpumap: says {}", quoted(&mask)));
    }
    set
}

/// `Node 0 MemTotal: 1215488000 kB`.
fn memory(look: &mut Look<'_>) -> Option<u64> {
    let text = look.text("meminfo")?;
    let bytes = kilobytes(&text, "MemTotal:").and_then(|kb| kb.checked_mul(1024));
    if bytes.is_none() {
        look.gap("meminfo: no MemTotal in it");
    }
    bytes
}

/// The number behind `key` in a `meminfo` file, kB.
pub(super) fn kilobytes(meminfo: &str, key: &str) -> Option<u64> {
    meminfo.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != key);
        words.next()?;
        words.next()?.parse().ok()
    })
}

fn distances(look: &mut Look<'_>, columns: &[u32]) -> BTreeMap<u32, u32> {
    let Some(text) = look.text("distance") else {
        return BTreeMap::new();
    };
    let values: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    match values {
        Some(values) if values.len() == columns.len() => columns.iter().copied().zip(values).collect(),
        _ => {
            look.gap(format!("distance: says {} for {} nodes", quoted(&text), columns.len()));
            BTreeMap::new()
        }
    }
}

/// Physical package of a CPU; `None` where the platform numbers none.
pub(super) fn package_of(root: &Root, cpu: u32) -> Option<u32> {
    let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
    // -1, or the same as an unsigned number, is the kernel's "unknown"
    root.text(file).ok()?.parse().ok().filter(|package| *package != u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Numa;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::testing::Tree;

    fn survey(tree: &Tree) -> Topology {
        let mut topology = Topology::default();
        Numa.survey(&tree.root(), &mut topology).unwrap();
        topology
    }

    #[test]
    fn sparse_nodes_keep_their_numbers_and_distances() {
        let tree = Tree::new();
        tree.file("sys/devices/system/node/online", "0,33\n")
            .files(
                "sys/devices/system/node/node0",
                &[("cpulist", "0-3\n"), ("meminfo", "Node 0 MemTotal:  1024 kB\n"), ("distance", "10 21\n")],
            )
            .files(
                "sys/devices/system/node/node33",
                &[("cpulist", "\n"), ("meminfo", "Node 33 MemTotal:  2048 kB\n"), ("distance", "21 10\n")],
            )
            .file("sys/devices/system/cpu/cpu0/topology/physical_package_id", "1\n");
        let topology = survey(&tree);
        let far = topology.node(33).unwrap();
        assert_eq!(topology.distance(0, 33), Some(21));
        assert_eq!(topology.node(0).unwrap().socket, Some(1));
        assert!(far.cpus.as_ref().unwrap().is_empty());
        assert_eq!((far.memory_bytes, far.socket), (Some(2048 * 1024), None));
        assert_eq!(topology.gaps, []);
    }

    #[test]
    fn a_node_without_memory_has_zero_bytes_and_one_without_files_unknown() {
        let tree = Tree::new();
        tree.files(
            "sys/devices/system/node/node0",
            &[
                ("cpumap", "00000000,0000000f\n"),
                ("meminfo", "Node 0 MemTotal: 0 kB\n"),
                ("distance", "10 20 30\n"),
            ],
        )
        .file("sys/devices/system/node/node1/compact", "");
        let topology = survey(&tree);
        let nodes = &topology.numa;
        assert_eq!(nodes[0].cpus.as_ref().unwrap().to_string(), "0-3");
        assert_eq!(nodes[0].memory_bytes, Some(0));
        assert_eq!((&nodes[1].cpus, nodes[1].memory_bytes), (&None, None));
        assert!(
            topology.gaps.iter().any(|g| g.reason == "distance: says `10 20 30` for 2 nodes"),
            "{:?}",
            topology.gaps
        );
        assert!(topology.gaps.iter().any(|g| g.subject == "node 1" && g.reason == "meminfo: no such file"));
    }
}
