//! The verdict on each rail.

use super::hypotheses::{AT_CEILING, Answer, Case, Hypothesis};
use super::plan::Kind;
use super::rounds::Rates;
use super::slow::{control, slow_rails, why_slow};
use super::{Seen, SharedLimit};
use crate::ceilings::Ceilings;
use crate::rules::Limits;
use crate::settings::Size;
use probes::model::Topology;
use serde::Serialize;
use std::time::Duration;

/// Name and version of the JSON form.
const SCHEMA: &str = "railscope.diagnosis/1";

/// The order in which causes are named where several hold: what was seen directly before what was inferred.
const FIRST: [&str; 7] = ["H3", "H1", "H2", "H6", "H7", "H5", "H4"];

/// What the experiments amount to. Serialized it is the JSON form, displayed the text for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: &'static str,
    /// This host.
    pub hostname: Option<String>,
    /// The other one; null in a simulation.
    pub peer: Option<String>,
    /// What the figures are not: `simulated`, `loopback, not fabric`; null of figures of the fabric.
    pub caveat: Option<String>,
    /// How the rails were loaded, in words.
    pub load: String,
    /// Time that the loads took, one after the other.
    pub took_s: f64,
    /// Whether it was ended before all experiments were made.
    pub cut_short: bool,
    /// Rails, slow ones first.
    pub rails: Vec<RailDiagnosis>,
    /// Limits beyond this host that several rails met at once: one fact about them, not several.
    pub shared_limits: Vec<SharedLimit>,
    /// Every load and what it showed.
    pub experiments: Vec<Seen>,
}

/// One rail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RailDiagnosis {
    /// RDMA device.
    pub device: String,
    /// What it does by itself, GB/s of payload.
    pub alone_gb_per_s: Option<f64>,
    /// What it does while all are loaded.
    pub together_gb_per_s: Option<f64>,
    /// Its lowest known ceiling, the READ window left out.
    pub ceiling_gb_per_s: Option<f64>,
    /// Whether it is slow: below what it could do, or below its like.
    pub slow: bool,
    /// Why it counts as slow; empty where it does not.
    pub slow_because: String,
    /// Whether it is the healthy rail beside which the slow ones were judged.
    pub control: bool,
    /// The cause: a finding code; `slow-unexplained` where none was proven; null of a rail that is not slow.
    pub cause: Option<&'static str>,
    /// The table; empty of a rail that is not slow.
    pub hypotheses: Vec<Hypothesis>,
    /// What another node costs the fastest healthy rail, GB/s and percent in words; null of any other, and on a host with
    /// one node.
    pub placement: Option<String>,
    /// What could not be measured on it, and why.
    pub failed: Vec<String>,
}

impl RailDiagnosis {
    /// The cause that is named first; `None` where none was proven.
    #[must_use]
    pub fn first_cause(&self) -> Option<&Hypothesis> {
        let holds =
            |id: &str| self.hypotheses.iter().find(|held| held.id == id && held.answer == Answer::Yes);
        let explains = |held: &&Hypothesis| held.id != "H3" || self.is_at_its_ceiling();
        let all = || FIRST.iter().filter_map(|id| holds(id));
        all().find(explains).or_else(|| all().next())
    }

    /// Further causes that hold.
    pub fn other_causes(&self) -> impl Iterator<Item = &Hypothesis> {
        let first = self.first_cause().map(|cause| cause.id);
        self.hypotheses.iter().filter(move |held| held.answer == Answer::Yes && Some(held.id) != first)
    }

    /// Whether it brings what its low link lets through as it is usually loaded, and not only at its best: else the link is
    /// not what holds it now.
    fn is_at_its_ceiling(&self) -> bool {
        let usual = [self.alone_gb_per_s, self.together_gb_per_s].into_iter().flatten().reduce(f64::max);
        match (usual, self.ceiling_gb_per_s) {
            (Some(usual), Some(ceiling)) => usual >= AT_CEILING * ceiling,
            _ => true,
        }
    }
}

