//! Cards that could be rails but have no RDMA device.

use super::Probe;
use super::look::Look;
use super::pci::{Function, is_address};
use super::rails::numa_node;
use crate::model::{LostCard, Topology};
use crate::root::{ReadError, Root};

const NAME: &str = "lost-cards";
pub(super) const PCI: &str = "sys/bus/pci/devices";

/// Looks through the PCI functions for network cards of RDMA vendors without an RDMA device.
pub(super) struct LostCards;

impl Probe for LostCards {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, lost_cards, gaps, .. } = topology;
        // the second function of a bonded card speaks through the RDMA device of the first
        let legs = rails.iter().filter_map(|rail| rail.bond.as_ref()).flat_map(|bond| &bond.legs);
        let legs: Vec<&str> = legs.filter_map(|leg| leg.pci_address.as_deref()).collect();
        for function in functions(root)? {
            let is_rail =
                !function.rdma_devices(root).is_empty() || legs.contains(&function.address.as_str());
            if is_rail || !is_rdma_card(root, &function) {
                continue;
            }
            let mut look = Look::into(root, NAME, &function.address, "", gaps);
            lost_cards.push(LostCard {
                driver: function.driver(root),
                netdevs: function.netdevs(root),
                numa_node: numa_node(root, &function, &mut look),
                is_vf: function.is_vf(root),
                id: id(root, &function),
                is_elsewhere: is_elsewhere(root, &function),
                address: function.address,
            });
        }
        Ok(())
    }
}

/// `15b3:1021`.
fn id(root: &Root, function: &Function) -> Option<String> {
    Some(format!("{}:{}", function.id(root, "vendor")?, function.id(root, "device")?))
}

/// Whether an RDMA device exists that this network namespace does not show: with `rdma system set netns
/// exclusive` only its own namespace lists it (`ib_class` in drivers/infiniband/core/device.c), while its
/// character devices and the bound auxiliary device (`mlx5_core.rdma.0`) are listed for all.
fn is_elsewhere(root: &Root, function: &Function) -> bool {
    let has_entries =
        |name: &str| root.names(function.folder.join(name)).is_ok_and(|names| !names.is_empty());
    let bound = |name: &String| {
        let rdma = [".rdma.", ".roce.", ".iwarp."].iter().any(|kind| name.contains(kind));
        rdma && root.link_name(function.folder.join(name).join("driver")).is_ok()
    };
    has_entries("infiniband_verbs")
        || has_entries("infiniband_mad")
        || root.names(&function.folder).unwrap_or_default().iter().any(bound)
}

/// Every PCI function, in address order.
pub(super) fn functions(root: &Root) -> Result<Vec<Function>, ReadError> {
    let names = root.names(PCI)?;
    let addresses = names.into_iter().filter(|name| is_address(name));
    Ok(addresses.filter_map(|name| Function::above(root, format!("{PCI}/{name}"))).collect())
}

