//! Bonds under rails.

use super::Probe;
use super::bonding;
use super::look::{Look, cause};
use super::order::natural;
use super::pci::slot;
use crate::model::{Bond, Gap, LinkLayer, Rail, Topology};
use crate::root::{ReadError, Root};

const NAME: &str = "bonds";

/// Fills in the bond of every rail whose netdev is one, or is a leg of one.
pub(super) struct Bonds;

impl Probe for Bonds {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, gaps, .. } = topology;
        for rail in rails {
            let Some(mut bond) = bond_of(root, rail) else { continue };
            bond.lag_port_select = lag_port_select(root, rail, gaps);
            bond.carries_rdma = carries_rdma(root, &bond, rail);
            let mut look = Look::into(root, NAME, &rail.device, "", gaps);
            if bond.mode.is_none() {
                look.gap(format!("{}: no bonding mode readable", bond.netdev));
            }
            for leg in bond.legs.iter().filter(|leg| leg.active.is_none()) {
                look.gap(format!(
                    "{}: the bonding driver does not tell whether it carries traffic",
                    leg.netdev
                ));
            }
            bond.legs.sort_by(|a, b| natural(&a.netdev, &b.netdev));
            rail.bond = Some(bond);
        }
        Ok(())
    }
}

/// A hardware device shows its own netdev or, once bonded, the bond's. Soft-RoCE on a leg is that leg
/// alone, whatever the leg belongs to.
///
/// A bond of `IPoIB` netdevs carries IP alone, so an InfiniBand rail is on none. A VLAN's bond is below it.
fn bond_of(root: &Root, rail: &Rail) -> Option<Bond> {
    let netdev = rail.netdev.as_deref().filter(|_| rail.link_layer != Some(LinkLayer::InfiniBand))?;
    let below = || {
        let names = root.names(format!("sys/class/net/{netdev}")).unwrap_or_default();
        names
            .iter()
            .filter_map(|name| name.strip_prefix("lower_"))
            .find_map(|lower| bonding::read(root, lower))
    };
    bonding::read(root, netdev).or_else(below).or_else(|| {
        let software = is_software(rail);
        let master = root.link_name(format!("sys/class/net/{netdev}/master")).ok()?;
        if software { None } else { bonding::read(root, &master) }
    })
}

/// Soft-RoCE and Soft-iWARP.
pub(super) fn is_software(rail: &Rail) -> bool {
    matches!(rail.driver.as_deref(), Some("rdma_rxe" | "siw"))
}

/// Whether the RDMA device carries its traffic over the bond: a software device on it, or a card all of
/// whose legs sit on it and have no RDMA device of their own (RoCE LAG; it needs one card,
/// drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c).
fn carries_rdma(root: &Root, bond: &Bond, rail: &Rail) -> Option<bool> {
    let Some(pcie) = rail.pcie.as_ref().filter(|_| !is_software(rail)) else {
        return Some(true);
    };
    // the firmware's own word, where debugfs is readable
    let state = root.text(format!("sys/kernel/debug/mlx5/{}/lag/state", pcie.address));
    if state.is_ok_and(|state| state == "disabled") {
        return Some(false);
    }
    let mut legs = bond.legs.iter().filter_map(|leg| leg.pci_address.as_deref()).peekable();
    legs.peek()?;
    Some(legs.all(|leg| {
        let own = root.names(format!("sys/bus/pci/devices/{leg}/infiniband")).unwrap_or_default();
        slot(leg) == slot(&pcie.address) && own.iter().all(|device| *device == rail.device)
    }))
}

