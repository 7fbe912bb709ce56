//! The report: what a session amounts to, for machines (JSON, schema `railscope.report/1`) and for people.
//!
//! Made from a timeline by a pure function, so a live session and its recording give the same report.

mod bounds;
mod csv;
mod explained;
mod gids;
mod held;
mod host;
mod legs;
mod load;
pub(crate) mod markdown;
mod md;
mod means;
mod number;
mod openmetrics;
mod perf;
mod picture;
mod probe_md;
mod probe_text;
mod rails;
pub(crate) mod short;
pub(crate) mod text;
mod total;

#[cfg(test)]
mod tests;

pub use bounds::CeilingsRow;
pub use csv::Csv;
pub use explained::{Contents, Explained};
pub use gids::{GidEntry, GidRow};
pub use held::HeldAgainst;
pub use host::{HostBlock, NodeRow};
pub use load::{LatencyRow, LoadBlock, ThreadRow};
pub use md::Ticket;
pub use means::{MeanRow, Means};
pub use openmetrics::OpenMetrics;
pub use perf::PerfRow;
pub(crate) use picture::COLOURS;
pub use picture::picture;
pub use probe_md::ProbeMarkdown;
pub(crate) use probe_text::rail as rail_text;
pub use probe_text::{ProbeText, WideProbeText};
pub use rails::{BondRow, LegRow, PcieRow, RailRow};
pub use total::Totals;

pub(crate) use text::{alike, word as severity_word, wrap};

use crate::ceilings::together_gb_per_s;
use crate::experiments::Diagnosis;
use crate::rules::{self, Finding, Limits, Severity};
use crate::timeline::{Event, Timeline};
use probes::model::{Gap, Gpu, LostCard};
use serde::Serialize;

/// Name and version of the JSON form; it changes only with a new number.
pub const SCHEMA: &str = "railscope.report/1";

/// What a session amounts to. Serialized it is the JSON report, displayed the text for people.
///
/// Unknown is null, units are in the keys. GB is 10^9 bytes, Gbit 10^9 bits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Program and version that made the session.
    pub generated_by: String,
    /// The scenario and seed; null unless nothing here is a measurement.
    pub simulated: Option<probes::model::Simulation>,
    /// What the figures cover.
    pub session: Span,
    /// Software and hardware around the rails.
    pub host: HostBlock,
    /// NUMA nodes.
    pub numa: Vec<NodeRow>,
    /// Rails, in natural order.
    pub rails: Vec<RailRow>,
    /// GPUs and their PCIe paths.
    pub gpus: Vec<Gpu>,
    /// Cards of RDMA vendors without an RDMA device.
    pub lost_cards: Vec<LostCard>,
    /// All rails together.
    pub total: Totals,
    /// What is wrong or worth knowing, worst first, but that which explains another before it.
    pub findings: Vec<Finding>,
    /// What happened, in order of time.
    pub events: Vec<Event>,
    /// What could not be learnt, and why.
    pub gaps: Vec<Gap>,
    /// The load of the session; absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadBlock>,
    /// What the planned loads of a diagnosis showed; absent where the session is none, or only a part of it is reported on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Box<Diagnosis>>,
    /// The same of the other host of the load; absent when the session has one host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<Box<Report>>,
}

/// What a report's figures cover.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Wall clock at the start, milliseconds since 1970; null where it would not be deterministic.
    pub started_unix_ms: Option<u64>,
    /// Where the report begins, seconds since the session began; absent when it begins with the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_s: Option<f64>,
    /// From there to the last frame.
    pub duration_s: f64,
    /// Samples taken.
    pub frames: u64,
    /// Planned time between samples.
    pub interval_s: f64,
    /// Loads of a diagnosis that were made in it, one after the other; absent when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_loads: Option<u64>,
    /// Whether a load of ours ran and had ended a minute or more before the last frame, so that `load` is null; absent when
    /// none had.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub load_is_past: bool,
}

/// The parameters of the session's load in a line, as every figure carries them; `None` without one.
#[must_use]
pub fn load_in_short(timeline: &Timeline) -> Option<String> {
    let newest = timeline.local().frames().rev().find_map(|frame| frame.load.as_deref())?;
    Some(short::of_load(newest, timeline.session().simulated.is_some()))
}

/// What the session amounts to so far; findings of the codes in `ignore` are left out.
#[must_use]
pub fn build(timeline: &Timeline, limits: &Limits, ignore: &[String]) -> Report {
    let peer = timeline.as_seen_by_peer().map(|peer| Box::new(one_host(&peer, limits, ignore)));
    Report { peer, ..one_host(timeline, limits, ignore) }
}

fn one_host(timeline: &Timeline, limits: &Limits, ignore: &[String]) -> Report {
    let session = timeline.session();
    let topology = timeline.topology();
    let local = timeline.local();
    let sums = local.sums();
    let mut findings = rules::diagnose(topology, timeline, limits);
    findings.retain(|finding| !ignore.iter().any(|code| *code == finding.code));
    let load = LoadBlock::of(timeline);
    Report {
        schema: SCHEMA,
        generated_by: session.generated_by.clone(),
        simulated: session.simulated.clone(),
        session: Span {
            started_unix_ms: session.started_unix_ms,
            from_s: None,
            duration_s: number::seconds(sums.until_ns),
            frames: sums.frames,
            interval_s: number::seconds(session.interval_ns),
            planned_loads: Some(sums.planned_loads).filter(|count| *count > 0),
            load_is_past: load.is_none() && !sums.workers.is_empty(),
        },
        host: HostBlock::of(&topology.host),
        numa: topology.numa.iter().map(NodeRow::of).collect(),
        rails: topology
            .rails_with_id()
            .zip(together_gb_per_s(topology))
            .map(|((id, rail), share)| RailRow::of(id, rail, local).shares(share))
            .collect(),
        gpus: topology.gpus.clone(),
        lost_cards: topology.lost_cards.clone(),
        total: Totals::of(topology, local),
        findings,
        events: sums.events.clone(),
        gaps: topology.gaps.clone(),
        load,
        diagnosis: None,
        peer: None,
    }
}

impl Report {
    /// Says that it is of a part that begins at this moment of the session, seconds.
    pub fn begins_at(&mut self, from_s: f64) {
        let span = &mut self.session;
        span.from_s = number::round(from_s);
        span.duration_s = number::round((span.duration_s - from_s).max(0.0)).unwrap_or_default();
        if let Some(peer) = &mut self.peer {
            peer.begins_at(from_s);
        }
    }

    /// The worst severity found on either host, an error where the load met one; `None` when nothing was.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        let peer = self.peer.as_ref().and_then(|peer| peer.worst_here());
        let slow = self.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.has_slow_rail());
        self.worst_here().max(peer).max(slow.then_some(Severity::Warning))
    }

    /// The same of this host alone.
    #[must_use]
    pub fn worst_here(&self) -> Option<Severity> {
        let load = self
            .load
            .as_ref()
            .filter(|load| load.met_errors() || !load.silent().is_empty())
            .map(|_| Severity::Error);
        self.findings.iter().map(|finding| finding.severity).max().max(load)
    }
}
