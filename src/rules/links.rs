//! `link-down`: a port that is enabled and cabled, and still not ACTIVE.

use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::Topology;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["link-down"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let local = timeline.local();
    let mut found = Vec::new();
    for (id, rail) in topology.rails_with_id() {
        let rail = local.last_seen(id, rail);
        let (Some(state), Some(phys_state)) = (rail.state, rail.phys_state) else { continue };
        // Disabled was switched off by somebody, Sleep has no cable to train on
        if state == "ACTIVE" || !matches!(phys_state.as_str(), "Polling" | "Training") {
            continue;
        }
        let netdev = rail.netdev.as_deref();
        let look = netdev.map_or(String::new(), |netdev| format!("; look with `ethtool {netdev}`"));
        found.push(
            Finding::new(
                "link-down",
                Severity::Warning,
                [&rail.device],
                format!(
                    "{} port {} is {state} and {phys_state}: it is enabled and finds no link",
                    rail.device, rail.port
                ),
            )
            .with("state", state.clone())
            .with("phys_state", phys_state)
            .advise(format!(
                "check cable, transceiver and the switch port, or disable the port if unused{look}"
            )),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use probes::model::Rail;

    #[test]
    fn an_enabled_port_without_link_is_named_and_a_disabled_one_is_not() {
        let down = |device: &str, phys_state: &str| Rail {
            state: Some("DOWN".into()),
            phys_state: Some(phys_state.into()),
            ..rail(device)
        };
        let rails = vec![rail("mlx5_0"), down("mlx5_1", "Polling"), down("mlx5_2", "Disabled")];
        let found = found(&RULE, &two_sockets(rails), &Traffic::default());
        assert_eq!(named(&found), ["link-down mlx5_1"]);
    }
}
