//! One process: which rails it uses, where its threads and its memory are, and the verdict on that.

use super::{Asked, Seen, near_gpu};
use crate::rules::{Finding, Limits};
use probes::model::{CpuSet, Process, RailId, Rank, Topology};
use probes::processes::{Mapped, Placement};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Threads that together do this share of a process's work are those that are judged.
const WORK: f64 = 0.9;
/// Less work than this (clock ticks of mostly 10 ms) does not tell who does it.
const LEAST_TICKS: u64 = 20;
/// Mappings of less than this together are stacks and libraries.
pub(super) const LEAST_BYTES: u64 = 2 << 20;

/// One process and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pinned {
    /// Process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its place in a parallel job; null where its launcher wrote none, or that is not readable.
    pub rank: Option<Rank>,
    /// Rails it uses.
    pub rails: Vec<RailUse>,
    /// GPU it holds open (`gpu0`), and how near each of its rails is; null where it is not one alone.
    pub gpu: Option<GpuUse>,
    /// CPUs that the threads which do the work may run on; null when not readable.
    pub cpus: Option<String>,
    /// Nodes of these CPUs.
    pub cpu_nodes: Vec<u32>,
    /// Its threads, those with the same CPUs together.
    pub threads: Vec<ThreadRow>,
    /// Nodes that it may take memory from.
    pub memory_nodes_allowed: Option<String>,
    /// Its large mappings by policy; null when not readable.
    pub memory: Option<Vec<MemoryRow>>,
    /// Largest distance between its rails' node and where its CPUs or memory are (10 is local); null where not known.
    pub distance: Option<u32>,
    /// In one word or phrase: `near`, the worst code, `bound to ... and not there`, or `unknown, because ...`.
    pub verdict: String,
    /// What was asked and did not come true, a sentence each.
    pub lost: Vec<String>,
    /// What to do about that; empty where nothing was lost.
    pub mend: String,
    /// What the rules find about it.
    pub findings: Vec<Finding>,
}

/// A rail that a process uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RailUse {
    /// RDMA device.
    pub device: String,
    /// Its node; null when not known.
    pub node: Option<u32>,
    /// Queue pairs; null where only the open file is known.
    pub queue_pairs: Option<u32>,
    /// Memory regions that it has registered with the device; null where that is not known.
    pub memory_regions: Option<u32>,
    /// Their bytes; memory that is registered twice counts twice.
    pub registered_bytes: Option<u64>,
}

/// A GPU that a process uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuUse {
    /// Its name, such as `gpu0`.
    pub name: String,
    /// Its node; null when not known.
    pub node: Option<u32>,
    /// How near each of the process's rails is: `mlx5_0 PIX`.
    pub paths: Vec<String>,
}

/// Threads that may run on the same CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadRow {
    /// CPUs that they may run on.
    pub cpus: String,
    /// Nodes of these CPUs.
    pub nodes: Vec<u32>,
    /// How many they are.
    pub count: u32,
    /// The busiest, and its name.
    pub busiest: u32,
    /// Its name.
    pub name: String,
    /// Their share of the process's CPU time, 0 to 1; null while it did next to nothing.
    pub work_share: Option<f64>,
    /// Where they ran last.
    pub last_cpus: Vec<u32>,
}

/// Large mappings under one memory policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryRow {
    /// As the kernel writes it.
    pub policy: String,
    /// Resident bytes by node.
    pub bytes_by_node: BTreeMap<u32, u64>,
}

impl Pinned {
    /// What there is to say of one process, which the rules have judged.
    pub(super) fn of(
        topology: &Topology,
        seen: &Seen,
        mut findings: Vec<Finding>,
        asked: Option<&Asked>,
        limits: &Limits,
    ) -> Self {
        let known = seen.placement.as_ref().ok();
        let first = seen.processes.first();
        let cpus = known.and_then(working_cpus).or_else(|| first?.cpus_allowed.clone());
        let memory = known.and_then(|known| known.memory.as_ref().ok());
        let rails: Vec<RailUse> =
            seen.processes.iter().filter_map(|used| RailUse::of(topology, seen, used)).collect();
        let lost = match (asked, known) {
            (Some(asked), Some(known)) => asked.lost(topology, known, limits),
            _ => Vec::new(),
        };
        let mend = match (asked, first) {
            (Some(asked), Some(first)) if !lost.is_empty() => {
                // to be told to bind it is no help to whoever did
                findings.retain(|finding| finding.code != "not-pinned");
                asked.mend(topology, first.pid)
            }
            _ => String::new(),
        };
        let mut this = Self {
            pid: first.map(|first| first.pid).unwrap_or_default(),
            name: first.map(|first| first.name.clone()).unwrap_or_default(),
            rank: seen.processes.iter().find_map(|process| process.rank.clone()),
            gpu: near_gpu::used(topology, seen),
            cpu_nodes: cpus.iter().flat_map(|cpus| topology.nodes_of_cpus(cpus)).collect(),
            cpus: cpus.map(|cpus| cpus.to_string()),
            threads: known.map(|known| ThreadRow::all(topology, known)).unwrap_or_default(),
            memory_nodes_allowed: known
                .and_then(|known| known.mems_allowed.as_ref())
                .or_else(|| first?.mems_allowed.as_ref())
                .map(ToString::to_string),
            memory: memory.map(|rows| rows.iter().map(MemoryRow::of).collect()),
            distance: None,
            verdict: String::new(),
            lost,
            mend,
            findings,
            rails,
        };
        this.distance = this.farthest(topology);
        this.verdict = this.in_a_word(seen);
        this
    }

