//! `unstable`: under one steady load a rail's rate swings.
//!
//! Coefficient of variation (standard deviation over mean) above 0.25 over at least 4 good intervals in the
//! last minute that the load of now covers unchanged. While watching, intervals are gathered to a second
//! each, since shorter ones swing by themselves; steps of a copied tree are taken as they are. Rails that
//! hardly move (below 5 % of their ceiling), and software devices, which share the CPU with everything else,
//! are left alone, and so are intervals at one end of which the port was not ACTIVE
//! or a leg without a link: `link-down`, `bond-leg-down` and `flap` tell of those.

use super::means::latest_load;
use super::wording::{called, list, rate, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings::Ceilings;
use crate::timeline::{HostTimeline, Interval, Quality, Sum, Timeline};
use probes::model::{Load, LoadOrigin, Rail, RailId, Topology};
use serde_json::{Map, Value, json};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["unstable"], check };

/// Fewest intervals that make a spread.
const LEAST_INTERVALS: u64 = 4;
/// While watching, what is shorter is gathered; a little less than a second, since samples are never round.
const GATHER_NS: u64 = 950_000_000;

/// A rail's rate and how it swings.
struct Swing<'a> {
    rail: &'a Rail,
    /// What a sentence calls it.
    name: String,
    sum: Sum,
    low: f64,
    high: f64,
}

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let Some(load) = latest_load(timeline) else { return Vec::new() };
    let steady = steady(timeline, load);
    let gather_ns = if timeline.session().is_stepped() { 1 } else { GATHER_NS };
    let swings: Vec<Swing<'_>> = topology
        .rails_with_id()
        .filter(|(_, rail)| load.drives(&rail.device) && !rail.is_software())
        .filter_map(|(id, rail)| {
            let down_ns = down_at(timeline.local(), id);
            let touched = |interval: &Interval| {
                down_ns.iter().any(|at| (interval.from_ns..=interval.to_ns).contains(at))
            };
            let steady: Vec<&Interval> =
                steady.iter().copied().filter(|interval| !touched(interval)).collect();
            let moving = Ceilings::of(rail).lowest()? * limits.moving_share;
            let swing = Swing::of(id, (rail, called(rail, &topology.rails)), load, &steady, gather_ns)?;
            let swings = swing.sum.variation().is_some_and(|variation| variation > limits.variation);
            (swings && swing.sum.mean_gb_per_s() >= Some(moving)).then_some(swing)
        })
        .collect();
    finding(&swings, limits).into_iter().collect()
}

/// The newest intervals that this very load covers, without a break.
fn steady<'a>(timeline: &'a Timeline, load: &Load) -> Vec<&'a Interval> {
    let local = timeline.local();
    let mut frames = local.frames().rev().peekable();
    let with_load = local.intervals().rev().map(|interval| {
        while frames.next_if(|frame| frame.at_ns > interval.to_ns).is_some() {}
        let now = frames.peek().and_then(|frame| frame.load.as_deref());
        (interval, now.is_some_and(|now| std::ptr::eq(now, load) || now == load))
    });
    let covered = with_load.skip_while(|(_, covered)| !covered).take_while(|(_, covered)| *covered);
    covered.map(|(interval, _)| interval).collect()
}

/// Times of the frames at which the port, as last read, was not ACTIVE, or the device gone, or a leg without a link that
/// has one at other times: a leg that is down all the time is no reason to swing.
fn down_at(local: &HostTimeline, id: RailId) -> Vec<u64> {
    let (mut active, mut legs_up) = (true, None);
    let (mut down_ns, mut leg_down_ns, mut ever_up) = (Vec::new(), Vec::new(), false);
    for frame in local.frames() {
        let Some(read) = frame.rails.get(id.0) else { continue };
        if let Some(state) = &read.state {
            active = state == "ACTIVE";
        }
        if !read.legs.is_empty() {
            legs_up = Some(read.legs.iter().all(|leg| leg.link_up != Some(false)));
        }
        if !active || read.lost {
            down_ns.push(frame.at_ns);
        }
        match legs_up {
            Some(false) => leg_down_ns.push(frame.at_ns),
            Some(true) => ever_up = true,
            None => {}
        }
    }
    if ever_up {
        down_ns.append(&mut leg_down_ns);
    }
    down_ns
}