/// The class code of a function, 24 bits: `0x020000` is an Ethernet controller.
///
/// Source: PCI Code and ID Assignment Specification; pci.ids.
pub(super) fn class_of(root: &Root, function: &Function) -> Option<u32> {
    let text = root.text(function.folder.join("class")).ok()?;
    u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// Whether a function is a network card that is bought for its RDMA.
///
/// Vendors whose ordinary NICs share their ids (Broadcom, Intel) are known by driver or device id.
fn is_rdma_card(root: &Root, function: &Function) -> bool {
    let network = class_of(root, function).is_some_and(|class| class >> 16 == 0x02 || class >> 8 == 0x0c06);
    if !network {
        return false;
    }
    let id = |file: &str| root.text(function.folder.join(file)).unwrap_or_default();
    match id("vendor").as_str() {
        // NVIDIA Mellanox, QLogic InfiniPath, Pensando
        "0x15b3" | "0x1fc1" | "0x1dd8" => true,
        // Broadcom NetXtreme-C/E
        "0x14e4" => function.driver(root).as_deref() == Some("bnxt_en"),
        // Omni-Path
        "0x8086" => matches!(id("device").as_str(), "0x24f0" | "0x24f1"),
        // Elastic Fabric Adapter
        "0x1d0f" => id("device").starts_with("0xefa"),
        // Alibaba, Chelsio, QLogic, HiSilicon and Microsoft: with a netdev they are ordinary NICs
        _ => is_bare(root, function),
    }
}

/// Whether a driver whose card can do RDMA has made nothing of its function, not even a netdev.
///
/// cxgb4 makes its netdevs on function 4 and holds the others of the card for their virtual functions
/// (`init_one` in `drivers/net/ethernet/chelsio/cxgb4/cxgb4_main.c`).
fn is_bare(root: &Root, function: &Function) -> bool {
    let of_cxgb4 = || {
        let (slot, number) = function.address.rsplit_once('.').unwrap_or_default();
        number == "4" || !root.exists(format!("{PCI}/{slot}.4"))
    };
    let does_rdma = match function.driver(root).as_deref() {
        Some("erdma" | "qede" | "hns3" | "mana") => true,
        Some("cxgb4") => of_cxgb4(),
        _ => false,
    };
    does_rdma && function.netdevs(root).is_empty()
}

#[cfg(test)]
mod tests {
    use super::LostCards;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::testing::Tree;

    #[test]
    fn a_card_without_an_rdma_device_is_found_and_other_functions_are_not() {
        let tree = Tree::with_nic();
        let mellanox = ("0x15b3\n", "0x1021\n");
        let lost = tree.pci("pci0000:50", "0000:51:00.0", "0x020700\n", mellanox);
        tree.file(&format!("sys/devices/{lost}/numa_node"), "1\n");
        tree.link(&format!("sys/devices/{lost}/driver"), "sys/bus/pci/drivers/mlx5_core");
        tree.pci("pci0000:50", "0000:52:00.0", "0x060400\n", mellanox);
        tree.pci("pci0000:50", "0000:53:00.0", "0x020000\n", ("0x8086\n", "0x1592\n"));
        tree.pci("pci0000:50", "0000:54:00.0", "0x020000\n", ("0x14e4\n", "0x165f\n"));
        let mut topology = Topology::default();
        LostCards.survey(&tree.root(), &mut topology).unwrap();
        let [card] = topology.lost_cards.as_slice() else { panic!("{:?}", topology.lost_cards) };
        assert_eq!((card.address.as_str(), card.driver.as_deref()), ("0000:51:00.0", Some("mlx5_core")));
        assert_eq!((card.numa_node, card.is_vf, card.netdevs.len()), (Some(1), false, 0));
        assert_eq!((card.id.as_deref(), card.is_elsewhere), (Some("15b3:1021"), false));
    }

    #[test]
    fn a_function_of_which_its_rdma_driver_made_nothing_is_found() {
        for driver in ["erdma", "cxgb4", "qede", "hns3", "mana"] {
            let tree = Tree::with_nic();
            let bare = tree.pci("pci0000:50", "0000:51:00.0", "0x020000\n", ("0x1ded\n", "0x107f\n"));
            tree.link(&format!("sys/devices/{bare}/driver"), &format!("sys/bus/pci/drivers/{driver}"));
            let lost = || {
                let mut topology = Topology::default();
                LostCards.survey(&tree.root(), &mut topology).unwrap();
                topology.lost_cards.len()
            };
            assert_eq!(lost(), 1, "{driver}");
            tree.pci("pci0000:50", "0000:51:00.4", "0x020000\n", ("0x1425\n", "0x6401\n"));
            assert_eq!(lost(), usize::from(driver != "cxgb4"), "{driver}");
            tree.file(&format!("sys/devices/{bare}/net/eth7/mtu"), "1500\n");
            assert_eq!(lost(), 0, "{driver}");
        }
    }

    #[test]
    fn a_device_of_another_network_namespace_leaves_its_traces() {
        for trace in ["mlx5_core.rdma.0/driver", "infiniband_verbs/uverbs3"] {
            let tree = Tree::with_nic();
            let lost = tree.pci("pci0000:50", "0000:51:00.0", "0x020700\n", ("0x15b3\n", "0x1021\n"));
            tree.link(&format!("sys/devices/{lost}/{trace}"), "sys/bus/auxiliary/drivers/mlx5_ib.rdma");
            let mut topology = Topology::default();
            LostCards.survey(&tree.root(), &mut topology).unwrap();
            assert!(topology.lost_cards[0].is_elsewhere, "{trace}");
        }
    }
}
