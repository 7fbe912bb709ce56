//! What was measured at one point: all of it from the same window, on all rails together or on one.

use super::bound::{Bound, Terms};
use super::grid::Spot;
use crate::ceilings::with_path_mtu_of;
use crate::report::PerfRow;
use crate::rules::fabric::names;
use crate::timeline::{Done, Reading, growth, growth_of};
use probes::model::{Frame, Load, LoadOp, Rail, RailId, Topology, WorkerFrame, WorkerPhase};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What was measured over one window; unknown is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Payload of good completions.
    pub gbit_per_s: Option<f64>,
    /// The same in GB/s.
    pub gb_per_s: Option<f64>,
    /// Good completions, millions a second.
    pub mpps: Option<f64>,
    /// Share of polls of the completion queue that found nothing.
    pub empty_poll_share: Option<f64>,
    /// Good completions for each poll that found something, those not asked for included.
    pub completions_per_poll: Option<f64>,
    /// Share of the window in which the threads were on a CPU.
    pub busy_share: Option<f64>,
    /// What the threads cost.
    #[serde(flatten)]
    pub perf: PerfRow,
    /// What the NIC counted besides.
    pub nic: Nic,
}

/// Growth of a rail's counters that tell of congestion and loss; null where the NIC has none of the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// ECN marks and congestion notifications.
    pub ecn_cnp: Option<u64>,
    /// Lost packets, and what was sent again.
    pub retransmits: Option<u64>,
    /// Pause frames received.
    pub rx_pause: Option<u64>,
    /// Pause frames sent, and packets that found no room.
    pub tx_pause: Option<u64>,
}

/// One rail at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RailPoint {
    /// RDMA device.
    pub device: String,
    /// The fastest of a few single READs of this size before the load; null where none was timed.
    pub round_trip_us: Option<f64>,
    /// What was measured on it.
    #[serde(flatten)]
    pub row: Row,
    /// What bounds it.
    pub bound: Bound,
}

/// One point of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Which it is.
    #[serde(flatten)]
    pub spot: Spot,
    /// READs outstanding per queue pair, the least over the rails; null for WRITE.
    pub read_depth: Option<u32>,
    /// Length of the window.
    pub window_s: f64,
    /// All rails together.
    pub all: Row,
    /// What bounds them.
    pub bound: Bound,
    /// Rail by rail.
    pub rails: Vec<RailPoint>,
    /// Why it is in no statement: `null` of a good point; else what failed, or that something was opened anew meanwhile.
    #[serde(default)]
    pub left_out: Option<String>,
    /// What its rates are not: `simulated`, `loopback, not fabric` or `functional check`; null of a figure of the fabric.
    #[serde(default)]
    pub caveat: Option<String>,
    /// Error completions by status, what the check of the data at the end found (`DATA_MISMATCH`) among them.
    pub errors: BTreeMap<String, u64>,
    /// Why rails failed, one line each.
    pub failures: Vec<String>,
    /// The same point in perftest's words, for the peer and for this host.
    pub perftest: Vec<String>,
}

impl Point {
    /// What happened between two samples of one load.
    ///
    /// Rails without a worker that ran through the whole window are left out, and of a sum that lacks a part the sum
    /// is that of the rails there are.
    #[must_use]
    pub fn between(spot: Spot, topology: &Topology, from: &Frame, to: &Frame) -> Self {
        let no_gaps = BTreeMap::new();
        let gaps = to.load.as_ref().map_or(&no_gaps, |load| &load.perf_gaps);
        let mut point = Self { spot, ..Self::default() };
        let op = to.load.as_ref().map_or(LoadOp::Read, |load| load.op);
        let rate_gb_per_s = to.load.as_ref().and_then(|load| load.rate_gb_per_s);
        let is_simulated = to.load.as_ref().is_some_and(|load| load.is_simulated());
        point.read_depth = to.load.as_ref().and_then(|load| load.read_depth);
        point.window_s = to.at_ns.saturating_sub(from.at_ns) as f64 / 1e9;
        let mut all: Option<(Done, u32, Nic)> = None;
        for (id, rail) in topology.rails_with_id() {
            let Some((done, threads)) = done(id, from, to) else { continue };
            let nic = Nic::of(id, rail, from, to);
            let row = Row::of(&done, threads, nic, gaps).without_polls_if(is_simulated);
            let of_rail = to.workers.iter().filter(|worker| worker.rail == Some(id));
            let single_read_ns = of_rail.filter_map(|worker| worker.round_trip_ns).min();
            let read_depth = to.load.as_ref().and_then(|load| load.reads_under_way_on(&rail.device));
            let terms = Terms { op, read_depth, round_trip_ns: single_read_ns, rate_gb_per_s };
            let at_mtu = to.load.as_deref().map_or(Cow::Borrowed(rail), |load| with_path_mtu_of(rail, load));
            let bound = Bound::of(&at_mtu, spot, terms, &row);
            let round_trip_us = single_read_ns.map(|ns| ns as f64 / 1e3);
            point.rails.push(RailPoint { device: rail.device.clone(), round_trip_us, row, bound });
            all = Some(match all {
                None => (done, threads, nic),
                Some((sum, n, nics)) => (sum.plus(&done), n + threads, nics.plus(nic)),
            });
        }
        if let Some((done, threads, nic)) = &all {
            point.all = Row::of(done, *threads, *nic, gaps).without_polls_if(is_simulated);
        }
        point.bound = Bound::of_all(&point.rails);
        point.caveat = to.load.as_deref().and_then(caveat).map(str::to_owned);
        point.left_out = point.fault(topology, from, to);
        point.ended(&to.workers, Vec::new())
    }