impl<'a> Swing<'a> {
    fn of(
        id: RailId,
        (rail, name): (&'a Rail, String),
        load: &Load,
        steady: &[&Interval],
        gather_ns: u64,
    ) -> Option<Self> {
        let mut swing = Self { rail, name, sum: Sum::default(), low: f64::INFINITY, high: 0.0 };
        let (mut bytes, mut ns) = (0.0, 0);
        for interval in steady {
            let Some(rates) = interval.rails.get(id.0) else { continue };
            let (rate, rate_ns) = match load.origin {
                LoadOrigin::Ours if rates.measured => (rates.load_gb_per_s, interval.ns()),
                LoadOrigin::Described if rates.quality == Quality::Good && rates.under_load => {
                    (rates.in_direction(load.op), rates.counted_ns)
                }
                _ => (None, 0),
            };
            let Some(rate) = rate else { continue };
            bytes += rate * rate_ns as f64;
            ns += rate_ns;
            if ns >= gather_ns {
                let gathered = bytes / ns as f64;
                swing.sum.add(Some(gathered), ns);
                (swing.low, swing.high) = (swing.low.min(gathered), swing.high.max(gathered));
                (bytes, ns) = (0.0, 0);
            }
        }
        (swing.sum.count >= LEAST_INTERVALS).then_some(swing)
    }
}

fn finding(swings: &[Swing<'_>], limits: &Limits) -> Option<Finding> {
    let rails = swings.iter().map(|swing| swing.rail);
    let worst = swings.iter().filter_map(|swing| swing.sum.variation()).reduce(f64::max)?;
    let each = list(swings.iter().map(|swing| {
        let mean = swing.sum.mean_gb_per_s().unwrap_or_default();
        format!(
            "{} swings between {} and {} GB/s (mean {}, variation {:.2})",
            swing.name,
            rate(swing.low),
            rate(swing.high),
            rate(mean),
            swing.sum.variation().unwrap_or_default(),
        )
    }));
    let numbers: Map<String, Value> = swings
        .iter()
        .map(|swing| {
            let numbers = json!({
                "mean_gb_per_s": swing.sum.mean_gb_per_s().map(rounded),
                "low_gb_per_s": rounded(swing.low),
                "high_gb_per_s": rounded(swing.high),
                "variation": swing.sum.variation().map(rounded),
                "intervals": swing.sum.count,
            });
            (swing.name.clone(), numbers)
        })
        .collect();
    let message = format!("{each}, under one steady load (limit of the variation {:.2})", limits.variation);
    Some(
        Finding::on_ports("unstable", Severity::Warning, rails, message)
            .with("variation", rounded(worst))
            .with("limit_variation", limits.variation)
            .with("rails", numbers)
            .advise(
                "see what else is found on these rails; use rails on the node where the buffers are; then one \
                 rail alone: `railscope load PEER --rails DEVICE`",
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, described, found, found_in, named, rail, session, two_sockets};
    use super::RULE;
    use crate::timeline::Timeline;
    use probes::model::{Frame, LoadOp, Rail, RailFrame, Topology};
    use std::sync::Arc;

    fn two() -> Topology {
        two_sockets(["mlx5_0", "mlx5_1"].map(rail).into())
    }

    fn rows(second: &[f64]) -> Traffic {
        Traffic {
            rx_gb_per_s: second.iter().map(|&gb| vec![45.0, gb]).collect(),
            load: Some(described(LoadOp::Read)),
            ..Traffic::default()
        }
    }

    #[test]
    fn a_rail_whose_rate_swings_is_named_and_a_steady_one_is_not() {
        let found = found(&RULE, &two(), &rows(&[30.0, 2.0, 28.0, 1.0, 19.0]));
        assert_eq!(named(&found), ["unstable mlx5_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_1 swings between 1.0 and 30.0 GB/s (mean 16.0, variation 0.78), under one steady load \
             (limit of the variation 0.25)"
        );
    }

    #[test]
    fn three_intervals_no_load_or_a_trickle_prove_nothing() {
        let quiet = Vec::<String>::new();
        assert_eq!(named(&found(&RULE, &two(), &rows(&[30.0, 2.0, 28.0]))), quiet);
        let idle = Traffic { load: None, ..rows(&[30.0, 2.0, 28.0, 1.0, 19.0]) };
        assert_eq!(named(&found(&RULE, &two(), &idle)), quiet);
        assert_eq!(named(&found(&RULE, &two(), &rows(&[0.03, 0.002, 0.028, 0.001]))), quiet);
    }

    #[test]
    fn a_port_that_goes_down_does_not_swing() {
        let topology = two_sockets(vec![rail("mlx5_0")]);
        // a port that goes down, and one that is up all the time, with the same rates
        let codes = |gone: &[u64]| {
            let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
            for seq in 0..=9_u64 {
                let moved = 40_000_000_000 * seq - 40_000_000_000 * seq.clamp(3, 6).saturating_sub(3);
                let state = if gone.contains(&seq) { "DOWN" } else { "ACTIVE" };
                let read =
                    RailFrame { rx_bytes: Some(moved), state: Some(state.into()), ..RailFrame::default() };
                timeline.push(Frame {
                    seq,
                    at_ns: seq * 1_000_000_000,
                    rails: vec![read],
                    load: Some(Arc::new(described(LoadOp::Read))),
                    ..Frame::default()
                });
            }
            named(&found_in(&RULE, &topology, &timeline))
        };
        assert_eq!(codes(&[]), ["unstable mlx5_0"]);
        assert_eq!(codes(&[3, 4, 5, 6]), Vec::<String>::new());
    }

    #[test]
    fn a_software_device_swings_with_the_cpu() {
        let mut topology = two();
        topology.rails[1] = Rail { driver: Some("rdma_rxe".into()), ..rail("rxe0") };
        assert_eq!(
            named(&found(&RULE, &topology, &rows(&[30.0, 2.0, 28.0, 1.0, 19.0]))),
            Vec::<String>::new()
        );
    }
}
