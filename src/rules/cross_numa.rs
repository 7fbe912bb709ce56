//! `cross-numa`: a process, a load thread or a buffer sits on another NUMA node than the rail it uses,
//! so every byte crosses from node to node.
//!
//! One finding per user and node of its rails. Evidence is where the CPUs it may run on are, where its
//! buffers were put, or where its large mappings lie; without such evidence nothing is said. Where the kernel tells how much is
//! registered, mappings speak of buffers only as far as these find no room near the rail, and not at all where they are many
//! times as large.

mod advice;
mod threads;
pub(super) mod users;

use super::means::latest_load;
use super::wording::{devices, list, nodes, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{RailId, Topology};
use std::collections::{BTreeMap, BTreeSet};
use users::{Mappings, Memory, User};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["cross-numa"], check };

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let processes = timeline.local().processes().unwrap_or_default();
    users::all(topology, processes, latest_load(timeline))
        .iter()
        .flat_map(|user| {
            rails_by_node(topology, user)
                .into_iter()
                .filter_map(|(node, rails)| {
                    // threads of our load are bound one by one: only the far ones are named
                    let far = |&id: &RailId| Case::of(topology, user, node, vec![id], limits).is_some();
                    let rails = if user.ours { rails.into_iter().filter(far).collect() } else { rails };
                    Case::of(topology, user, node, rails, limits)
                })
                .map(|case| case.finding(limits))
                .chain(threads::far(topology, user))
        })
        .collect()
}

/// The user's rails by their node; rails without a known node are in none.
fn rails_by_node(topology: &Topology, user: &User) -> BTreeMap<u32, Vec<RailId>> {
    let mut by_node: BTreeMap<u32, Vec<RailId>> = BTreeMap::new();
    for &id in &user.rails {
        if let Some(node) = topology.rails[id.0].numa_node {
            by_node.entry(node).or_default().push(id);
        }
    }
    by_node
}

/// A user that is somewhere else than its rails on one node.
struct Case<'a> {
    topology: &'a Topology,
    user: &'a User,
    /// Node of the rails.
    node: u32,
    rails: Vec<RailId>,
    /// Nodes of the CPUs it may run on, where none of them is the rails'.
    cpu_nodes: Vec<u32>,
    /// Where its memory is, where that is elsewhere.
    far_memory: Option<FarMemory>,
}

/// Memory on other nodes than the rails'.
struct FarMemory {
    nodes: Vec<u32>,
    share: Share,
}

/// How much of a user's memory is far.
enum Share {
    /// All of it: the buffers' node is known outright.
    Buffers,
    /// This share of the large mappings, 0 to 1, of which nobody tells what is registered.
    Mappings(f64),
    /// This share, at least, of so many bytes that are registered: more than what lies near can hold.
    Registered(f64, u64),
}

impl<'a> Case<'a> {
    /// `None` where nothing shows that the user is elsewhere.
    fn of(
        topology: &'a Topology,
        user: &'a User,
        node: u32,
        rails: Vec<RailId>,
        limits: &Limits,
    ) -> Option<Self> {
        topology.node(node)?;
        let case = Self {
            topology,
            user,
            node,
            cpu_nodes: far_cpus(topology, user, node, &rails),
            far_memory: far_memory(topology, user, node, &rails, limits),
            rails,
        };
        (!case.cpu_nodes.is_empty() || case.far_memory.is_some()).then_some(case)
    }

    fn devices(&self) -> Vec<&str> {
        devices(self.rails.iter().map(|id| &self.topology.rails[id.0]))
    }

    /// Every node that the data come from or go to, other than the rails'.
    fn far_nodes(&self) -> BTreeSet<u32> {
        let memory = self.far_memory.iter().flat_map(|memory| &memory.nodes);
        self.cpu_nodes.iter().chain(memory).copied().collect()
    }

    fn same_socket(&self) -> bool {
        same_socket(self.topology, &self.far_nodes(), self.node)
    }

    fn distance(&self) -> Option<u32> {
        distance(self.topology, &self.far_nodes(), self.node)
    }

    fn finding(&self, limits: &Limits) -> Finding {
        let devices = self.devices();
        let same_socket = self.same_socket();
        let severity = if same_socket { Severity::Info } else { Severity::Warning };
        let distance = self.distance();
        let mut finding = Finding::new("cross-numa", severity, devices.iter().copied(), self.message(limits))
            .with("rail_node", self.node)
            .with("distance", distance)
            .with("same_socket", same_socket)
            .with("pid", self.user.pid)
            .with("process", self.user.name.clone())
            .advise(advice::of(self));
        if !self.cpu_nodes.is_empty() {
            finding = finding
                .with("cpus", self.user.cpus_of(&self.rails).map(|cpus| cpus.to_string()))
                .with("cpu_nodes", self.cpu_nodes.clone());
        }
        if let Some(memory) = &self.far_memory {
            finding = finding.with("memory_nodes", memory.nodes.clone());
            finding = match memory.share {
                Share::Buffers => finding,
                Share::Mappings(share) => finding
                    .with("far_memory_share", rounded(share))
                    .with("limit_far_memory_share", limits.far_memory_share),
                Share::Registered(share, bytes) => finding
                    .with("least_far_registered_share", rounded(share))
                    .with("registered_bytes", bytes)
                    .with("limit_far_memory_share", limits.far_memory_share),
            };
        }
        finding
    }

