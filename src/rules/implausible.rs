//! `implausible`: more than the PCIe path can carry at all, so a measurement error.

use super::means::held;
use super::wording::{called, rate, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::{IMPLAUSIBLE_ABOVE, Sum, Timeline};
use probes::model::Topology;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["implausible"], check };

/// Shorter than this together, implausible intervals are no news: half a second.
const LEAST_NS: f64 = 0.5e9;

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let sums = &timeline.local().sums().rails;
    topology
        .rails
        .iter()
        .zip(sums)
        .filter_map(|(rail, sums)| {
            let worst = faster(sums.implausible_rx, sums.implausible_tx);
            let gb = worst.mean_gb_per_s()?;
            // what is left out of a mean is told, but for blips of a sample's length, which clocks make by themselves
            let told = sums.only_implausible() || worst.ns >= LEAST_NS || held(timeline.session(), limits, &worst);
            let raw = ceilings::path_raw_gb_per_s(rail.pcie.as_ref()?).filter(|_| told)?;
            let intervals = sums.implausible_rx.count.max(sums.implausible_tx.count);
            let first_s = sums.implausible_at_s;
            let over = match (intervals, first_s) {
                (1, Some(at_s)) => format!("in one interval (up to {at_s:.1} s)"),
                (1, None) => "in one interval".to_owned(),
                (several, Some(at_s)) => format!("in {several} intervals (the first up to {at_s:.1} s)"),
                (several, None) => format!("in {several} intervals"),
            };
            let left_out = if sums.only_implausible() { "means and totals" } else { "the rail's mean" };
            Some(
                Finding::on_ports(
                    "implausible",
                    Severity::Warning,
                    [rail],
                    format!(
                        "{}: {} GB/s {over}, more than {:.2} times the {raw:.1} GB/s its PCIe path carries: a \
                         measurement error, left out of {left_out}",
                        called(rail, &topology.rails),
                        rate(gb),
                        IMPLAUSIBLE_ABOVE,
                    ),
                )
                .with("first_at_s", first_s)
                .with("rate_gb_per_s", rounded(gb))
                .with("pcie_raw_gb_per_s", rounded(raw))
                .with("limit_share", IMPLAUSIBLE_ABOVE)
                .with("intervals", intervals)
                .advise(
                    "do not quote this rate; measure again with a longer --every, and compare with \
                     `ethtool -S` of the netdev",
                ),
            )
        })
        .collect()
}

fn faster(a: Sum, b: Sum) -> Sum {
    if b.mean_gb_per_s() > a.mean_gb_per_s() { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, found_in, named, rail, session, two_sockets};
    use super::RULE;
    use crate::timeline::Timeline;
    use probes::model::{Frame, RailFrame};
    use std::sync::Arc;

    #[test]
    fn more_than_the_slot_carries_is_a_measurement_error() {
        let topology = two_sockets(vec![rail("mlx5_0"), rail("mlx5_1")]);
        let found = found(&RULE, &topology, &Traffic::loaded(&[89.4, 49.0]));
        assert_eq!(named(&found), ["implausible mlx5_0"]);
        assert_eq!(found[0].evidence["rate_gb_per_s"], 89.4);
        assert_eq!(found[0].evidence["pcie_raw_gb_per_s"], 63.015);
    }

    #[test]
    fn one_bad_interval_among_good_ones_is_told_with_its_time() {
        let mut traffic = Traffic::loaded(&[49.0]);
        traffic.rx_gb_per_s[1] = vec![89.4];
        let found = found(&RULE, &two_sockets(vec![rail("mlx5_0")]), &traffic);
        assert_eq!(named(&found), ["implausible mlx5_0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0: 89.4 GB/s in one interval (up to 2.0 s), more than 1.02 times the 63.0 GB/s its PCIe path carries: \
             a measurement error, left out of the rail's mean"
        );
    }

    #[test]
    fn a_blip_of_one_short_sample_is_no_news() {
        let topology = two_sockets(vec![rail("mlx5_0")]);
        let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
        let mut bytes = 0;
        for seq in 0..=40_u64 {
            bytes += if seq == 20 { 8_940_000_000 } else { 4_900_000_000 };
            let read = RailFrame { rx_bytes: Some(bytes), tx_bytes: Some(0), ..RailFrame::default() };
            timeline.push(Frame { seq, at_ns: seq * 100_000_000, rails: vec![read], ..Frame::default() });
        }
        assert_eq!(named(&found_in(&RULE, &topology, &timeline)), Vec::<String>::new());
    }

    #[test]
    fn without_a_known_pcie_path_nothing_is_implausible() {
        let mut rail = rail("rxe0");
        rail.pcie = None;
        assert_eq!(
            named(&found(&RULE, &two_sockets(vec![rail]), &Traffic::loaded(&[89.4]))),
            Vec::<String>::new()
        );
    }
}
