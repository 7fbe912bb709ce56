//! `lacp-leg-out`, `active-backup`, `bond-spans-cards`, `lag-mode`: what a bond's set-up makes of its legs.
//!
//! Each is said once a bond, and names every RDMA device on it. Sources: Documentation/networking/bonding.rst;
//! IEEE 802.1AX, 6.4.2.3 (port state); drivers/net/ethernet/mellanox/mlx5/core/lag/ (RoCE LAG).

use super::wording::{list, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Bond, Leg, Rail, Topology};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The rules of this file.
pub(super) const RULE: Rule =
    Rule { codes: &["lacp-leg-out", "active-backup", "bond-spans-cards", "lag-mode"], check };

/// A bond, and the rails that are on it.
struct Bonded {
    bond: Bond,
    rails: Vec<Rail>,
}

impl Bonded {
    fn devices(&self) -> Vec<&str> {
        self.rails.iter().map(|rail| rail.device.as_str()).collect()
    }

    fn names(&self) -> String {
        list(self.devices())
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
        bonds
            .entry(bond.netdev.clone())
            .or_insert_with(|| Bonded { bond, rails: Vec::new() })
            .rails
            .push(rail);
    }
    let bonds: Vec<Bonded> = bonds.into_values().collect();
    bonds
        .iter()
        .flat_map(|bonded| [lacp_leg_out(bonded), active_backup(bonded), spans_cards(topology, bonded)])
        .flatten()
        .chain(lag_modes(&bonds))
        .collect()
}

/// LACP port state bits and what their absence means (IEEE 802.1AX, 6.4.2.3).
const NEEDED: [(u32, &str); 3] = [(8, "in sync"), (16, "collecting"), (32, "distributing")];

/// In 802.3ad, legs with a link that the driver keeps out: another aggregator than the active one, or a port
/// state without in sync (8), collecting (16) and distributing (32).
fn lacp_leg_out(bonded: &Bonded) -> Option<Finding> {
    let bond = &bonded.bond;
    if bond.mode.as_deref() != Some("802.3ad") {
        return None;
    }
    let out: Vec<&Leg> =
        bond.legs.iter().filter(|leg| leg.active == Some(false) && leg.link_up != Some(false)).collect();
    let first = out.first()?;
    let inside = bond.legs.iter().filter(|leg| leg.active == Some(true)).count();
    let each = list(out.iter().map(|leg| format!("{}{}", leg.netdev, why_out(leg, bond))));
    let message = format!(
        "{}: LACP lets {inside} of {} legs of {} carry traffic; the others have a link and carry nothing: {each}",
        bonded.names(),
        bond.legs.len(),
        bond.netdev,
    );
    let states: Map<String, Value> = bond
        .legs
        .iter()
        .map(|leg| {
            let state = json!({
                "aggregator_id": leg.aggregator_id,
                "actor_port_state": leg.actor_port_state,
                "partner_port_state": leg.partner_port_state,
            });
            (leg.netdev.clone(), state)
        })
        .collect();
    Some(
        Finding::new("lacp-leg-out", Severity::Warning, bonded.devices(), message)
            .with("bond", bond.netdev.clone())
            .with("legs_out", out.iter().map(|leg| leg.netdev.clone()).collect::<Vec<_>>())
            .with("legs_in", inside)
            .with("active_aggregator_id", bond.active_aggregator_id)
            .with("legs", states)
            .advise(format!(
                "put the switch ports of all legs into one LACP port-channel, with the same LACP rate at both \
                 ends; look with `cat /proc/net/bonding/{}`, and at {} on the switch",
                bond.netdev, first.netdev
            )),
    )
}

/// ` (aggregator 1, the active one is 2; LACP state 7: not in sync, collecting or distributing)`.
fn why_out(leg: &Leg, bond: &Bond) -> String {
    let mut why = Vec::new();
    if let (Some(own), Some(active)) = (leg.aggregator_id, bond.active_aggregator_id)
        && own != active
    {
        why.push(format!("aggregator {own}, the active one is {active}"));
    }
    for (whose, state) in [("LACP state", leg.actor_port_state), ("the switch's", leg.partner_port_state)] {
        let Some(state) = state else { continue };
        let missing: Vec<&str> =
            NEEDED.iter().filter(|(bit, _)| state & bit == 0).map(|(_, name)| *name).collect();
        if let Some((last, others)) = missing.split_last() {
            let words = if others.is_empty() {
                (*last).to_owned()
            } else {
                format!("{} or {last}", others.join(", "))
            };
            why.push(format!("{whose} {state}: not {words}"));
        }
    }
    if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) }
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
        Finding::new("active-backup", Severity::Info, bonded.devices(), message)
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
        Finding::new("bond-spans-cards", Severity::Warning, bonded.devices(), message)
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

/// How mlx5 chooses the leg that a queue pair sends on; one finding for all bonds that do it alike.
fn lag_modes(bonds: &[Bonded]) -> Vec<Finding> {
    let mut modes: BTreeMap<&str, Vec<&Bonded>> = BTreeMap::new();
    for bonded in bonds {
        let carrying = bonded.bond.legs.iter().filter(|leg| leg.active == Some(true)).count();
        if let Some(mode) =
            bonded.bond.lag_port_select.as_deref().filter(|_| carrying >= 2 && bonded.carries_rdma())
        {
            modes.entry(mode).or_default().push(bonded);
        }
    }
    modes.into_iter().filter_map(|(mode, bonds)| lag_mode(mode, &bonds)).collect()
}

