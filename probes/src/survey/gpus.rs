//! GPUs and their PCIe paths.

use super::Probe;
use super::look::Look;
use super::lost_cards::{class_of, functions};
use super::pcie;
use super::rails::numa_node;
use crate::cards;
use crate::model::{Gpu, PciePath, Topology};
use crate::root::{ReadError, Root};

const NAME: &str = "gpus";

/// Lists the GPUs of NVIDIA and AMD from the PCI functions; no driver is asked.
pub(super) struct Gpus;

impl Probe for Gpus {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { gpus, gaps, .. } = topology;
        for function in functions(root)? {
            let id = |file: &str| {
                let text = root.text(function.folder.join(file)).ok()?;
                Some(text.trim_start_matches("0x").to_owned())
            };
            let vendor = id("vendor");
            let class = class_of(root, &function).map(|class| class >> 8);
            // display, 3D controller, processing accelerator (how AMD's MI300 presents itself)
            let is_gpu = matches!(class, Some(0x0300 | 0x0302 | 0x1200))
                && matches!(vendor.as_deref(), Some("10de" | "1002"));
            // the parts that a hypervisor gives to guests are none of this host's GPUs
            if !is_gpu || root.exists(function.folder.join("physfn")) {
                continue;
            }
            let name = format!("gpu{}", gpus.len());
            let mut path = PciePath {
                address: function.address.clone(),
                vendor,
                device: id("device"),
                ..PciePath::default()
            };
            pcie::fill(root, &mut path, &function, &name, gaps);
            let mut look = Look::into(root, NAME, &name, "", gaps);
            let driver = function.driver(root);
            if driver.is_none() {
                look.gap("driver: none bound to the PCI function");
            }
            let numa_node = numa_node(root, &function, &mut look);
            let model = model(root, &path);
            gpus.push(Gpu { name, numa_node, pcie: path, model, driver, ..Gpu::default() });
        }
        Ok(())
    }
}

/// The driver's name of it, else that of its PCI ids.
///
/// Source: NVIDIA Linux driver README, chapter "The /proc Interface to the Driver".
fn model(root: &Root, path: &PciePath) -> Option<String> {
    let text = root.text(format!("proc/driver/nvidia/gpus/{}/information", path.address)).unwrap_or_default();
    let told = text.lines().find_map(|line| line.strip_prefix("Model:")).map(|name| name.trim().to_owned());
    told.filter(|name| !name.is_empty())
        .or_else(|| cards::model(path.vendor.as_deref()?, path.device.as_deref()?).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::Gpus;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::testing::Tree;

    #[test]
    fn gpus_are_numbered_in_address_order_and_a_server_s_console_chip_is_none() {
        let tree = Tree::new();
        let port = tree.pci("pci0000:15", "0000:15:01.0", "0x060400\n", ("0x8086\n", "0x352a\n"));
        tree.pci(&port, "0000:17:00.0", "0x030200\n", ("0x10de\n", "0x2330\n"));
        let second = tree.pci("pci0000:85", "0000:86:00.0", "0x120000\n", ("0x1002\n", "0x74a1\n"));
        tree.file(&format!("sys/devices/{second}/numa_node"), "1\n");
        tree.pci("pci0000:02", "0000:02:00.0", "0x030000\n", ("0x1a03\n", "0x2000\n"));
        let mut topology = Topology::default();
        Gpus.survey(&tree.root(), &mut topology).unwrap();
        let found: Vec<_> =
            topology.gpus.iter().map(|g| (g.name.as_str(), g.pcie.address.as_str(), g.numa_node)).collect();
        assert_eq!(found, [("gpu0", "0000:17:00.0", Some(0)), ("gpu1", "0000:86:00.0", Some(1))]);
        assert_eq!(topology.gpus[0].pcie.hops[0].current_gt_per_s, Some(32.0));
    }

    #[test]
    fn a_gpu_has_its_driver_s_name_and_one_that_a_guest_will_get_is_left_out() {
        let tree = Tree::new();
        let port = tree.pci("pci0000:15", "0000:15:01.0", "0x060400\n", ("0x8086\n", "0x352a\n"));
        let ids = ("0x10de\n", "0x2330\n");
        let whole = tree.pci(&port, "0000:17:00.0", "0x030200\n", ids);
        let slice = tree.pci(&port, "0000:17:00.4", "0x030200\n", ids);
        tree.link(&format!("sys/devices/{slice}/physfn"), &format!("sys/devices/{whole}"));
        let models = |tree: &Tree| {
            let mut topology = Topology::default();
            Gpus.survey(&tree.root(), &mut topology).unwrap();
            topology.gpus.into_iter().map(|gpu| gpu.model).collect::<Vec<_>>()
        };
        assert_eq!(models(&tree), [Some("H100 SXM5".to_owned())]);
        tree.file(
            "proc/driver/nvidia/gpus/0000:17:00.0/information",
            "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\n",
        );
        assert_eq!(models(&tree), [Some("NVIDIA H100 80GB HBM3".to_owned())]);
    }
}
