//! The causes of a slow rail, each held against what was measured.

use super::plan::{Kind, places, search, shared_payload_gb_per_s, sharing};
use super::seen::about;
use super::{RailSeen, Seen};
use crate::ceilings::{line_goodput_gb_per_s, path_payload_gb_per_s, slowest_hop};
use crate::rules::{Limits, lets_every_leg_carry, rate};
use crate::sweep::row::Nic;
use probes::model::{Hop, PciePath, Rail, Topology};
use serde::Serialize;
use std::fmt;

/// A rate that differs by less is the same: noise of windows of a second.
const SAME: f64 = 0.10;
/// A difference below so many times what the rail by itself differed by is noise.
const NOISES: f64 = 3.0;
/// Empty polls below this share are rare.
const RARE_EMPTY_POLLS: f64 = 0.05;
/// Share of the READ window from which on it is the limit: its round trip was measured without other traffic.
const AT_WINDOW: f64 = 0.9;
/// Counters of the fabric that grow by less for each gigabyte are ordinary life.
const NOTABLE_PER_GB: f64 = 1.0;
/// And so is what is not that many times as much as on the healthy rail.
const BEYOND_USUAL: f64 = 3.0;
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
    /// The healthy rail beside which it is judged.
    pub(super) control: Option<&'a str>,
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
        let Some(seen) = about(self.seen, kind, device) else {
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
        if !lets_every_leg_carry(bond) {
            let mode = bond.mode.as_deref().unwrap_or("of an unknown mode");
            let says = format!(
                "the bond ({mode}) does not let every leg carry now, by design or as one is down or kept out"
            );
            return hypothesis(Answer::No, says);
        }
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
                        self.legs_alone() + &self.other_labels(),
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

    /// Which legs received with other queue pair numbers and flow labels, where all had come over one.
    fn other_labels(&self) -> String {
        let Some(search) = search(self.rail, self.seen) else { return String::new() };
        let sought = search.result();
        match (sought.unseen(), sought.tries) {
            (_, 0) => String::new(),
            (Some(why), _) => format!("; that each leg receives is not measurable here, because {why}"),
            (None, tries) => {
                format!(
                    "; with queue pair numbers and flow labels anew each leg received (try {tries}): the hash decides"
                )
            }
        }
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
            return hypothesis(
                Answer::No,
                "no other rail that was loaded has a link in common with it".to_owned(),
            );
        }
        let (alone, beside) = match (self.by_itself(), self.rate(&Kind::Sharing)) {
            (Ok(alone), Ok(beside)) => (alone, beside),
            (Err(why), _) | (_, Err(why)) => {
                return hypothesis(Answer::Unknown, format!("not measurable here: {why}"));
            }
        };
        let step = about(self.seen, &Kind::Sharing, &self.rail.device);
        let sum: f64 = step.iter().flat_map(|seen| &seen.rails).filter_map(|rail| rail.gb_per_s).sum();
        let carries = shared_payload_gb_per_s(self.topology, self.rail, &others);
        let link = carries.map_or_else(|| "unknown".to_owned(), rate);
        let says = format!(
            "alone {}, beside {} {} GB/s; together {} GB/s, the link they share carries {link}{}",
            rate(alone),
            others.join(", "),
            rate(beside),
            rate(sum),
            self.noise()
        );
        let drops = beside < (1.0 - self.same()) * alone;
        // a drop alone may as well be the fabric's, or the peer's
        let is_full = carries.map(|carries| sum >= AT_CEILING * carries);
        hypothesis(
            match (drops, is_full) {
                (false, _) => Answer::No,
                (true, Some(true)) => Answer::Yes,
                (true, _) => Answer::Unknown,
            },
            says,
        )
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
            says: "another node suits it better than its own",
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
        let kinds: [(&str, &str, Count); 3] = [
            ("ecn-cnp", "congestion signals", |nic| nic.ecn_cnp),
            ("retransmit", "packets lost or out of order", |nic| nic.retransmits),
            ("rx-pause", "pauses received", |nic| nic.rx_pause),
        ];
        let control = self.control.map(|device| self.moved(device));
        let own = self.moved(&self.rail.device);
        let mut words = Vec::new();
        let (mut is_yes, mut is_open) = (None, false);
        for (code, what, of) in kinds {
            let Some(count) = own.grown(of) else {
                words.push(format!("{what} not counted"));
                is_open = true;
                continue;
            };
            words.push(format!("{what} +{count}"));
            let per_gb = own.per_gb(of).unwrap_or(0.0);
            let usual = control.as_ref().and_then(|control| control.per_gb(of)).unwrap_or(0.0);
            // some are ordinary life of a fast fabric
            if per_gb >= NOTABLE_PER_GB && per_gb >= BEYOND_USUAL * usual {
                is_yes = is_yes.or(Some(code));
            } else if count > 0 {
                is_open = true;
            }
        }
        let pushes_back = own.grown(|nic| nic.tx_pause).is_some_and(|count| count > 0);
        if pushes_back {
            words.push("and this host itself sent pauses or discarded".to_owned());
        }
        words.push("the peer's counters are not seen from here".to_owned());
        let answer = match is_yes {
            // a host that pushes back fills the queues that then are marked
            Some(_) if pushes_back => Answer::Unknown,
            Some(_) => Answer::Yes,
            None if is_open || pushes_back => Answer::Unknown,
            None => Answer::No,
        };
        hypothesis(answer, words.join(", "), is_yes.unwrap_or("ecn-cnp"))
    }

    /// What a rail moved and counted alone and together with all.
    fn moved(&self, device: &str) -> Moved {
        let loads = self.seen.iter().filter(|seen| matches!(seen.step.kind, Kind::Alone | Kind::Together));
        Moved(loads.filter_map(|seen| Some((seen.of(device)?.clone(), seen.window_s))).collect())
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
        let window = match (alone.gb_per_s, alone.read_window_gb_per_s) {
            (Some(one), Some(window)) => {
                let says =
                    format!("{} of {} GB/s that its READs bring over a round trip", rate(one), rate(window));
                if one >= AT_WINDOW * window {
                    return hypothesis(Answer::Yes, says, "read-window");
                }
                says
            }
            _ => "the round trip was not measured".to_owned(),
        };
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
                let is_rare = alone.empty_poll_share.is_some_and(|share| share < RARE_EMPTY_POLLS);
                let answer = match (helps, is_rare) {
                    (true, true) => Answer::Yes,
                    // it gains, and the thread had time left: something else is in it
                    (true, false) => Answer::Unknown,
                    (false, _) if alone.read_window_gb_per_s.is_none() => Answer::Unknown,
                    (false, _) => Answer::No,
                };
                let says = format!(
                    "{window}; with {workers} threads {} instead of {} GB/s; {polls}{}",
                    rate(more),
                    rate(one),
                    self.noise()
                );
                hypothesis(answer, says, "cpu-bound")
            }
            (_, Err(why)) => hypothesis(
                Answer::Unknown,
                format!("{window}; not measurable here: {why}; {polls}"),
                "cpu-bound",
            ),
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
        let sent = self.moved(&self.rail.device).grown(|nic| nic.tx_pause);
        let pushes_back = sent.is_some_and(|count| count > 0);
        let sent = match sent {
            Some(count) => format!("; pauses sent or packets discarded +{count}"),
            None => "; pauses sent are not counted".to_owned(),
        };
        match (self.by_itself(), self.rate(&Kind::Cold)) {
            (Ok(hot), Ok(cold)) => {
                let slower = cold < (1.0 - self.same()) * hot;
                let answer = match (slower, pushes_back) {
                    (true, _) => Answer::Yes,
                    // the host pushes back, which PCIe, ordering and an IOMMU bring about as well
                    (false, true) => Answer::Unknown,
                    (false, false) => Answer::No,
                };
                let says = format!(
                    "buffers used again and again {}, walked through at both ends {} GB/s{sent}{}",
                    rate(hot),
                    rate(cold),
                    self.noise()
                );
                hypothesis(answer, says)
            }
            (Err(why), _) | (_, Err(why)) => {
                hypothesis(Answer::Unknown, format!("not measurable here: {why}{sent}"))
            }
        }
    }
}

/// What a NIC counted of one kind.
type Count = fn(&Nic) -> Option<u64>;

/// What a rail moved in some loads, each with the length of its window.
struct Moved(Vec<(RailSeen, f64)>);

impl Moved {
    /// How much counters of a kind grew; `None` where the NIC has none of the kind.
    fn grown(&self, of: Count) -> Option<u64> {
        self.0.iter().filter_map(|(seen, _)| of(&seen.nic)).reduce(u64::saturating_add)
    }

    /// The same for each gigabyte of payload.
    fn per_gb(&self, of: Count) -> Option<f64> {
        let gb: f64 = self.0.iter().filter_map(|(seen, window_s)| Some(seen.gb_per_s? * window_s)).sum();
        (gb > 0.0).then(|| self.grown(of).map(|count| count as f64 / gb)).flatten()
    }
}
