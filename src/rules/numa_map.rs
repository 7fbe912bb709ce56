//! `numa-inconsistent`, `numa-conflict`: descriptions of the machine that contradict each other.
//!
//! `numa-inconsistent` is about CPUs and nodes: a CPU on two nodes, the threads of a core on two nodes, or a
//! package and a node that overlap without one holding the other. Virtual machines whose topology was made up
//! show this; placement by node is then a guess. `numa-conflict` is about one device: its `numa_node` and its
//! `local_cpulist` name different CPUs. Sources: Documentation/ABI/stable/sysfs-devices-node,
//! sysfs-devices-system-cpu; Documentation/ABI/testing/sysfs-bus-pci.

use super::wording::nodes;
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{CpuSet, NumaNode, Topology};
use std::collections::BTreeSet;

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["numa-inconsistent", "numa-conflict"], check };

fn check(topology: &Topology, _: &Timeline, _: &Limits) -> Vec<Finding> {
    if topology.numa.len() < 2 {
        return Vec::new();
    }
    inconsistent(topology).into_iter().chain(conflicts(topology)).collect()
}

fn inconsistent(topology: &Topology) -> Option<Finding> {
    let on_two = cpus_on_two_nodes(&topology.numa);
    let split = &topology.host.split_cores;
    let across = packages_across_nodes(topology);
    let mut says = Vec::new();
    if !on_two.is_empty() {
        says.push(format!("CPUs {on_two} are on two nodes"));
    }
    if let Some(core) = split.first() {
        let on: Vec<u32> = topology.nodes_of_cpus(core).into_iter().collect();
        says.push(format!(
            "threads of one core are on two nodes ({} cores, such as CPUs {core} on {})",
            split.len(),
            nodes(&on)
        ));
    }
    if let Some((package, node)) = across.first() {
        says.push(format!("package {package} and node {node} overlap, and neither holds the other"));
    }
    if says.is_empty() {
        return None;
    }
    let message = format!(
        "the machine's NUMA map contradicts itself: {}; placement by node is a guess here",
        says.join("; ")
    );
    Some(
        Finding::new("numa-inconsistent", Severity::Warning, ["host"], message)
            .with("cpus_on_two_nodes", on_two.to_string())
            .with("split_cores", split.len())
            .with("example_core", split.first().map(ToString::to_string))
            .with("packages_across_nodes", across.len())
            .advise(
                "in a virtual machine: have the hypervisor present cores and nodes that fit (libvirt: <topology> and \
                 <numa> of <cpu> with whole cores in a cell); on hardware: update the BIOS; compare `lscpu -e` with \
                 `numactl -H`",
            ),
    )
}

fn cpus_on_two_nodes(numa: &[NumaNode]) -> CpuSet {
    let mut seen = BTreeSet::new();
    numa.iter()
        .filter_map(|node| node.cpus.as_ref())
        .flat_map(CpuSet::iter)
        .filter(|cpu| !seen.insert(*cpu))
        .collect()
}

/// Packages and nodes that share CPUs while each has CPUs that the other has not.
fn packages_across_nodes(topology: &Topology) -> Vec<(u32, u32)> {
    let mut across = Vec::new();
    for (package, cpus) in &topology.host.packages {
        for node in &topology.numa {
            let Some(of_node) = &node.cpus else { continue };
            if cpus.intersects(of_node) && !cpus.is_subset(of_node) && !of_node.is_subset(cpus) {
                across.push((*package, node.node));
            }
        }
    }
    across
}

