//! `rail-imbalance`: under load, a rail is far below the median of the rails that could do as much.

use super::means::{OVER, Over, UnderLoad, held, load_direction};
use super::wording::{list, rate, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings::Ceilings;
use crate::timeline::{Sum, Timeline};
use probes::model::{LoadOp, RailId, Topology};
use serde_json::{Map, Value};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["rail-imbalance"], check };

/// Ceilings closer than this are the same: rounding of line rates and MTU.
const SAME_CEILING: f64 = 0.02;

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let Some(op) = load_direction(timeline) else {
        return Vec::new();
    };
    let judge_group = |group: Vec<RailId>| {
        let now = rates(&group, timeline, limits, op, Over::Window);
        if let Some(found) = judge(topology, &now, limits, op) {
            return Some(found);
        }
        // what was slow earlier belongs into the report of the session, and says that it is over
        let earlier = rates(&group, timeline, limits, op, Over::Session);
        let mut found = judge(topology, &earlier, limits, op)?;
        let over = if now.len() < 2 { ", over the whole session" } else { OVER };
        found.message.push_str(over);
        Some(found)
    };
    alike(topology).into_iter().filter_map(judge_group).collect()
}

/// Rails in groups of the same lowest ceiling; a rail without a known ceiling is in none.
fn alike(topology: &Topology) -> Vec<Vec<RailId>> {
    let mut ceilings: Vec<(f64, RailId)> =
        topology.rails_with_id().filter_map(|(id, rail)| Some((Ceilings::of(rail).lowest()?, id))).collect();
    ceilings.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut groups: Vec<(f64, Vec<RailId>)> = Vec::new();
    for (ceiling, id) in ceilings {
        match groups.last_mut() {
            Some((first, group)) if ceiling <= *first * (1.0 + SAME_CEILING) => group.push(id),
            _ => groups.push((ceiling, vec![id])),
        }
    }
    groups
        .into_iter()
        .map(|(_, mut group)| {
            group.sort_unstable();
            group
        })
        .collect()
}

/// Mean rates of the rails that were under load long enough.
///
/// Payload of our own load where all of them have it, else what the NICs counted: the two differ by the
/// headers, so they are never compared with each other.
fn rates(
    group: &[RailId],
    timeline: &Timeline,
    limits: &Limits,
    op: LoadOp,
    over: Over,
) -> Vec<(RailId, f64)> {
    let means: Vec<(RailId, UnderLoad)> =
        group.iter().map(|&id| (id, UnderLoad::of(timeline.local(), id, over))).collect();
    let long_enough = |sum: &Sum| held(timeline.session(), limits, sum);
    let ours = means.iter().any(|(_, m)| long_enough(&m.load));
    means
        .iter()
        .filter_map(|(id, means)| {
            let sum = if ours { means.load } else { means.counted_in(op) };
            long_enough(&sum).then_some(())?;
            Some((*id, sum.mean_gb_per_s()?))
        })
        .collect()
}

fn judge(topology: &Topology, rates: &[(RailId, f64)], limits: &Limits, op: LoadOp) -> Option<Finding> {
    let median = median(rates).filter(|_| rates.len() >= 2)?;
    let slow: Vec<&(RailId, f64)> =
        rates.iter().filter(|(_, rate)| *rate < limits.imbalance_share * median).collect();
    let slowest = slow.iter().map(|(_, rate)| *rate).reduce(f64::min)?;
    let name = |id: RailId| topology.rails[id.0].device.as_str();
    let moves = match op {
        LoadOp::Read => "reads",
        LoadOp::Write => "writes",
    };
    let each = list(slow.iter().map(|(id, gb)| format!("{} {moves} {} GB/s", name(*id), rate(*gb))));
    let message = format!(
        "{each}; the median of {} rails that could do as much is {} GB/s, so the slowest is at {:.2} of it \
         (limit {:.2})",
        rates.len(),
        rate(median),
        slowest / median,
        limits.imbalance_share,
    );
    let by_rail: Map<String, Value> =
        rates.iter().map(|(id, gb)| (name(*id).to_owned(), rounded(*gb).into())).collect();
    Some(
        Finding::new("rail-imbalance", Severity::Warning, slow.iter().map(|(id, _)| name(*id)), message)
            .with("slowest_gb_per_s", rounded(slowest))
            .with("median_gb_per_s", rounded(median))
            .with("share_of_median", rounded(slowest / median))
            .with("limit_share_of_median", limits.imbalance_share)
            .with("rates_gb_per_s", by_rail)
            .with("direction", if op == LoadOp::Read { "read" } else { "write" })
            .advise(
                "see what else is found on these rails (legs, PCIe, placement); \
                 then load one alone: `railscope load PEER --rails DEVICE`",
            ),
    )
}

