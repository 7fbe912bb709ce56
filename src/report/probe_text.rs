//! What the node is, for people: a tree by NUMA node, at most 80 columns.

mod beside;
mod gaps;
mod glance;
mod gpus;
mod host;
mod packed;
pub(crate) mod rail;
mod roots;

#[cfg(test)]
mod tests;

use super::text::wrap::Wrapped;
use packed::Packed;
use probes::model::{CpuSet, Gpu, LostCard, NumaNode, Rail, Topology};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// The text of `railscope probe` for 80 columns.
#[derive(Clone, Copy, Debug)]
pub struct ProbeText<'a>(pub &'a Topology);

impl Display for ProbeText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        WideProbeText { topology: self.0, columns: super::text::COLUMNS }.fmt(f)
    }
}

/// The same for a terminal of any width: rails stand beside each other where there is room.
#[derive(Clone, Copy, Debug)]
pub struct WideProbeText<'a> {
    /// What is told.
    pub topology: &'a Topology,
    /// Width of the terminal; below 80 is taken as 80.
    pub columns: usize,
}

impl Display for WideProbeText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let topology = self.topology;
        host::write(f, &topology.host)?;
        glance::write(f, topology, self.columns.max(super::text::COLUMNS))?;
        for node in &topology.numa {
            write!(f, "\n{}", Packed { lead: "", parts: &of_node(node) })?;
            self.on_node(f, Some(node.node))?;
        }
        let placed = |node: Option<u32>| node.is_some_and(|node| topology.node(node).is_some());
        let astray = topology.rails.iter().any(|rail| !placed(rail.numa_node))
            || topology.gpus.iter().any(|gpu| !placed(gpu.numa_node));
        if astray {
            writeln!(f, "\nnode unknown")?;
            self.on_node(f, None)?;
        }
        if topology.rails.is_empty() {
            writeln!(f, "\nno rails: no RDMA device is visible here")?;
        }
        gpus::write(f, &topology.gpus)?;
        if !topology.lost_cards.is_empty() {
            writeln!(f, "\ncards without an RDMA device")?;
        }
        for card in &topology.lost_cards {
            write!(f, "{}", Wrapped { lead: "  ", text: &of_card(card) })?;
        }
        gaps::write(f, &topology.gaps)
    }
}

/// The block of one rail.
struct OfRail<'a> {
    rail: &'a Rail,
    with_port: bool,
}

impl Display for OfRail<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        rail::write(f, self.rail, self.with_port)
    }
}

impl WideProbeText<'_> {
    /// Rails and GPUs of one node; `None`: those whose node is unknown, or not in the list of nodes.
    fn on_node(self, f: &mut Formatter<'_>, node: Option<u32>) -> fmt::Result {
        let here = |of: Option<u32>| match node {
            Some(node) => of == Some(node),
            None => of.is_none_or(|of| self.topology.node(of).is_none()),
        };
        for text in roots::shared(self.topology, here) {
            write!(f, "{}", Wrapped { lead: "  ", text: &text })?;
        }
        let rails = self.topology.rails.iter().filter(|rail| here(rail.numa_node));
        let blocks: Vec<String> =
            rails.map(|rail| OfRail { rail, with_port: self.shows_ports(rail) }.to_string()).collect();
        beside::write(f, &blocks, self.columns)?;
        let gpus = self.topology.gpus.iter().filter(|gpu| here(gpu.numa_node));
        let lines: Vec<String> =
            gpus.map(|gpu| Wrapped { lead: "  ", text: &of_gpu(gpu) }.to_string()).collect();
        beside::write(f, &lines, self.columns)
    }

    /// Devices with one port go by their name alone.
    fn shows_ports(self, rail: &Rail) -> bool {
        rail.port != 1 || self.topology.rails.iter().filter(|other| other.device == rail.device).count() > 1
    }
}

fn of_node(node: &NumaNode) -> Vec<String> {
    let mut parts = vec![format!("node {}", node.node)];
    parts.extend(node.socket.map(|socket| format!("socket {socket}")));
    parts.push(match &node.cpus {
        Some(cpus) if cpus.is_empty() => "no CPUs".to_owned(),
        Some(cpus) => format!("CPUs {cpus}"),
        None => "CPUs unknown".to_owned(),
    });
    parts.push(match (node.memory_bytes, node.memory_free_bytes) {
        (Some(0), _) => "no memory".to_owned(),
        (Some(bytes), Some(free)) => format!("{}, {} free", gib(bytes), gib(free)),
        (Some(bytes), None) => gib(bytes),
        (None, _) => "memory unknown".to_owned(),
    });
    if let Some(pools) = &node.hugepages {
        let mut pools = pools.iter().filter(|pool| pool.total > 0).peekable();
        if pools.peek().is_none() {
            parts.push("no huge pages".to_owned());
        }
        parts.extend(pools.map(|pool| {
            format!("{} of {} huge pages of {} free", pool.free, pool.total, page(pool.page_bytes))
        }));
    }
    let mut far: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (to, distance) in node.distances.iter().filter(|(to, _)| **to != node.node) {
        far.entry(*distance).or_default().push(*to);
    }
    parts.extend(far.into_iter().map(|(distance, to)| {
        let plural = if to.len() == 1 { "" } else { "s" };
        format!("distance {distance} to node{plural} {}", to.into_iter().collect::<CpuSet>())
    }));
    parts
}

/// Memory in the unit of `free -g` and `numactl -H`.
pub(super) fn gib(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    if gib < 10.0 { format!("{gib:.1} GiB") } else { format!("{gib:.0} GiB") }
}

/// Size of a page, a power of two.
fn page(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 30 => format!("{} GiB", bytes >> 30),
        _ if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        _ => format!("{} KiB", bytes >> 10),
    }
}

fn of_gpu(gpu: &Gpu) -> String {
    let mut text = format!("{} {} {}", gpu.name, gpu.pcie.address, gpu.model.as_deref().unwrap_or("GPU"));
    if let (Some(vendor), Some(device)) = (&gpu.pcie.vendor, &gpu.pcie.device) {
        text += " (";
        text += &[vendor.as_str(), device.as_str()].join(":");
        text += ")";
    }
    text += ", ";
    text += &gpu.pcie.hops.first().map_or_else(|| "link unknown".to_owned(), rail::link_now);
    // an idle GPU lets its link fall back
    if let Some(most) = gpu.pcie.hops.first().and_then(rail::link_at_most) {
        text += " now, up to ";
        text += &most;
    }
    // that none is bound is a gap of the survey
    if let Some(driver) = &gpu.driver {
        text += ", driver ";
        text += driver;
    }
    text
}

fn of_card(card: &LostCard) -> String {
    let driver =
        card.driver.as_deref().map_or("no driver bound".to_owned(), |driver| format!("driver {driver}"));
    let netdevs = if card.netdevs.is_empty() {
        "no netdev".to_owned()
    } else {
        format!("netdev {}", card.netdevs.join(", "))
    };
    let node = card.numa_node.map_or("node unknown".to_owned(), |node| format!("node {node}"));
    let vf = if card.is_vf { ", virtual function" } else { "" };
    format!("{} {driver}, {netdevs}, {node}{vf}", card.address)
}
