//! The pinning validator: where each user of a rail is, whether that is near, and what mends it.
//!
//! A pure function of what was seen once (or last, of a command under observation). The verdicts are those of the
//! placement rules; here they are told process by process, with the threads that do the work in the place of all threads,
//! and held against what was asked of `numactl` or `taskset`.

mod asked;
mod near_gpu;
mod text;

#[cfg(test)]
mod tests;

pub use asked::Asked;

use crate::rules::{self, Finding, Limits, Severity};
use crate::timeline::Timeline;
use probes::model::{CpuSet, Frame, Gap, Process, ProcessSource, RailId, Rank, Session, Topology};
use probes::processes::{Mapped, Placement, Registered};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Name and version of the JSON form.
pub const SCHEMA: &str = "railscope.pins/1";

/// Codes that are about placement.
pub(crate) const PLACEMENT: [&str; 11] = [
    "cross-numa",
    "irq-on-poll-core",
    "not-pinned",
    "numa-balancing",
    "numa-conflict",
    "numa-cpuset",
    "numa-inconsistent",
    "numa-no-memory",
    "numa-unknown",
    "shared-core",
    "shared-rail",
];

/// Threads that together do this share of a process's work are those that are judged.
const WORK: f64 = 0.9;
/// Less work than this (clock ticks of mostly 10 ms) does not tell who does it.
const LEAST_TICKS: u64 = 20;
/// Mappings of less than this together are stacks and libraries.
const LEAST_BYTES: u64 = 2 << 20;

/// What was seen of one process.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its entries, one a rail; of a process that uses none one without a device.
    pub processes: Vec<Process>,
    /// Its threads and memory in detail; an error says why they are not known.
    pub placement: Result<Placement, String>,
    /// What it has registered with each device; `None` where that is not known.
    pub registered: Option<BTreeMap<String, Registered>>,
}

/// Who uses the rails, and how that is placed. Serialized it is the JSON form, displayed the text for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pins {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: &'static str,
    /// Name of the host.
    pub hostname: Option<String>,
    /// What was asked of the command under observation; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Processes, by their ids.
    pub processes: Vec<Pinned>,
    /// What is found about placement and about no single process.
    pub findings: Vec<Finding>,
    /// What could not be learnt, and why.
    pub gaps: Vec<Gap>,
}

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

/// Judges what was seen.
#[must_use]
pub fn judge(
    session: &Arc<Session>,
    seen: &[Seen],
    asked: Option<Asked>,
    limits: &Limits,
    ignore: &[String],
) -> Pins {
    let topology = session.topology();
    let mut timeline = Timeline::new(session.clone());
    timeline.push(Frame {
        processes: Some(Arc::new(seen.iter().flat_map(as_they_work).collect())),
        ..Frame::default()
    });
    let mut left_out: BTreeMap<u32, String> = BTreeMap::new();
    let (mut own, mut general) = (BTreeMap::<u32, Vec<Finding>>::new(), Vec::new());
    for finding in rules::diagnose(topology, &timeline, limits) {
        let is_ignored = ignore.iter().any(|code| *code == finding.code);
        match pids_of(&finding) {
            _ if !PLACEMENT.contains(&&*finding.code) => {}
            pids if is_ignored => {
                left_out.extend(pids.into_iter().map(|pid| (pid, finding.code.to_string())));
            }
            pids if pids.is_empty() => general.push(finding),
            pids => pids.into_iter().for_each(|pid| own.entry(pid).or_default().push(finding.clone())),
        }
    }
    let processes = seen.iter().filter_map(|seen| {
        let pid = seen.processes.first()?.pid;
        let mut findings = own.remove(&pid).unwrap_or_default();
        if !ignore.iter().any(|code| code == "shared-rail") {
            findings.extend(near_gpu::far_rail(topology, seen));
        }
        let mut pinned = Pinned::of(topology, seen, findings, asked.as_ref(), limits);
        if let Some(code) =
            left_out.get(&pid).filter(|_| pinned.findings.is_empty() && pinned.lost.is_empty())
        {
            pinned.verdict = format!("{code}, which is left out");
        }
        Some(pinned)
    });
    Pins {
        schema: SCHEMA,
        generated_by: crate::GENERATED_BY,
        hostname: topology.host.hostname.clone(),
        processes: processes.collect(),
        asked,
        findings: general,
        gaps: topology.gaps.iter().filter(|gap| gap.probe == "processes").cloned().collect(),
    }
}

/// The processes of one id as the rules shall see them: by the CPUs of the threads that do the work.
fn as_they_work(seen: &Seen) -> Vec<Process> {
    let working = seen.placement.as_ref().ok().and_then(working_cpus);
    let rows = seen.placement.as_ref().ok().and_then(|placement| placement.memory.as_ref().ok());
    let memory = rows.map(|rows| bytes_by_node(rows.iter().map(|row| &row.bytes_by_node)));
    let all = seen.processes.iter().filter(|process| !process.device.is_empty());
    all.map(|process| Process {
        cpus_allowed: working.clone().or_else(|| process.cpus_allowed.clone()),
        large_mapping_bytes_by_node: memory.clone().or_else(|| process.large_mapping_bytes_by_node.clone()),
        // looked at by name, our own process is one like any other
        source: match process.source {
            ProcessSource::OurLoad => ProcessSource::QueuePairs,
            source => source,
        },
        ..process.clone()
    })
    .collect()
}

/// CPUs of the threads that together do nine tenths of the work; of all where next to nothing was done.
fn working_cpus(placement: &Placement) -> Option<CpuSet> {
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

/// Processes that a finding is about.
fn pids_of(finding: &Finding) -> Vec<u32> {
    let number = |value: &serde_json::Value| value.as_u64().and_then(|pid| u32::try_from(pid).ok());
    let one = finding.evidence.get("pid").and_then(number);
    let several = finding.evidence.get("pids").and_then(|pids| pids.as_array());
    one.into_iter().chain(several.into_iter().flatten().filter_map(number)).collect()
}

impl Pinned {
    fn of(
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
            cpu_nodes: cpus.as_ref().map(|cpus| nodes_of(topology, cpus)).unwrap_or_default(),
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
            Ok(Ok(_)) => "near".to_owned(),
        }
    }
}

impl Pins {
    /// The worst of what was found; a warning where a binding was lost. `None` when all is well.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        let lost = self.processes.iter().any(|process| !process.lost.is_empty());
        let findings = self.processes.iter().flat_map(|process| &process.findings).chain(&self.findings);
        findings.map(|finding| finding.severity).max().max(lost.then_some(Severity::Warning))
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
            nodes: nodes_of(topology, &group.cpus),
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
fn bytes_by_node<'a>(rows: impl Iterator<Item = &'a BTreeMap<u32, u64>>) -> BTreeMap<u32, u64> {
    let mut all = BTreeMap::new();
    for (node, bytes) in rows.flatten() {
        *all.entry(*node).or_default() += bytes;
    }
    all
}

/// Nodes that hold CPUs of this set.
fn nodes_of(topology: &Topology, cpus: &CpuSet) -> Vec<u32> {
    let nodes: BTreeSet<u32> = cpus.iter().filter_map(|cpu| topology.node_of_cpu(cpu)).collect();
    nodes.into_iter().collect()
}
