//! Whether a session could have had a finding: what is gone because nobody looked has not gone.

use super::{KnownInOne, Side};
use crate::rules::Finding;
use probes::model::RailId;

/// Time of one level that rules on rates want to see, nanoseconds.
const LEVEL_NS: f64 = 3e9;

/// What a finding is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Facts of the survey alone.
    Facts,
    /// A level that a load holds.
    Level,
    /// Something that passes, and counters that are read twice.
    Traffic,
    /// Somebody on the rail: processes that were looked for, or a load.
    Users,
}

fn needs(code: &str) -> Needs {
    match code {
        "half-rate" | "rail-imbalance" | "slow-unexplained" | "unstable" | "relaxed-ordering"
        | "line-limit" | "read-window" | "read-depth" | "read-below-write" | "gpu-link-limit"
        | "loopback" => Needs::Level,
        "bond-leg-imbalance" | "implausible" | "above-port" | "ecn-cnp" | "retransmit" | "rx-pause"
        | "tx-pause" | "link-errors" | "flap" | "counter-reset" | "prio" => Needs::Traffic,
        "cross-numa" | "not-pinned" | "shared-rail" | "irq-on-poll-core" | "shared-core"
        | "numa-balancing" => Needs::Users,
        _ => Needs::Facts,
    }
}

/// The fact, as a comparison names it, without which a code says nothing.
fn fact(code: &str) -> Option<&'static str> {
    Some(match code {
        "mtu" | "mtu-differs" => "path MTU",
        "fw-differs" => "firmware",
        "pcie-downgraded" | "pcie-capped-by-slot" => "PCIe link",
        "pcie-path-degraded" | "pcie-limit" | "shared-pcie" => "slowest PCIe hop",
        "mrrs" => "MaxReadReq",
        "relaxed-ordering" => "relaxed ordering",
        "link-down" | "no-sm" => "state",
        "memlock" => "locked memory",
        "numa-balancing" => "NUMA balancing",
        "cross-numa" | "not-pinned" => "NUMA node",
        _ => return None,
    })
}

/// A session that has not found what another one has, and its letter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Without<'a> {
    pub side: &'a Side,
    pub letter: char,
    /// The session that has found it.
    pub with: &'a Side,
    /// What one of the two does not know.
    pub known_in_one: &'a [KnownInOne],
}

impl Without<'_> {
    /// Why the session could not have found this on that device; `None` where it could.
    pub(super) fn could_not(self, finding: &Finding, device: &str) -> Option<String> {
        let letter = self.letter;
        let known_rail = self.with.timeline.topology().rail(device);
        let rail = self.side.timeline.topology().rail(device).map(|(id, _)| id);
        if known_rail.is_some() && rail.is_none() {
            return Some(format!("{device} is not in {letter}"));
        }
        if let Some(fact) = fact(&finding.code).filter(|fact| self.does_not_know(fact, device)) {
            return Some(format!("{letter} does not know: {fact}"));
        }
        match needs(&finding.code) {
            Needs::Facts => None,
            Needs::Users => self.nobody_looked(),
            Needs::Traffic => self.one_look().or_else(|| self.no_load_as_before(rail, known_rail?.0)),
            Needs::Level => self.one_look().or_else(|| self.no_level(rail)),
        }
    }

    fn does_not_know(self, what: &str, device: &str) -> bool {
        let is_unknown = |one: &KnownInOne| {
            let here = if self.letter == 'A' { &one.a } else { &one.b };
            one.what == what && (one.subject == device || one.subject == "host") && here.is_none()
        };
        self.known_in_one.iter().any(is_unknown)
    }

    fn one_look(self) -> Option<String> {
        let frames = self.side.timeline.local().sums().frames;
        (frames < 2).then(|| format!("{} is one look, in which nothing moves", self.letter))
    }

    fn nobody_looked(self) -> Option<String> {
        let host = self.side.timeline.local();
        let is_loaded = self.side.load().is_some();
        (host.processes().is_none() && !is_loaded)
            .then(|| format!("nobody looked for processes in {}, and no load ran", self.letter))
    }

    /// What a rail says under load it does not say without.
    fn no_load_as_before(self, rail: Option<RailId>, before: RailId) -> Option<String> {
        let had = loaded_ns(self.with, before) > 0.0;
        let has = rail.is_none_or(|rail| loaded_ns(self.side, rail) > 0.0);
        (had && !has).then(|| format!("no load ran on it in {}, as one did in {}", self.letter, self.other()))
    }

    fn no_level(self, rail: Option<RailId>) -> Option<String> {
        let letter = self.letter;
        let sums = self.side.timeline.local().sums();
        let held_s = rail.map_or(0.0, |rail| loaded_ns(self.side, rail)) / 1e9;
        match held_s {
            _ if sums.functional_check => Some(format!("the load in {letter} went over TCP")),
            _ if sums.held_back => Some(format!("the load in {letter} was held back")),
            0.0 => Some(format!("no load ran on it in {letter}")),
            _ if held_s * 1e9 < LEVEL_NS => {
                Some(format!("only {held_s:.1} s under load in {letter}; 3 s are needed"))
            }
            _ => None,
        }
    }

    fn other(self) -> char {
        if self.letter == 'A' { 'B' } else { 'A' }
    }
}

/// Time in which a load covered a rail, nanoseconds.
fn loaded_ns(side: &Side, rail: RailId) -> f64 {
    let sums = side.timeline.local().sums();
    sums.rails.get(rail.0).map_or(0.0, |rail| rail.load.ns.max(rail.loaded_rx.ns).max(rail.loaded_tx.ns))
}

#[cfg(test)]
mod tests {
    use super::{fact, needs};
    use crate::diff::could::Needs;
    use crate::rules;

    #[test]
    fn every_code_that_is_named_here_is_one() {
        let known: Vec<&str> = rules::codes().collect();
        let named = [
            "half-rate",
            "rail-imbalance",
            "slow-unexplained",
            "unstable",
            "relaxed-ordering",
            "line-limit",
            "read-window",
            "read-depth",
            "read-below-write",
            "gpu-link-limit",
            "loopback",
            "bond-leg-imbalance",
            "implausible",
            "above-port",
            "ecn-cnp",
            "retransmit",
            "rx-pause",
            "tx-pause",
            "link-errors",
            "flap",
            "counter-reset",
            "prio",
            "cross-numa",
            "not-pinned",
            "shared-rail",
            "irq-on-poll-core",
            "shared-core",
            "numa-balancing",
        ];
        assert_eq!(known.iter().filter(|code| needs(code) != Needs::Facts).count(), named.len());
        assert!(named.iter().all(|code| known.contains(code) && needs(code) != Needs::Facts));
        assert_eq!(known.iter().filter(|code| fact(code).is_some()).count(), 16);
    }
}
