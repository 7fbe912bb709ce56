//! `shared-port`: two functions of a card in two slots show one and the same physical port (Socket Direct,
//! multi-host cards, cards with an auxiliary connection), so their rates share one wire.
//!
//! Functions with one image GUID and one function number in different slots are twins; in one slot other
//! function numbers are other ports. Virtual functions share their card's port by design and are not named.
//! Source: NVIDIA, "Socket Direct" adapters' user manual; `sys_image_guid` of
//! Documentation/ABI/stable/sysfs-class-infiniband.

use super::wording::{list, ports};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings::{self, Ceilings};
use crate::timeline::Timeline;
use probes::model::{Rail, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Payload of PCIe and of the wire are both known to about this.
const MARGIN: f64 = 0.98;

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
        .advise(advice(rails))
}

/// A function whose own PCIe link carries less than the wire needs the others to fill it.
fn advice(rails: &[&Rail]) -> String {
    let below = |rail: &&Rail| {
        let ceilings = Ceilings::of(rail);
        let carries = ceilings.pcie?;
        (carries < ceilings.line.or(ceilings.line_raw)? * MARGIN).then_some(carries)
    };
    let nodes: BTreeSet<Option<u32>> = rails.iter().map(|rail| rail.numa_node).collect();
    let each_its_own = nodes.len() > 1 && !nodes.contains(&None);
    let least = rails.iter().filter_map(below).reduce(f64::min);
    match (least, each_its_own) {
        (Some(carries), true) => format!(
            "count the port once; one function carries {carries:.1} GB/s at most, so the port is filled by all of them \
             together: let each CPU socket use the function of its own node"
        ),
        (Some(carries), false) => format!(
            "count the port once; one function carries {carries:.1} GB/s at most, so the port is filled by all of them \
             together: use them all"
        ),
        (None, true) => {
            "count the port once; let each CPU socket use the function of its own node, which spares the \
                         link between the sockets and adds no bandwidth on the wire"
                .to_owned()
        }
        (None, false) => "count the port once; one function is enough to fill it".to_owned(),
    }
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
    fn both_functions_are_asked_for_where_one_cannot_fill_the_port() {
        let advice = |rails: [Rail; 2]| findings(rails.into())[0].advice.clone();
        let near = || [at("mlx5_0", "0000:1a:00.0", "a"), at("mlx5_1", "0002:1a:00.0", "a")];
        assert_eq!(advice(near()), "count the port once; one function is enough to fill it");
        let mut apart = near();
        apart[1].numa_node = Some(1);
        assert!(advice(apart).contains("adds no bandwidth"));
        let narrow = near().map(|mut rail| {
            let path = rail.pcie.as_mut().unwrap();
            (path.hops[0].current_width, path.hops[0].raw_gb_per_s) = (Some(4), Some(15.753_846));
            rail
        });
        let said = advice(narrow);
        assert!(said.contains("GB/s at most") && said.ends_with("together: use them all"), "{said}");
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
