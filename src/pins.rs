//! The pinning validator: where each user of a rail is, whether that is near, and what mends it.
//!
//! A pure function of what was seen once (or last, of a command under observation). The verdicts are those of the
//! placement rules; here they are told process by process, with the threads that do the work in the place of all threads,
//! and held against what was asked of `numactl` or `taskset`.

mod asked;
mod near_gpu;
mod pinned;
mod text;

#[cfg(test)]
mod tests;

pub use asked::Asked;
pub use pinned::{GpuUse, MemoryRow, Pinned, RailUse, ThreadRow};

use crate::rules::{self, Finding, Limits, Severity};
use crate::timeline::Timeline;
use pinned::{bytes_by_node, working_cpus};
use probes::model::{Frame, Gap, Process, ProcessSource, Session};
use probes::processes::{Placement, Registered};
use serde::Serialize;
use std::collections::BTreeMap;
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

impl Seen {
    /// Whether large mappings of so many bytes tell where its buffers are.
    fn mappings_tell(&self, mapped_bytes: u64) -> bool {
        let all = self.registered.as_ref().map(|all| all.values().map(|one| one.large_bytes).sum());
        Process::mappings_tell(mapped_bytes, all)
    }
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
        let findings = own.remove(&pid).unwrap_or_default();
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
        registered_large_bytes: seen.registered.as_ref().map_or(process.registered_large_bytes, |all| {
            Some(all.get(&process.device).map_or(0, |registered| registered.large_bytes))
        }),
        gpu: seen.placement.as_ref().ok().and_then(|placement| placement.gpu.clone()),
        // looked at by name, our own process is one like any other
        source: match process.source {
            ProcessSource::OurLoad => ProcessSource::QueuePairs,
            source => source,
        },
        ..process.clone()
    })
    .collect()
}

/// Processes that a finding is about.
fn pids_of(finding: &Finding) -> Vec<u32> {
    let number = |value: &serde_json::Value| value.as_u64().and_then(|pid| u32::try_from(pid).ok());
    let one = finding.evidence.get("pid").and_then(number);
    let several = finding.evidence.get("pids").and_then(|pids| pids.as_array());
    one.into_iter().chain(several.into_iter().flatten().filter_map(number)).collect()
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
