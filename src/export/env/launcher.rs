//! The `numactl` line of one rail, or why there is none.

use super::{comment, name};
use probes::model::{NumaNode, Rail, Topology};
use std::collections::BTreeSet;
use std::fmt::{self, Formatter};

/// Writes a variable that holds the launcher, or a comment that says why none can be given.
///
/// `taken` are the variables that there are; devices whose names differ in `-` and `.` alone would share one.
pub(super) fn write(
    f: &mut Formatter<'_>,
    topology: &Topology,
    rail: &Rail,
    taken: &mut BTreeSet<String>,
) -> fmt::Result {
    match node_of(topology, rail) {
        Ok(node) => {
            let variable = distinct(&variable(rail), taken);
            writeln!(f, "{variable}='numactl --cpunodebind={node} --membind={node}'  # {}", name(rail))
        }
        Err(reason) => comment(f, &format!("{}: no numactl line: {reason}", name(rail))),
    }
}

/// `ON_mlx5_0`, with the port where it is not the first.
fn variable(rail: &Rail) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let device: String = rail.device.chars().map(plain).collect();
    if rail.port == 1 { format!("ON_{device}") } else { format!("ON_{device}_{}", rail.port) }
}

/// The variable, or the first of `ON_a_b_again2`, `ON_a_b_again3` that is free.
fn distinct(variable: &str, taken: &mut BTreeSet<String>) -> String {
    let others = (2_u64..).map(|number| format!("{variable}_again{number}"));
    let free = std::iter::once(variable.to_owned()).chain(others).find(|name| !taken.contains(name));
    let free = free.expect("numbers do not run out");
    taken.insert(free.clone());
    free
}

/// The node to bind to.
fn node_of(topology: &Topology, rail: &Rail) -> Result<u32, String> {
    let Some(number) = rail.numa_node else {
        return Err(match topology.numa.as_slice() {
            [only] => format!("the platform names no NUMA node for it, and {} is the only one", only.node),
            _ => "its NUMA node is unknown".to_owned(),
        });
    };
    let Some(node) = topology.node(number) else {
        return Err(format!("node {number} is not among this machine's nodes"));
    };
    let lacks = |node: &NumaNode| {
        if node.cpus.as_ref().is_some_and(probes::model::CpuSet::is_empty) {
            return Some("no CPUs");
        }
        (node.memory_bytes == Some(0)).then_some("no memory")
    };
    let excluded = |node: &NumaNode| {
        let host = &topology.host;
        let memory = host.cpuset_mems.as_ref().is_some_and(|mems| !mems.contains(node.node));
        let cpus = match (&host.cpuset_cpus, &node.cpus) {
            (Some(may), Some(cpus)) => !cpus.is_empty() && !may.intersects(cpus),
            _ => false,
        };
        match (memory, cpus) {
            (true, _) => Some("memory"),
            (false, true) => Some("CPUs"),
            (false, false) => None,
        }
    };
    let nearest = || {
        let usable = topology.numa.iter().filter(|other| lacks(other).is_none() && excluded(other).is_none());
        let mut usable: Vec<_> =
            usable.filter_map(|other| Some((topology.distance(number, other.node)?, other.node))).collect();
        usable.sort_unstable();
        usable.first().map_or(String::new(), |(distance, node)| {
            format!("; nearest is numactl --cpunodebind={node} --membind={node} (distance {distance})")
        })
    };
    if let Some(what) = lacks(node) {
        return Err(format!("its node {number} has {what}{}", nearest()));
    }
    if let Some(what) = excluded(node) {
        return Err(format!("this cgroup's cpuset leaves out the {what} of its node {number}{}", nearest()));
    }
    Ok(number)
}
