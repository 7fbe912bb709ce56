//! `rail-imbalance`: under load, a rail is far below the median of the others that could do as much.
//!
//! What a rail could do is its lowest ceiling, or its fair share (max–min) of what it shares with other rails that move
//! something: an uplink that two rails fill between them leaves each half, and that is no imbalance. Where the others move
//! less than 5 % of what they could (of their READ window too), nothing is compared: a trickle is as unlike as its few
//! requests, and says nothing of a rail. `unstable` and `bond-leg-imbalance` leave the same alone.

use super::beside::Beside;
use super::means::{OVER, Over, Rate, UnderLoad, held, load_direction};
use super::wording::{called, rate, rates_of, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings::Bytes;
use crate::timeline::{Sum, Timeline, median};
use probes::model::{LoadOp, RailId, Topology};
use serde_json::{Map, Value};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["rail-imbalance"], check };

/// Ceilings closer than this are the same: rounding of line rates and MTU.
const SAME_CEILING: f64 = 0.02;

/// A rail that was under load long enough.
struct Loaded {
    id: RailId,
    gb_per_s: f64,
    /// What it could do beside the others that move something, GB/s.
    bound_gb_per_s: f64,
    /// The least that is no trickle, GB/s.
    moving_gb_per_s: f64,
    /// Whether a PCIe link or a port that it shares with them bounds it, and not its own parts.
    shares: bool,
}

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let Some(op) = load_direction(timeline) else {
        return Vec::new();
    };
    let groups_over = |over| alike(loaded(topology, timeline, limits, op, over));
    let now = groups_over(Over::Window);
    let mut told: Vec<RailId> = Vec::new();
    let mut all = Vec::new();
    for group in &now {
        if let Some(found) = judge(topology, group, limits, op) {
            told.extend(group.iter().map(|rail| rail.id));
            all.push(found);
        }
    }
    // what was slow earlier belongs into the report of the session, and says that it is over
    for group in groups_over(Over::Session) {
        if group.iter().any(|rail| told.contains(&rail.id)) {
            continue;
        }
        let Some(mut found) = judge(topology, &group, limits, op) else { continue };
        let seen_now = |rail: &&Loaded| now.iter().flatten().any(|other| other.id == rail.id);
        let over = if group.iter().filter(seen_now).count() < 2 { ", over the whole session" } else { OVER };
        found.message.push_str(over);
        all.push(found);
    }
    all
}

/// Mean rates of the rails that were under load long enough and have a known ceiling.
///
/// Payload of our own load where any of them has it, else what the NICs counted: the two differ by the
/// headers, so they are never compared with each other.
fn loaded(topology: &Topology, timeline: &Timeline, limits: &Limits, op: LoadOp, over: Over) -> Vec<Loaded> {
    let means: Vec<(RailId, UnderLoad)> =
        topology.rails_with_id().map(|(id, _)| (id, UnderLoad::of(timeline.local(), id, over))).collect();
    let long_enough = |sum: &Sum| held(timeline.session(), limits, sum);
    let ours = means.iter().any(|(_, m)| long_enough(&m.load));
    let rate = |means: &UnderLoad| {
        let (sum, bytes) =
            if ours { (means.load, Bytes::Payload) } else { (means.counted_in(op), Bytes::Counted) };
        let gb_per_s = Some(sum).filter(long_enough)?.mean_gb_per_s()?;
        Some(Rate { gb_per_s, bytes })
    };
    let beside = Beside::of(topology, timeline, |id| rate(&means[id.0].1));
    let bound = |id: RailId| {
        let own = beside.own_gb_per_s(id)?;
        let share = beside.share_gb_per_s(id).filter(|share| *share < own * (1.0 - SAME_CEILING));
        Some((share.unwrap_or(own), share.is_some()))
    };
    means
        .iter()
        .filter_map(|(id, _)| {
            let (bound_gb_per_s, shares) = bound(*id)?;
            let gb_per_s = beside.rate_gb_per_s(*id)?;
            let could = beside
                .could_gb_per_s(*id, timeline)
                .map_or(bound_gb_per_s, |could| could.min(bound_gb_per_s));
            let moving_gb_per_s = limits.moving_share * could;
            Some(Loaded { id: *id, gb_per_s, bound_gb_per_s, moving_gb_per_s, shares })
        })
        .collect()
}

/// Rails in groups that could do the same beside each other.
fn alike(mut rails: Vec<Loaded>) -> Vec<Vec<Loaded>> {
    rails.sort_by(|a, b| a.bound_gb_per_s.total_cmp(&b.bound_gb_per_s).then(a.id.cmp(&b.id)));
    let mut groups: Vec<Vec<Loaded>> = Vec::new();
    for rail in rails {
        match groups.last_mut() {
            Some(group) if rail.bound_gb_per_s <= group[0].bound_gb_per_s * (1.0 + SAME_CEILING) => {
                group.push(rail);
            }
            _ => groups.push(vec![rail]),
        }
    }
    for group in &mut groups {
        group.sort_unstable_by_key(|rail| rail.id);
    }
    groups
}