    /// What went wrong in the window, as far as its two ends tell.
    fn fault(&self, topology: &Topology, from: &Frame, to: &Frame) -> Option<String> {
        let pairs = || from.workers.iter().zip(&to.workers);
        let name = |rail: Option<RailId>| {
            rail.and_then(|id| topology.rails.get(id.0)).map_or("a rail", |rail| rail.device.as_str())
        };
        if let Some((_, failed)) = pairs().find(|(_, now)| now.phase == WorkerPhase::Failed) {
            return Some(format!("{} failed", name(failed.rail)));
        }
        let restarted = pairs().find(|(then, now)| now.restarts > then.restarts);
        if let Some((_, now)) = restarted {
            return Some(format!("{} was opened anew meanwhile", name(now.rail)));
        }
        if self.rails.is_empty() {
            return Some("no rail ran through the whole window".to_owned());
        }
        let idle = self.rails.iter().find(|rail| rail.row.gb_per_s.is_none())?;
        Some(format!("no message was completed on {}", idle.device))
    }

    /// The same with what was known when the load had come to its end, its data checked: what the threads counted then,
    /// and why rails failed.
    #[must_use]
    pub fn ended(mut self, workers: &[WorkerFrame], failures: Vec<String>) -> Self {
        self.errors.clear();
        for (status, count) in workers.iter().flat_map(|worker| &worker.errors) {
            let sum: &mut u64 = self.errors.entry(status.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.failures = failures;
        if self.errors.contains_key("DATA_MISMATCH") {
            self.left_out = Some("DATA_MISMATCH".to_owned());
        } else if !self.failures.is_empty() {
            self.left_out.get_or_insert_with(|| "a rail failed or its data were not checked".to_owned());
        }
        self
    }

    /// Its rate, Gb/s; `None` of a point that is in no statement.
    #[must_use]
    pub fn good_gbit_per_s(&self) -> Option<f64> {
        self.all.gbit_per_s.filter(|_| self.left_out.is_none())
    }
}

/// What the rates of a load are not, if they are no figure of the fabric.
fn caveat(load: &Load) -> Option<&'static str> {
    match load {
        load if load.is_simulated() => Some("simulated"),
        _ if load.is_functional_check() => Some("functional check"),
        _ => load.loopback.then_some("loopback, not fabric"),
    }
}

/// What the workers of a rail did between the frames, and how many they are; `None` without a worker that was in its
/// measured time at both.
fn done(rail: RailId, from: &Frame, to: &Frame) -> Option<(Done, u32)> {
    let pairs = from.workers.iter().zip(&to.workers);
    let measured = pairs.filter(|(then, now)| {
        now.rail == Some(rail)
            && then.phase == WorkerPhase::Measuring
            && matches!(now.phase, WorkerPhase::Measuring | WorkerPhase::Done)
    });
    let mut sum: Option<(Done, u32)> = None;
    for (then, now) in measured {
        let done = Reading::of(now, to.at_ns).since(&Reading::of(then, from.at_ns))?;
        sum = Some(sum.map_or((done.clone(), 1), |(sum, n)| (sum.plus(&done), n + 1)));
    }
    sum
}

impl Row {
    /// The figures of what `threads` did; without a completed message there is no rate.
    #[must_use]
    pub fn of(done: &Done, threads: u32, nic: Nic, gaps: &BTreeMap<String, String>) -> Self {
        let per_ns = |count: u64| (done.ns > 0).then(|| count as f64 / done.ns as f64);
        let rate = |count: u64| per_ns(count).filter(|_| done.operations > 0);
        let found = done.polls.saturating_sub(done.empty_polls);
        let on_cpu = done.perf.on_cpu_ns.zip(per_ns(1));
        Self {
            gbit_per_s: rate(done.bytes).map(|rate| rate * 8.0),
            gb_per_s: rate(done.bytes),
            mpps: rate(done.operations).map(|rate| rate * 1e3),
            empty_poll_share: done.empty_poll_share(),
            completions_per_poll: (found > 0).then(|| done.operations as f64 / found as f64),
            busy_share: on_cpu.map(|(on_cpu, per_ns)| on_cpu as f64 * per_ns / f64::from(threads.max(1))),
            perf: PerfRow::of(Some(done), gaps),
            nic,
        }
    }
}

impl Row {
    /// A simulated thread whose time on a CPU is not told polls in virtual steps, which say nothing of a real one.
    fn without_polls_if(self, is_simulated: bool) -> Self {
        if is_simulated && self.busy_share.is_none() {
            Self { empty_poll_share: None, completions_per_poll: None, ..self }
        } else {
            self
        }
    }
}

impl Nic {
    fn of(id: RailId, rail: &Rail, from: &Frame, to: &Frame) -> Self {
        let (Some(then), Some(now)) = (from.rails.get(id.0), to.rails.get(id.0)) else {
            return Self::default();
        };
        let growth = growth(then, now);
        let sum = |tells: fn(&str) -> bool| growth_of(rail, &growth, tells);
        Self {
            ecn_cnp: sum(names::is_congestion),
            retransmits: sum(names::is_loss),
            rx_pause: sum(names::is_pause_received),
            tx_pause: sum(names::is_pause_sent),
        }
    }

    /// Of both rails together: what one of them does not count is not in the sum.
    fn plus(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Self {
            ecn_cnp: sum(self.ecn_cnp, other.ecn_cnp),
            retransmits: sum(self.retransmits, other.retransmits),
            rx_pause: sum(self.rx_pause, other.rx_pause),
            tx_pause: sum(self.tx_pause, other.tx_pause),
        }
    }
}

#[cfg(test)]
mod tests;
