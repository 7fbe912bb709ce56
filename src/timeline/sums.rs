//! Running sums since the session began: what a report's means are made of.

use super::events::{Event, port_of};
use super::failures::LoadFailure;
use super::interval::{Interval, Quality, RailRates};
use super::measured::Measured;
use crate::ceilings::Ceilings;
use probes::model::{Latencies, Rail, Topology};
use serde::{Deserialize, Serialize};

/// Bytes and the time they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    /// Bytes.
    pub bytes: f64,
    /// Nanoseconds.
    pub ns: f64,
    /// Intervals.
    pub count: u64,
    /// Sum over intervals of (GB/s)², for the spread.
    pub squares: f64,
    /// Sum over intervals of GB/s, for the spread.
    pub rates: f64,
}

impl Sum {
    /// Adds an interval; one without a rate adds nothing.
    pub(crate) fn add(&mut self, rate_gb_per_s: Option<f64>, ns: u64) {
        if let Some(rate) = rate_gb_per_s {
            self.bytes += rate * ns as f64;
            self.ns += ns as f64;
            self.count += 1;
            self.rates += rate;
            self.squares += rate * rate;
        }
    }

    /// Mean rate, GB/s; `None` without an interval.
    #[must_use]
    pub fn mean_gb_per_s(&self) -> Option<f64> {
        (self.ns > 0.0).then(|| self.bytes / self.ns)
    }

    /// Coefficient of variation of the intervals' rates; `None` below two intervals or at rest.
    #[must_use]
    pub fn variation(&self) -> Option<f64> {
        let n = self.count as f64;
        let mean = self.rates / n;
        (self.count >= 2 && mean > 0.0).then(|| ((self.squares / n - mean * mean).max(0.0)).sqrt() / mean)
    }
}

/// Both directions of one leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LegSums {
    /// Received.
    pub rx: Sum,
    /// Sent.
    pub tx: Sum,
}

/// Sums of one rail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RailSums {
    /// Received, good intervals.
    pub rx: Sum,
    /// Sent, good intervals.
    pub tx: Sum,
    /// Payload of our own load, measured intervals.
    pub load: Sum,
    /// Received, good intervals under load.
    pub loaded_rx: Sum,
    /// Sent, good intervals under load.
    pub loaded_tx: Sum,
    /// What the rail could do, payload by wire and PCIe path, in the good intervals; 0 while its port was not ACTIVE.
    pub could: Sum,
    /// The same in the measured intervals of our own load.
    pub load_could: Sum,
    /// The same at the newest frame, GB/s; `None` unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub could_gb_per_s: Option<f64>,
    /// Received, implausible intervals.
    pub implausible_rx: Sum,
    /// Sent, implausible intervals.
    pub implausible_tx: Sum,
    /// End of the first implausible interval, seconds; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implausible_at_s: Option<f64>,
    /// How long sampled operations of our own load took, measured intervals.
    pub latency: Latencies,
    /// Legs of the bond.
    pub legs: Vec<LegSums>,
    /// Growth of the rail's further counters; `None` never readable twice.
    pub growth: Vec<Option<u64>>,
    /// The part of it that came while the rail's link, or one of its bond's legs, went down or up
    /// ([`Sums::link_changed`]); empty where none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub growth_at_link_changes: Vec<u64>,
    /// Byte counters that went backwards.
    pub resets: u64,
    /// How often each of the rail's further counters did; empty where none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counter_resets: Vec<u64>,
}

impl RailSums {
    /// Mean received, GB/s: of good intervals, or of implausible ones where there are no others.
    #[must_use]
    pub fn rx_gb_per_s(&self) -> Option<f64> {
        self.rx.mean_gb_per_s().or_else(|| self.implausible_rx.mean_gb_per_s())
    }

    /// Mean sent, GB/s: as above.
    #[must_use]
    pub fn tx_gb_per_s(&self) -> Option<f64> {
        self.tx.mean_gb_per_s().or_else(|| self.implausible_tx.mean_gb_per_s())
    }