fn judge(topology: &Topology, group: &[Loaded], limits: &Limits, op: LoadOp) -> Option<Finding> {
    // a slow rail is no measure of itself
    let others = |id: RailId| {
        let others = group.iter().filter(|rail| rail.id != id).map(|rail| rail.gb_per_s);
        median(others).filter(|median| *median > 0.0)
    };
    let limit = limits.imbalance_share;
    let is_slow = |rail: &&Loaded| {
        let has_its_share = rail.shares && rail.gb_per_s >= limit * rail.bound_gb_per_s;
        let is_below = |median: f64| median >= rail.moving_gb_per_s && rail.gb_per_s < limit * median;
        !has_its_share && others(rail.id).is_some_and(is_below)
    };
    let slow: Vec<&Loaded> = group.iter().filter(is_slow).collect();
    let slowest = slow.iter().min_by(|a, b| a.gb_per_s.total_cmp(&b.gb_per_s))?;
    let median = others(slowest.id)?;
    let name = |id: RailId| called(&topology.rails[id.0], &topology.rails);
    let moves = match op {
        LoadOp::Read => verb(slow.len(), "reads", "read"),
        LoadOp::Write => verb(slow.len(), "writes", "write"),
    };
    let rates: Vec<(String, f64)> = slow.iter().map(|rail| (name(rail.id), rail.gb_per_s)).collect();
    let count = group.len() - 1;
    let message = format!(
        "{}; the {} that could do as much {} {} GB/s, so {} at {:.2} of it (limit {limit:.2})",
        rates_of(&rates, moves),
        if count == 1 { "other rail".to_owned() } else { format!("median of the {count} others") },
        verb(count, "does", "is"),
        rate(median),
        if slow.len() == 1 { "it is" } else { "the slowest is" },
        slowest.gb_per_s / median,
    );
    let by_rail: Map<String, Value> =
        group.iter().map(|rail| (name(rail.id), rounded(rail.gb_per_s).into())).collect();
    Some(
        Finding::on_ports(
            "rail-imbalance",
            Severity::Warning,
            slow.iter().map(|rail| &topology.rails[rail.id.0]),
            message,
        )
        .with("slowest_gb_per_s", rounded(slowest.gb_per_s))
        .with("median_gb_per_s", rounded(median))
        .with("share_of_median", rounded(slowest.gb_per_s / median))
        .with("limit_share_of_median", limit)
        .with("could_gb_per_s", rounded(slowest.bound_gb_per_s))
        .with("moving_limit_gb_per_s", rounded(slowest.moving_gb_per_s))
        .with("rates_gb_per_s", by_rail)
        .with("direction", if op == LoadOp::Read { "read" } else { "write" })
        .advise(
            "see what else is found on these rails (legs, PCIe, placement); \
                 then load one alone: `railscope load PEER --rails DEVICE`",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, behind, found, hop, named, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{Hop, Rail, Topology};

    /// Rails in slots of their own.
    fn rails(count: u8) -> Topology {
        let at = |at| {
            behind(&format!("mlx5_{at}"), vec![hop(&format!("0000:{:02x}:00.0", 0x41 + 2 * at), 32.0, 16)])
        };
        two_sockets((0..count).map(at).collect())
    }

    fn findings(rates: &[f64]) -> Vec<Finding> {
        found(&RULE, &rails(u8::try_from(rates.len()).unwrap()), &Traffic::loaded(rates))
    }

    #[test]
    fn one_slow_rail_is_named() {
        let found = findings(&[49.0, 49.0, 24.5]);
        assert_eq!(named(&found), ["rail-imbalance mlx5_2"]);
        assert_eq!(
            found[0].message,
            "mlx5_2 reads 24.5 GB/s; the median of the 2 others that could do as much is 49.0 GB/s, so it is at 0.50 of \
             it (limit 0.85)"
        );
        assert_eq!(found[0].evidence["share_of_median"], 0.5);
    }

    #[test]
    fn a_slow_rail_does_not_soften_what_it_is_held_against() {
        // with itself the median would be 44.0, and 39.0 be 0.89 of it
        let found = findings(&[49.0, 39.0]);
        assert_eq!(named(&found), ["rail-imbalance mlx5_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_1 reads 39.0 GB/s; the other rail that could do as much does 49.0 GB/s, so it is at 0.80 of it \
             (limit 0.85)"
        );
        let half = findings(&[48.0, 48.0, 31.5, 31.5]);
        assert_eq!(named(&half), ["rail-imbalance mlx5_2,mlx5_3"]);
        assert!(
            half[0].message.starts_with("mlx5_2 and mlx5_3 read 31.5 GB/s each, 63.0 together; "),
            "{half:?}"
        );
    }

    #[test]
    fn rails_close_to_each_other_are_fine() {
        assert_eq!(named(&findings(&[49.0, 49.0, 42.0])), Vec::<String>::new());
        assert_eq!(named(&findings(&[0.0, 0.0, 0.0])), Vec::<String>::new());
        assert_eq!(named(&findings(&[24.5])), Vec::<String>::new());
    }

    #[test]
    fn rails_that_hardly_move_are_not_compared_and_one_that_stands_still_beside_others_is() {
        assert_eq!(named(&findings(&[9e-6, 9e-6, 3e-6])), Vec::<String>::new(), "3 kB/s beside 9");
        assert_eq!(named(&findings(&[2.4, 2.4, 0.8])), Vec::<String>::new(), "below 5 % of 49.7 GB/s");
        assert_eq!(named(&findings(&[2.6, 2.6, 0.8])), ["rail-imbalance mlx5_2"]);
        assert_eq!(named(&findings(&[49.0, 49.0, 0.0])), ["rail-imbalance mlx5_2"]);
    }

    /// Four rails, the last two below one uplink that carries 57.6 GB/s of payload.
    fn below_one_uplink() -> Topology {
        let mut topology = rails(4);
        for rail in &mut topology.rails[2..] {
            let uplink = Hop { upstream: Some("0000:15:01.0".into()), ..hop("0000:16:00.0", 32.0, 16) };
            rail.pcie.as_mut().unwrap().hops.push(uplink);
        }
        topology
    }

    #[test]
    fn rails_that_fill_one_uplink_between_them_have_what_is_theirs() {
        let codes = |rates: &[f64]| named(&found(&RULE, &below_one_uplink(), &Traffic::loaded(rates)));
        assert_eq!(codes(&[48.2, 48.2, 28.4, 28.4]), Vec::<String>::new());
        assert_eq!(codes(&[48.2, 48.2, 26.0, 31.5]), Vec::<String>::new(), "within its share");
        assert_eq!(
            codes(&[48.2, 48.2, 10.0, 46.0]),
            ["rail-imbalance mlx5_2"],
            "the other has the most of it"
        );
        // the neighbour rests, so the uplink is no reason
        assert_eq!(codes(&[48.2, 48.2, 28.4, 0.0]), ["rail-imbalance mlx5_2,mlx5_3"]);
    }

    #[test]
    fn two_ways_to_one_port_have_half_of_it_each() {
        let mut topology = rails(4);
        for rail in &mut topology.rails[2..] {
            rail.system_image_guid = Some("a".into());
            rail.pcie.as_mut().unwrap().address = rail.pcie.as_ref().unwrap().hops[0].address.clone();
        }
        let codes = named(&found(&RULE, &topology, &Traffic::loaded(&[48.2, 48.2, 24.1, 24.1])));
        assert_eq!(codes, Vec::<String>::new());
    }

    #[test]
    fn a_rail_with_another_ceiling_is_not_compared() {
        let mut topology = rails(3);
        topology.rails[2].line_gbit_per_s = Some(200.0);
        assert_eq!(
            named(&found(&RULE, &topology, &Traffic::loaded(&[49.0, 49.0, 24.5]))),
            Vec::<String>::new()
        );
        let down = Rail { state: Some("DOWN".into()), ..rails(3).rails[2].clone() };
        topology.rails[2] = down;
        assert_eq!(
            named(&found(&RULE, &topology, &Traffic::loaded(&[49.0, 49.0, 0.0]))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn without_a_load_a_low_rate_proves_nothing() {
        let idle = Traffic { load: None, ..Traffic::loaded(&[49.0, 49.0, 0.0]) };
        assert_eq!(named(&found(&RULE, &rails(3), &idle)), Vec::<String>::new());
    }

    #[test]
    fn two_seconds_are_too_short_to_judge() {
        let short =
            Traffic { rx_gb_per_s: vec![vec![49.0, 49.0, 24.5]; 2], ..Traffic::loaded(&[49.0, 49.0, 24.5]) };
        assert_eq!(named(&found(&RULE, &rails(3), &short)), Vec::<String>::new());
    }

    #[test]
    fn what_was_slow_more_than_a_minute_ago_is_said_to_be_over() {
        let mut rates = vec![vec![49.0, 49.0, 10.0]; 60];
        rates.extend(vec![vec![49.0, 49.0, 49.0]; 70]);
        let found = found(&RULE, &rails(3), &Traffic { rx_gb_per_s: rates, ..Traffic::loaded(&[]) });
        assert_eq!(named(&found), ["rail-imbalance mlx5_2"]);
        assert!(found[0].message.ends_with("over the whole session, not in its last minute"), "{found:?}");
    }

    #[test]
    fn an_implausible_rail_does_not_move_the_median() {
        let found = findings(&[49.0, 89.4, 24.5]);
        assert_eq!(named(&found), ["rail-imbalance mlx5_2"]);
        assert_eq!(found[0].evidence["median_gb_per_s"], 49.0);
    }
}
