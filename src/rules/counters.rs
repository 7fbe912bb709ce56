//! `counter-reset`: a byte counter went backwards, and is no wrap.

use super::wording::verb;
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::Topology;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["counter-reset"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    topology
        .rails
        .iter()
        .zip(&timeline.local().sums().rails)
        .filter(|(_, sums)| sums.resets > 0)
        .map(|(rail, sums)| {
            Finding::new(
                "counter-reset",
                Severity::Info,
                [&rail.device],
                format!(
                    "{}: a byte counter went backwards {} {}; these intervals are left out of the means",
                    rail.device,
                    sums.resets,
                    verb(usize::try_from(sums.resets).unwrap_or(usize::MAX), "time", "times"),
                ),
            )
            .with("resets", sums.resets)
            .advise(
                "harmless once (driver reload, firmware reset); find out who clears counters if it goes on",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;

    #[test]
    fn a_counter_that_goes_backwards_is_said() {
        let rates = vec![vec![0.1, 0.1], vec![-0.2, 0.1], vec![0.1, 0.1]];
        let traffic = Traffic { rx_gb_per_s: rates, ..Traffic::default() };
        let found = found(&RULE, &two_sockets(vec![rail("mlx5_0"), rail("mlx5_1")]), &traffic);
        assert_eq!(named(&found), ["counter-reset mlx5_0"]);
        assert_eq!(found[0].evidence["resets"], 1);
    }
}
