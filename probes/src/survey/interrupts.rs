//! Where the interrupts of a NIC are served.

use super::Probe;
use super::look::{Look, cause};
use super::lost_cards::PCI;
use crate::model::{CpuSet, Interrupts, Topology};
use crate::root::{ReadError, Root};

const NAME: &str = "interrupts";
/// Vectors that MSI-X has at most (PCI Local Bus Specification 3.0, section 6.8.2).
const MOST_VECTORS: usize = 2048;

/// Reads which CPUs serve the message-signalled interrupts of each rail's function.
///
/// Sources: Documentation/ABI/testing/sysfs-bus-pci (`msi_irqs`), Documentation/core-api/irq/irq-affinity.rst.
pub(super) struct OfRails;

impl Probe for OfRails {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, gaps, .. } = topology;
        for at in 0..rails.len() {
            let (before, rest) = rails.split_at_mut(at);
            let Some(rail) = rest.first_mut() else { break };
            // ports of one device share its function
            if let Some(other) = before.iter().find(|other| other.device == rail.device) {
                rail.interrupts.clone_from(&other.interrupts);
                continue;
            }
            let Some(path) = &rail.pcie else { continue };
            let mut look = Look::into(root, NAME, &rail.device, format!("{PCI}/{}", path.address), gaps);
            rail.interrupts = of_function(root, &mut look);
        }
        Ok(())
    }
}

fn of_function(root: &Root, look: &mut Look<'_>) -> Option<Interrupts> {
    let names = match root.names(look.folder().join("msi_irqs")) {
        Ok(names) => names,
        Err(error) => {
            look.gap(format!("msi_irqs: {}", cause(&error)));
            return None;
        }
    };
    let numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).take(MOST_VECTORS).collect();
    if numbers.is_empty() {
        look.gap("msi_irqs: names no interrupt");
    }
    let mut union = |file: &str| -> Option<CpuSet> {
        let mut cpus = Vec::new();
        for number in &numbers {
            let path = format!("proc/irq/{number}/{file}");
            match root.text(&path) {
                // an interrupt that is not in use has no CPU
                Ok(text) if text.is_empty() => {}
                Ok(text) => match text.parse::<CpuSet>() {
                    Ok(set) => cpus.extend(set.iter()),
                    Err(error) => {
                        look.gap(format!("{file}: /{path}: {error}"));
                        return None;
                    }
                },
                Err(error) => {
                    look.gap(format!("{file}: /{path}: {}", cause(&error)));
                    return None;
                }
            }
        }
        if cpus.is_empty() && !numbers.is_empty() {
            look.gap(format!("{file}: names no CPU for any of {} interrupts", numbers.len()));
        }
        Some(cpus.into_iter().collect::<CpuSet>()).filter(|cpus| !cpus.is_empty())
    };
    let count = u32::try_from(numbers.len()).ok()?;
    Some(Interrupts {
        count,
        allowed: union("smp_affinity_list"),
        effective: union("effective_affinity_list"),
    })
}

#[cfg(test)]
mod tests {
    use super::OfRails;
    use crate::model::{Interrupts, Topology};
    use crate::survey::Probe;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    fn survey(tree: &Tree) -> (Option<Interrupts>, Vec<String>) {
        let mut topology = Topology::default();
        Rails.survey(&tree.root(), &mut topology).unwrap();
        OfRails.survey(&tree.root(), &mut topology).unwrap();
        let gaps = topology.gaps.into_iter().filter(|gap| gap.probe == "interrupts");
        (topology.rails.remove(0).interrupts, gaps.map(|gap| gap.reason).collect())
    }

    #[test]
    fn the_cpus_of_all_interrupts_are_put_together() {
        let tree = Tree::with_nic();
        for (irq, allowed, effective) in [(64, "0-3\n", "0\n"), (65, "4-7\n", "5\n"), (66, "0-7\n", "\n")] {
            tree.file(&format!("sys/bus/pci/devices/0000:41:00.0/msi_irqs/{irq}"), "msix\n");
            tree.file(&format!("proc/irq/{irq}/smp_affinity_list"), allowed);
            tree.file(&format!("proc/irq/{irq}/effective_affinity_list"), effective);
        }
        let expected = Interrupts { count: 3, allowed: "0-7".parse().ok(), effective: "0,5".parse().ok() };
        assert_eq!(survey(&tree), (Some(expected), vec![]));
    }

    #[test]
    fn interrupts_without_a_cpu_and_no_interrupts_have_unknown_cpus() {
        let tree = Tree::with_nic();
        let folder = "sys/bus/pci/devices/0000:41:00.0/msi_irqs";
        tree.file(&format!("{folder}/64"), "msix\n")
            .files("proc/irq/64", &[("smp_affinity_list", "\n"), ("effective_affinity_list", "")]);
        let (interrupts, gaps) = survey(&tree);
        assert_eq!(interrupts, Some(Interrupts { count: 1, allowed: None, effective: None }));
        assert_eq!(gaps[0], "smp_affinity_list: names no CPU for any of 1 interrupts");
        tree.remove(&format!("{folder}/64"));
        let (interrupts, gaps) = survey(&tree);
        assert_eq!(interrupts, Some(Interrupts { count: 0, allowed: None, effective: None }));
        assert_eq!(gaps, ["msi_irqs: names no interrupt"]);
    }

    #[test]
    fn what_is_not_there_is_unknown_and_not_no_cpu() {
        let tree = Tree::with_nic();
        assert_eq!(survey(&tree), (None, vec!["msi_irqs: no such file".to_owned()]));
        tree.file("sys/bus/pci/devices/0000:41:00.0/msi_irqs/64", "msix\n")
            .file("proc/irq/64/smp_affinity_list", "x\n");
        let (interrupts, gaps) = survey(&tree);
        assert_eq!(interrupts, Some(Interrupts { count: 1, allowed: None, effective: None }));
        assert_eq!(gaps[1], "effective_affinity_list: /proc/irq/64/effective_affinity_list: no such file");
        assert!(gaps[0].contains("`x` is no CPU list"), "{gaps:?}");
    }
}
