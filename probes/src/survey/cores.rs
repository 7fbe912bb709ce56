//! Packages, and cores that the nodes' CPU lists tear apart.

use super::Probe;
use super::numa::package_of;
use super::pci::cpus_of_mask;
use crate::model::{CpuSet, Topology};
use crate::root::{ReadError, Root};
use std::collections::{BTreeMap, BTreeSet};

const CPUS: &str = "sys/devices/system/cpu";

/// Reads which CPUs are threads of one core and which sit in one package.
///
/// On one node there is nothing to contradict, and nothing is read. Source:
/// Documentation/ABI/stable/sysfs-devices-system-cpu, `topology/` (`core_cpus_list` was called
/// `thread_siblings_list` before Linux 5.3, `package_cpus_list` was `core_siblings_list`).
pub(super) struct Cores;

impl Probe for Cores {
    fn name(&self) -> &'static str {
        "cores"
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        if topology.numa.len() < 2 {
            return Ok(());
        }
        let names = root.names(CPUS).unwrap_or_default();
        let mut cpus: Vec<u32> =
            names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
        cpus.sort_unstable();
        let split: BTreeSet<String> = cores(root, &cpus)
            .into_iter()
            .filter(|core| is_split(topology, core))
            .map(|core| core.to_string())
            .collect();
        let mut split: Vec<CpuSet> = split.iter().filter_map(|core| core.parse().ok()).collect();
        split.sort_by_key(|core| core.iter().next());
        topology.host.split_cores = split;
        topology.host.packages = packages(root, &cpus);
        Ok(())
    }
}

/// The threads of each core, each core once. Cores that do not tell are left out.
fn cores(root: &Root, cpus: &[u32]) -> Vec<CpuSet> {
    let mut seen = BTreeSet::new();
    let mut cores = Vec::new();
    for cpu in cpus {
        if seen.contains(cpu) {
            continue;
        }
        if let Some(core) =
            siblings(root, *cpu, ["thread_siblings_list", "core_cpus_list"], "thread_siblings")
        {
            seen.extend(core.iter());
            cores.push(core);
        }
    }
    cores
}

fn packages(root: &Root, cpus: &[u32]) -> BTreeMap<u32, CpuSet> {
    let mut members: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    for cpu in cpus {
        if seen.contains(cpu) {
            continue;
        }
        let Some(package) = package_of(root, *cpu) else { continue };
        let listed = siblings(root, *cpu, ["package_cpus_list", "core_siblings_list"], "core_siblings");
        let listed: BTreeSet<u32> = listed.iter().flat_map(CpuSet::iter).chain([*cpu]).collect();
        seen.extend(&listed);
        members.entry(package).or_default().extend(listed);
    }
    members.into_iter().map(|(package, cpus)| (package, cpus.into_iter().collect())).collect()
}

/// A list of CPUs from one of two names, on the oldest kernels from a mask.
fn siblings(root: &Root, cpu: u32, lists: [&str; 2], mask: &str) -> Option<CpuSet> {
    let folder = format!("{CPUS}/cpu{cpu}/topology");
    let listed =
        lists.iter().find_map(|file| root.text(format!("{folder}/{file}")).ok()?.parse::<CpuSet>().ok());
    listed
        .or_else(|| cpus_of_mask(&root.text(format!("{folder}/{mask}")).ok()?))
        .filter(|cpus| !cpus.is_empty())
}

fn is_split(topology: &Topology, core: &CpuSet) -> bool {
    topology.nodes_of_cpus(core).len() > 1
}

#[cfg(test)]
mod tests {
    use super::Cores;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::numa::Numa;
    use crate::survey::testing::Tree;

    /// Four CPUs of two cores; `siblings` are the threads of CPU 0's core, and of CPU 1's.
    fn survey(siblings: [(&str, &str); 2], file: &str) -> Topology {
        let tree = Tree::new();
        tree.file("sys/devices/system/node/node0/cpulist", "0-1\n");
        tree.file("sys/devices/system/node/node1/cpulist", "2-3\n");
        for (cpu, package) in [(0, "0\n"), (1, "0\n"), (2, "1\n"), (3, "1\n")] {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            let (_, text) = siblings.iter().find(|(cpus, _)| cpus.contains(&cpu.to_string())).unwrap();
            tree.files(&folder, &[("physical_package_id", package), (file, text)]);
        }
        tree.file("sys/devices/system/cpu/cpufreq/policy0/x", "");
        let mut topology = Topology::default();
        Numa.survey(&tree.root(), &mut topology).unwrap();
        Cores.survey(&tree.root(), &mut topology).unwrap();
        topology
    }

    fn split(topology: &Topology) -> Vec<String> {
        topology.host.split_cores.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_core_whose_threads_are_on_two_nodes_is_noted_once() {
        let topology = survey([("02", "0,2\n"), ("13", "1,3\n")], "thread_siblings_list");
        assert_eq!(split(&topology), ["0,2", "1,3"]);
        let packages: Vec<String> = topology.host.packages.values().map(ToString::to_string).collect();
        assert_eq!(packages, ["0-1", "2-3"]);
    }

    #[test]
    fn cores_within_their_node_are_fine_under_either_name_and_as_a_mask() {
        for (file, first, second) in [
            ("core_cpus_list", "0-1\n", "2-3\n"),
            ("thread_siblings", "00000000,00000003\n", "00000000,0000000c\n"),
            ("thread_siblings_list", "noise", ""),
        ] {
            assert_eq!(split(&survey([("01", first), ("23", second)], file)), Vec::<String>::new(), "{file}");
        }
    }

    #[test]
    fn on_one_node_nothing_is_read() {
        let tree = Tree::new();
        tree.file("sys/devices/system/node/node0/cpulist", "0-1\n");
        tree.file("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
        let mut topology = Topology::default();
        Numa.survey(&tree.root(), &mut topology).unwrap();
        Cores.survey(&tree.root(), &mut topology).unwrap();
        assert!(topology.host.packages.is_empty() && topology.host.split_cores.is_empty());
    }
}
