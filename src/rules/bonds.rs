//! `lacp-leg-out`, `active-backup`, `bond-spans-cards`, `lag-mode`: what a bond's set-up makes of its legs.
//!
//! Each is said once a bond, and names every RDMA device on it. Sources: Documentation/networking/bonding.rst;
//! IEEE 802.1AX, 6.4.2.3 (port state); drivers/net/ethernet/mellanox/mlx5/core/lag/ (RoCE LAG).

mod lacp;
mod lag_mode;

use super::means::newest_load;
use super::wording::{called, list, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Bond, Leg, Rail, Topology};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The rules of this file.
pub(super) const RULE: Rule =
    Rule { codes: &["lacp-leg-out", "active-backup", "bond-spans-cards", "lag-mode"], check };

/// A bond, and the rails that are on it.
struct Bonded {
    bond: Bond,
    rails: Vec<Rail>,
    /// What sentences call them.
    called: Vec<String>,
}

impl Bonded {
    fn names(&self) -> String {
        list(self.called.iter())
    }

    /// Whether the RDMA traffic of its rails goes over the bond, and not over each rail's own port.
    fn carries_rdma(&self) -> bool {
        self.rails.len() == 1 && self.bond.carries_rdma != Some(false)
    }

    /// Raw rate of the fastest leg that may carry, GB/s.
    fn leg_gb_per_s(&self) -> Option<f64> {
        let carrying = self.bond.legs.iter().filter(|leg| leg.active == Some(true));
        carrying.filter_map(|leg| leg.speed_gbit_per_s).reduce(f64::max).map(|gbit| gbit / 8.0)
    }
}

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let mut bonds: BTreeMap<String, Bonded> = BTreeMap::new();
    for (id, rail) in topology.rails_with_id().filter(|(_, rail)| rail.bond.is_some()) {
        let rail = timeline.local().last_seen(id, rail);
        let Some(bond) = rail.bond.clone() else { continue };
        let bonded = bonds.entry(bond.netdev.clone());
        let bonded = bonded.or_insert_with(|| Bonded { bond, rails: Vec::new(), called: Vec::new() });
        bonded.called.push(called(&rail, &topology.rails));
        bonded.rails.push(rail);
    }
    let bonds: Vec<Bonded> = bonds.into_values().collect();
    bonds
        .iter()
        .flat_map(|bonded| [lacp::leg_out(bonded), active_backup(bonded), spans_cards(topology, bonded)])
        .flatten()
        .chain(lag_mode::of_all(&bonds, newest_load(timeline)))
        .collect()
}

/// In active-backup one leg carries and the others wait, so the ceiling is one leg.
fn active_backup(bonded: &Bonded) -> Option<Finding> {
    let bond = &bonded.bond;
    if bond.mode.as_deref() != Some("active-backup") || !bonded.carries_rdma() {
        return None;
    }
    let names = |active: bool| -> Vec<&str> {
        let with_link = bond.legs.iter().filter(|leg| leg.link_up != Some(false));
        with_link.filter(|leg| leg.active == Some(active)).map(|leg| leg.netdev.as_str()).collect()
    };
    let (carries, waits) = (names(true), names(false));
    let active = *carries.first()?;
    if waits.is_empty() {
        return None;
    }
    let ceiling = bonded.leg_gb_per_s();
    let most = ceiling.map_or(String::new(), |gb| format!(", {gb:.1} GB/s raw"));
    let message = format!(
        "{}: {} is active-backup: {active} carries everything, {} {} by design; the ceiling is one leg{most}",
        bonded.names(),
        bond.netdev,
        list(waits.iter().copied()),
        verb(waits.len(), "waits", "wait"),
    );
    Some(
        Finding::on_ports("active-backup", Severity::Info, &bonded.rails, message)
            .with("bond", bond.netdev.clone())
            .with("mode", "active-backup")
            .with("active_leg", active)
            .with("waiting_legs", waits)
            .with("ceiling_gb_per_s", ceiling.map(rounded))
            .advise(
                "nothing is wrong; for the rate of all legs use mode 802.3ad with an LACP port-channel on the \
                 switch (`mode 4`, `xmit_hash_policy layer3+4`)",
            ),
    )
}

