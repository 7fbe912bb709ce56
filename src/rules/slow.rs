//! `slow-unexplained`: a rail is far below what it could do, and nothing that was found on it says why.
//!
//! Of a session of both hosts, a reason that was found on the other end of the rail is one too, and is named as that host's.
//!
//! Fires under load, when the mean in the load's direction is below 70 % of the rail's lowest ceiling, or of its fair share
//! of what it shares with other rails that move something, and no other finding on the rail is a reason. That it is slower
//! than others (`rail-imbalance`) is none. Left alone: software devices (the CPU bounds them, not the card),
//! ports that are not ACTIVE, loads into a GPU whose PCIe link is not known, and loads whose window is too small to tell: fewer bytes on the wire than the
//! ceiling brings in 20 µs, a long round trip in one room.

use super::beside::Beside;
use super::means::{latest_load, under_this_load};
use super::read_depth;
use super::wording::{called, list, rate, rates_of, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::settings::Size;
use crate::timeline::Timeline;
use probes::model::{Load, LoadOp, LoadTarget, Rail, Topology};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["slow-unexplained"], check };

/// Findings that are no reason for a low rate, and leave none open: remarks, and what the ceiling already counts.
const NO_REASON: [&str; 16] = [
    "above-port",
    "active-backup",
    "counter-na",
    "counter-reset",
    "counter-saturated",
    "fw-differs",
    "gpudirect",
    "lag-mode",
    "line-limit",
    "memlock",
    "mtu",
    "numa-balancing",
    "pcie-limit",
    "prio",
    "rail-imbalance",
    "shared-pcie",
];

/// Rails whose rates differ by no more than this stop at one thing, or by chance alike.
const ALIKE: f64 = 0.1;

/// A long round trip in one room, seconds.
const LONG_ROUND_TRIP_S: f64 = 20e-6;
/// READs a queue pair keeps outstanding where the load does not tell: what devices do by default.
const USUAL_READ_DEPTH: u32 = 16;

/// A rail that is far below what it could do.
struct Slow<'a> {
    rail: &'a Rail,
    /// The device, and its port where it has several.
    name: String,
    gb_per_s: f64,
    could_gb_per_s: f64,
    /// Few READs on the wire, which may be the reason.
    shallow: Option<Shallow>,
}

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let found_here = || found_by_others(topology, timeline, limits).into();
    unexplained(topology, timeline, limits, found_here).into_iter().collect()
}

/// What every other rule finds.
pub(super) fn found_by_others(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let others = super::ALL.iter().filter(|rule| rule.codes != RULE.codes);
    others.flat_map(|rule| (rule.check)(topology, timeline, limits)).collect()
}

/// The same by what the other rules found, which is asked for where a rail is slow.
pub(super) fn unexplained<'a>(
    topology: &Topology,
    timeline: &Timeline,
    limits: &Limits,
    found_here: impl FnOnce() -> Cow<'a, [Finding]>,
) -> Option<Finding> {
    let load = latest_load(timeline).filter(|load| target_is_known(topology, load))?;
    let beside = Beside::of(topology, timeline, |id| under_this_load(id, timeline, limits, load));
    let mut slow: Vec<Slow<'_>> = topology
        .rails_with_id()
        .filter(|(_, rail)| load.drives(&rail.device) && !rail.is_software())
        .filter_map(|(id, surveyed)| {
            let rail = beside.rail(id);
            let could_gb_per_s = beside.could_gb_per_s(id, timeline).filter(|_| rail.is_active())?;
            let gb_per_s = beside.rate_gb_per_s(id)?;
            let is_slow = gb_per_s < limits.far_below_share * could_gb_per_s
                && window_is_ample(load, rail, could_gb_per_s);
            is_slow.then(|| Slow {
                rail: surveyed,
                name: called(rail, &topology.rails),
                gb_per_s,
                could_gb_per_s,
                shallow: Shallow::of(load, rail, timeline.local().round_trip_ns(id)),
            })
        })
        .collect();
    if slow.is_empty() {
        return None;
    }
    let here = found_here();
    slow.retain(|slow| !is_explained(slow.rail, &here));
    if !slow.is_empty() {
        let there = explained_there(timeline, limits);
        let peer = |slow: &Slow<'_>| load.peer_devices.get(&slow.rail.device);
        slow.retain(|slow| peer(slow).is_none_or(|peer| !there.contains(peer)));
    }
    finding(&slow, limits)
}

