//! PCIe errors that the kernel has counted since boot, along the way of each card.

use super::Probe;
use super::lost_cards::PCI;
use super::pci::Function;
use crate::model::{LinkErrors, Topology};
use crate::root::{ReadError, Root};
use std::collections::BTreeMap;

/// Reads the advanced error reports of each rail's and GPU's function and of every port above it.
///
/// A function without them is left out: it lacks the capability, or the firmware keeps errors to itself.
/// Source: Documentation/ABI/testing/sysfs-bus-pci-devices-aer (`aer_dev_correctable` and its kind).
pub(super) struct Aer;

impl Probe for Aer {
    fn name(&self) -> &'static str {
        "aer"
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let mut seen: BTreeMap<String, Option<LinkErrors>> = BTreeMap::new();
        let Topology { rails, gpus, .. } = topology;
        let paths = rails.iter_mut().filter_map(|rail| rail.pcie.as_mut());
        for path in paths.chain(gpus.iter_mut().map(|gpu| &mut gpu.pcie)) {
            let Some(function) = Function::above(root, format!("{PCI}/{}", path.address)) else { continue };
            for at in function.path_to_root() {
                let errors = seen.entry(at.address.clone()).or_insert_with(|| of_function(root, &at));
                path.errors.extend(errors.clone());
            }
        }
        Ok(())
    }
}

fn of_function(root: &Root, function: &Function) -> Option<LinkErrors> {
    let kinds = |severity: &str| {
        let text = root.text(function.folder.join(format!("aer_dev_{severity}"))).ok()?;
        Some(kinds(&text))
    };
    let (correctable, nonfatal, fatal) = (kinds("correctable")?, kinds("nonfatal")?, kinds("fatal")?);
    Some(LinkErrors { address: function.address.clone(), correctable, nonfatal, fatal })
}

/// `BadTLP 3`, a line a kind, and a sum (`TOTAL_ERR_COR 3`) that says nothing new; what did not happen is left
/// out.
fn kinds(text: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (name, count) = line.rsplit_once(' ')?;
        let count = count.parse().ok().filter(|count| *count > 0)?;
        (!name.starts_with("TOTAL_")).then(|| (name.trim().to_owned(), count))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::Aer;
    use crate::model::{LinkErrors, Topology};
    use crate::survey::Probe;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    fn errors(tree: &Tree) -> Vec<LinkErrors> {
        let mut topology = Topology::default();
        Rails.survey(&tree.root(), &mut topology).unwrap();
        Aer.survey(&tree.root(), &mut topology).unwrap();
        topology.rails.remove(0).pcie.unwrap().errors
    }

    #[test]
    fn errors_of_both_ends_are_told_by_kind() {
        let tree = Tree::with_nic();
        assert_eq!(errors(&tree), [], "a kernel that does not count");
        let quiet = "Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 0\n";
        for (function, correctable) in [
            ("0000:41:00.0", "RxErr 0\nBadTLP 3\nReplay Timer Timeout 1\nTOTAL_ERR_COR 4\n"),
            ("0000:40:01.0", "RxErr 0\nTOTAL_ERR_COR 0\n"),
        ] {
            let folder = format!("sys/bus/pci/devices/{function}");
            tree.file(&format!("{folder}/aer_dev_correctable"), correctable);
            tree.file(&format!("{folder}/aer_dev_nonfatal"), quiet);
            tree.file(&format!("{folder}/aer_dev_fatal"), quiet);
        }
        let found = errors(&tree);
        let [card, port] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((card.address.as_str(), card.total()), ("0000:41:00.0", 4));
        assert_eq!(card.correctable["BadTLP"], 3);
        assert_eq!(card.correctable["Replay Timer Timeout"], 1);
        assert_eq!((port.address.as_str(), port.total()), ("0000:40:01.0", 0));
    }
}
