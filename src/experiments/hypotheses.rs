//! The causes of a slow rail, each held against what was measured.

use super::plan::{Kind, places, sharing};
use super::{RailSeen, Seen};
use crate::ceilings::{line_goodput_gb_per_s, path_payload_gb_per_s, slowest_hop};
use crate::rules::{Limits, rate};
use probes::model::{Hop, PciePath, Rail, Topology};
use serde::Serialize;
use std::fmt;

/// A rate that differs by less is the same: noise of windows of a second.
const SAME: f64 = 0.10;
/// A difference below so many times what the rail by itself differed by is noise.
const NOISES: f64 = 3.0;
/// Empty polls below this share are rare.
const RARE_EMPTY_POLLS: f64 = 0.05;
/// Nearer than this to a ceiling it is the limit.
const AT_CEILING: f64 = 0.85;

/// What was found of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It is one.
    Yes,
    /// It is none.
    No,
    /// That cannot be told here; the reason says why.
    Unknown,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yes => "YES",
            Self::No => "no",
            Self::Unknown => "?",
        })
    }
}

/// One possible cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hypothesis {
    /// `H1` to `H7`.
    pub id: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Whether it holds.
    pub answer: Answer,
    /// The measurements that tell, or why it is not measurable here.
    pub because: String,
    /// The finding that it amounts to, for `railscope explain`.
    pub code: &'static str,
}

/// One slow rail and all that was seen.
pub(super) struct Case<'a> {
    pub(super) topology: &'a Topology,
    pub(super) rail: &'a Rail,
    pub(super) seen: &'a [Seen],
    pub(super) limits: &'a Limits,
}

/// What a link that carries too little is called: trained low, by its slot, or all that there is.
fn code_of(path: &PciePath, hop: &Hop) -> &'static str {
    let below = |now: Option<f64>, best: Option<f64>| now.zip(best).is_some_and(|(now, best)| now < best);
    let wide = |lanes: Option<u32>| lanes.map(f64::from);
    let least = |one: Option<f64>, other: Option<f64>| one.zip(other).map(|(one, other)| one.min(other));
    let both = [
        (hop.current_gt_per_s, least(hop.max_gt_per_s, hop.upstream_max_gt_per_s)),
        (wide(hop.current_width), least(wide(hop.max_width), wide(hop.upstream_max_width))),
    ];
    let own = [(hop.current_gt_per_s, hop.max_gt_per_s), (wide(hop.current_width), wide(hop.max_width))];
    if both.iter().any(|(now, best)| below(*now, *best)) {
        if hop.address == path.address { "pcie-downgraded" } else { "pcie-path-degraded" }
    } else if own.iter().any(|(now, best)| below(*now, *best)) {
        "pcie-capped-by-slot"
    } else {
        "pcie-limit"
    }
}

