//! Two readings become a rate.

mod legs;

pub(crate) use legs::leg_rates;

use super::growth::growth;
use probes::model::{Frame, Latencies, Load, LoadOp, LoadOrigin, RailFrame, Topology, WorkerPhase};
use std::sync::Arc;

/// 10^9 bytes per second over an interval; `None` when no time passed.
#[must_use]
pub fn gb_per_s(bytes: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| bytes as f64 / ns as f64)
}

/// Whether an interval counts towards a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quality {
    /// Counters were not read at this sample (they are read less often than frames are made).
    #[default]
    NotRead,
    /// A rate.
    Good,
    /// A counter went backwards.
    Reset,
    /// Nothing was readable.
    Unreadable,
    /// Above what the PCIe path can carry at all: a measurement error.
    Implausible,
}

/// Rates of one leg of a bond, GB/s; `None` is not readable.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LegRates {
    /// RDMA bytes received.
    pub rx_gb_per_s: Option<f64>,
    /// RDMA bytes sent.
    pub tx_gb_per_s: Option<f64>,
}

/// Rates of one rail over one interval, GB/s; `None` is not readable, or not good.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RailRates {
    /// Whether the interval counts.
    pub quality: Quality,
    /// Length of the interval of the two byte counters, which may be longer than the frame's.
    pub counted_ns: u64,
    /// Bytes received, as the NIC counts them.
    pub rx_gb_per_s: Option<f64>,
    /// Bytes sent, as the NIC counts them.
    pub tx_gb_per_s: Option<f64>,
    /// Payload of our own load in this frame's interval.
    pub load_gb_per_s: Option<f64>,
    /// How long sampled operations of our load took that completed in this frame's interval; empty unless measured.
    pub latency: Latencies,
    /// Whether our load was in its measured time at both ends of this frame's interval.
    pub measured: bool,
    /// Whether a load, ours or a described one, covers the interval on this rail.
    pub under_load: bool,
    /// Legs, in the bond's order; empty when not read.
    pub legs: Vec<LegRates>,
    /// Length of the legs' interval, which may be longer than the frame's.
    pub legs_ns: u64,
    /// Growth of the rail's further counters, in their order; `None` not readable, empty when not read.
    pub growth: Vec<Option<u64>>,
    /// Which of them went backwards, by their place.
    pub went_back: Vec<usize>,
}

impl RailRates {
    /// Rate in the direction of the load, GB/s.
    #[must_use]
    pub fn in_direction(&self, op: LoadOp) -> Option<f64> {
        match op {
            LoadOp::Read => self.rx_gb_per_s,
            LoadOp::Write => self.tx_gb_per_s,
        }
    }
}

/// What happened between two frames of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Time of the earlier frame.
    pub from_ns: u64,
    /// Time of the later frame.
    pub to_ns: u64,
    /// One entry per rail.
    pub rails: Vec<RailRates>,
    /// Direction of the load that covers it.
    pub load_op: Option<LoadOp>,
    /// Which of the session's loads that is, by how many came before it; `None` without one.
    pub earlier_loads: Option<u32>,
}

impl Interval {
    /// Length, nanoseconds.
    #[must_use]
    pub fn ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// Remembers the newest reading of every counter, since not every frame reads every counter.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracker {
    pub last: Option<Arc<Frame>>,
    pub bytes: Vec<Option<Arc<Frame>>>,
    pub legs: Vec<Option<Arc<Frame>>>,
    pub counters: Vec<Option<Arc<Frame>>>,
    /// Since when a load has covered the rail without a break.
    pub loaded_since: Vec<Option<u64>>,
}

impl Tracker {
    pub(super) fn interval(&mut self, topology: &Topology, frame: &Arc<Frame>) -> Option<Interval> {
        let count = topology.rails.len();
        self.bytes.resize(count, None);
        self.legs.resize(count, None);
        self.counters.resize(count, None);
        self.loaded_since.resize(count, None);
        let before = self.last.replace(frame.clone());
        let mut rails: Vec<RailRates> =
            (0..count).map(|at| self.rail(topology, before.as_deref(), frame, at)).collect();
        if let Some(load) = frame.load.as_deref().filter(|load| load.origin == LoadOrigin::Described) {
            leave_out_other_ports(topology, load, &mut rails);
        }
        let before = before?;
        (frame.at_ns > before.at_ns).then(|| Interval {
            from_ns: before.at_ns,
            to_ns: frame.at_ns,
            rails,
            load_op: frame.load.as_ref().map(|load| load.op),
            earlier_loads: frame.load.as_ref().map(|load| load.earlier),
        })
    }

    fn rail(
        &mut self,
        topology: &Topology,
        before: Option<&Frame>,
        frame: &Arc<Frame>,
        at: usize,
    ) -> RailRates {
        let mut rates = RailRates::default();
        let Some(rail) = frame.rails.get(at) else {
            return rates;
        };
        let device = topology.rails[at].device.as_str();
        let ns_since = |then: &Frame| frame.at_ns.saturating_sub(then.at_ns);
        if let Some(before) = before {
            // threads of another load have counted from another zero
            if is_one_load(before, frame) {
                own_load(&mut rates, before, frame, at);
            }
            let is_check = frame.load.as_ref().is_some_and(|load| load.is_functional_check());
            let is_capped = frame.load.as_ref().is_some_and(|load| load.is_held_back());
            let loaded = (rates.measured && !is_check && !is_capped)
                || frame.load.as_ref().is_some_and(|load| described_on(load, device));
            let since = &mut self.loaded_since[at];
            *since = loaded.then(|| since.unwrap_or(before.at_ns));
            rates.under_load = loaded;
        }
        if rail.rx_bytes.is_some() || rail.tx_bytes.is_some() {
            if let Some(then) = self.bytes[at].replace(frame.clone()) {
                let ns = ns_since(&then);
                byte_rates(&mut rates, &then.rails[at], ns, rail, super::implausible_above(topology, at));
                // counters read once a second: the load must have covered all of that second
                rates.under_load = self.loaded_since[at].is_some_and(|since| since <= then.at_ns);
            }
        } else if self.bytes[at].is_none() && before.is_some() {
            rates.quality = Quality::Unreadable;
        }
        if !rail.legs.is_empty()
            && let Some(then) = self.legs[at].replace(frame.clone())
        {
            rates.legs_ns = ns_since(&then);
            rates.legs = leg_rates(&then.rails[at], rates.legs_ns, rail);
        }
        if !rail.counters.is_empty()
            && let Some(then) = self.counters[at].replace(frame.clone())
        {
            rates.growth = growth(&then.rails[at], rail);
            rates.went_back = went_back(&then.rails[at], rail, &rates.growth);
        }
        rates
    }
}

