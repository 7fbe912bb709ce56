//! `shared-port`: two functions of a card in two slots show one and the same physical port (Socket Direct,
//! multi-host cards, cards with an auxiliary connection), so their rates share one wire.
//!
//! Functions with one image GUID and one function number in different slots are twins; in one slot other
//! function numbers are other ports. Virtual functions share their card's port by design and are not named.
//! Source: NVIDIA, "Socket Direct" adapters' user manual; `sys_image_guid` of
//! Documentation/ABI/stable/sysfs-class-infiniband.

use super::wording::{list, ports};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::Timeline;
use probes::model::{Rail, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["shared-port"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let mut seen: BTreeMap<(&str, &str, u32), Vec<&Rail>> = BTreeMap::new();
    for (id, rail) in topology.rails_with_id() {
        let up = timeline.local().last_state(id, rail) == Some("ACTIVE");
        let Some((_, function)) = place(rail).filter(|_| up && rail.is_vf != Some(true)) else { continue };
        if let Some(card) = rail.system_image_guid.as_deref() {
            seen.entry((card, function, rail.port)).or_default().push(rail);
        }
    }
    seen.into_iter()
        .filter(|(_, rails)| {
            rails.iter().filter_map(|rail| place(rail)).map(|(slot, _)| slot).collect::<BTreeSet<_>>().len()
                > 1
        })
        .map(|((card, _, _), rails)| finding(card, &rails, &topology.rails))
        .collect()
}

/// Slot and function number: `0000:41:00` and `1` of `0000:41:00.1`.
fn place(rail: &Rail) -> Option<(&str, &str)> {
    rail.pcie.as_ref()?.address.rsplit_once('.')
}

fn finding(card: &str, rails: &[&Rail], all: &[Rail]) -> Finding {
    let addresses: Vec<&str> =
        rails.iter().filter_map(|rail| rail.pcie.as_ref()).map(|path| path.address.as_str()).collect();
    let line = rails.iter().filter_map(|rail| ceilings::line_raw_gb_per_s(rail)).reduce(f64::max);
    let most = line.map_or(String::new(), |gb| format!(", {gb:.1} GB/s raw together and not each"));
    let message = format!(
        "{} are one physical port seen through {} functions ({}){most}",
        ports(rails.iter().copied(), all),
        rails.len(),
        list(addresses.iter().copied()),
    );
    Finding::on_ports("shared-port", Severity::Info, rails.iter().copied(), message)
        .with("system_image_guid", card)
        .with("functions", addresses)
        .with("line_raw_gb_per_s", line)
        .advise(
            "count the port once; let each CPU socket use the function of its own node, which spares the link \
             between the sockets and adds no bandwidth on the wire",
        )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::Rail;

    fn at(device: &str, address: &str, card: &str) -> Rail {
        let mut rail = rail(device);
        rail.pcie.as_mut().unwrap().address = address.into();
        Rail { system_image_guid: Some(card.into()), is_vf: Some(false), ..rail }
    }

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn twins_are_named_pair_by_pair() {
        let found = findings(vec![
            at("mlx5_0", "0000:1a:00.0", "a"),
            at("mlx5_1", "0000:3a:00.0", "a"),
            at("mlx5_2", "0000:5a:00.0", "b"),
            at("mlx5_3", "0000:7a:00.0", "b"),
        ]);
        assert_eq!(named(&found), ["shared-port mlx5_0,mlx5_1", "shared-port mlx5_2,mlx5_3"]);
        assert_eq!(found[0].severity, Severity::Info);
        assert_eq!(
            found[0].message,
            "mlx5_0 and mlx5_1 are one physical port seen through 2 functions (0000:1a:00.0 and 0000:3a:00.0), 50.0 \
             GB/s raw together and not each"
        );
    }

    #[test]
    fn two_ports_of_a_card_other_cards_virtual_functions_and_ports_that_are_down_share_nothing() {
        let first = at("mlx5_0", "0000:1a:00.0", "a");
        for second in [
            at("mlx5_1", "0000:1a:00.1", "a"),
            at("mlx5_1", "0000:3a:00.1", "a"),
            at("mlx5_1", "0000:3a:00.0", "b"),
            Rail { is_vf: Some(true), ..at("mlx5_1", "0000:3a:00.0", "a") },
            Rail { state: Some("DOWN".into()), ..at("mlx5_1", "0000:3a:00.0", "a") },
            Rail { port: 2, ..at("mlx4_0", "0000:1a:00.0", "a") },
            Rail { system_image_guid: None, ..at("mlx5_1", "0000:3a:00.0", "a") },
        ] {
            assert_eq!(named(&findings(vec![first.clone(), second])), Vec::<String>::new());
        }
    }
}