/// Whether one of these findings is a reason for this rail to be slow.
fn is_explained(rail: &Rail, found: &[Finding]) -> bool {
    found.iter().any(|finding| !NO_REASON.contains(&&*finding.code) && finding.is_about(rail))
}

/// Devices of the other host with a reason on every port of theirs, which is named as that host's: a load names the device
/// at its other end, and not the port.
fn explained_there(timeline: &Timeline, limits: &Limits) -> BTreeSet<String> {
    let Some(there) = timeline.as_seen_by_peer() else { return BTreeSet::new() };
    let found = found_by_others(there.topology(), &there, limits);
    let (explained, open): (Vec<&Rail>, Vec<&Rail>) =
        there.topology().rails.iter().partition(|rail| is_explained(rail, &found));
    let is_open = |device: &str| open.iter().any(|rail| rail.device == device);
    explained.into_iter().map(|rail| rail.device.clone()).filter(|device| !is_open(device)).collect()
}

fn target_is_known(topology: &Topology, load: &Load) -> bool {
    let LoadTarget::Gpu(name) = &load.target else { return true };
    let gpu = topology.gpus.iter().find(|gpu| gpu.name == *name);
    gpu.is_some_and(|gpu| ceilings::path_raw_gb_per_s(&gpu.pcie).is_some())
}

/// Whether so much is on the wire that latency cannot be the reason; unknown sizes count as ample.
fn window_is_ample(load: &Load, rail: &Rail, ceiling_gb_per_s: f64) -> bool {
    let depth = match load.op {
        LoadOp::Read => load.read_depth_on(&rail.device).or(Some(USUAL_READ_DEPTH)),
        LoadOp::Write => load.depth,
    };
    let (Some(size), Some(qps), Some(depth)) = (load.size_bytes, load.qps, depth) else { return true };
    size as f64 * f64::from(qps) * f64::from(depth) >= ceiling_gb_per_s * 1e9 * LONG_ROUND_TRIP_S
}

/// Few READs on the wire of each queue pair, of a device of which it is not known that it could do more (else `read-depth`
/// names it).
#[derive(Clone, Debug, PartialEq)]
struct Shallow {
    read_depth: u32,
    queue_pairs: Option<u32>,
    size_bytes: Option<u64>,
    /// Of one READ alone, as measured.
    round_trip_ns: Option<u64>,
}

impl Shallow {
    fn of(load: &Load, rail: &Rail, round_trip_ns: Option<u64>) -> Option<Self> {
        let is_read = load.op == LoadOp::Read;
        let read_depth =
            load.read_depth_on(&rail.device).filter(|depth| is_read && *depth < read_depth::ENOUGH)?;
        Some(Self { read_depth, queue_pairs: load.qps, size_bytes: load.size_bytes, round_trip_ns })
    }

    /// `READ depth 1: 8 queue pairs keep 1 READ of 1 MiB each on the wire, which is 21.0 GB/s at a round trip of 399.5 us`.
    fn in_words(&self, gb_per_s: f64) -> String {
        let depth = self.read_depth;
        let (Some(pairs), Some(size)) = (self.queue_pairs, self.size_bytes) else {
            return format!("each queue pair keeps {depth} {} on the wire", reads(depth));
        };
        let under_way = f64::from(pairs) * f64::from(depth) * size as f64;
        let brings = match self.round_trip_ns.map(|ns| (ns, under_way / ns as f64)) {
            Some((ns, brings)) => format!(
                "which bring at most {} GB/s at the measured round trip of {:.1} us",
                rate(brings),
                ns as f64 / 1e3
            ),
            // GB/s are bytes per nanosecond
            None => format!(
                "which are {} GB/s at a round trip of {:.0} us (none was measured)",
                rate(gb_per_s),
                under_way / gb_per_s / 1e3
            ),
        };
        let pairs = format!("{pairs} queue {}", verb(pairs as usize, "pair keeps", "pairs keep"));
        format!("{pairs} {depth} {} of {} each on the wire, {brings}", reads(depth), Size(size))
    }
}