/// How mlx5 spreads queue pairs over the ports: `queue_affinity` or `hash`.
///
/// Source: drivers/net/ethernet/mellanox/mlx5/core/lag/debugfs.c.
fn lag_port_select(root: &Root, rail: &Rail, gaps: &mut Vec<Gap>) -> Option<String> {
    if rail.driver.as_deref() != Some("mlx5_core") {
        return None;
    }
    let file = format!("sys/kernel/debug/mlx5/{}/lag/port_sel_mode", rail.pcie.as_ref()?.address);
    match root.text(&file) {
        Ok(text) => Some(text).filter(|text| !text.is_empty()),
        Err(error) => {
            let hint = if error.is_missing() { " (or debugfs is not mounted)" } else { " (root sees it)" };
            let reason = format!("/{file}: {}{hint}", cause(&error));
            gaps.push(Gap { probe: NAME.to_owned(), subject: rail.device.clone(), reason });
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bonds;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::gids::Gids;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    fn survey(tree: &Tree) -> Topology {
        let mut topology = Topology::default();
        for probe in [&Rails as &dyn Probe, &Gids, &Bonds] {
            probe.survey(&tree.root(), &mut topology).unwrap();
        }
        topology
    }

    #[test]
    fn a_leg_s_rail_finds_the_bond_above_its_netdev() {
        let tree = Tree::with_nic();
        tree.link("sys/class/net/eth0/master", "sys/devices/virtual/net/bond0");
        tree.link("sys/class/net/bond0", "sys/devices/virtual/net/bond0");
        tree.files("sys/class/net/bond0/bonding", &[("mode", "802.3ad 4\n"), ("slaves", "eth1 eth0\n")]);
        tree.file("sys/kernel/debug/mlx5/0000:41:00.0/lag/port_sel_mode", "hash\n");
        let topology = survey(&tree);
        let bond = topology.rails[0].bond.as_ref().unwrap();
        assert_eq!((bond.netdev.as_str(), bond.lag_port_select.as_deref()), ("bond0", Some("hash")));
        let legs: Vec<_> = bond.legs.iter().map(|l| (l.netdev.as_str(), l.pci_address.as_deref())).collect();
        assert_eq!(legs, [("eth0", Some("0000:41:00.0")), ("eth1", None)]);
        assert!(topology.gaps.iter().any(|gap| gap.reason.starts_with("eth1: the bonding driver")));
    }

    #[test]
    fn without_debugfs_the_gap_says_so() {
        let tree = Tree::with_nic();
        tree.files("sys/class/net/eth0/bonding", &[("mode", "balance-xor 2\n"), ("slaves", "\n")]);
        let topology = survey(&tree);
        assert_eq!(topology.rails[0].bond.as_ref().unwrap().lag_port_select, None);
        assert!(topology.gaps.iter().any(|gap| gap.reason.contains("debugfs is not mounted")));
    }

    #[test]
    fn firmware_that_keeps_its_lag_disabled_carries_nothing_over_the_bond() {
        let tree = Tree::with_nic();
        tree.files("sys/class/net/eth0/bonding", &[("mode", "802.3ad 4\n"), ("slaves", "eth0\n")]);
        let lag = |tree: &Tree| survey(tree).rails[0].bond.as_ref().unwrap().carries_rdma;
        assert_eq!(lag(&tree), Some(true));
        tree.file("sys/kernel/debug/mlx5/0000:41:00.0/lag/state", "active\n");
        assert_eq!(lag(&tree), Some(true));
        tree.file("sys/kernel/debug/mlx5/0000:41:00.0/lag/state", "disabled\n");
        assert_eq!(lag(&tree), Some(false));
    }

    #[test]
    fn a_vlan_s_bond_is_below_it_and_infiniband_rides_on_none() {
        let tree = Tree::with_nic();
        tree.link("sys/class/net/bond0", "sys/devices/virtual/net/bond0");
        tree.files("sys/class/net/bond0/bonding", &[("mode", "802.3ad 4\n"), ("slaves", "eth0\n")]);
        tree.link("sys/class/net/eth0/lower_bond0", "sys/devices/virtual/net/bond0");
        let bond = |tree: &Tree| survey(tree).rails.remove(0).bond.map(|bond| bond.netdev);
        assert_eq!(bond(&tree).as_deref(), Some("bond0"));
        tree.file("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
        assert_eq!(bond(&tree), None);
    }

    #[test]
    fn a_rail_without_a_bond_has_none() {
        let topology = survey(&Tree::with_nic());
        assert_eq!((&topology.rails[0].bond, topology.gaps.len()), (&None, 0));
    }
}
