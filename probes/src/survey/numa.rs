//! NUMA nodes: CPUs, memory, distances, sockets.

use super::Probe;
use super::host::offline_cpus;
use super::look::{Look, cause, quoted};
use super::pci::cpus_of_mask;
use crate::model::{CpuSet, HugePages, NumaNode, Topology};
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
        let offline = offline_cpus(root);
        for node in numbers {
            let folder = format!("{NODES}/node{node}");
            let mut look = Look::into(root, self.name(), format!("node {node}"), folder, &mut topology.gaps);
            let mut cpus = cpus(&mut look);
            // old kernels list them, and nothing can be bound to them
            if let Some(cpus) = cpus.as_mut().filter(|cpus| cpus.intersects(&offline)) {
                *cpus = cpus.iter().filter(|cpu| !offline.contains(*cpu)).collect();
            }
            let socket = cpus.as_ref().and_then(|cpus| package_of(root, cpus.iter().next()?));
            let meminfo = look.text("meminfo");
            let memory_bytes = meminfo.as_deref().and_then(|text| memory(text, &mut look));
            let memory_free_bytes = meminfo.as_deref().and_then(|text| bytes_of(text, "MemFree:"));
            let distances = distances(&mut look, &columns);
            let hugepages = hugepages(root, &mut look);
            topology.numa.push(NumaNode {
                node,
                cpus,
                memory_bytes,
                memory_free_bytes,
                socket,
                distances,
                hugepages,
            });
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
fn memory(meminfo: &str, look: &mut Look<'_>) -> Option<u64> {
    let bytes = bytes_of(meminfo, "MemTotal:");
    if bytes.is_none() {
        look.gap("meminfo: no MemTotal in it");
    }
    bytes
}

fn bytes_of(meminfo: &str, key: &str) -> Option<u64> {
    kilobytes(meminfo, key)?.checked_mul(1024)
}

/// The number behind `key` in a `meminfo` file, kB.
pub(super) fn kilobytes(meminfo: &str, key: &str) -> Option<u64> {
    meminfo.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != key);
        words.next()?;
        words.next()?.parse().ok()
    })
}

/// Pools by page size.
///
/// Source: Documentation/admin-guide/mm/hugetlbpage.rst (`hugepages-<size>kB` below a node).
fn hugepages(root: &Root, look: &mut Look<'_>) -> Option<Vec<HugePages>> {
    let folder = look.folder().join("hugepages");
    let names = match root.names(&folder) {
        Ok(names) => names,
        Err(error) => {
            look.gap(format!("hugepages: {}", cause(&error)));
            return None;
        }
    };
    let mut pools = Vec::new();
    for name in names {
        let size = name.strip_prefix("hugepages-").and_then(|rest| rest.strip_suffix("kB"));
        let Some(kb) = size.and_then(|kb| kb.parse::<u64>().ok()) else { continue };
        let total = look.parsed(&format!("hugepages/{name}/nr_hugepages"));
        let free = look.parsed(&format!("hugepages/{name}/free_hugepages"));
        if let (Some(page_bytes), Some(total), Some(free)) = (kb.checked_mul(1024), total, free) {
            pools.push(HugePages { page_bytes, total, free });
        }
    }
    pools.sort_by_key(|pool| pool.page_bytes);
    Some(pools)
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
    use crate::model::{HugePages, Topology};
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
                &[
                    ("cpulist", "0-3\n"),
                    ("meminfo", "Node 0 MemTotal:  1024 kB\nNode 0 MemFree:  512 kB\n"),
                    ("distance", "10 21\n"),
                ],
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
        assert_eq!(topology.node(0).unwrap().memory_free_bytes, Some(512 * 1024));
        assert_eq!(far.memory_free_bytes, None);
        assert!(far.cpus.as_ref().unwrap().is_empty());
        assert_eq!((far.memory_bytes, far.socket), (Some(2048 * 1024), None));
        let reasons: Vec<_> = topology.gaps.iter().map(|gap| gap.reason.as_str()).collect();
        assert_eq!(reasons, ["hugepages: no such file"; 2]);
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

    #[test]
    fn a_cpu_that_is_switched_off_is_on_no_node() {
        let tree = Tree::new();
        tree.file("sys/devices/system/node/node0/cpumap", "00000000,0000000f\n")
            .file("sys/devices/system/cpu/cpu2/online", "0\n");
        assert_eq!(survey(&tree).numa[0].cpus.as_ref().unwrap().to_string(), "0-1,3");
    }

    #[test]
    fn huge_pages_are_counted_by_size_and_an_unreadable_pool_is_a_gap() {
        let tree = Tree::new();
        let pools = "sys/devices/system/node/node0/hugepages";
        for (size, total, free) in [(1_048_576, "4", "0"), (2048, "1024", "1000"), (64, "many", "0")] {
            tree.file(&format!("{pools}/hugepages-{size}kB/nr_hugepages"), total);
            tree.file(&format!("{pools}/hugepages-{size}kB/free_hugepages"), free);
        }
        let topology = survey(&tree);
        let pool = |page_bytes, total, free| HugePages { page_bytes, total, free };
        assert_eq!(
            topology.numa[0].hugepages.as_deref().unwrap(),
            [pool(2 << 20, 1024, 1000), pool(1 << 30, 4, 0)]
        );
        let reason = "hugepages/hugepages-64kB/nr_hugepages: says `many`";
        assert!(topology.gaps.iter().any(|gap| gap.reason == reason), "{:?}", topology.gaps);
    }
}