fn reads(depth: u32) -> &'static str {
    verb(depth as usize, "READ", "READs")
}

fn finding(slow: &[Slow<'_>], limits: &Limits) -> Option<Finding> {
    let rails = slow.iter().map(|slow| slow.rail);
    let share = |rail: &Slow<'_>| rail.gb_per_s / rail.could_gb_per_s;
    let slowest = slow.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let could = verb(slow.len(), "it", "they");
    let below = format!("below {:.0} % of what {could} could do under load", limits.far_below_share * 100.0);
    let alike = alike(slow);
    let shallow = slowest.shallow.as_ref();
    let known = shallow.map_or(String::new(), |shallow| {
        let read_depth = shallow.read_depth;
        let whose = if slow.len() > 1 { format!(" of {}", slowest.name) } else { String::new() };
        format!(
            "; what is known: READ depth{whose} {read_depth}, and not what the device can do: {}",
            shallow.in_words(slowest.gb_per_s)
        )
    });
    let nothing = if shallow.is_some() {
        "and nothing that was found here proves why"
    } else {
        "and nothing that was found here explains it"
    };
    let message = match &alike {
        Some(rates) => format!(
            "{}, of {:.1} GB/s each could: {below}, {nothing}{known}; that they stop alike speaks for one limit outside this \
             host that they share, such as a switch's uplink or the peer",
            rates_of(rates, "do"),
            slowest.could_gb_per_s,
        ),
        None => format!(
            "{}: {below}, {nothing}{known}",
            list(slow.iter().map(|rail| {
                format!("{} does {} of {:.1} GB/s", rail.name, rate(rail.gb_per_s), rail.could_gb_per_s)
            })),
        ),
    };
    let advice = if alike.is_some() {
        "each of them alone was not measured: `railscope diagnose PEER` measures it, one by one and together"
    } else {
        "look at the other end (`railscope check` there), then load the rail alone: `railscope load PEER --rails DEVICE`, \
         with more queue pairs, and with larger messages; or let `railscope diagnose PEER` do it"
    };
    let deeper = shallow.map_or("", |_| {
        "first a greater READ depth at both ends (`ib_read_bw -o 16`, `railscope load --read-depth 16`), as far as the device \
         goes (`ibv_devinfo -v | grep max_qp_init_rd_atom`); then "
    });
    let rates: Map<String, Value> =
        slow.iter().map(|rail| (rail.name.clone(), rounded(rail.gb_per_s).into())).collect();
    let mut found = Finding::on_ports("slow-unexplained", Severity::Warning, rails, message)
        .with("share_of_ceiling", rounded(share(slowest)))
        .with("limit_share_of_ceiling", limits.far_below_share)
        .with("rates_gb_per_s", rates)
        .with("ceiling_gb_per_s", rounded(slowest.could_gb_per_s))
        .with("together_gb_per_s", rounded(slow.iter().map(|rail| rail.gb_per_s).sum()))
        .advise(format!("{deeper}{advice}"));
    if let Some(shallow) = shallow {
        found = found
            .with("read_depth", shallow.read_depth)
            .with("queue_pairs", shallow.queue_pairs)
            .with("size_bytes", shallow.size_bytes)
            .with("round_trip_us", shallow.round_trip_ns.map(|ns| rounded(ns as f64 / 1e3)));
    }
    Some(found)
}

/// Rates of several rails that stop at much the same, of the same ceiling; `None` of one alone, and of unlike ones.
fn alike<'a>(slow: &'a [Slow<'_>]) -> Option<Vec<(&'a str, f64)>> {
    let near = |of: fn(&Slow<'_>) -> f64| {
        let least = slow.iter().map(of).fold(f64::INFINITY, f64::min);
        slow.iter().map(of).fold(0.0, f64::max) <= least * (1.0 + ALIKE)
    };
    (slow.len() > 1 && near(|rail| rail.gb_per_s) && near(|rail| rail.could_gb_per_s))
        .then(|| slow.iter().map(|rail| (rail.name.as_str(), rail.gb_per_s)).collect())
}

#[cfg(test)]
mod tests;