/// RoCE LAG joins the ports of one card. Over two cards each RDMA device keeps to its own port, and RDMA
/// connections do not move when that port fails.
fn spans_cards(topology: &Topology, bonded: &Bonded) -> Option<Finding> {
    let hardware =
        bonded.rails.iter().any(|rail| !matches!(rail.driver.as_deref(), Some("rdma_rxe" | "siw")));
    if !hardware {
        return None;
    }
    let placed: Vec<(&Leg, &str)> =
        bonded.bond.legs.iter().filter_map(|leg| Some((leg, leg.pci_address.as_deref()?))).collect();
    let cards: BTreeSet<&str> = placed.iter().map(|(_, address)| card_of(topology, address)).collect();
    if cards.len() < 2 {
        return None;
    }
    let message = format!(
        "{}: {} joins legs on {} cards ({}), and RoCE LAG needs one card: RDMA uses each device's own port, \
         and does not fail over",
        bonded.names(),
        bonded.bond.netdev,
        cards.len(),
        list(placed.iter().map(|(leg, address)| format!("{} at {address}", leg.netdev))),
    );
    let legs: Map<String, Value> =
        placed.iter().map(|(leg, address)| (leg.netdev.clone(), (*address).into())).collect();
    Some(
        Finding::on_ports("bond-spans-cards", Severity::Warning, &bonded.rails, message)
            .with("bond", bonded.bond.netdev.clone())
            .with("cards", cards.len())
            .with("legs", legs)
            .advise(
                "bond the two ports of one card, or give each port an address of its own and use them as two \
                 rails",
            ),
    )
}

/// What tells one card from another: its image GUID where a rail is known there (a card may sit in two slots),
/// else its slot.
fn card_of<'a>(topology: &'a Topology, address: &'a str) -> &'a str {
    let there = |rail: &&Rail| rail.pcie.as_ref().is_some_and(|path| slot(&path.address) == slot(address));
    let guid = topology.rails.iter().find(there).and_then(|rail| rail.system_image_guid.as_deref());
    guid.unwrap_or_else(|| slot(address))
}

fn slot(address: &str) -> &str {
    address.rsplit_once('.').map_or(address, |(slot, _)| slot)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, bond_with, found, named, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::Rail;

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn one_leg_of_active_backup_waits_by_design() {
        let backup = |rdma: Option<bool>| {
            bond_with(|bond| {
                bond.mode = Some("active-backup".into());
                bond.legs[1].active = Some(false);
                bond.carries_rdma = rdma;
            })
        };
        let found = findings(vec![backup(None)]);
        assert_eq!(named(&found), ["active-backup mlx5_bond_1"]);
        assert_eq!(found[0].severity, Severity::Info);
        assert_eq!(
            found[0].message,
            "mlx5_bond_1: bond1 is active-backup: eth0 carries everything, eth1 waits by design; the ceiling is \
             one leg, 25.0 GB/s raw"
        );
        // devices that do not use the bond have no ceiling from it
        assert_eq!(named(&findings(vec![backup(Some(false))])), Vec::<String>::new());
    }

    #[test]
    fn legs_on_two_cards_make_no_lag() {
        let on = |device: &str, second: &str| {
            let mut rail = bond_with(|bond| {
                bond.legs[0].pci_address = Some("0000:41:00.0".into());
                bond.legs[1].pci_address = Some(second.into());
            });
            rail.device = device.into();
            rail
        };
        let found = findings(vec![on("mlx5_0", "0000:81:00.0"), on("mlx5_1", "0000:81:00.0")]);
        assert_eq!(named(&found), ["bond-spans-cards mlx5_0,mlx5_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_0 and mlx5_1: bond1 joins legs on 2 cards (eth0 at 0000:41:00.0 and eth1 at 0000:81:00.0), and \
             RoCE LAG needs one card: RDMA uses each device's own port, and does not fail over"
        );
        assert_eq!(named(&findings(vec![on("mlx5_bond_0", "0000:41:00.1")])), Vec::<String>::new());
        let soft = Rail { driver: Some("rdma_rxe".into()), ..on("rxe0", "0000:81:00.0") };
        assert_eq!(named(&findings(vec![soft])), Vec::<String>::new());
    }

    #[test]
    fn one_card_in_two_slots_is_one_card() {
        let mut first = bond_with(|bond| {
            bond.legs[0].pci_address = Some("0000:41:00.0".into());
            bond.legs[1].pci_address = Some("0000:81:00.0".into());
        });
        first.system_image_guid = Some("aaaa:0000:0000:0001".into());
        let mut second = Rail { device: "mlx5_1".into(), ..first.clone() };
        second.pcie.as_mut().unwrap().address = "0000:81:00.0".into();
        assert_eq!(named(&findings(vec![first, second])), Vec::<String>::new());
    }
}
