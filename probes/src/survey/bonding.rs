//! One bond: its mode, its legs, and which of them may carry traffic now.

use super::bonding_text::{BondingText, LegText};
use super::pci::Function;
use crate::model::{Bond, Leg};
use crate::root::Root;

/// LACP port state bits (IEEE 802.1AX): collecting and distributing.
const COLLECTING_DISTRIBUTING: u32 = 16 | 32;

/// LACP port state bit: what is known of the switch is made up, since nothing came from it (IEEE 802.1AX, 6.4.2.3).
const DEFAULTED: u32 = 64;

/// LACP port state bit: the leg is in the aggregator it belongs to.
const IN_SYNC: u32 = 8;

/// The bond behind a netdev; `None` when that netdev is no bond.
///
/// Cheap enough for every second: a handful of small files a leg, none of which asks the hardware.
/// Sources: Documentation/networking/bonding.rst; Documentation/ABI/testing/sysfs-class-net-bonding-slave.
#[must_use]
pub fn read(root: &Root, netdev: &str) -> Option<Bond> {
    let folder = format!("sys/class/net/{netdev}/bonding");
    let text = root.text(format!("proc/net/bonding/{netdev}")).ok().map(|text| BondingText::parse(&text));
    if text.is_none() && !root.exists(&folder) {
        return None;
    }
    let text = text.unwrap_or_default();
    // sysfs writes name and number: `802.3ad 4`
    let name = |file: &str| {
        let text = root.text(format!("{folder}/{file}")).ok()?;
        text.split_whitespace().next().map(str::to_owned)
    };
    let mode = name("mode").or_else(|| text.mode.clone());
    let driver = DriverView {
        mode: mode.clone().unwrap_or_default(),
        active_leg: name("active_slave").or_else(|| text.active_leg.clone()),
        active_aggregator: name("ad_aggregator").and_then(|id| id.parse().ok()).or(text.active_aggregator),
    };
    let listed = root.text(format!("{folder}/slaves")).ok();
    let names: Vec<String> = match &listed {
        Some(list) => list.split_whitespace().map(str::to_owned).collect(),
        None => text.legs.iter().map(|leg| leg.netdev.clone()).collect(),
    };
    let legs = names
        .iter()
        .map(|leg| {
            let known = text.legs.iter().find(|of_text| of_text.netdev == *leg);
            driver.leg(root, leg, known.unwrap_or(&LegText::default()))
        })
        .collect();
    Some(Bond {
        netdev: netdev.to_owned(),
        mode,
        xmit_hash_policy: name("xmit_hash_policy").or_else(|| text.xmit_hash_policy.clone()),
        lag_port_select: None,
        lag: None,
        active_aggregator_id: driver.active_aggregator,
        carries_rdma: None,
        legs,
    })
}

/// What the bonding driver says about the bond as a whole.
struct DriverView {
    mode: String,
    active_leg: Option<String>,
    active_aggregator: Option<u32>,
}

impl DriverView {
    fn leg(&self, root: &Root, netdev: &str, text: &LegText) -> Leg {
        let folder = format!("sys/class/net/{netdev}");
        let file = |name: &str| root.text(format!("{folder}/bonding_slave/{name}")).ok();
        let number = |name: &str| file(name).and_then(|text| text.parse().ok());
        let link_up = file("mii_status")
            .as_deref()
            .and_then(mii_up)
            .or(text.link_up)
            .or_else(|| netdev_up(root, &folder));
        let mut leg = Leg {
            netdev: netdev.to_owned(),
            pci_address: Function::of_netdev(root, netdev).map(|function| function.address),
            speed_gbit_per_s: speed_gbit_per_s(root, netdev).or(text.speed_gbit_per_s),
            link_up,
            active: None,
            aggregator_id: number("ad_aggregator_id").or(text.aggregator_id),
            actor_port_state: number("ad_actor_oper_port_state").or(text.actor_port_state),
            partner_port_state: number("ad_partner_oper_port_state").or(text.partner_port_state),
        };
        if link_up == Some(false) {
            leg.speed_gbit_per_s = None;
        }
        leg.active = self.lets_carry(&leg, file("state").as_deref());
        leg
    }