    /// Whether nothing but implausible intervals was seen.
    #[must_use]
    pub fn only_implausible(&self) -> bool {
        let good = self.rx.count + self.tx.count;
        let bad = self.implausible_rx.count + self.implausible_tx.count;
        good == 0 && bad > 0
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_none_yet(count: &u32) -> bool {
    *count == 0
}

/// Sums of one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// One entry per rail of the topology.
    pub rails: Vec<RailSums>,
    /// Events so far, at most a thousand and as many marks.
    pub events: Vec<Event>,
    /// What went wrong with rails of our load so far: the first hundred.
    pub failures: Vec<LoadFailure>,
    /// How many came after those.
    pub more_failures: u64,
    /// Last port state word of each rail.
    pub states: Vec<Option<String>>,
    /// Whether the link of each leg of each rail was up when it was read last.
    pub legs_up: Vec<Vec<Option<bool>>>,
    /// Threads of our load, in the order of the load's workers.
    pub workers: Vec<Measured>,
    /// Frames seen.
    pub frames: u64,
    /// Planned loads of a diagnosis that were made.
    #[serde(skip_serializing_if = "is_zero")]
    pub planned_loads: u64,
    /// Whether a load over TCP was among it, whose rates prove nothing about a rail.
    pub functional_check: bool,
    /// Whether a load that was held back was among it, whose rates are no level of a rail.
    pub held_back: bool,
    /// Loads of ours that were over when the one began that the sums of a load are of.
    #[serde(skip_serializing_if = "is_none_yet")]
    pub earlier_loads: u32,
    /// Time of the newest frame, nanoseconds.
    pub until_ns: u64,
}

impl Sums {
    pub(super) fn new(topology: &Topology) -> Self {
        Self {
            rails: topology
                .rails
                .iter()
                .map(|rail| RailSums {
                    legs: vec![LegSums::default(); rail.bond.as_ref().map_or(0, |b| b.legs.len())],
                    growth: vec![None; rail.counters.len()],
                    ..RailSums::default()
                })
                .collect(),
            states: topology.rails.iter().map(|rail| rail.state.clone()).collect(),
            legs_up: topology
                .rails
                .iter()
                .map(|rail| rail.bond.iter().flat_map(|bond| &bond.legs).map(|leg| leg.link_up).collect())
                .collect(),
            ..Self::default()
        }
    }

    /// From here on what is summed of a load is of another one: what two loads did makes no mean.
    pub(super) fn begin_load(&mut self, earlier_loads: u32) {
        self.earlier_loads = earlier_loads;
        self.workers.clear();
        (self.functional_check, self.held_back) = (false, false);
        for rail in &mut self.rails {
            rail.load = Sum::default();
            rail.load_could = Sum::default();
            rail.loaded_rx = Sum::default();
            rail.loaded_tx = Sum::default();
            rail.latency = Latencies::default();
        }
    }

    pub(super) fn add(&mut self, topology: &Topology, interval: &Interval) {
        let mut reset = Vec::new();
        // where counters were read: not in every interval
        let changed = |(rail, rates): (&Rail, &RailRates)| {
            !rates.growth.is_empty() && self.link_changed(rail, interval)
        };
        let changed: Vec<bool> = topology.rails.iter().zip(&interval.rails).map(changed).collect();
        let could = |at: usize| {
            let rail = topology.rails.get(at)?;
            match self.states.get(at).and_then(Option::as_deref) {
                Some(state) if state != "ACTIVE" => Some(0.0),
                _ => Ceilings::of(rail).lowest(),
            }
        };
        let could: Vec<Option<f64>> = (0..interval.rails.len()).map(could).collect();
        for (at, (sums, rates)) in self.rails.iter_mut().zip(&interval.rails).enumerate() {
            let ns = rates.counted_ns;
            // it changed some time in the interval: until then the rail could do what it could before
            let before = std::mem::replace(&mut sums.could_gb_per_s, could[at]);
            let most = before.map_or(could[at], |before| could[at].map(|now| now.max(before)));
            match rates.quality {
                Quality::Good => {
                    sums.rx.add(rates.rx_gb_per_s, ns);
                    sums.tx.add(rates.tx_gb_per_s, ns);
                    sums.could.add(most, ns);
                    if rates.under_load {
                        sums.loaded_rx.add(rates.rx_gb_per_s, ns);
                        sums.loaded_tx.add(rates.tx_gb_per_s, ns);
                    }
                }
                Quality::Implausible => {
                    sums.implausible_at_s.get_or_insert(interval.to_ns as f64 / 1e9);
                    sums.implausible_rx.add(rates.rx_gb_per_s, ns);
                    sums.implausible_tx.add(rates.tx_gb_per_s, ns);
                }
                Quality::Reset => {
                    sums.resets += 1;
                    reset.extend(
                        topology.rails.get(at).map(|rail| (rail.device.as_str(), port_of(rail, topology))),
                    );
                }
                Quality::NotRead | Quality::Unreadable => {}
            }
            if rates.measured {
                sums.load.add(rates.load_gb_per_s, interval.ns());
                sums.load_could.add(most, interval.ns());
                sums.latency.add(&rates.latency);
            }
            for (leg, leg_rates) in sums.legs.iter_mut().zip(&rates.legs) {
                leg.rx.add(leg_rates.rx_gb_per_s, rates.legs_ns);
                leg.tx.add(leg_rates.tx_gb_per_s, rates.legs_ns);
            }
            for (total, more) in sums.growth.iter_mut().zip(&rates.growth) {
                if let Some(more) = more {
                    *total = Some(total.unwrap_or(0).saturating_add(*more));
                }
            }
            for &place in &rates.went_back {
                sums.counter_resets.resize(rates.growth.len(), 0);
                sums.counter_resets[place] += 1;
            }
            if changed.get(at) == Some(&true) {
                sums.growth_at_link_changes.resize(rates.growth.len(), 0);
                for (total, more) in sums.growth_at_link_changes.iter_mut().zip(&rates.growth) {
                    *total = total.saturating_add(more.unwrap_or(0));
                }
            }
        }
        for device in reset {
            self.note(interval.to_ns, device, "counter-reset", None);
        }
    }
}

/// The one in the middle, or between the two there; `None` of none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], upper) } else { upper })
}
