//! `bond-leg-imbalance`, `bond-leg-down`: a bond whose traffic, or whose link, is on one leg only.

mod flows;

use super::means::{OVER, held, in_direction, latest_load};
use super::spread;
use super::wording::{called, list, rate, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::{HostTimeline, LegSums, Sum, Timeline};
use probes::model::{Bond, Leg, LegsSought, LoadOp, Rail, RailId, Topology};
use serde_json::{Map, Value};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["bond-leg-imbalance", "bond-leg-down"], check };

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let mut found = Vec::new();
    for (id, rail) in topology.rails_with_id() {
        let rail = timeline.local().last_seen(id, rail);
        let Some(bond) = &rail.bond else { continue };
        let name = called(&rail, &topology.rails);
        found.extend(down((&rail, &name), bond));
        found.extend(imbalance(id, (&rail, &name), bond, timeline, limits));
    }
    found
}

fn down((rail, name): (&Rail, &str), bond: &Bond) -> Option<Finding> {
    let down: Vec<&str> = names(bond, |leg| leg.link_up == Some(false));
    let up: Vec<&str> = names(bond, |leg| leg.link_up == Some(true));
    if down.is_empty() || up.is_empty() {
        return None;
    }
    let message = format!(
        "{name}: no link on {} of {}, so {} {} all of its traffic",
        list(down.iter().copied()),
        bond.netdev,
        list(up.iter().copied()),
        verb(up.len(), "carries", "carry"),
    );
    Some(
        Finding::on_ports("bond-leg-down", Severity::Warning, [rail], message)
            .with("bond", bond.netdev.clone())
            .with("legs_down", down.clone())
            .with("legs_up", up)
            .advise(format!(
                "check cable, transceiver and switch port of {0}; look with `ethtool {0}`, `ip -d link show {0}`",
                down[0]
            )),
    )
}

fn names(bond: &Bond, which: impl Fn(&Leg) -> bool) -> Vec<&str> {
    bond.legs.iter().filter(|leg| which(leg)).map(|leg| leg.netdev.as_str()).collect()
}

fn imbalance(
    id: RailId,
    (rail, name): (&Rail, &str),
    bond: &Bond,
    timeline: &Timeline,
    limits: &Limits,
) -> Option<Finding> {
    if !lets_every_leg_carry(bond) {
        return None;
    }
    let load = latest_load(timeline).filter(|load| load.drives(&rail.device));
    let line_gb_per_s = ceilings::line_raw_gb_per_s(rail);
    let window = timeline.local().ceilings(id, rail).read_window;
    let moving_gb_per_s = if let Some(line) = line_gb_per_s {
        limits.moving_share * line
    } else {
        // legs whose speed nothing tells: what our own load moved is no trickle, unless its READ window lets through far more
        let least = window.map_or(0.0, |window| limits.moving_share * window);
        let ours = timeline.local().load_gb_per_s(id).filter(|rate| load.is_some() && *rate > 0.0)?;
        Some(ours).filter(|rate| *rate >= least)? / 2.0
    };
    if load.is_some_and(|load| load.leg.is_some()) {
        // one leg is what was asked for
        return None;
    }
    let op = load.map(|load| load.op);
    let moved = |legs: &[LegSums]| {
        let moved = Moved::of(legs, op.unwrap_or_else(|| busier(legs)))?;
        let enough = moved.total.mean_gb_per_s().is_some_and(|gb| gb >= moving_gb_per_s);
        (enough && held(timeline.session(), limits, &moved.total)).then_some(moved)
    };
    let processes = timeline.local().processes().unwrap_or_default();
    let queue_pairs = spread::queue_pairs(load, rail, processes);
    let now = moved(&last_minute(timeline.local(), id, bond.legs.len(), moving_gb_per_s));
    let sought = load.and_then(|load| load.legs_sought.iter().find(|sought| sought.device == rail.device));
    if let Some(now) = &now
        && let Some(found) = now.judge((rail, name), bond, line_gb_per_s, moving_gb_per_s, limits)
    {
        let found = found.advise(spread::advice(bond, now.op, queue_pairs));
        return Some(flows::with_flows(with_tries(found, sought), rail, processes));
    }
    let earlier = moved(&timeline.local().sums().rails.get(id.0)?.legs)?;
    let mut found = earlier.judge((rail, name), bond, line_gb_per_s, moving_gb_per_s, limits)?;
    found.message.push_str(if now.is_none() { ", over the whole session" } else { OVER });
    found.advice = spread::advice(bond, earlier.op, queue_pairs);
    Some(flows::with_flows(with_tries(found, sought), rail, processes))
}

/// Says that it was the same with other queue pair numbers and flow labels, where the load tried that.
fn with_tries(mut found: Finding, sought: Option<&LegsSought>) -> Finding {
    let Some(sought) = sought.filter(|sought| sought.gap.is_none()) else { return found };
    if !sought.silent.is_empty() {
        let times = sought.tries;
        let same =
            format!("; so it was in {times} tries with other queue pair numbers and flow labels before");
        found.message.push_str(&same);
    }
    found.with("label_tries", sought.tries).with("legs_never_heard", sought.silent.clone())
}

