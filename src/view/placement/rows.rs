//! Who uses which rail, where that runs, and what the rules say of it.

use crate::app::App;
use crate::pins::PLACEMENT;
use crate::rules::{Finding, Limits, Severity};
use crate::view::units::percent;
use probes::model::{CpuSet, Load, LoadOrigin, LoadTarget, Process, ProcessSource, Rail, Topology, Worker};
use std::collections::{BTreeMap, BTreeSet};

/// Where memory is.
#[derive(Clone, Debug, PartialEq)]
pub enum Memory {
    /// Not read.
    Unknown,
    /// The node of its buffer, outright.
    Buffer(u32),
    /// Resident bytes by node in large mappings.
    Mappings(BTreeMap<u32, u64>),
}

/// One user on one rail.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// Name, process id, rank.
    pub who: String,
    /// Process id; `None` of a thread of our own load.
    pub pid: Option<u32>,
    /// The rail.
    pub rail: &'a Rail,
    /// CPUs it may run on; `None` where not readable.
    pub cpus: Option<CpuSet>,
    /// Nodes of these CPUs.
    pub cpu_nodes: BTreeSet<u32>,
    /// Where its memory is.
    pub memory: Memory,
    /// Whether large mappings tell where its buffers are.
    pub mappings_tell: bool,
    /// Largest distance between the rail's node and where CPUs and memory are; `None` where not known.
    pub distance: Option<u32>,
    /// What the rules found about it, worst first.
    pub findings: Vec<&'a Finding>,
}

/// Every user on every rail it uses, the worst first.
pub fn rows(app: &App) -> Vec<Row<'_>> {
    let host = app.shown().local();
    let topology = host.topology();
    let load = host.load();
    let threads = load.map(|load| of_load(topology, load)).unwrap_or_default();
    let known_by_thread = threads.iter().any(|row| row.cpus.is_some() || row.memory != Memory::Unknown);
    let processes = host.processes().unwrap_or_default().iter().filter(|process| {
        // our own threads are known one by one, which says more
        !(known_by_thread && process.source == ProcessSource::OurLoad)
    });
    let mut rows: Vec<Row> = processes.filter_map(|process| of_process(topology, process)).collect();
    let registered = |pid: u32| {
        let of_it = host.processes().unwrap_or_default().iter().filter(|process| process.pid == pid);
        of_it.filter_map(|process| process.registered_large_bytes).reduce(u64::saturating_add)
    };
    for row in &mut rows {
        if let (Some(pid), Memory::Mappings(bytes)) = (row.pid, &row.memory) {
            row.mappings_tell = Process::mappings_tell(bytes.values().sum(), registered(pid));
        }
    }
    rows.extend(threads);
    rows.retain(|row| app.lists_user(&row.who, &row.rail.device));
    for row in &mut rows {
        row.findings = app.findings().iter().filter(|finding| is_about(finding, row)).collect();
        row.distance = row.farthest(topology, &app.how().limits);
    }
    rows.sort_by_key(|row| (std::cmp::Reverse(row.worst()), row.pid));
    rows
}

fn of_process<'a>(topology: &'a Topology, process: &Process) -> Option<Row<'a>> {
    let (_, rail) = topology.rail(&process.device)?;
    let rank = process.rank.as_ref().map(|rank| format!(" rank {}", rank.rank)).unwrap_or_default();
    let memory = process.large_mapping_bytes_by_node.clone().map_or(Memory::Unknown, Memory::Mappings);
    Some(Row {
        who: format!("{} {}{rank}", process.name, process.pid),
        pid: Some(process.pid),
        ..Row::of(topology, rail, process.cpus_allowed.clone(), memory)
    })
}

fn of_load<'a>(topology: &'a Topology, load: &Load) -> Vec<Row<'a>> {
    let buffer = |node: Option<u32>| node.map_or(Memory::Unknown, Memory::Buffer);
    if load.origin == LoadOrigin::Described {
        let rails = topology.rails.iter().filter(|rail| load.drives(&rail.device));
        let row = |rail| Row {
            who: load.pid.map_or("the load".to_owned(), |pid| format!("the load {pid}")),
            pid: load.pid,
            ..Row::of(topology, rail, load.cpus.clone(), buffer(load.buffer_node))
        };
        return rails.map(row).collect();
    }
    let of_worker = |worker: &Worker| {
        let (_, rail) = topology.rail(&worker.device)?;
        let number = worker.number.map(|number| format!(", thread {number}")).unwrap_or_default();
        let gpu = match &load.target {
            LoadTarget::Gpu(name) => format!(" in {name}"),
            LoadTarget::Host => String::new(),
        };
        let who = format!("our load{number}{gpu}");
        Some(Row { who, ..Row::of(topology, rail, worker.cpus.clone(), buffer(worker.buffer_node)) })
    };
    load.workers.iter().filter_map(of_worker).collect()
}