    fn message(&self, limits: &Limits) -> String {
        let mut whereabouts = Vec::new();
        if !self.cpu_nodes.is_empty() {
            let cpus = self.user.cpus_of(&self.rails).map(|c| c.to_string()).unwrap_or_default();
            let cpu = if cpus.contains([',', '-']) { "CPUs" } else { "CPU" };
            whereabouts.push(format!("runs on {cpu} {cpus} ({})", nodes(&self.cpu_nodes)));
        }
        if let Some(memory) = &self.far_memory {
            let there = nodes(&memory.nodes);
            whereabouts.push(match memory.share {
                Share::Mappings(share) => format!(
                    "has {:.0} % of its large mappings off that node, on {there} (limit {:.0} %)",
                    share * 100.0,
                    limits.far_memory_share * 100.0
                ),
                Share::Registered(share, bytes) => format!(
                    "has {:.0} % or more of the {:.1} MB it registered off that node, on {there} (limit {:.0} %{})",
                    share * 100.0,
                    bytes as f64 / 1e6,
                    limits.far_memory_share * 100.0,
                    // the kernel does not tell memory of a GPU from the host's
                    if self.topology.gpus.is_empty() { "" } else { "; unless that is memory of a GPU" },
                ),
                Share::Buffers => match &self.user.gpu {
                    Some(gpu) => format!("its data belong to {gpu} on {there}"),
                    None => format!("has its buffers on {there}"),
                },
            });
        }
        let devices = self.devices();
        let distance = self.distance().map_or(String::new(), |d| format!("; distance {d}"));
        let socket = if self.same_socket() { "the same socket" } else { "another socket" };
        let comma = if distance.is_empty() { "; " } else { ", " };
        format!(
            "{} uses {}, which {} on node {}, but {}{distance}{comma}{socket}",
            self.user.title(),
            list(devices.iter().copied()),
            verb(devices.len(), "is", "are"),
            self.node,
            list(whereabouts),
        )
    }
}

/// Same socket is mild; where sockets are unknown, a distance below 20 is one (ACPI 6.4, 5.2.17: 10 is local; firmware gives
/// nodes of one socket 11 to 16 and other sockets 20 or more).
fn same_socket(topology: &Topology, far: &BTreeSet<u32>, node: u32) -> bool {
    let socket = |node: u32| topology.node(node).and_then(|n| n.socket);
    far.iter().all(|far| match (socket(*far), socket(node)) {
        (Some(far), Some(near)) => far == near,
        _ => topology.distance(*far, node).is_some_and(|distance| distance < 20),
    })
}

/// The largest distance from these nodes; `None` where none is known.
fn distance(topology: &Topology, far: &BTreeSet<u32>, node: u32) -> Option<u32> {
    far.iter().filter_map(|far| topology.distance(*far, node)).max()
}

/// Nodes of the user's CPUs, if none of them is `node`'s; empty where one is, or where that is unknown.
fn far_cpus(topology: &Topology, user: &User, node: u32, rails: &[RailId]) -> Vec<u32> {
    let near = topology.node(node).and_then(|n| n.cpus.as_ref()).filter(|cpus| !cpus.is_empty());
    let (Some(cpus), Some(near)) = (user.cpus_of(rails), near) else {
        return Vec::new();
    };
    if cpus.intersects(near) {
        return Vec::new();
    }
    topology.nodes_of_cpus(&cpus).into_iter().collect()
}

/// Mappings of less than this together are stacks and libraries, no data.
const LEAST_BYTES: u64 = 2 << 20;

fn far_memory(
    topology: &Topology,
    user: &User,
    node: u32,
    rails: &[RailId],
    limits: &Limits,
) -> Option<FarMemory> {
    if topology.node(node)?.memory_bytes == Some(0) {
        return None;
    }
    match user.memory_of(rails) {
        Memory::Unknown => None,
        Memory::Buffers(nodes) => {
            let far: Vec<u32> = nodes.into_iter().filter(|at| *at != node).collect();
            (!far.is_empty()).then_some(FarMemory { nodes: far, share: Share::Buffers })
        }
        Memory::Mappings(Mappings { bytes_by_node, registered }) => {
            let total: u64 = bytes_by_node.values().sum();
            if total < LEAST_BYTES {
                return None;
            }
            let share_on = |which: &dyn Fn(u32) -> bool| {
                let bytes: u64 = bytes_by_node.iter().filter(|(at, _)| which(**at)).map(|(_, b)| b).sum();
                bytes as f64 / total as f64
            };
            // a process with rails on several nodes rightly has memory on each of them: only what lies
            // near none of its rails is far for sure, or a node whose rails have next to nothing there
            let rail_nodes: BTreeSet<u32> =
                user.rails.iter().filter_map(|id| topology.rails[id.0].numa_node).collect();
            let near_no_rail = share_on(&|at| !rail_nodes.contains(&at));
            let here = share_on(&|at| at == node);
            let due = rails.len() as f64 / user.rails.len() as f64;
            let starved = rail_nodes.len() > 1 && here < limits.far_memory_share * due;
            if near_no_rail <= limits.far_memory_share && !starved {
                return None;
            }
            let share = match registered {
                None => Share::Mappings(1.0 - here),
                Some(registered) => {
                    // what is registered may all lie in the mappings that are near
                    let is_near = |at: u32| if starved { at == node } else { rail_nodes.contains(&at) };
                    let near =
                        bytes_by_node.iter().filter(|(at, _)| is_near(**at)).map(|(_, bytes)| bytes).sum();
                    let share = registered.saturating_sub(near) as f64 / registered.max(1) as f64;
                    if share <= limits.far_memory_share {
                        return None;
                    }
                    Share::Registered(share, registered)
                }
            };
            let far = bytes_by_node.iter().filter(|(at, bytes)| **at != node && **bytes > 0);
            Some(FarMemory { nodes: far.map(|(at, _)| *at).collect(), share })
        }
    }
}

#[cfg(test)]
mod tests;
