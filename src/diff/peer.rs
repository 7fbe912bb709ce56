//! The other end of the load, where both sessions have it.

use super::facts::{self, Difference, KnownInOne};
use super::findings::{self, Changed};
use super::{Side, rates};
use crate::rules::Limits;
use serde::Serialize;

/// The other ends of two sessions held against each other. What passed between the ends is compared once, at the end
/// that recorded it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PeerDiff {
    /// Host of the first session's other end.
    pub a: Option<String>,
    /// Host of the second's.
    pub b: Option<String>,
    /// Rails of the first that the second has not.
    pub gone: Vec<String>,
    /// Rails of the second that the first has not.
    pub new: Vec<String>,
    /// Facts that both know and that differ.
    pub topology: Vec<Difference>,
    /// Facts that one of them does not know.
    pub known_in_one: Vec<KnownInOne>,
    /// Findings that the second has and the first has not.
    pub appeared: Vec<Changed>,
    /// Findings that the first has, and that the second would have if they were still there.
    pub went: Vec<Changed>,
    /// Findings that the first has, and of which the second cannot tell.
    pub not_judged: Vec<Changed>,
}

/// Both sides as the other ends see themselves.
pub(super) fn compare(a: &Side, b: &Side, limits: &Limits, ignore: &[String]) -> PeerDiff {
    let (topology, known_in_one) = facts::compare(a, b);
    let [report_a, report_b] = [a, b].map(|side| side.report(limits, ignore));
    let found = findings::compare((a, &report_a), (b, &report_b), &known_in_one);
    let alone = |one: &Side, other: &Side| -> Vec<String> {
        let others = &other.timeline.topology().rails;
        let rails = one.timeline.topology().rails.iter();
        let is_alone = |rail: &&probes::model::Rail| others.iter().all(|other| !rates::is_same(rail, other));
        rails.filter(is_alone).map(|rail| rail.device.clone()).collect()
    };
    PeerDiff {
        a: report_a.host.hostname,
        b: report_b.host.hostname,
        gone: alone(a, b),
        new: alone(b, a),
        topology,
        known_in_one,
        appeared: found.appeared,
        went: found.went,
        not_judged: found.not_judged,
    }
}

impl PeerDiff {
    /// Whether a fact or a rail differs.
    #[must_use]
    pub fn differs_in_facts(&self) -> bool {
        !self.topology.is_empty() || !self.gone.is_empty() || !self.new.is_empty()
    }

    /// Whether anything does.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.differs_in_facts() || !self.appeared.is_empty() || !self.went.is_empty()
    }

    /// Which host it is in words: `n2`, or `n2 in A, n3 in B`.
    pub(super) fn host(&self) -> String {
        let name = |host: &Option<String>| host.clone().unwrap_or_else(|| "unknown host".to_owned());
        let (a, b) = (name(&self.a), name(&self.b));
        if a == b { a } else { format!("{a} in A, {b} in B") }
    }
}