fn median(rates: &[(RailId, f64)]) -> Option<f64> {
    let mut sorted: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = if sorted.len().is_multiple_of(2) {
        f64::midpoint(*sorted.get(middle.checked_sub(1)?)?, sorted[middle])
    } else {
        sorted[middle]
    };
    (median > 0.0).then_some(median)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::Topology;

    fn three() -> Topology {
        two_sockets(["mlx5_0", "mlx5_1", "mlx5_2"].map(rail).into())
    }

    fn findings(rates: &[f64]) -> Vec<Finding> {
        found(&RULE, &three(), &Traffic::loaded(rates))
    }

    #[test]
    fn one_slow_rail_is_named() {
        let found = findings(&[49.0, 49.0, 24.5]);
        assert_eq!(named(&found), ["rail-imbalance mlx5_2"]);
        assert_eq!(
            found[0].message,
            "mlx5_2 reads 24.5 GB/s; the median of 3 rails that could do as much is 49.0 GB/s, so the \
             slowest is at 0.50 of it (limit 0.85)"
        );
        assert_eq!(found[0].evidence["share_of_median"], 0.5);
    }

    #[test]
    fn rails_close_to_each_other_are_fine() {
        assert_eq!(named(&findings(&[49.0, 49.0, 42.0])), Vec::<String>::new());
        assert_eq!(named(&findings(&[0.0, 0.0, 0.0])), Vec::<String>::new());
    }

    #[test]
    fn a_rail_with_another_ceiling_is_not_compared() {
        let mut topology = three();
        topology.rails[2].line_gbit_per_s = Some(200.0);
        assert_eq!(
            named(&found(&RULE, &topology, &Traffic::loaded(&[49.0, 49.0, 24.5]))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn without_a_load_a_low_rate_proves_nothing() {
        let idle = Traffic { load: None, ..Traffic::loaded(&[49.0, 49.0, 0.0]) };
        assert_eq!(named(&found(&RULE, &three(), &idle)), Vec::<String>::new());
    }

    #[test]
    fn two_seconds_are_too_short_to_judge() {
        let short =
            Traffic { rx_gb_per_s: vec![vec![49.0, 49.0, 24.5]; 2], ..Traffic::loaded(&[49.0, 49.0, 24.5]) };
        assert_eq!(named(&found(&RULE, &three(), &short)), Vec::<String>::new());
    }

    #[test]
    fn what_was_slow_more_than_a_minute_ago_is_said_to_be_over() {
        let mut rates = vec![vec![49.0, 49.0, 10.0]; 60];
        rates.extend(vec![vec![49.0, 49.0, 49.0]; 70]);
        let found = found(&RULE, &three(), &Traffic { rx_gb_per_s: rates, ..Traffic::loaded(&[]) });
        assert_eq!(named(&found), ["rail-imbalance mlx5_2"]);
        assert!(found[0].message.ends_with("over the whole session, not in its last minute"), "{found:?}");
    }

    #[test]
    fn an_implausible_rail_does_not_move_the_median() {
        let found = findings(&[49.0, 89.4, 24.5]);
        assert_eq!(named(&found), ["rail-imbalance mlx5_2"]);
        assert_eq!(found[0].evidence["median_gb_per_s"], 36.75);
    }
}
