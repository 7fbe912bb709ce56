//! `numa-cpuset`, `numa-no-memory`: nothing can be placed on the rail's node, so a binding to it must fail.
//!
//! The cpuset is the effective one of this process's cgroup (where unreadable, `Mems_allowed`); a plain CPU
//! affinity can be changed by the process itself and is no limit. Sources: cpuset(7), `set_mempolicy(2)`,
//! Documentation/admin-guide/cgroup-v2.rst.

use super::wording::{list, nodes, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Host, NumaNode, Topology};
use std::collections::BTreeMap;

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["numa-cpuset", "numa-no-memory"], check };

fn check(topology: &Topology, _: &Timeline, _: &Limits) -> Vec<Finding> {
    if topology.numa.is_empty() {
        return Vec::new();
    }
    let mut by_node: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for rail in &topology.rails {
        if let Some(node) = rail.numa_node {
            by_node.entry(node).or_default().push(&rail.device);
        }
    }
    by_node
        .into_iter()
        .filter_map(|(node, mut devices)| {
            devices.dedup();
            // a node that lacks something is outside every cpuset as well
            bare_node(topology, node, &devices).or_else(|| outside_cpuset(topology, node, &devices))
        })
        .collect()
}

fn outside_cpuset(topology: &Topology, number: u32, devices: &[&str]) -> Option<Finding> {
    let node = topology.node(number)?;
    let host = &topology.host;
    let no_cpus = node
        .cpus
        .as_ref()
        .zip(host.cpuset_cpus.as_ref())
        .is_some_and(|(cpus, allowed)| !cpus.is_empty() && !cpus.intersects(allowed));
    let no_memory = host.cpuset_mems.as_ref().is_some_and(|allowed| !allowed.contains(number));
    if !no_cpus && !no_memory {
        return None;
    }
    let cpus = host.cpuset_cpus.as_ref().map(|cpus| format!("CPUs {cpus}"));
    let memory = host.cpuset_mems.as_ref().map(|mems| {
        let all: Vec<u32> = mems.iter().filter(|number| topology.node(*number).is_some()).collect();
        format!("memory of {}", nodes(&all))
    });
    let (excluded, so) = match (no_cpus, no_memory) {
        (true, true) => (
            "neither its CPUs nor its memory",
            format!("everything crosses from node to node, and binding to node {number} fails"),
        ),
        (true, false) => (
            "not its CPUs",
            format!(
                "threads run on another node; `--cpunodebind={number}` fails, `--membind={number}` keeps the data near"
            ),
        ),
        (false, _) => (
            "not its memory",
            format!(
                "the data cross from node to node; `--membind={number}` fails, `--cpunodebind={number}` works"
            ),
        ),
    };
    let message = format!(
        "{} {} on node {number}; this container or job may use {} only, {excluded}: {so}",
        list(devices.iter().copied()),
        verb(devices.len(), "is", "are"),
        list(cpus.into_iter().chain(memory)),
    );
    let wanted_cpus = node.cpus.as_ref().map_or_else(|| "CPUS".to_owned(), ToString::to_string);
    Some(
        Finding::new("numa-cpuset", Severity::Warning, devices.iter().copied(), message)
            .with("node", number)
            .with("cpus_allowed", host.cpuset_cpus.as_ref().map(ToString::to_string))
            .with("memory_nodes_allowed", host.cpuset_mems.as_ref().map(ToString::to_string))
            .with("node_cpus", node.cpus.as_ref().map(ToString::to_string))
            .advise(format!(
                "cannot be mended from inside: have the container or job be given the rail's node, from outside: \
                 `docker update --cpuset-cpus={wanted_cpus} --cpuset-mems={number} CONTAINER`; in Kubernetes the \
                 Topology Manager's policy single-numa-node; or use a rail of a node it has"
            )),
    )
}

/// A node that is not online, or has no memory or no CPUs.
fn bare_node(topology: &Topology, number: u32, devices: &[&str]) -> Option<Finding> {
    let node = topology.node(number);
    let no_memory = node.is_none_or(|node| node.memory_bytes == Some(0));
    let no_cpus = node.is_none_or(|node| node.cpus.as_ref().is_some_and(probes::model::CpuSet::is_empty));
    let lacks = match (no_memory, no_cpus) {
        (true, true) if node.is_none() => "is not online: it has no memory and no CPUs",
        (true, true) => "has no memory and no CPUs",
        (true, false) => "has no memory",
        (false, true) => "has no CPUs",
        (false, false) => return None,
    };
    let cpus = nearest(topology, number, |node| has_cpus(node, &topology.host));
    let memory = nearest(topology, number, |node| has_memory(node, &topology.host));
    let fails = match (no_memory, no_cpus) {
        (true, true) => "binding to it fails".to_owned(),
        (true, false) => format!("`--membind={number}` fails"),
        _ => format!("`--cpunodebind={number}` fails"),
    };
    let message = format!(
        "{} {} on node {number}, which {lacks}: {fails}; nearest with CPUs that may be used: {}, with \
         memory: {}",
        list(devices.iter().copied()),
        verb(devices.len(), "is", "are"),
        some_nodes(&cpus),
        some_nodes(&memory),
    );
    let advice = match (cpus.first(), memory.first()) {
        (Some(cpus), Some(memory)) => {
            format!("`numactl --cpunodebind={cpus} --membind={memory} COMMAND ...`")
        }
        _ => "give this container or job a cpuset with CPUs and memory first".to_owned(),
    };
    Some(
        Finding::new("numa-no-memory", Severity::Warning, devices.iter().copied(), message)
            .with("node", number)
            .with("node_memory_bytes", node.and_then(|node| node.memory_bytes))
            .with("node_cpus", node.and_then(|node| node.cpus.as_ref()).map(ToString::to_string))
            .with("nearest_nodes_with_cpus", cpus)
            .with("nearest_nodes_with_memory", memory)
            .advise(advice),
    )
}