fn conflicts(topology: &Topology) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut said = BTreeSet::new();
    for rail in &topology.rails {
        let (Some(node), Some(local)) = (rail.numa_node, &rail.local_cpus) else { continue };
        let Some(cpus) = topology.node(node).and_then(|node| node.cpus.as_ref()) else { continue };
        // all CPUs is what a platform says that knows no locality, and a part of the node is no contradiction
        let agree = local.is_empty() || cpus.is_empty() || local.is_subset(cpus) || cpus.is_subset(local);
        if agree || !said.insert(rail.device.as_str()) {
            continue;
        }
        let of_list: Vec<u32> = topology.nodes_of_cpus(local).into_iter().collect();
        let message = format!(
            "{}: numa_node says node {node} (CPUs {cpus}), local_cpulist says CPUs {local}{}; node {node} is used",
            rail.device,
            if of_list.is_empty() { String::new() } else { format!(" ({})", nodes(&of_list)) },
        );
        found.push(
            Finding::new("numa-conflict", Severity::Info, [&rail.device], message)
                .with("numa_node", node)
                .with("node_cpus", cpus.to_string())
                .with("local_cpulist", local.to_string())
                .with("local_cpulist_nodes", of_list)
                .advise(
                    "find out which is right by a load placed on each node (`railscope load PEER --place`); a BIOS \
                     update may mend the firmware's tables (ACPI _PXM)",
                ),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::{Rail, Topology};

    fn findings(topology: &Topology) -> Vec<Finding> {
        found(&RULE, topology, &Traffic::default())
    }

    fn machine() -> Topology {
        let mut topology = two_sockets(vec![rail("mlx5_0")]);
        topology.host.packages = [(0, "0-3".parse().unwrap()), (1, "4-7".parse().unwrap())].into();
        topology
    }

    #[test]
    fn threads_of_one_core_on_two_nodes_make_the_map_doubtful() {
        let mut topology = machine();
        topology.host.split_cores = vec!["0,4".parse().unwrap(), "1,5".parse().unwrap()];
        let found = findings(&topology);
        assert_eq!(named(&found), ["numa-inconsistent host"]);
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(
            found[0].message,
            "the machine's NUMA map contradicts itself: threads of one core are on two nodes (2 cores, such as CPUs \
             0,4 on nodes 0 and 1); placement by node is a guess here"
        );
    }

    #[test]
    fn overlapping_nodes_and_packages_across_nodes_do_too() {
        let mut overlap = machine();
        overlap.host.packages.clear();
        overlap.numa[1].cpus = Some("3-7".parse().unwrap());
        assert!(findings(&overlap)[0].message.contains("CPUs 3 are on two nodes"));
        let mut across = machine();
        across.host.packages = [(0, "0-1,4-5".parse().unwrap()), (1, "2-3,6-7".parse().unwrap())].into();
        assert_eq!(named(&findings(&across)), ["numa-inconsistent host"]);
    }

    #[test]
    fn packages_in_nodes_and_nodes_in_packages_are_consistent() {
        for packages in
            [&[(0, "0-3"), (1, "4-7")][..], &[(0, "0-7")], &[(0, "0-1"), (1, "2-3"), (2, "4-7")], &[]]
        {
            let mut topology = machine();
            topology.host.packages = packages.iter().map(|(at, cpus)| (*at, cpus.parse().unwrap())).collect();
            assert_eq!(named(&findings(&topology)), Vec::<String>::new(), "{packages:?}");
        }
    }

    #[test]
    fn a_device_with_two_places_is_worth_knowing() {
        let local = |cpus: &str| {
            let mut topology = machine();
            topology.rails[0] = Rail { local_cpus: Some(cpus.parse().unwrap()), ..rail("mlx5_0") };
            findings(&topology)
        };
        let found = local("4-7");
        assert_eq!(named(&found), ["numa-conflict mlx5_0"]);
        assert_eq!(found[0].severity, Severity::Info);
        assert_eq!(
            found[0].message,
            "mlx5_0: numa_node says node 0 (CPUs 0-3), local_cpulist says CPUs 4-7 (node 1); node 0 is used"
        );
        for agreeing in ["0-3", "0-7", "1", ""] {
            assert_eq!(named(&local(agreeing)), Vec::<String>::new(), "{agreeing}");
        }
    }
}