impl Diagnosis {
    /// Of these loads of messages of this size over so many queue pairs a rail, which took so long; complete, and without a
    /// peer or a caveat.
    #[must_use]
    pub fn of(
        topology: &Topology,
        (size_bytes, qps): (u64, u32),
        took: Duration,
        (rails, shared_limits): (Vec<RailDiagnosis>, Vec<SharedLimit>),
        experiments: Vec<Seen>,
    ) -> Self {
        Self {
            schema: SCHEMA,
            generated_by: crate::GENERATED_BY,
            hostname: topology.host.hostname.clone(),
            peer: None,
            caveat: None,
            load: format!(
                "READ, {} messages, {qps} queue pair{} a rail",
                Size(size_bytes),
                if qps == 1 { "" } else { "s" }
            ),
            took_s: (took.as_secs_f64() * 10.0).round() / 10.0,
            cut_short: false,
            rails,
            shared_limits,
            experiments,
        }
    }

    /// Whether a rail is slow by it; one that brings nothing is the slowest of all.
    #[must_use]
    pub fn has_slow_rail(&self) -> bool {
        let brings_nothing = !self.cut_short && (self.unmeasured() > 0 || not_together(&self.rails));
        brings_nothing || self.rails.iter().any(|rail| rail.slow)
    }
}

/// Whether each of several rails brings something alone, and it is not known what they bring all together: that was tried
/// and showed nothing.
#[must_use]
pub fn not_together(rails: &[RailDiagnosis]) -> bool {
    let failed = format!("{}: ", Kind::Together);
    rails.len() > 1
        && rails.iter().all(|rail| rail.alone_gb_per_s.is_some() && rail.together_gb_per_s.is_none())
        && rails.iter().any(|rail| rail.failed.iter().any(|why| why.starts_with(&failed)))
}

/// What each rail is, from what was seen.
#[must_use]
pub fn judge(topology: &Topology, limits: &Limits, seen: &[Seen]) -> Vec<RailDiagnosis> {
    let slow = slow_rails(topology, limits, seen);
    let control = control(topology, &slow, seen);
    let mut rails: Vec<RailDiagnosis> = topology
        .rails
        .iter()
        .map(|rail| {
            let is_slow = slow.contains(&rail.device);
            let case = Case { topology, rail, seen, limits, control: control.as_deref() };
            let mut this = RailDiagnosis {
                device: rail.device.clone(),
                alone_gb_per_s: rate(seen, &Kind::Alone, &rail.device),
                together_gb_per_s: rate(seen, &Kind::Together, &rail.device),
                ceiling_gb_per_s: Ceilings::of(rail).lowest(),
                slow: is_slow,
                slow_because: why_slow(topology, rail, limits, seen).unwrap_or_default(),
                control: !slow.is_empty() && control.as_ref() == Some(&rail.device),
                cause: None,
                hypotheses: if is_slow { case.all() } else { Vec::new() },
                placement: control
                    .as_ref()
                    .filter(|device| **device == rail.device)
                    .and_then(|_| case.placement_cost()),
                failed: failed(seen, &rail.device),
            };
            this.cause = is_slow.then(|| this.first_cause().map_or("slow-unexplained", |cause| cause.code));
            this
        })
        .collect();
    // the sort is stable: rails stay in their order otherwise
    rails.sort_by_key(|rail| !rail.slow);
    rails
}

/// What loads of this kind brought on a rail in the mean.
fn rate(seen: &[Seen], kind: &Kind, device: &str) -> Option<f64> {
    Rates::of(seen, kind, device).ok().map(|rates| rates.mean())
}

fn failed(seen: &[Seen], device: &str) -> Vec<String> {
    let about = |seen: &&Seen| seen.step.is(&seen.step.kind, device);
    seen.iter()
        .filter(about)
        .filter_map(|seen| Some(format!("{}: {}", seen.step.kind, seen.failed.as_ref()?)))
        .collect()
}
