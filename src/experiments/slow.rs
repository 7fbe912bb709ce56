//! Which rails are slow, and the healthy one beside which they are judged.
//!
//! A rail that looks slow is loaded again, up to three times, and is slow when the best of these is: one slow second is
//! none.

use super::Seen;
use super::plan::Kind;
use super::rounds::Rates;
use crate::ceilings::{Ceilings, line_goodput_of_messages_gb_per_s};
use crate::rules::{Limits, rate};
use probes::model::{Rail, Topology};

/// Ceilings closer than this are the same.
const SAME_CEILING: f64 = 0.02;

/// Rails that are slow, in their order.
pub(super) fn slow_rails(topology: &Topology, limits: &Limits, seen: &[Seen]) -> Vec<String> {
    let slow = topology.rails.iter().filter(|rail| why_slow(topology, rail, limits, seen).is_some());
    slow.map(|rail| rail.device.clone()).collect()
}

/// Below its ceiling, or below the median of the rails that could do as much, alone or together.
pub(super) fn why_slow(topology: &Topology, rail: &Rail, limits: &Limits, seen: &[Seen]) -> Option<String> {
    [Kind::Alone, Kind::Together].iter().find_map(|kind| why_slow_in(kind, topology, rail, limits, seen))
}

/// The same in loads of one kind.
pub(super) fn why_slow_in(
    kind: &Kind,
    topology: &Topology,
    rail: &Rail,
    limits: &Limits,
    seen: &[Seen],
) -> Option<String> {
    let rates = Rates::of(seen, kind, &rail.device).ok()?;
    let own = rates.most();
    // the table has the mean, by which no rail is judged
    let best = if rate(own) == rate(rates.mean()) { "" } else { "at best " };
    let size_bytes = seen.first().map_or(u64::MAX, |seen| seen.step.params.size_bytes);
    // small messages pay for their headers
    let line = line_goodput_of_messages_gb_per_s(rail, size_bytes);
    let ceiling = Ceilings { line, ..Ceilings::of(rail) }.lowest();
    // what bounds a software device is the CPU, whatever its netdev says of a speed
    let is_software = rail.pcie.is_none();
    if let Some(ceiling) = ceiling.filter(|ceiling| !is_software && own < limits.far_below_share * ceiling) {
        return Some(format!(
            "{kind} {best}{} of {ceiling:.1} GB/s, {:.0} % (limit {:.0} %)",
            rate(own),
            own / ceiling * 100.0,
            limits.far_below_share * 100.0
        ));
    }
    let mut peers: Vec<f64> = topology
        .rails
        .iter()
        .filter(|other| is_alike(Ceilings::of(rail).lowest(), Ceilings::of(other).lowest()))
        .filter_map(|other| Some(Rates::of(seen, kind, &other.device).ok()?.mean()))
        .collect();
    peers.sort_by(f64::total_cmp);
    let median = peers.get(peers.len() / 2).copied().unwrap_or(own);
    if peers.len() > 1 && own < limits.imbalance_share * median {
        return Some(format!(
            "{kind} {best}{} GB/s, {:.2} of the median {} of {} rails that could do as much (limit {})",
            rate(own),
            own / median,
            rate(median),
            peers.len(),
            limits.imbalance_share
        ));
    }
    // trained low it reaches its own ceiling, which is not what its wire could bring
    let line = line.filter(|line| !is_software && own < limits.far_below_share * line)?;
    Some(format!("{kind} {best}{} of the {line:.1} GB/s of its wire", rate(own)))
}

fn is_alike(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= SAME_CEILING * one.max(other),
        (None, None) => true,
        _ => false,
    }
}

/// Rails that could do as much as this one, itself among them.
pub(super) fn alike(topology: &Topology, device: &str) -> Vec<String> {
    let Some((_, rail)) = topology.rail(device) else { return Vec::new() };
    let own = Ceilings::of(rail).lowest();
    let alike = topology.rails.iter().filter(|other| is_alike(own, Ceilings::of(other).lowest()));
    alike.map(|other| other.device.clone()).collect()
}

/// The healthy rail beside which the slow ones are judged, and on which it is measured what another node costs: the fastest
/// alone.
pub(super) fn control(topology: &Topology, slow: &[String], seen: &[Seen]) -> Option<String> {
    let devices = topology.rails.iter().map(|rail| &rail.device).filter(|device| !slow.contains(device));
    let rated =
        devices.filter_map(|device| Some((Rates::of(seen, &Kind::Alone, device).ok()?.mean(), device)));
    rated.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, device)| device.clone())
}
