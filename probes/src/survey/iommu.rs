//! Whether an IOMMU stands between the cards and memory.

use super::Probe;
use super::look::Look;
use crate::model::Topology;
use crate::root::{ReadError, Root};

const NAME: &str = "iommu";

/// Asks the rails' IOMMU groups first, then `/sys/class/iommu`, then the kernel command line.
///
/// Sources: Documentation/ABI/testing/sysfs-kernel-iommu_groups (`type`),
/// Documentation/admin-guide/kernel-parameters.txt (`iommu`, `intel_iommu`, `amd_iommu`).
pub(super) struct Iommu;

impl Probe for Iommu {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { host, rails, gaps, .. } = topology;
        let addresses = rails.iter().filter_map(|rail| Some(&rail.pcie.as_ref()?.address));
        let types: Vec<String> = addresses
            .filter_map(|a| root.text(format!("sys/bus/pci/devices/{a}/iommu_group/type")).ok())
            .collect();
        let mode = if types.is_empty() { without_groups(root) } else { Some(of_types(&types)) };
        host.iommu = mode.map(str::to_owned);
        if host.iommu.is_none() {
            let mut look = Look::into(root, NAME, "host", "", gaps);
            look.gap("IOMMU: neither a group, /sys/class/iommu nor the kernel command line tells");
        }
        Ok(())
    }
}

/// `identity` leaves addresses as they are; every other type translates. One translated rail is enough
/// to call the node so.
fn of_types(types: &[String]) -> &'static str {
    if types.iter().all(|kind| kind == "identity") { "passthrough" } else { "translated" }
}

fn without_groups(root: &Root) -> Option<&'static str> {
    let units = root.names("sys/class/iommu");
    if units.as_ref().is_ok_and(Vec::is_empty) {
        return Some("off");
    }
    let line = root.text("proc/cmdline").unwrap_or_default();
    let says = |wanted: &[&str]| line.split_whitespace().any(|word| wanted.contains(&word));
    if says(&["iommu=off", "intel_iommu=off", "amd_iommu=off"]) {
        Some("off")
    } else if says(&["iommu=pt", "iommu.passthrough=1"]) {
        Some("passthrough")
    } else if says(&["intel_iommu=on", "amd_iommu=force_enable", "iommu=force", "iommu.passthrough=0"]) {
        Some("translated")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Iommu;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    fn mode(tree: &Tree) -> Option<String> {
        let mut topology = Topology::default();
        Rails.survey(&tree.root(), &mut topology).unwrap();
        Iommu.survey(&tree.root(), &mut topology).unwrap();
        assert_eq!(topology.host.iommu.is_none(), topology.gaps.iter().any(|gap| gap.probe == "iommu"));
        topology.host.iommu
    }

    #[test]
    fn the_rail_s_group_outweighs_the_command_line() {
        let tree = Tree::with_nic();
        assert_eq!(mode(&tree), None);
        tree.file("proc/cmdline", "ro iommu=pt\n");
        assert_eq!(mode(&tree).as_deref(), Some("passthrough"));
        let group = "sys/bus/pci/devices/0000:41:00.0/iommu_group/type";
        tree.file(group, "DMA-FQ\n");
        assert_eq!(mode(&tree).as_deref(), Some("translated"));
        tree.file(group, "identity\n");
        assert_eq!(mode(&tree).as_deref(), Some("passthrough"));
    }

    #[test]
    fn an_empty_class_means_off_whatever_the_command_line_asks_for() {
        let tree = Tree::with_nic();
        tree.file("proc/cmdline", "ro intel_iommu=on iommu=pt\n");
        tree.file("sys/class/iommu/x", "").remove("sys/class/iommu/x");
        assert_eq!(mode(&tree).as_deref(), Some("off"));
    }
}
