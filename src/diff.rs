//! Two sessions held against each other: what differs in the node, what is slower, which findings came and went.
//!
//! Made by pure functions from two timelines; `commands/diff.rs` opens the files. Unknown is no difference: what only
//! one side knows is listed by itself.

mod comparable;
mod could;
mod facts;
mod findings;
mod peer;
mod pinning;
mod rates;
mod text;
mod ticket;

pub use facts::{Difference, KnownInOne};
pub use findings::Changed;
pub use peer::PeerDiff;
pub use rates::{Judgement, Mean, RailChange, Spread};
pub use ticket::DiffTicket;

use crate::report::{self, MeanRow, Means, Report};
use crate::rules::{Limits, Severity};
use crate::timeline::Timeline;
use serde::Serialize;

/// Name and version of the JSON form; it changes only with a new number.
pub const SCHEMA: &str = "railscope.diff/1";

/// One of the two sessions, folded.
#[derive(Debug)]
pub struct Side {
    name: String,
    timeline: Timeline,
    means: Means,
    spreads: Vec<Spread>,
    /// Where the part that is compared begins, seconds; `None` at the session's own beginning.
    from_s: Option<f64>,
}

/// Two sessions held against each other. Serialized it is the JSON form, displayed the text for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Program that compared.
    pub generated_by: &'static str,
    /// The first session: before.
    pub a: About,
    /// The second: after.
    pub b: About,
    /// Whether the rates of the two may be held against each other.
    pub comparable: bool,
    /// Why not; empty where they may.
    pub not_comparable_because: Vec<String>,
    /// Changes of this share and less are called the same, percent.
    pub tolerance_percent: f64,
    /// Rails of either, in natural order, with their rates.
    pub rails: Vec<RailChange>,
    /// Facts that both know and that differ.
    pub topology: Vec<Difference>,
    /// Facts that one of them does not know.
    pub known_in_one: Vec<KnownInOne>,
    /// Findings that the second has and the first has not.
    pub appeared: Vec<Changed>,
    /// Findings that the first has, and that the second would have if they were still there.
    pub went: Vec<Changed>,
    /// Findings that the first has, and of which the second cannot tell, for the reason that stands with each.
    pub not_judged: Vec<Changed>,
    /// The other end of the load in both; null unless both have it.
    pub peer: Option<PeerDiff>,
    /// `a` or `b`, where that session alone has the other end of its load; null else.
    pub peer_only_in: Option<&'static str>,
}

/// Where one side comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About {
    /// The file or folder as it was named.
    pub name: String,
    /// Host.
    pub hostname: Option<String>,
    /// The scenario and seed; null unless nothing there is a measurement.
    pub simulated: Option<probes::model::Simulation>,
    /// Wall clock at the start, milliseconds since 1970.
    pub started_unix_ms: Option<u64>,
    /// From the first frame's clock to the last frame.
    pub duration_s: f64,
    /// Samples taken.
    pub frames: u64,
    /// Parameters of the load in a line; null without one.
    pub load: Option<String>,
}

/// What makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Worse {
    /// A rail that is slower, or gone
    Slower,
    /// A fact about node, rails, pinning or load that differs
    Topology,
    /// A finding at warning or above that appeared
    Findings,
    /// Any difference at all
    Any,
}

impl Side {
    /// An empty side of this name, for frames of this session.
    #[must_use]
    pub fn new(name: String, session: std::sync::Arc<probes::model::Session>) -> Self {
        let timeline = Timeline::new(session);
        let spreads = vec![Spread::default(); timeline.topology().rails.len()];
        Self { name, timeline, means: Means::of(rates::WINDOW_NS), spreads, from_s: None }
    }

    /// Says that it is of a part that begins at this moment of the session.
    pub fn begins_at(&mut self, from: std::time::Duration) {
        self.from_s = Some(from.as_secs_f64());
    }

    /// Takes the next frame.
    pub fn push(&mut self, frame: probes::model::Frame) {
        self.timeline.push(frame);
        let rows = self.means.take(&self.timeline);
        self.add(&rows);
    }

    /// Takes in what is left when the session is over.
    pub fn end(&mut self) {
        let rows = self.means.end(&self.timeline);
        self.add(&rows);
    }

