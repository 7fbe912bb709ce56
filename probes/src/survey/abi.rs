//! Whether the verbs library speaks the kernel's ABI, as far as a copied tree holds what the library said.

use super::Probe;
use crate::model::{AbiRefusal, Topology};
use crate::root::{ReadError, Root};

const CAPTURED: &str = "captured";

/// Looks for the library's complaints in the texts of its tools (`captured/ibv_devinfo` and the like).
///
/// The complaint goes to the tool's standard error; nothing in sysfs tells what a library can do. On a live
/// machine the library prints it too, and does not list the device: the `verbs` probe has a gap then.
pub(super) struct Abi;

impl Probe for Abi {
    fn name(&self) -> &'static str {
        "abi"
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        if root.is_live() {
            return Ok(());
        }
        let names = root.names(CAPTURED).unwrap_or_default();
        for name in names.iter().filter(|name| name.starts_with("ibv_")) {
            let Ok(text) = root.text(format!("{CAPTURED}/{name}")) else { continue };
            for mut refusal in text.lines().filter_map(refusal) {
                refusal.device = refusal.device.map(|device| device_of(root, &device));
                if !topology.host.abi_refusals.contains(&refusal) {
                    topology.host.abi_refusals.push(refusal);
                }
            }
        }
        Ok(())
    }
}

/// The RDMA device behind a name of its own or of its uverbs device.
fn device_of(root: &Root, name: &str) -> String {
    root.text(format!("sys/class/infiniband_verbs/{name}/ibdev")).unwrap_or_else(|_| name.to_owned())
}

/// What a line says if it is one of the library's complaints.
///
/// Sources: rdma-core, libibverbs/init.c (`match_driver`, `check_abi_version`); libmlx4 and libmlx5 before
/// rdma-core, `mlx4_driver_init`.
fn refusal(line: &str) -> Option<AbiRefusal> {
    let device = |after: &str| Some(after.split_whitespace().next()?.rsplit('/').next()?.to_owned());
    if let Some((before, after)) = line.split_once(" does not support the kernel ABI of ") {
        return Some(AbiRefusal {
            provider: before.rsplit_once("Driver ").map(|(_, driver)| driver.trim().to_owned()),
            device: after.split_once("for device ").and_then(|(_, path)| device(path)),
            kernel_abi: number(after)?,
            library_min_abi: after.split_once("(supports ").and_then(|(_, range)| number(range)),
            library_max_abi: after.split_once(" to ").and_then(|(_, newest)| number(newest)),
        });
    }
    if let Some((before, after)) = line.split_once("Fatal: ABI version ") {
        let path =
            after.split_once(" of ").map(|(_, path)| path).filter(|_| after.contains("not supported"))?;
        return Some(AbiRefusal {
            provider: before.trim().trim_end_matches(':').strip_prefix("lib").map(str::to_owned),
            device: device(path),
            kernel_abi: number(after)?,
            library_min_abi: after.split_once("min supported ").and_then(|(_, oldest)| number(oldest)),
            library_max_abi: after.split_once("max supported ").and_then(|(_, newest)| number(newest)),
        });
    }
    let (_, after) = line.split_once("kernel ABI version ")?;
    let (_, library) = after.split_once("doesn't match library version ")?;
    Some(AbiRefusal { kernel_abi: number(after)?, library_max_abi: number(library), ..AbiRefusal::default() })
}

/// The number that a text begins with.
fn number(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Abi, refusal};
    use crate::model::{AbiRefusal, Topology};
    use crate::survey::Probe;
    use crate::survey::testing::Tree;

    fn told(
        provider: Option<&str>,
        device: Option<&str>,
        abis: (u32, Option<u32>, Option<u32>),
    ) -> AbiRefusal {
        AbiRefusal {
            provider: provider.map(str::to_owned),
            device: device.map(str::to_owned),
            kernel_abi: abis.0,
            library_min_abi: abis.1,
            library_max_abi: abis.2,
        }
    }

    #[test]
    fn the_three_complaints_of_the_library_are_understood() {
        let found = refusal(
            "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for \
             device /sys/class/infiniband/bnxt_re2",
        );
        assert_eq!(found, Some(told(Some("bnxt_re"), Some("bnxt_re2"), (6, Some(1), Some(1)))));
        let found = refusal(
            "libmlx4: Fatal: ABI version 5 of /sys/class/infiniband_verbs/uverbs0 is not supported (min \
             supported 3, max supported 4)",
        );
        assert_eq!(found, Some(told(Some("mlx4"), Some("uverbs0"), (5, Some(3), Some(4)))));
        let found = refusal("libibverbs: Fatal: kernel ABI version 7 doesn't match library version 6.");
        assert_eq!(found, Some(told(None, None, (7, None, Some(6)))));
    }

    #[test]
    fn other_lines_say_nothing_of_it() {
        for line in [
            "No IB devices found",
            "hca_id:\tmlx5_0",
            "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.",
            "Driver x does not support the kernel ABI of",
            "Fatal: ABI version ",
            "kernel ABI version doesn't match library version ",
            "",
        ] {
            assert_eq!(refusal(line), None, "{line}");
        }
    }

    #[test]
    fn a_uverbs_name_leads_to_its_rdma_device_and_a_complaint_counts_once() {
        let tree = Tree::with_nic();
        let text = "libmlx5: Fatal: ABI version 2 of /sys/class/infiniband_verbs/uverbs0 is not supported (min \
                    supported 1, max supported 1)\n";
        tree.file("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
        tree.file("captured/ibv_devinfo", format!("{text}{text}No IB devices found\n"));
        tree.file("captured/ethtool-S/eth0", text);
        let mut topology = Topology::default();
        Abi.survey(&tree.root(), &mut topology).unwrap();
        assert_eq!(topology.host.abi_refusals, [told(Some("mlx5"), Some("mlx5_0"), (2, Some(1), Some(1)))]);
    }
}