/// Whether a finding is about this user on this rail.
fn is_about(finding: &Finding, row: &Row) -> bool {
    if !PLACEMENT.contains(&&*finding.code) || !finding.is_about(row.rail) {
        return false;
    }
    let one = finding.evidence.get("pid").and_then(serde_json::Value::as_u64);
    let several =
        finding.evidence.get("pids").and_then(|pids| pids.as_array()).filter(|pids| !pids.is_empty());
    let is_ours = |pid: u64| row.pid.is_some_and(|own| u64::from(own) == pid);
    match (one, several) {
        (Some(pid), _) => is_ours(pid),
        (None, Some(pids)) => pids.iter().filter_map(serde_json::Value::as_u64).any(is_ours),
        // told of a load without a process id, or of whoever uses the rail
        (None, None) if matches!(&*finding.code, "cross-numa" | "not-pinned") => row.pid.is_none(),
        (None, None) => true,
    }
}

impl<'a> Row<'a> {
    fn of(topology: &Topology, rail: &'a Rail, cpus: Option<CpuSet>, memory: Memory) -> Self {
        Self {
            who: String::new(),
            pid: None,
            rail,
            cpu_nodes: cpus.as_ref().map(|cpus| topology.nodes_of_cpus(cpus)).unwrap_or_default(),
            cpus,
            memory,
            mappings_tell: true,
            distance: None,
            findings: Vec::new(),
        }
    }

    /// The worst that was found.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Nodes with more of its memory than the rules call astray.
    fn memory_nodes(&self, limits: &Limits) -> Vec<u32> {
        match &self.memory {
            Memory::Unknown => Vec::new(),
            Memory::Buffer(node) => vec![*node],
            Memory::Mappings(bytes) => {
                let total: u64 = bytes.values().sum();
                let counts = |bytes: u64| bytes as f64 > limits.far_memory_share * total as f64;
                bytes.iter().filter(|(_, bytes)| counts(**bytes)).map(|(node, _)| *node).collect()
            }
        }
    }

    fn farthest(&self, topology: &Topology, limits: &Limits) -> Option<u32> {
        let node = self.rail.numa_node?;
        let there = self.cpu_nodes.iter().copied().chain(self.memory_nodes(limits));
        there.filter_map(|at| topology.distance(at, node)).max()
    }

    /// Its memory in a word or two: `N1 98% N0 2%`.
    pub fn memory_in_short(&self) -> String {
        match &self.memory {
            Memory::Unknown => "not read".to_owned(),
            Memory::Buffer(node) => format!("N{node} buffer"),
            Memory::Mappings(bytes) => {
                let total: u64 = bytes.values().sum();
                let mut nodes: Vec<_> = bytes.iter().filter(|(_, bytes)| **bytes > 0).collect();
                nodes.sort_by_key(|(node, bytes)| (std::cmp::Reverse(**bytes), **node));
                let share = |bytes: u64| percent(bytes as f64 / total.max(1) as f64);
                let words: Vec<_> =
                    nodes.iter().map(|(node, bytes)| format!("N{node} {}", share(**bytes))).collect();
                if words.is_empty() { "none large".to_owned() } else { words.join(" ") }
            }
        }
    }

    /// Its CPUs, nodes first, as those are what matters: `N0: 0-95,192-287`.
    pub fn cpus_in_short(&self) -> String {
        let Some(cpus) = &self.cpus else { return "not readable".to_owned() };
        let nodes: Vec<_> = self.cpu_nodes.iter().map(|node| format!("N{node}")).collect();
        if nodes.is_empty() { format!("node ?: {cpus}") } else { format!("{}: {cpus}", nodes.join(" ")) }
    }

    /// The verdict in a word or two.
    pub fn verdict(&self, limits: &Limits) -> String {
        if let Some(worst) = self.findings.iter().max_by_key(|finding| finding.severity) {
            return worst.code.to_string();
        }
        let Some(node) = self.rail.numa_node else { return "the rail's node is unknown".to_owned() };
        let memory_is_near = self.memory_nodes(limits).iter().all(|at| *at == node);
        match (&self.cpus, &self.memory) {
            (None, _) => "unknown: CPUs".to_owned(),
            _ if !self.cpu_nodes.contains(&node) => "CPUs far".to_owned(),
            _ if self.cpu_nodes.len() > 1 => "may run far".to_owned(),
            (_, Memory::Unknown) => "CPUs near".to_owned(),
            _ if !self.mappings_tell => "CPUs near; buffers ?".to_owned(),
            _ if memory_is_near => "near".to_owned(),
            _ => "near; some memory far".to_owned(),
        }
    }
}