/// What the legs moved in one direction.
struct Moved {
    op: LoadOp,
    legs: Vec<Sum>,
    total: Sum,
}

impl Moved {
    /// `None` when nothing moved, or a leg was not readable, since then no share can be told.
    fn of(legs: &[LegSums], op: LoadOp) -> Option<Self> {
        let legs: Vec<Sum> = legs.iter().map(|leg| in_direction(leg, op)).collect();
        let mut total = *legs.first()?;
        total.bytes = legs.iter().map(|leg| leg.bytes).sum();
        let readable = legs.iter().all(|leg| leg.count > 0);
        (readable && total.bytes > 0.0).then_some(Self { op, legs, total })
    }

    fn judge(
        &self,
        (rail, name): (&Rail, &str),
        bond: &Bond,
        line_gb_per_s: Option<f64>,
        moving_gb_per_s: f64,
        limits: &Limits,
    ) -> Option<Finding> {
        let (at, busiest) = self.legs.iter().enumerate().max_by(|a, b| a.1.bytes.total_cmp(&b.1.bytes))?;
        let share = busiest.bytes / self.total.bytes;
        if share <= limits.leg_share {
            return None;
        }
        let names = || bond.legs.iter().map(|leg| leg.netdev.as_str());
        let (comes, direction) = match self.op {
            LoadOp::Read => ("receives", "received"),
            LoadOp::Write => ("sends", "sent"),
        };
        let total = self.total.mean_gb_per_s()?;
        // legs count headers too, so they are held against what a full wire counts
        let together = match (ceilings::line_counted_gb_per_s(rail), line_gb_per_s) {
            (Some(counted), _) => format!("{} could carry {counted:.1} GB/s together", list(names())),
            (None, Some(raw)) => format!("{} could carry {raw:.1} GB/s raw together", list(names())),
            (None, None) => format!("{} may all carry, at a speed that nothing tells", list(names())),
        };
        let message = format!(
            "{name}: one leg carries nearly everything: {} {comes} {} of {} GB/s, {:.0} % (limit {:.0} %); {together}",
            bond.legs.get(at)?.netdev,
            rate(busiest.mean_gb_per_s()?),
            rate(total),
            share * 100.0,
            limits.leg_share * 100.0,
        );
        let by_leg: Map<String, Value> = names()
            .zip(&self.legs)
            .map(|(name, leg)| (name.to_owned(), leg.mean_gb_per_s().map(rounded).into()))
            .collect();
        Some(
            Finding::on_ports("bond-leg-imbalance", Severity::Warning, [rail], message)
                .with("leg", bond.legs[at].netdev.clone())
                .with("leg_share", rounded(share))
                .with("limit_share", limits.leg_share)
                .with("legs_gb_per_s", by_leg)
                .with("total_gb_per_s", rounded(total))
                .with("line_raw_gb_per_s", line_gb_per_s.map(rounded))
                .with("line_counted_gb_per_s", ceilings::line_counted_gb_per_s(rail).map(rounded))
                .with("moving_limit_gb_per_s", rounded(moving_gb_per_s))
                .with("direction", direction)
                .with("lag_port_select", bond.lag_port_select.clone()),
        )
    }
}

/// Modes in which every leg may send and receive at once, with every leg ready to
/// (Documentation/networking/bonding.rst, "mode").
pub(crate) fn lets_every_leg_carry(bond: &Bond) -> bool {
    let all = matches!(bond.mode.as_deref(), Some("802.3ad" | "balance-rr" | "balance-xor" | "balance-alb"));
    let ready = |leg: &Leg| leg.link_up != Some(false) && leg.active != Some(false);
    // without a LAG each RDMA device keeps to its own port, whatever the bond does
    all && bond.carries_rdma != Some(false) && bond.legs.len() >= 2 && bond.legs.iter().all(ready)
}

/// Sums of the legs over the intervals of the last minute in which the bond moved enough.
fn last_minute(timeline: &HostTimeline, id: RailId, legs: usize, moving_gb_per_s: f64) -> Vec<LegSums> {
    let mut sums = vec![LegSums::default(); legs];
    for rates in timeline.intervals().filter_map(|i| i.rails.get(id.0)) {
        let all =
            |of: fn(&crate::timeline::LegRates) -> Option<f64>| rates.legs.iter().filter_map(of).sum::<f64>();
        let (rx, tx) = (all(|leg| leg.rx_gb_per_s), all(|leg| leg.tx_gb_per_s));
        for (sums, leg) in sums.iter_mut().zip(&rates.legs) {
            sums.rx.add(leg.rx_gb_per_s.filter(|_| rx >= moving_gb_per_s), rates.legs_ns);
            sums.tx.add(leg.tx_gb_per_s.filter(|_| tx >= moving_gb_per_s), rates.legs_ns);
        }
    }
    sums
}

/// Without a load: the direction in which more moves.
fn busier(legs: &[LegSums]) -> LoadOp {
    let bytes = |of: fn(&LegSums) -> f64| legs.iter().map(of).sum::<f64>();
    if bytes(|leg| leg.tx.bytes) > bytes(|leg| leg.rx.bytes) { LoadOp::Write } else { LoadOp::Read }
}

#[cfg(test)]
mod tests;
