//! What is told first: the worst, and of what hangs together the cause before its effects.

use super::Finding;

/// What a cause does to a rail: it is slow, or unlike the others.
const EFFECTS: &[&str] = &["half-rate", "rail-imbalance", "slow-unexplained", "unstable"];

/// What makes a rail slow, and so explains the effects on it.
const CAUSES: &[&str] = &[
    "acs",
    "bond-leg-down",
    "bond-leg-imbalance",
    "bond-spans-cards",
    "cpu-bound",
    "cross-numa",
    "ecn-cnp",
    "flap",
    "gpu-link-limit",
    "irq-on-poll-core",
    "lacp-leg-out",
    "link-errors",
    "link-width",
    "memory-bound",
    "mrrs",
    "numa-cpuset",
    "numa-no-memory",
    "pcie-capped-by-slot",
    "pcie-downgraded",
    "pcie-limit",
    "pcie-path-degraded",
    "read-depth",
    "read-window",
    "relaxed-ordering",
    "retransmit",
    "rx-pause",
    "shared-core",
    "shared-pcie",
    "tx-pause",
];

/// What is true of a whole node more often than of one rail, and is the last that one wants to know.
const FACTS: &[&str] = &["active-backup", "gpudirect", "lag-mode", "line-limit", "loopback", "mtu", "prio"];

/// 0 of a cause, 3 of a mere fact.
fn rank(finding: &Finding) -> u8 {
    let is_in = |codes: &[&str]| codes.contains(&&*finding.code);
    match finding {
        _ if is_in(CAUSES) => 0,
        _ if is_in(EFFECTS) => 2,
        _ if is_in(FACTS) => 3,
        _ => 1,
    }
}

/// Sorts: worst first, then causes before effects, then by code and device; and brings causes to their effects.
pub(super) fn sort(found: &mut Vec<Finding>) {
    found.sort_by(|a, b| {
        let order = b.severity.cmp(&a.severity).then_with(|| rank(a).cmp(&rank(b)));
        order.then_with(|| a.code.cmp(&b.code)).then_with(|| a.devices.cmp(&b.devices))
    });
    bring_causes(found);
}

/// Brings what explains an effect, and is less bad by itself, before it: a link that two rails share is no fault, but it is
/// why they are slow. Where something as bad explains the effect already, nothing moves.
pub fn bring_causes(found: &mut Vec<Finding>) {
    let mut at = 0;
    while at < found.len() {
        if rank(&found[at]) == 2 {
            let explains =
                |cause: &Finding, effect: &Finding| rank(cause) == 0 && cause.shares_a_rail_with(effect);
            let is_explained = found[..at].iter().any(|cause| explains(cause, &found[at]));
            let mut from = at + 1;
            while from < found.len() && !is_explained {
                if explains(&found[from], &found[at]) {
                    let cause = found.remove(from);
                    found.insert(at, cause);
                    at += 1;
                }
                from += 1;
            }
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{CAUSES, EFFECTS, FACTS, sort};
    use crate::rules::{Finding, Severity, codes};

    fn sorted(findings: &[(&'static str, Severity, &'static str)]) -> Vec<String> {
        let finding = |(code, severity, device): &(&'static str, Severity, &'static str)| {
            Finding::new(code, *severity, [*device], "")
        };
        let mut found: Vec<Finding> = findings.iter().map(finding).collect();
        sort(&mut found);
        found.into_iter().map(|finding| format!("{} {}", finding.code, finding.devices[0])).collect()
    }

    #[test]
    fn a_cause_stands_before_its_effect_also_where_it_is_no_fault() {
        use Severity::{Error, Info, Warning};
        let found = sorted(&[
            ("rail-imbalance", Warning, "a"),
            ("lag-mode", Info, "a"),
            ("shared-pcie", Info, "a"),
            ("pcie-limit", Info, "b"),
            ("gid-none", Error, "c"),
        ]);
        assert_eq!(found, ["gid-none c", "shared-pcie a", "rail-imbalance a", "pcie-limit b", "lag-mode a"]);
    }

    #[test]
    fn what_is_explained_already_draws_nothing_up() {
        use Severity::{Info, Warning};
        let found = sorted(&[
            ("bond-leg-imbalance", Warning, "a"),
            ("half-rate", Warning, "a"),
            ("pcie-limit", Info, "a"),
        ]);
        assert_eq!(found, ["bond-leg-imbalance a", "half-rate a", "pcie-limit a"]);
    }

    #[test]
    fn of_mere_notes_the_limit_of_one_rail_comes_before_facts_of_all() {
        use Severity::Info;
        let found =
            sorted(&[("lag-mode", Info, "a"), ("line-limit", Info, "a"), ("pcie-capped-by-slot", Info, "b")]);
        assert_eq!(found[0], "pcie-capped-by-slot b");
    }

    #[test]
    fn every_code_here_is_one() {
        let known: Vec<&str> = codes().collect();
        for code in CAUSES.iter().chain(EFFECTS).chain(FACTS) {
            assert!(known.contains(code), "{code}");
        }
    }
}