    fn bytes_by_node(&self) -> BTreeMap<u32, u64> {
        bytes_by_node(self.memory.iter().flatten().map(|row| &row.bytes_by_node))
    }

    fn farthest(&self, topology: &Topology) -> Option<u32> {
        let memory = self.bytes_by_node();
        let there: BTreeSet<u32> = self.cpu_nodes.iter().chain(memory.keys()).copied().collect();
        let rails: BTreeSet<u32> = self.rails.iter().filter_map(|rail| rail.node).collect();
        let pairs = there.iter().flat_map(|at| rails.iter().map(move |rail| (*at, *rail)));
        pairs.filter_map(|(at, rail)| topology.distance(at, rail)).max()
    }

    fn in_a_word(&self, seen: &Seen) -> String {
        if !self.lost.is_empty() {
            return "not where it was bound to".to_owned();
        }
        let worst = self.findings.iter().max_by_key(|found| found.severity);
        if let Some(worst) = worst {
            return worst.code.to_string();
        }
        let unknown = |why: &str| format!("unknown, because {why}");
        if self.rails.is_empty() {
            return unknown("it has no queue pair on a rail of this host");
        }
        if let Some(rail) = self.rails.iter().find(|rail| rail.node.is_none()) {
            return unknown(&format!("the node of {} is not known", rail.device));
        }
        if self.cpus.is_none() {
            let why = seen.placement.as_ref().err().map_or("not readable", String::as_str);
            return unknown(&format!("its CPUs are not known: {why}"));
        }
        match seen.placement.as_ref().map(|known| &known.memory) {
            Err(why) | Ok(Err(why)) => format!("CPUs near; memory unknown, because {why}"),
            Ok(Ok(_)) if self.bytes_by_node().values().sum::<u64>() < LEAST_BYTES => {
                "CPUs near; it has no large mapping yet".to_owned()
            }
            Ok(Ok(_)) if !seen.mappings_tell(self.bytes_by_node().values().sum()) => {
                "CPUs near; memory unknown, because its large mappings are many times what it registered"
                    .to_owned()
            }
            Ok(Ok(_)) => "near".to_owned(),
        }
    }
}

impl RailUse {
    fn of(topology: &Topology, seen: &Seen, process: &Process) -> Option<Self> {
        let (RailId(_), rail) = topology.rail(&process.device)?;
        let registered =
            seen.registered.as_ref().map(|all| all.get(&rail.device).copied().unwrap_or_default());
        Some(Self {
            device: rail.device.clone(),
            node: rail.numa_node,
            queue_pairs: process.queue_pairs,
            memory_regions: registered.map(|registered| registered.regions),
            registered_bytes: registered.map(|registered| registered.bytes),
        })
    }
}

impl ThreadRow {
    fn all(topology: &Topology, placement: &Placement) -> Vec<Self> {
        let all: u64 = placement.threads.iter().map(|group| group.busy_ticks).sum();
        let rows = placement.threads.iter().map(|group| Self {
            cpus: group.cpus.to_string(),
            nodes: topology.nodes_of_cpus(&group.cpus).into_iter().collect(),
            count: group.count,
            busiest: group.busiest,
            name: group.name.clone(),
            work_share: (all >= LEAST_TICKS)
                .then(|| (group.busy_ticks as f64 / all as f64 * 1000.0).round() / 1000.0),
            last_cpus: group.last_cpus.clone(),
        });
        rows.collect()
    }
}

impl MemoryRow {
    fn of(mapped: &Mapped) -> Self {
        Self { policy: mapped.policy.clone(), bytes_by_node: mapped.bytes_by_node.clone() }
    }
}

/// Bytes of large mappings by node, all policies together.
pub(super) fn bytes_by_node<'a>(rows: impl Iterator<Item = &'a BTreeMap<u32, u64>>) -> BTreeMap<u32, u64> {
    let mut all = BTreeMap::new();
    for (node, bytes) in rows.flatten() {
        *all.entry(*node).or_default() += bytes;
    }
    all
}

/// CPUs of the threads that together do nine tenths of the work; of all where next to nothing was done.
pub(super) fn working_cpus(placement: &Placement) -> Option<CpuSet> {
    let all: u64 = placement.threads.iter().map(|group| group.busy_ticks).sum();
    let mut done = 0;
    let mut cpus = BTreeSet::new();
    for group in &placement.threads {
        if all >= LEAST_TICKS && done as f64 >= WORK * all as f64 {
            break;
        }
        done += group.busy_ticks;
        cpus.extend(group.cpus.iter());
    }
    (!cpus.is_empty()).then(|| cpus.into_iter().collect())
}
