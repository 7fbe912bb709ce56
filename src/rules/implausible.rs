//! `implausible`: more than the PCIe path can carry at all, so a measurement error.

use super::means::held;
use super::wording::{rate, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::{IMPLAUSIBLE_ABOVE, Sum, Timeline};
use probes::model::Topology;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["implausible"], check };

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let sums = &timeline.local().sums().rails;
    topology
        .rails
        .iter()
        .zip(sums)
        .filter_map(|(rail, sums)| {
            let worst = faster(sums.implausible_rx, sums.implausible_tx);
            let gb = worst.mean_gb_per_s()?;
            // a single bad interval among good ones is left out of the mean and of no further interest
            (sums.only_implausible() || held(timeline.session(), limits, &worst)).then_some(())?;
            let raw = ceilings::path_raw_gb_per_s(rail.pcie.as_ref()?)?;
            let intervals = sums.implausible_rx.count.max(sums.implausible_tx.count);
            Some(
                Finding::new(
                    "implausible",
                    Severity::Warning,
                    [&rail.device],
                    format!(
                        "{}: {} GB/s in {intervals} intervals, more than {:.2} times the {raw:.1} GB/s its \
                         PCIe path carries: a measurement error, left out of means and totals",
                        rail.device,
                        rate(gb),
                        IMPLAUSIBLE_ABOVE,
                    ),
                )
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
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;

    #[test]
    fn more_than_the_slot_carries_is_a_measurement_error() {
        let topology = two_sockets(vec![rail("mlx5_0"), rail("mlx5_1")]);
        let found = found(&RULE, &topology, &Traffic::loaded(&[89.4, 49.0]));
        assert_eq!(named(&found), ["implausible mlx5_0"]);
        assert_eq!(found[0].evidence["rate_gb_per_s"], 89.4);
        assert_eq!(found[0].evidence["pcie_raw_gb_per_s"], 63.015);
    }

    #[test]
    fn one_bad_interval_among_good_ones_is_only_left_out() {
        let mut traffic = Traffic::loaded(&[49.0]);
        traffic.rx_gb_per_s[1] = vec![89.4];
        assert_eq!(named(&found(&RULE, &two_sockets(vec![rail("mlx5_0")]), &traffic)), Vec::<String>::new());
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