impl Case<'_> {
    /// All seven, in their order.
    pub(super) fn all(&self) -> Vec<Hypothesis> {
        vec![
            self.one_leg(),
            self.shared_link(),
            self.low_link(),
            self.placement(),
            self.fabric(),
            self.window_or_cpu(),
            self.memory(),
        ]
    }

    /// What a load of this kind showed of the rail, or why there is nothing.
    fn shown(&self, kind: &Kind) -> Result<&RailSeen, String> {
        let device = &self.rail.device;
        let is_meant = |seen: &&Seen| match kind {
            Kind::Together => seen.step.kind == Kind::Together,
            kind => seen.step.is(kind, device),
        };
        let Some(seen) = self.seen.iter().find(is_meant) else {
            return Err(format!("{kind}: was not tried"));
        };
        if let Some(why) = &seen.failed {
            return Err(format!("{kind}: {why}"));
        }
        seen.of(device).ok_or_else(|| format!("{kind}: nothing was measured"))
    }

    fn rate(&self, kind: &Kind) -> Result<f64, String> {
        self.shown(kind)?.gb_per_s.ok_or_else(|| format!("{kind}: no message was completed"))
    }

    /// The mean of the rail by itself, GB/s: of both times where it was loaded again.
    fn by_itself(&self) -> Result<f64, String> {
        let alone = self.rate(&Kind::Alone)?;
        Ok(self.rate(&Kind::Again).map_or(alone, |again| f64::midpoint(alone, again)))
    }

    /// Share by which two rates of this rail may differ without saying anything: a tenth, or three times what it differed
    /// by when nothing was changed.
    fn same(&self) -> f64 {
        let both = self.rate(&Kind::Alone).ok().zip(self.rate(&Kind::Again).ok());
        let noise =
            both.map_or(0.0, |(one, other)| (one - other).abs() / one.max(other).max(f64::MIN_POSITIVE));
        SAME.max(NOISES * noise)
    }

    /// That in words, where it is more than the usual tenth.
    fn noise(&self) -> String {
        match self.same() {
            same if same > SAME => {
                format!("; the rail by itself differs by {:.0} % from time to time", same / NOISES * 100.0)
            }
            _ => String::new(),
        }
    }

    fn one_leg(&self) -> Hypothesis {
        let hypothesis = |answer, because: String| Hypothesis {
            id: "H1",
            says: "one leg of the bond carries everything",
            answer,
            because,
            code: "bond-leg-imbalance",
        };
        let Some(bond) = self.rail.bond.as_ref().filter(|bond| bond.legs.len() > 1) else {
            return hypothesis(Answer::No, "it has one port".to_owned());
        };
        let rates = self.shown(&Kind::Alone).and_then(|seen| {
            seen.legs_gb_per_s.as_ref().ok_or_else(|| "the bytes of its legs cannot be read".to_owned())
        });
        let legs = |rates: &[f64]| {
            let names = bond.legs.iter().map(|leg| leg.netdev.as_str());
            let each = names.zip(rates).map(|(name, brings)| format!("{name} {}", rate(*brings)));
            each.collect::<Vec<_>>().join(", ")
        };
        match rates {
            Ok(rates) => {
                let sum: f64 = rates.iter().sum();
                let most = rates.iter().copied().fold(0.0, f64::max);
                let share = if sum > 0.0 { most / sum } else { 0.0 };
                let answer = if share > self.limits.leg_share { Answer::Yes } else { Answer::No };
                hypothesis(
                    answer,
                    format!(
                        "its legs bring {} GB/s: {:.0} % on one (limit {:.0} %){}",
                        legs(rates),
                        share * 100.0,
                        self.limits.leg_share * 100.0,
                        self.legs_alone(),
                    ),
                )
            }
            Err(why) => {
                hypothesis(Answer::Unknown, format!("not measurable here: {why}{}", self.legs_alone()))
            }
        }
    }

    /// What each leg does when all queue pairs are set to it.
    fn legs_alone(&self) -> String {
        let count = self.rail.bond.as_ref().map_or(0, |bond| bond.legs.len());
        let each = (1..=u32::try_from(count).unwrap_or(0)).map(|leg| match self.rate(&Kind::Leg(leg)) {
            Ok(alone) => format!("; sent on leg {leg} alone {}", rate(alone)),
            Err(_) => String::new(),
        });
        each.collect()
    }

    fn shared_link(&self) -> Hypothesis {
        let hypothesis = |answer, because| Hypothesis {
            id: "H2",
            says: "it shares a PCIe link with other rails",
            answer,
            because,
            code: "shared-pcie",
        };
        if self.rail.pcie.is_none() {
            return hypothesis(Answer::Unknown, "not measurable here: its PCIe path is not known".to_owned());
        }
        let others = sharing(self.topology, self.rail);
        if others.is_empty() {
            return hypothesis(Answer::No, "no other rail's path has a link of its".to_owned());
        }
        match (self.by_itself(), self.rate(&Kind::Sharing)) {
            (Ok(alone), Ok(beside)) => {
                let answer = if beside < (1.0 - self.same()) * alone { Answer::Yes } else { Answer::No };
                let (alone, beside) = (rate(alone), rate(beside));
                let says =
                    format!("alone {alone}, beside {} {beside} GB/s{}", others.join(", "), self.noise());
                hypothesis(answer, says)
            }
            (Err(why), _) | (_, Err(why)) => {
                hypothesis(Answer::Unknown, format!("not measurable here: {why}"))
            }
        }
    }

    fn low_link(&self) -> Hypothesis {
        let hop = self.rail.pcie.as_ref().and_then(|path| Some((path, slowest_hop(path)?.0)));
        let code = hop.map_or("pcie-limit", |(path, hop)| code_of(path, hop));
        let hypothesis = |answer, because| Hypothesis {
            id: "H3",
            says: "its PCIe link is low, trained or by its slot",
            answer,
            because,
            code,
        };
        let path = self.rail.pcie.as_ref();
        let Some((path, payload)) = path.and_then(|path| Some((path, path_payload_gb_per_s(path)?))) else {
            return hypothesis(Answer::Unknown, "not measurable here: its PCIe path is not known".to_owned());
        };
        let place =
            slowest_hop(path).map_or(path.address.as_str(), |(hop, _)| hop.address.as_str()).to_owned();
        let line = line_goodput_gb_per_s(self.rail);
        let best = self.best();
        let below_line = line.is_none_or(|line| payload < 0.98 * line);
        let is_at_it = best.is_some_and(|best| best >= AT_CEILING * payload);
        let answer = if below_line && is_at_it { Answer::Yes } else { Answer::No };
        let wire = line.map_or_else(String::new, |line| format!(", its wire {line:.1}"));
        let does = best.map_or_else(String::new, |best| format!("; it does {} at best", rate(best)));
        hypothesis(answer, format!("the slowest hop ({place}) carries {payload:.1} GB/s{wire}{does}"))
    }

    /// The most it did in any load, GB/s.
    fn best(&self) -> Option<f64> {
        let rates = self.seen.iter().filter_map(|seen| seen.of(&self.rail.device)?.gb_per_s);
        rates.reduce(f64::max)
    }

    pub(super) fn placement(&self) -> Hypothesis {
        let hypothesis = |answer, because| Hypothesis {
            id: "H4",
            says: "it is used from the wrong node",
            answer,
            because,
            code: "cross-numa",
        };
        let unknown = |why: &str| hypothesis(Answer::Unknown, format!("not measurable here: {why}"));
        let places = places(self.topology, self.rail);
        if places.is_empty() {
            let why = match (self.rail.numa_node, self.topology.numa.len()) {
                (_, 0 | 1) => return hypothesis(Answer::No, "this host has one node".to_owned()),
                (None, _) => "its node is not known",
                _ => "no other node has CPUs and memory",
            };
            return unknown(why);
        }
        let near = match self.by_itself() {
            Ok(near) => near,
            Err(why) => return unknown(&why),
        };
        let mut tried = Vec::new();
        let mut best: f64 = 0.0;
        for (cpu, mem) in places {
            let there = match self.rate(&Kind::Place { cpu, mem }) {
                Ok(there) => there,
                Err(why) => return unknown(&why),
            };
            best = best.max(there);
            let place = match (Some(cpu) == self.rail.numa_node, Some(mem) == self.rail.numa_node) {
                (false, true) => format!("CPUs of node {cpu}"),
                (true, false) => format!("memory of node {mem}"),
                _ => format!("both of node {cpu}"),
            };
            let cost = if near > 0.0 { (there / near - 1.0) * 100.0 } else { 0.0 };
            let sign = if there < near { "-" } else { "+" };
            let difference = rate((there - near).abs());
            tried.push(format!("{place} {} GB/s, {sign}{difference} GB/s or {cost:+.0} %", rate(there)));
        }
        let answer = if best > (1.0 + self.same()) * near { Answer::Yes } else { Answer::No };
        let says = format!("on its own node {} GB/s; {}{}", rate(near), tried.join("; "), self.noise());
        hypothesis(answer, says)
    }

    fn fabric(&self) -> Hypothesis {
        let hypothesis = |answer, because, code| Hypothesis {
            id: "H5",
            says: "the fabric: congestion, loss, pauses",
            answer,
            because,
            code,
        };
        let loads = self.seen.iter().filter(|seen| matches!(seen.step.kind, Kind::Alone | Kind::Together));
        let counted: Vec<&RailSeen> = loads.filter_map(|seen| seen.of(&self.rail.device)).collect();
        let sum = |of: fn(&RailSeen) -> Option<u64>| {
            counted.iter().filter_map(|seen| of(seen)).reduce(|a, b| a + b)
        };
        let kinds = [
            ("ecn-cnp", "congestion signals", sum(|seen| seen.nic.ecn_cnp)),
            ("retransmit", "packets lost or sent again", sum(|seen| seen.nic.retransmits)),
            ("rx-pause", "pauses received", sum(|seen| seen.nic.rx_pause)),
        ];
        let known: Vec<_> =
            kinds.iter().filter_map(|(code, what, count)| Some((*code, *what, (*count)?))).collect();
        if known.is_empty() {
            let why = "not measurable here: its NIC shows no counter of the kind".to_owned();
            return hypothesis(Answer::Unknown, why, "ecn-cnp");
        }
        let grown: Vec<_> = known.iter().filter(|(_, _, count)| *count > 0).collect();
        let each: Vec<String> = known.iter().map(|(_, what, count)| format!("{what} +{count}")).collect();
        match grown.first() {
            Some((code, ..)) => hypothesis(Answer::Yes, each.join(", "), code),
            None => hypothesis(Answer::No, each.join(", "), "ecn-cnp"),
        }
    }

    fn window_or_cpu(&self) -> Hypothesis {
        let hypothesis = |answer, because, code| Hypothesis {
            id: "H6",
            says: "the READs outstanding, or the posting thread",
            answer,
            because,
            code,
        };
        let alone = match self.shown(&Kind::Alone) {
            Ok(alone) => alone,
            Err(why) => {
                return hypothesis(Answer::Unknown, format!("not measurable here: {why}"), "read-window");
            }
        };
        if alone.bound.by == "read-window" {
            return hypothesis(Answer::Yes, alone.bound.because.clone(), "read-window");
        }
        let workers = self.seen.iter().find_map(|seen| match seen.step.kind {
            Kind::Workers(workers) if seen.step.rails.first() == Some(&self.rail.device) => Some(workers),
            _ => None,
        });
        let more = workers.ok_or_else(|| "more threads: were not tried".to_owned());
        let more = more.and_then(|workers| Ok((workers, self.rate(&Kind::Workers(workers))?)));
        let polls = alone.empty_poll_share.map_or_else(
            || "empty polls not counted".to_owned(),
            |share| format!("{:.0} % of polls found nothing", share * 100.0),
        );
        match (alone.gb_per_s, more) {
            (Some(one), Ok((workers, more))) => {
                let one = self.by_itself().unwrap_or(one);
                let helps = more > (1.0 + self.same()) * one;
                let is_rare = alone.empty_poll_share.is_none_or(|share| share < RARE_EMPTY_POLLS);
                let answer = if helps && is_rare { Answer::Yes } else { Answer::No };
                hypothesis(
                    answer,
                    format!(
                        "{} GB/s, with {workers} threads {}; {polls}{}",
                        rate(one),
                        rate(more),
                        self.noise()
                    ),
                    "cpu-bound",
                )
            }
            (_, Err(why)) => {
                hypothesis(Answer::Unknown, format!("not measurable here: {why}; {polls}"), "cpu-bound")
            }
            (None, _) => hypothesis(Answer::Unknown, "no message was completed".to_owned(), "cpu-bound"),
        }
    }

    fn memory(&self) -> Hypothesis {
        let hypothesis = |answer, because| Hypothesis {
            id: "H7",
            says: "host memory does not keep up",
            answer,
            because,
            code: "memory-bound",
        };
        let sent: Option<u64> = self
            .seen
            .iter()
            .filter(|seen| matches!(seen.step.kind, Kind::Alone | Kind::Together))
            .filter_map(|seen| seen.of(&self.rail.device)?.nic.tx_pause)
            .reduce(|a, b| a + b);
        let paused = match sent {
            Some(count) => format!("; pauses sent +{count}"),
            None => "; pauses sent are not counted".to_owned(),
        };
        let has_paused = sent.is_some_and(|count| count > 0);
        match (self.by_itself(), self.rate(&Kind::Cold)) {
            (Ok(hot), Ok(cold)) => {
                let slower = cold < (1.0 - self.same()) * hot;
                let answer = if slower || has_paused { Answer::Yes } else { Answer::No };
                hypothesis(
                    answer,
                    format!(
                        "memory in cache {}, in none {} GB/s{paused}{}",
                        rate(hot),
                        rate(cold),
                        self.noise()
                    ),
                )
            }
            _ if has_paused => hypothesis(Answer::Yes, paused.trim_start_matches("; ").to_owned()),
            (Err(why), _) | (_, Err(why)) => {
                hypothesis(Answer::Unknown, format!("not measurable here: {why}{paused}"))
            }
        }
    }
}
