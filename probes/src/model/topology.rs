//! What a host is: its nodes, rails, GPUs, and what could not be learnt about them.

use super::{CpuSet, Gpu, Host, NumaNode, Rail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A fact that could not be learnt, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gap {
    /// Probe that looked for it.
    pub probe: String,
    /// Device, netdev, PCI address or `host`.
    pub subject: String,
    /// What stood in the way, with the file or call: "`current_link_speed`: no such file".
    pub reason: String,
}

/// Position of a rail in [`Topology::rails`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RailId(pub usize);

/// A PCI function of an RDMA vendor's network card that has no RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LostCard {
    /// PCI address.
    pub address: String,
    /// Driver bound to it; `None` when there is none.
    pub driver: Option<String>,
    /// Netdevs on it.
    pub netdevs: Vec<String>,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// Whether it is a virtual function.
    pub is_vf: bool,
    /// Vendor and device id, as sysfs prints them without `0x`: `15b3:1021`; `None` where they are not readable.
    #[serde(default)]
    pub id: Option<String>,
    /// Whether it does have an RDMA device, in a network namespace that is not this one.
    #[serde(default)]
    pub is_elsewhere: bool,
}

/// Program whose file a topology was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnBy {
    /// hwloc: every device, with the states of its ports.
    Hwloc,
    /// NCCL: the devices that it uses, without states.
    Nccl,
}

/// One host as the survey found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// The host block.
    pub host: Host,
    /// NUMA nodes, by number.
    pub numa: Vec<NumaNode>,
    /// Rails, in natural order of device name, then port.
    pub rails: Vec<Rail>,
    /// GPUs, in PCI address order.
    #[serde(default)]
    pub gpus: Vec<Gpu>,
    /// RDMA vendors' functions without an RDMA device.
    #[serde(default)]
    pub lost_cards: Vec<LostCard>,
    /// RDMA devices that came after the session had begun; they are no rails of it, and nothing of them is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub newcomers: Vec<String>,
    /// What could not be learnt, and why.
    pub gaps: Vec<Gap>,
    /// Whose file it was read from, which has no counters and no settings; `None` of a node or a copied tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn_by: Option<DrawnBy>,
}

impl Topology {
    /// Rails with their positions.
    pub fn rails_with_id(&self) -> impl Iterator<Item = (RailId, &Rail)> {
        self.rails.iter().enumerate().map(|(at, rail)| (RailId(at), rail))
    }

    /// The first rail of the named device (exact name).
    #[must_use]
    pub fn rail(&self, device: &str) -> Option<(RailId, &Rail)> {
        self.rails_with_id().find(|(_, rail)| rail.device == device)
    }

    /// Whether frames made for `other` fit this one: the same rails in the same order, with as many counters.
    #[must_use]
    pub fn has_the_columns_of(&self, other: &Self) -> bool {
        let columns = |rail: &Rail| (rail.port, rail.counters.len());
        self.rails.len() == other.rails.len()
            && self
                .rails
                .iter()
                .zip(&other.rails)
                .all(|(a, b)| a.device == b.device && columns(a) == columns(b))
    }

    /// Node that `cpu` belongs to.
    #[must_use]
    pub fn node_of_cpu(&self, cpu: u32) -> Option<u32> {
        self.numa.iter().find(|n| n.cpus.as_ref().is_some_and(|c| c.contains(cpu))).map(|n| n.node)
    }

    /// Nodes that these CPUs belong to; CPUs of no known node are on none.
    #[must_use]
    pub fn nodes_of_cpus(&self, cpus: &CpuSet) -> BTreeSet<u32> {
        cpus.iter().filter_map(|cpu| self.node_of_cpu(cpu)).collect()
    }

    /// The node with this number.
    #[must_use]
    pub fn node(&self, node: u32) -> Option<&NumaNode> {
        self.numa.iter().find(|n| n.node == node)
    }

    /// ACPI distance between two nodes; `None` when the platform has none.
    #[must_use]
    pub fn distance(&self, from: u32, to: u32) -> Option<u32> {
        self.node(from)?.distances.get(&to).copied()
    }

    /// Notes a fact that could not be learnt.
    pub fn gap(&mut self, probe: &str, subject: impl Into<String>, reason: impl Into<String>) {
        self.gaps.push(Gap { probe: probe.to_owned(), subject: subject.into(), reason: reason.into() });
    }
}