    fn add(&mut self, rows: &[MeanRow]) {
        for row in rows.iter().filter(|row| row.host == 0) {
            if let Some(spread) = self.spreads.get_mut(row.rail) {
                spread.add(row);
            }
        }
    }

    fn report(&self, limits: &Limits, ignore: &[String]) -> Report {
        let mut report = report::build(&self.timeline, limits, ignore);
        if let Some(from_s) = self.from_s {
            report.begins_at(from_s);
        }
        report
    }

    /// The other end of the load, as it sees itself; `None` where the session has one host.
    fn peer(&self) -> Option<Self> {
        Some(Self {
            name: self.name.clone(),
            timeline: self.timeline.as_seen_by_peer()?,
            means: Means::of(rates::WINDOW_NS),
            spreads: Vec::new(),
            from_s: self.from_s,
        })
    }

    fn about(&self, report: &Report) -> About {
        About {
            name: self.name.clone(),
            hostname: report.host.hostname.clone(),
            simulated: report.simulated.clone(),
            started_unix_ms: report.session.started_unix_ms,
            duration_s: report.session.duration_s,
            frames: report.session.frames,
            load: report::load_in_short(&self.timeline),
        }
    }

    /// The newest load of the session.
    fn load(&self) -> Option<&probes::model::Load> {
        self.timeline.local().frames().rev().find_map(|frame| frame.load.as_deref())
    }
}

/// Holds the second session against the first; findings of the codes in `ignore` are left out.
#[must_use]
pub fn compare(a: &Side, b: &Side, limits: &Limits, ignore: &[String], tolerance_percent: f64) -> Diff {
    let reports = [a, b].map(|side| side.report(limits, ignore));
    let because = comparable::reasons_against(a, b);
    let (topology, known_in_one) = facts::compare(a, b);
    let [report_a, report_b] = &reports;
    let findings = findings::compare((a, report_a), (b, report_b), &known_in_one);
    let peers = [a, b].map(Side::peer);
    Diff {
        schema: SCHEMA,
        generated_by: crate::GENERATED_BY,
        a: a.about(report_a),
        b: b.about(report_b),
        comparable: because.is_empty(),
        rails: rates::compare(a, b, because.is_empty(), tolerance_percent),
        not_comparable_because: because,
        tolerance_percent,
        topology,
        known_in_one,
        appeared: findings.appeared,
        went: findings.went,
        not_judged: findings.not_judged,
        peer_only_in: match &peers {
            [Some(_), None] => Some("a"),
            [None, Some(_)] => Some("b"),
            _ => None,
        },
        peer: match peers {
            [Some(a), Some(b)] => Some(peer::compare(&a, &b, limits, ignore)),
            _ => None,
        },
    }
}

impl Diff {
    /// Whether the second is worse in what `worse` names.
    #[must_use]
    pub fn is(&self, worse: Worse) -> bool {
        let is_slower = |rail: &RailChange| matches!(rail.judgement, Judgement::Slower | Judgement::Gone);
        let is_bad = |changed: &Changed| changed.severity >= Severity::Warning;
        match worse {
            Worse::Slower => self.rails.iter().any(is_slower),
            Worse::Topology => {
                let of_peer = self.peer.as_ref().is_some_and(PeerDiff::differs_in_facts);
                !self.topology.is_empty() || self.differs_in_rails() || of_peer
            }
            Worse::Findings => {
                let of_peer = self.peer.iter().flat_map(|peer| &peer.appeared);
                self.appeared.iter().chain(of_peer).any(is_bad)
            }
            Worse::Any => {
                let differs =
                    |rail: &RailChange| !matches!(rail.judgement, Judgement::Same | Judgement::NotJudged);
                self.rails.iter().any(differs)
                    || !self.topology.is_empty()
                    || !self.appeared.is_empty()
                    || !self.went.is_empty()
                    || self.peer.as_ref().is_some_and(PeerDiff::differs)
            }
        }
    }

    /// Whether a rail is in one of them only.
    fn differs_in_rails(&self) -> bool {
        self.rails.iter().any(|rail| matches!(rail.judgement, Judgement::Gone | Judgement::New))
    }

    /// Rails whose rates were to be compared and could not be.
    #[must_use]
    pub fn unjudged(&self) -> usize {
        self.rails.iter().filter(|rail| rail.judgement == Judgement::NotJudged).count()
    }
}

#[cfg(test)]
mod tests;