fn lag_mode(mode: &str, bonds: &[&Bonded]) -> Option<Finding> {
    let leg = bonds.iter().filter_map(|bonded| bonded.leg_gb_per_s()).reduce(f64::max);
    let most = leg.map_or(String::new(), |gb| format!(", {gb:.1} GB/s raw"));
    let (how, advice) = match mode {
        "queue_affinity" => (
            "each queue pair is given a leg when it is made, in turn",
            "use a multiple of the legs in queue pairs, and load them alike; a program can set the leg itself \
             (mlx5dv_modify_qp_lag_port)",
        ),
        "hash" => (
            "the card hashes each packet's addresses and UDP source port to a leg",
            "use at least 4 queue pairs a leg, with different UDP source ports (flow labels)",
        ),
        _ => return None,
    };
    let devices: Vec<&str> = bonds.iter().flat_map(|bonded| bonded.devices()).collect();
    let message = format!(
        "{}: LAG mode {mode}: {how}; what one queue pair sends stays on one leg{most}",
        list(devices.iter().copied()),
    );
    let netdevs: Vec<&str> = bonds.iter().map(|bonded| bonded.bond.netdev.as_str()).collect();
    Some(
        Finding::new("lag-mode", Severity::Info, devices, message)
            .with("bonds", netdevs)
            .with("lag_port_select", mode)
            .with("leg_gb_per_s", leg.map(rounded))
            .advise(advice),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, bonded, found, named, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::{Bond, Rail};

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    fn with(change: impl FnOnce(&mut Bond)) -> Rail {
        let mut rail = bonded("mlx5_bond_1");
        change(rail.bond.as_mut().unwrap());
        rail
    }

    #[test]
    fn a_leg_in_another_aggregator_is_named_with_its_state() {
        let found = findings(vec![with(|bond| {
            bond.active_aggregator_id = Some(2);
            (bond.legs[0].aggregator_id, bond.legs[0].actor_port_state) = (Some(1), Some(7));
            (bond.legs[1].aggregator_id, bond.legs[1].actor_port_state) = (Some(2), Some(63));
            bond.legs[0].active = Some(false);
        })]);
        assert_eq!(named(&found), ["lacp-leg-out mlx5_bond_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_bond_1: LACP lets 1 of 2 legs of bond1 carry traffic; the others have a link and carry nothing: \
             eth0 (aggregator 1, the active one is 2; LACP state 7: not in sync, collecting or \
             distributing)"
        );
        assert_eq!(found[0].evidence["legs"]["eth0"]["actor_port_state"], 7);
    }

    #[test]
    fn legs_that_carry_and_legs_without_a_link_are_not_out() {
        let healthy = with(|bond| bond.legs[0].actor_port_state = Some(61));
        let down = with(|bond| (bond.legs[0].active, bond.legs[0].link_up) = (Some(false), Some(false)));
        let other = with(|bond| {
            bond.mode = Some("balance-xor".into());
            bond.legs[0].active = Some(false);
        });
        for rail in [healthy, down, other] {
            assert_eq!(named(&findings(vec![rail])), Vec::<String>::new());
        }
    }

    #[test]
    fn one_leg_of_active_backup_waits_by_design() {
        let backup = |rdma: Option<bool>| {
            with(|bond| {
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
            let mut rail = with(|bond| {
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
        let mut first = with(|bond| {
            bond.legs[0].pci_address = Some("0000:41:00.0".into());
            bond.legs[1].pci_address = Some("0000:81:00.0".into());
        });
        first.system_image_guid = Some("aaaa:0000:0000:0001".into());
        let mut second = Rail { device: "mlx5_1".into(), ..first.clone() };
        second.pcie.as_mut().unwrap().address = "0000:81:00.0".into();
        assert_eq!(named(&findings(vec![first, second])), Vec::<String>::new());
    }

    #[test]
    fn the_lag_mode_is_told_where_several_legs_carry() {
        let mode = |mode: &str| with(|bond| bond.lag_port_select = Some(mode.into()));
        let found = findings(vec![mode("queue_affinity")]);
        assert_eq!(named(&found), ["lag-mode mlx5_bond_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_bond_1: LAG mode queue_affinity: each queue pair is given a leg when it is made, in turn; what \
             one queue pair sends stays on one leg, 25.0 GB/s raw"
        );
        assert_eq!(named(&findings(vec![mode("hash")])), ["lag-mode mlx5_bond_1"]);
        assert_eq!(named(&findings(vec![mode("something_new")])), Vec::<String>::new());
        let mut single = mode("hash");
        single.bond.as_mut().unwrap().legs[1].active = Some(false);
        single.bond.as_mut().unwrap().mode = Some("balance-xor".into());
        assert_eq!(named(&findings(vec![single])), Vec::<String>::new());
    }
}