fn some_nodes(numbers: &[u32]) -> String {
    if numbers.is_empty() { "none".to_owned() } else { nodes(numbers) }
}

fn has_cpus(node: &NumaNode, host: &Host) -> bool {
    let Some(cpus) = node.cpus.as_ref().filter(|cpus| !cpus.is_empty()) else { return false };
    host.cpuset_cpus.as_ref().is_none_or(|allowed| cpus.intersects(allowed))
}

fn has_memory(node: &NumaNode, host: &Host) -> bool {
    let allowed = host.cpuset_mems.as_ref().is_none_or(|allowed| allowed.contains(node.node));
    node.memory_bytes.is_some_and(|bytes| bytes > 0) && allowed
}

/// The usable nodes at the smallest distance; all usable ones where no distance is known.
fn nearest(topology: &Topology, from: u32, usable: impl Fn(&NumaNode) -> bool) -> Vec<u32> {
    let usable: Vec<u32> = topology.numa.iter().filter(|node| usable(node)).map(|node| node.node).collect();
    let distance = |to: u32| topology.distance(from, to).or_else(|| topology.distance(to, from));
    let least = usable.iter().filter_map(|&to| distance(to)).min();
    usable.into_iter().filter(|&to| least.is_none() || distance(to) == least).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{NumaNode, Rail, Topology};
    use std::collections::BTreeMap;

    /// A rail on node 1 of two.
    fn machine(cpus: Option<&str>, mems: Option<&str>) -> Topology {
        let mut topology = two_sockets(vec![Rail { numa_node: Some(1), ..rail("mlx5_0") }]);
        topology.host.cpuset_cpus = cpus.map(|cpus| cpus.parse().unwrap());
        topology.host.cpuset_mems = mems.map(|mems| mems.parse().unwrap());
        topology
    }

    fn findings(topology: &Topology) -> Vec<Finding> {
        found(&RULE, topology, &Traffic::default())
    }

    #[test]
    fn a_container_without_the_rails_node_is_told_what_it_has() {
        let found = findings(&machine(Some("0-3"), Some("0")));
        assert_eq!(named(&found), ["numa-cpuset mlx5_0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0 is on node 1; this container or job may use CPUs 0-3 and memory of node 0 only, neither its CPUs \
             nor its memory: everything crosses from node to node, and binding to node 1 fails"
        );
        assert!(!found[0].advice.contains("numactl"), "{}", found[0].advice);
        assert_eq!(named(&findings(&machine(Some("0-7"), Some("0")))), ["numa-cpuset mlx5_0"]);
        let found = findings(&machine(Some("0-3"), Some("0-1")));
        assert_eq!(named(&found), ["numa-cpuset mlx5_0"]);
        assert!(found[0].message.ends_with("`--membind=1` keeps the data near"), "{}", found[0].message);
    }

    #[test]
    fn a_cpuset_with_part_of_the_node_and_an_unknown_one_are_fine() {
        for (cpus, mems) in
            [(Some("4"), Some("0-1")), (Some("0-7"), Some("1")), (None, None), (None, Some("0-31"))]
        {
            assert_eq!(named(&findings(&machine(cpus, mems))), Vec::<String>::new(), "{cpus:?} {mems:?}");
        }
    }

    #[test]
    fn a_node_without_memory_names_the_nearest_legal_binding() {
        let mut topology = machine(Some("0-7"), Some("0,2"));
        topology.numa[1].memory_bytes = Some(0);
        topology.numa[1].distances = BTreeMap::from([(0, 32), (1, 10), (2, 16)]);
        topology.numa.push(NumaNode { node: 2, memory_bytes: Some(1 << 30), ..NumaNode::default() });
        let found = findings(&topology);
        assert_eq!(named(&found), ["numa-no-memory mlx5_0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0 is on node 1, which has no memory: `--membind=1` fails; nearest with CPUs that may be used: \
             node 1, with memory: node 2"
        );
        assert_eq!(found[0].advice, "`numactl --cpunodebind=1 --membind=2 COMMAND ...`");
        // what the cpuset excludes is no legal binding
        topology.host.cpuset_mems = Some("0".parse().unwrap());
        assert_eq!(findings(&topology)[0].advice, "`numactl --cpunodebind=1 --membind=0 COMMAND ...`");
    }

    #[test]
    fn nodes_without_cpus_and_nodes_that_are_not_online_are_bare_as_well() {
        let mut topology = machine(None, None);
        topology.numa[1].cpus = Some("".parse().unwrap());
        assert_eq!(findings(&topology)[0].advice, "`numactl --cpunodebind=0 --membind=1 COMMAND ...`");
        topology.numa.pop();
        let found = findings(&topology);
        assert_eq!(named(&found), ["numa-no-memory mlx5_0"]);
        assert!(found[0].message.contains("which is not online"), "{}", found[0].message);
        topology.rails[0].numa_node = Some(0);
        assert_eq!(named(&findings(&topology)), Vec::<String>::new());
    }

    #[test]
    fn unknown_memory_and_unknown_cpus_are_not_none() {
        let mut topology = machine(None, None);
        (topology.numa[1].memory_bytes, topology.numa[1].cpus) = (None, None);
        assert_eq!(named(&findings(&topology)), Vec::<String>::new());
        topology.numa.clear();
        assert_eq!(named(&findings(&topology)), Vec::<String>::new());
    }
}
