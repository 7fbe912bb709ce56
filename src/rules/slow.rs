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
use super::wording::{list, rate, rates_of, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::Timeline;
use probes::model::{Load, LoadOp, LoadTarget, Rail, Topology};
use serde_json::{Map, Value};
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

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let Some(load) = latest_load(timeline).filter(|load| target_is_known(topology, load)) else {
        return Vec::new();
    };
    let beside = Beside::of(topology, timeline, |id| under_this_load(id, timeline, limits, load));
    let slow: Vec<(&str, f64, f64)> = topology
        .rails_with_id()
        .filter(|(_, rail)| load.drives(&rail.device) && !rail.is_software())
        .filter_map(|(id, surveyed)| {
            let rail = beside.rail(id);
            let ceiling = beside.could_gb_per_s(id, timeline).filter(|_| rail.is_active())?;
            let gb = beside.rate_gb_per_s(id)?;
            let slow = gb < limits.far_below_share * ceiling && window_is_ample(load, rail, ceiling);
            slow.then_some((surveyed.device.as_str(), gb, ceiling))
        })
        .collect();
    if slow.is_empty() {
        return Vec::new();
    }
    let others = super::ALL.iter().filter(|rule| rule.codes != RULE.codes);
    let reasons: Vec<Finding> = others.flat_map(|rule| (rule.check)(topology, timeline, limits)).collect();
    let explained: BTreeSet<&str> = reasons
        .iter()
        .filter(|finding| !NO_REASON.contains(&&*finding.code))
        .flat_map(|finding| finding.devices.iter().map(String::as_str))
        .collect();
    let mut slow: Vec<_> = slow.into_iter().filter(|(device, ..)| !explained.contains(device)).collect();
    if !slow.is_empty() {
        let there = explained_there(timeline, limits);
        slow.retain(|(device, ..)| load.peer_devices.get(*device).is_none_or(|peer| !there.contains(peer)));
    }
    finding(&slow, limits).into_iter().collect()
}

/// Rails of the other host on which something was found that is a reason; it is named as that host's.
fn explained_there(timeline: &Timeline, limits: &Limits) -> BTreeSet<String> {
    let Some(there) = timeline.as_seen_by_peer() else { return BTreeSet::new() };
    let found = super::ALL.iter().filter(|rule| rule.codes != RULE.codes);
    let found = found.flat_map(|rule| (rule.check)(there.topology(), &there, limits));
    found.filter(|finding| !NO_REASON.contains(&&*finding.code)).flat_map(|finding| finding.devices).collect()
}

fn target_is_known(topology: &Topology, load: &Load) -> bool {
    let LoadTarget::Gpu(name) = &load.target else { return true };
    let gpu = topology.gpus.iter().find(|gpu| gpu.name == *name);
    gpu.is_some_and(|gpu| ceilings::path_raw_gb_per_s(&gpu.pcie).is_some())
}

/// Whether so much is on the wire that latency cannot be the reason; unknown sizes count as ample.
fn window_is_ample(load: &Load, rail: &Rail, ceiling_gb_per_s: f64) -> bool {
    let depth = match load.op {
        LoadOp::Read => {
            let threads = load.workers.iter().filter(|worker| worker.device == rail.device);
            threads
                .filter_map(|worker| worker.read_depth)
                .min()
                .or(load.read_depth)
                .or(Some(USUAL_READ_DEPTH))
        }
        LoadOp::Write => load.depth,
    };
    let (Some(size), Some(qps), Some(depth)) = (load.size_bytes, load.qps, depth) else { return true };
    size as f64 * f64::from(qps) * f64::from(depth) >= ceiling_gb_per_s * 1e9 * LONG_ROUND_TRIP_S
}

fn finding(slow: &[(&str, f64, f64)], limits: &Limits) -> Option<Finding> {
    let devices: Vec<&str> = slow.iter().map(|(device, ..)| *device).collect();
    let (_, gb, ceiling) = slow.iter().min_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))?;
    let could = verb(slow.len(), "it", "they");
    let below = format!("below {:.0} % of what {could} could do under load", limits.far_below_share * 100.0);
    let alike = alike(slow);
    let message = match &alike {
        Some(rates) => format!(
            "{}, of {ceiling:.1} GB/s each could: {below}, and nothing that was found here explains it; that they stop alike speaks \
             for one limit outside this host that they share, such as a switch's uplink or the peer",
            rates_of(rates, "do"),
        ),
        None => format!(
            "{}: {below}, and nothing that was found here explains it",
            list(slow.iter().map(|(device, gb, ceiling)| {
                format!("{device} does {} of {ceiling:.1} GB/s", rate(*gb))
            })),
        ),
    };
    let advice = if alike.is_some() {
        "each of them alone was not measured: `railscope diagnose PEER` measures it, one by one and together"
    } else {
        "look at the other end (`railscope check` there), then load the rail alone: `railscope load PEER --rails DEVICE`, \
         with more queue pairs, and with larger messages; or let `railscope diagnose PEER` do it"
    };
    let rates: Map<String, Value> =
        slow.iter().map(|(device, gb, _)| ((*device).to_owned(), rounded(*gb).into())).collect();
    Some(
        Finding::new("slow-unexplained", Severity::Warning, devices, message)
            .with("share_of_ceiling", rounded(gb / ceiling))
            .with("limit_share_of_ceiling", limits.far_below_share)
            .with("rates_gb_per_s", rates)
            .with("ceiling_gb_per_s", rounded(*ceiling))
            .with("together_gb_per_s", rounded(slow.iter().map(|(_, gb, _)| gb).sum()))
            .advise(advice),
    )
}

/// Rates of several rails that stop at much the same, of the same ceiling; `None` of one alone, and of unlike ones.
fn alike<'a>(slow: &[(&'a str, f64, f64)]) -> Option<Vec<(&'a str, f64)>> {
    let near = |of: fn(&(&str, f64, f64)) -> f64| {
        let least = slow.iter().map(of).fold(f64::INFINITY, f64::min);
        slow.iter().map(of).fold(0.0, f64::max) <= least * (1.0 + ALIKE)
    };
    (slow.len() > 1 && near(|rail| rail.1) && near(|rail| rail.2))
        .then(|| slow.iter().map(|(device, gb, _)| (*device, *gb)).collect())
}

#[cfg(test)]
mod tests;