    /// Whether the driver lets the leg carry traffic: its own word (`bonding_slave/state`) where there is
    /// one, and what decides it in the mode otherwise. `None` when nothing decides it.
    fn lets_carry(&self, leg: &Leg, state: Option<&str>) -> Option<bool> {
        if leg.link_up == Some(false) || state == Some("backup") {
            return Some(false);
        }
        match self.mode.as_str() {
            "active-backup" => match (&self.active_leg, state) {
                (Some(active), _) => Some(*active == leg.netdev),
                (None, Some("active")) => Some(true),
                (None, _) => None,
            },
            "802.3ad" => {
                let elsewhere =
                    leg.aggregator_id.zip(self.active_aggregator).map(|(own, active)| own != active);
                let opened = state == Some("active");
                let lacp = Lacp { elsewhere, port_state: leg.actor_port_state, opened };
                lacp.lets_carry().or_else(|| state.map(|_| opened))
            }
            mode if mode.starts_with("balance-") || mode == "broadcast" => leg.link_up,
            _ => None,
        }
    }
}

/// What decides in 802.3ad whether a leg carries; each `None` where it is not readable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lacp {
    /// Whether the leg is in another aggregator than the active one.
    pub(crate) elsewhere: Option<bool>,
    /// Port state bits of this end.
    pub(crate) port_state: Option<u32>,
    /// Whether the driver calls the leg active (`bonding_slave/state`).
    pub(crate) opened: bool,
}

impl Lacp {
    /// Whether the leg carries; `None` where nothing decides it.
    ///
    /// A leg whose switch was never heard collects and distributes nothing by its bits, and the driver opens those of the
    /// active aggregator all the same (`ad_agg_selection_logic` in `drivers/net/bonding/bond_3ad.c`): its word counts there.
    pub(crate) fn lets_carry(self) -> Option<bool> {
        let alone = |bits: u32| bits & (DEFAULTED | IN_SYNC) == DEFAULTED | IN_SYNC;
        if self.opened && self.elsewhere == Some(false) && self.port_state.is_some_and(alone) {
            return Some(true);
        }
        let ready = self.port_state.map(|bits| bits & COLLECTING_DISTRIBUTING == COLLECTING_DISTRIBUTING);
        match (self.elsewhere, ready) {
            (Some(true), _) | (_, Some(false)) => Some(false),
            (_, Some(true)) => Some(true),
            (Some(false) | None, None) => None,
        }
    }
}

/// The bonding driver's word for a leg's link; `None` for any other text.
///
/// Source: `bond_slave_link_status` in include/net/bonding.h.
pub(super) fn mii_up(status: &str) -> Option<bool> {
    match status {
        "up" => Some(true),
        "down" | "going down" | "going back" => Some(false),
        _ => None,
    }
}

/// The netdev's own word for its link.
///
/// Source: Documentation/ABI/testing/sysfs-class-net, `carrier` and `operstate`.
fn netdev_up(root: &Root, folder: &str) -> Option<bool> {
    let text = |file: &str| root.text(format!("{folder}/{file}")).ok();
    match text("carrier").as_deref() {
        Some("1") => return Some(true),
        Some("0") => return Some(false),
        _ => {}
    }
    match text("operstate")?.as_str() {
        "up" => Some(true),
        "down" | "lowerlayerdown" => Some(false),
        _ => None,
    }
}

