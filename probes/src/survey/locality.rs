//! Where sysfs is silent about the node of a rail: hwloc's opinion.

use super::Probe;
use crate::model::{Gap, Rail, Topology};
use crate::root::{ReadError, Root};
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, TypeFilter};

const NAME: &str = "locality";

/// Asks hwloc for the NUMA node of a rail's function where sysfs does not tell it, and compares all where somebody set
/// `HWLOC_PCI_LOCALITY`, which corrects what the firmware says (hwloc's manual, "Environment Variables").
///
/// Not unasked: hwloc reads every CPU and every PCI function, a hundred milliseconds on a machine of 400 CPUs.
pub(super) struct Locality;

impl Probe for Locality {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        // a copied tree has its sysfs alone; on one node there is nothing to tell apart
        if !root.is_live() || topology.numa.len() < 2 {
            return Ok(());
        }
        let corrected = std::env::var_os("HWLOC_PCI_LOCALITY").is_some();
        if !topology.rails.iter().any(|rail| rail.pcie.is_some() && (corrected || rail.numa_node.is_none())) {
            return Ok(());
        }
        let machine = match machine() {
            Ok(machine) => machine,
            Err(reason) => {
                topology.gap(NAME, "host", format!("hwloc: {reason}"));
                return Ok(());
            }
        };
        let Topology { rails, gaps, .. } = topology;
        for rail in rails {
            let Some(address) = rail.pcie.as_ref().map(|path| path.address.clone()) else { continue };
            if let Some(node) = node_of(&machine, &address) {
                compare(rail, node, gaps);
            }
        }
        Ok(())
    }
}

/// This machine with its PCI devices.
fn machine() -> Result<hwlocality::Topology, String> {
    let refused = |error: &dyn std::fmt::Display| error.to_string();
    let mut builder = hwlocality::Topology::builder()
        // hwloc would move this thread over all CPUs of a node in production, to ask each about its caches
        .with_flags(BuildFlags::DONT_CHANGE_BINDING)
        .map_err(|error| refused(&error))?
        .with_common_type_filter(TypeFilter::KeepNone)
        .map_err(|error| refused(&error))?;
    // what is not kept is not looked for; devices hang below packages and groups
    for (kind, filter) in [
        (ObjectType::Package, TypeFilter::KeepAll),
        (ObjectType::Group, TypeFilter::KeepStructure),
        (ObjectType::PCIDevice, TypeFilter::KeepAll),
    ] {
        builder = builder.with_type_filter(kind, filter).map_err(|error| refused(&error))?;
    }
    let machine = builder.build().map_err(|error| refused(&error))?;
    // HWLOC_XMLFILE and its kind put another machine in place of this one
    if machine.is_this_system() {
        Ok(machine)
    } else {
        Err("the environment names another machine".to_owned())
    }
}

/// The one node that hwloc puts a PCI function on.
fn node_of(machine: &hwlocality::Topology, address: &str) -> Option<u32> {
    let function = machine.pci_devices().find(|device| match device.attributes() {
        Some(ObjectAttributes::PCIDevice(pci)) => {
            let (domain, bus) = (pci.domain(), pci.bus_id());
            format!("{domain:04x}:{bus:02x}:{:02x}.{:x}", pci.bus_device(), pci.function()) == address
        }
        _ => false,
    })?;
    let nodes = function.first_non_io_ancestor()?.nodeset()?;
    let mut nodes = nodes.iter_set();
    let node = nodes.next()?;
    // what hwloc cannot place stands under the whole machine
    if nodes.next().is_some() { None } else { u32::try_from(usize::from(node)).ok() }
}

/// Sysfs is believed where it speaks, hwloc where sysfs is silent.
fn compare(rail: &mut Rail, hwloc: u32, gaps: &mut Vec<Gap>) {
    match rail.numa_node {
        Some(node) if node == hwloc => {}
        Some(node) => gaps.push(Gap {
            probe: NAME.to_owned(),
            subject: rail.device.clone(),
            reason: format!("numa_node: sysfs says {node}, hwloc {hwloc}; {node} is used"),
        }),
        None => {
            rail.numa_node = Some(hwloc);
            gaps.retain(|gap| !(gap.subject == rail.device && gap.reason.starts_with("numa_node: ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{compare, machine, node_of};
    use crate::model::{Gap, Rail};

    fn rail(node: Option<u32>) -> Rail {
        Rail { device: "mlx5_0".into(), numa_node: node, ..Rail::default() }
    }

    #[test]
    fn a_disagreement_is_said_and_sysfs_is_used() {
        let (mut rail, mut gaps) = (rail(Some(0)), Vec::new());
        compare(&mut rail, 1, &mut gaps);
        assert_eq!((rail.numa_node, gaps.len()), (Some(0), 1));
        assert_eq!(gaps[0].reason, "numa_node: sysfs says 0, hwloc 1; 0 is used");
    }

    #[test]
    fn where_sysfs_is_silent_hwloc_closes_the_gap() {
        let silent = "numa_node: -1: the platform does not tell";
        let gap =
            |subject: &str| Gap { probe: "rails".into(), subject: subject.into(), reason: silent.into() };
        let (mut rail, mut gaps) = (rail(None), vec![gap("mlx5_0"), gap("mlx5_1")]);
        compare(&mut rail, 1, &mut gaps);
        assert_eq!((rail.numa_node, gaps), (Some(1), vec![gap("mlx5_1")]));
    }

    #[test]
    fn this_machine_can_be_looked_at_and_has_no_function_of_an_impossible_address() {
        if let Ok(machine) = machine() {
            assert_eq!(node_of(&machine, "ffff:ff:1f.7"), None);
        }
    }
}