/// Whether both frames are of the same load, or one of them is of none.
fn is_one_load(before: &Frame, frame: &Frame) -> bool {
    match (&before.load, &frame.load) {
        (Some(then), Some(now)) => then.earlier == now.earlier,
        _ => true,
    }
}

/// A described load's rails; ours are known by their workers.
fn described_on(load: &Load, device: &str) -> bool {
    load.origin == LoadOrigin::Described && load.drives(device)
}

/// A port that moves less than this share of what another port of its device moves is not the load's.
const OTHER_PORT: f64 = 0.05;

/// A described load names devices, not ports: of a device with several it drives those that move.
fn leave_out_other_ports(topology: &Topology, load: &Load, rails: &mut [RailRates]) {
    let rates: Vec<f64> = rails.iter().map(|rail| rail.in_direction(load.op).unwrap_or(0.0)).collect();
    let device = |at: usize| topology.rails[at].device.as_str();
    for at in 0..rails.len() {
        let others = (0..rates.len()).filter(|other| *other != at && device(*other) == device(at));
        let busiest = others.map(|other| rates[other]).fold(0.0, f64::max);
        if rates[at] < OTHER_PORT * busiest {
            rails[at].under_load = false;
        }
    }
}

/// Share of an interval that must lie in a load's measured time for the interval to count; clocks of two threads are
/// read at moments that differ a little.
const MEASURED_SHARE: f64 = 0.9;

fn own_load(rates: &mut RailRates, before: &Frame, frame: &Frame, at: usize) {
    let on_rail = |w: &&probes::model::WorkerFrame| w.rail.is_some_and(|r| r.0 == at);
    let sum = |f: &Frame| f.workers.iter().filter(on_rail).fold(0, |sum: u64, w| sum.saturating_add(w.bytes));
    let running = |f: &Frame, measured_only: bool| {
        f.workers
            .iter()
            .filter(on_rail)
            .any(|w| w.phase == WorkerPhase::Measuring || (!measured_only && w.phase == WorkerPhase::Warmup))
    };
    if running(before, false) && running(frame, false) {
        rates.load_gb_per_s =
            gb_per_s(sum(frame).saturating_sub(sum(before)), frame.at_ns.saturating_sub(before.at_ns));
    }
    let pairs = || before.workers.iter().zip(&frame.workers).filter(|(_, now)| on_rail(now));
    let ns = frame.at_ns.saturating_sub(before.at_ns);
    // the measured time may have ended in between, while threads still wait for what is out
    let lasts = pairs().all(|(then, now)| match (then.measured, now.measured) {
        (Some(then), Some(now)) => now.ns.saturating_sub(then.ns) as f64 >= MEASURED_SHARE * ns as f64,
        _ => true,
    });
    rates.measured = running(before, true) && running(frame, true) && lasts;
    if rates.measured {
        let pairs = pairs();
        for (then, now) in pairs {
            rates.latency.add(&now.latency.since(&then.latency));
        }
    }
}

fn byte_rates(
    rates: &mut RailRates,
    then: &RailFrame,
    ns: u64,
    rail: &RailFrame,
    implausible_above: Option<f64>,
) {
    rates.counted_ns = ns;
    let went_back = |old: Option<u64>, new: Option<u64>| matches!((old, new), (Some(o), Some(n)) if n < o);
    if went_back(then.rx_bytes, rail.rx_bytes) || went_back(then.tx_bytes, rail.tx_bytes) {
        rates.quality = Quality::Reset;
        return;
    }
    let rate = |old: Option<u64>, new: Option<u64>| gb_per_s(new? - old?, ns);
    rates.rx_gb_per_s = rate(then.rx_bytes, rail.rx_bytes);
    rates.tx_gb_per_s = rate(then.tx_bytes, rail.tx_bytes);
    let too_much = |r: Option<f64>| matches!((r, implausible_above), (Some(r), Some(limit)) if r > limit);
    rates.quality = if rates.rx_gb_per_s.is_none() && rates.tx_gb_per_s.is_none() {
        Quality::Unreadable
    } else if too_much(rates.rx_gb_per_s) || too_much(rates.tx_gb_per_s) {
        Quality::Implausible
    } else {
        Quality::Good
    };
}

/// Places of the further counters that are lower than before, and did not wrap.
fn went_back(then: &RailFrame, now: &RailFrame, growth: &[Option<u64>]) -> Vec<usize> {
    let pairs = then.counters.iter().zip(&now.counters).zip(growth).enumerate();
    pairs
        .filter(|(_, ((then, now), grown))| {
            grown.is_none() && matches!((then, now), (Some(then), Some(now)) if now < then)
        })
        .map(|(at, _)| at)
        .collect()
}