/// Speed of a netdev; `None` when its link is down or the device has no speed (`-1`, or EINVAL).
///
/// Source: Documentation/ABI/testing/sysfs-class-net, `speed` (Mbit/s).
pub(super) fn speed_gbit_per_s(root: &Root, netdev: &str) -> Option<f64> {
    let mbit: u32 = root.text(format!("sys/class/net/{netdev}/speed")).ok()?.parse().ok()?;
    // drivers that do not know print the unsigned form of -1
    (mbit > 0 && mbit != u32::MAX).then(|| f64::from(mbit) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::survey::testing::Tree;

    fn bond(mode: &str) -> Tree {
        let tree = Tree::new();
        tree.files(
            "sys/class/net/bond0/bonding",
            &[("mode", mode), ("xmit_hash_policy", "layer3+4 1\n"), ("slaves", "eth0 eth1\n")],
        );
        for leg in ["eth0", "eth1"] {
            tree.files(
                &format!("sys/class/net/{leg}"),
                &[
                    ("speed", "200000\n"),
                    ("bonding_slave/mii_status", "up\n"),
                    ("bonding_slave/state", "active\n"),
                ],
            );
        }
        tree
    }

    fn active(tree: &Tree) -> Vec<Option<bool>> {
        read(&tree.root(), "bond0").unwrap().legs.iter().map(|leg| leg.active).collect()
    }

    #[test]
    fn a_leg_in_another_aggregator_carries_nothing() {
        let tree = bond("802.3ad 4\n");
        tree.file("sys/class/net/bond0/bonding/ad_aggregator", "2\n");
        for (leg, aggregator, state) in [("eth0", "1\n", "63\n"), ("eth1", "2\n", "61\n")] {
            tree.files(
                &format!("sys/class/net/{leg}/bonding_slave"),
                &[("ad_aggregator_id", aggregator), ("ad_actor_oper_port_state", state)],
            );
        }
        assert_eq!(active(&tree), [Some(false), Some(true)]);
        tree.file("sys/class/net/eth1/bonding_slave/ad_actor_oper_port_state", "7\n");
        assert_eq!(active(&tree), [Some(false), Some(false)]);
    }

    #[test]
    fn without_lacp_at_the_switch_the_driver_opens_the_leg_of_the_active_aggregator() {
        let tree = bond("802.3ad 4\n");
        tree.file("sys/class/net/bond0/bonding/ad_aggregator", "1\n");
        for (leg, aggregator, state) in [("eth0", "1\n", "77\n"), ("eth1", "2\n", "69\n")] {
            tree.files(
                &format!("sys/class/net/{leg}/bonding_slave"),
                &[("ad_aggregator_id", aggregator), ("ad_actor_oper_port_state", state)],
            );
        }
        assert_eq!(active(&tree), [Some(true), Some(false)]);
        tree.file("sys/class/net/eth0/bonding_slave/state", "backup\n");
        assert_eq!(active(&tree), [Some(false), Some(false)]);
    }

    #[test]
    fn one_leg_of_an_active_backup_bond_carries() {
        let tree = bond("active-backup 1\n");
        tree.file("sys/class/net/bond0/bonding/active_slave", "eth1\n");
        assert_eq!(active(&tree), [Some(false), Some(true)]);
    }

    #[test]
    fn every_leg_with_a_link_of_a_balancing_bond_carries() {
        let tree = bond("balance-xor 2\n");
        assert_eq!(active(&tree), [Some(true), Some(true)]);
        tree.file("sys/class/net/eth0/bonding_slave/mii_status", "down\n");
        let legs = read(&tree.root(), "bond0").unwrap().legs;
        assert_eq!((legs[0].active, legs[0].speed_gbit_per_s), (Some(false), None));
        assert_eq!((legs[1].active, legs[1].speed_gbit_per_s), (Some(true), Some(200.0)));
    }

    #[test]
    fn an_empty_word_on_a_link_is_unknown_and_the_netdev_s_own_word_counts() {
        let tree = bond("balance-xor 2\n");
        tree.file("sys/class/net/eth0/bonding_slave/mii_status", "");
        assert_eq!(active(&tree), [None, Some(true)]);
        tree.file("sys/class/net/eth0/operstate", "up\n");
        assert_eq!(active(&tree), [Some(true), Some(true)]);
        tree.file("sys/class/net/eth0/carrier", "0\n");
        assert_eq!(active(&tree), [Some(false), Some(true)]);
    }

    #[test]
    fn the_text_of_the_bonding_driver_stands_in_for_sysfs() {
        let tree = Tree::new();
        tree.file(
            "proc/net/bonding/bond0",
            "Bonding Mode: fault-tolerance (active-backup)\nCurrently Active Slave: eth1\n\n\
             Slave Interface: eth0\nMII Status: up\nSpeed: 100000 Mbps\n\nSlave Interface: eth1\nMII Status: up\n",
        );
        let bond = read(&tree.root(), "bond0").unwrap();
        assert_eq!(bond.mode.as_deref(), Some("active-backup"));
        assert_eq!(active(&tree), [Some(false), Some(true)]);
        assert_eq!(bond.legs[0].speed_gbit_per_s, Some(100.0));
        assert_eq!(read(&tree.root(), "eth0"), None);
    }

    #[test]
    fn a_speed_of_minus_one_is_unknown() {
        let tree = bond("balance-xor 2\n");
        tree.file("sys/class/net/eth0/speed", "-1\n").file("sys/class/net/eth1/speed", "4294967295\n");
        let legs = read(&tree.root(), "bond0").unwrap().legs;
        assert_eq!((legs[0].speed_gbit_per_s, legs[1].speed_gbit_per_s), (None, None));
    }
}
