//! Which PCI function a device sits on, and where its folder in sysfs is.

use crate::model::CpuSet;
use crate::root::Root;
use std::path::{Path, PathBuf};

/// A PCI function's folder below `sys/devices`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// `0000:41:00.0`.
    pub address: String,
    /// Folder, links followed; its parents are the ports above.
    pub folder: PathBuf,
}

impl Function {
    /// The function that `path` (a device's folder, or one below it such as `virtio0`) belongs to.
    ///
    /// `None` when no part of the path is a PCI address.
    pub fn above(root: &Root, path: impl AsRef<Path>) -> Option<Self> {
        let folder = root.canonical(path).ok()?;
        folder.ancestors().find_map(|at| {
            let address = at.file_name()?.to_str().filter(|name| is_address(name))?;
            Some(Self { address: address.to_owned(), folder: at.to_owned() })
        })
    }

    /// The function of an RDMA device; `None` for one without, such as soft-RoCE.
    pub fn of_rdma_device(root: &Root, device: &str) -> Option<Self> {
        Self::above(root, format!("sys/class/infiniband/{device}/device"))
    }

    /// The function of a netdev; `None` for virtual ones.
    pub fn of_netdev(root: &Root, netdev: &str) -> Option<Self> {
        Self::above(root, format!("sys/class/net/{netdev}/device"))
    }

    /// The functions from this one up to the root, this one first. Bridges stand between a card and the root.
    pub fn path_to_root(&self) -> Vec<Self> {
        self.folder
            .ancestors()
            .map_while(|at| {
                let address = at.file_name()?.to_str().filter(|name| is_address(name))?;
                Some(Self { address: address.to_owned(), folder: at.to_owned() })
            })
            .collect()
    }

    /// Whether the function is a virtual one.
    ///
    /// On the host the kernel links it to its physical function. In a guest it does not, and only the
    /// device id tells, where the vendor has ids of its own for virtual functions.
    pub fn is_vf(&self, root: &Root) -> bool {
        // a copied tree may have the link without what it leads to
        let physical = self.folder.join("physfn");
        if root.exists(&physical) || root.link_name(&physical).is_ok() {
            return true;
        }
        let id = |file: &str| root.text(self.folder.join(file)).unwrap_or_default();
        match id("vendor").as_str() {
            "0x15b3" => MELLANOX_VIRTUAL.contains(&id("device").as_str()),
            "0x14e4" => BROADCOM_VIRTUAL.contains(&id("device").as_str()),
            _ => false,
        }
    }

    /// The physical function under a virtual one, where the host shows it.
    pub fn physical(&self, root: &Root) -> Option<Self> {
        Self::above(root, self.folder.join("physfn"))
    }

    /// Name of the driver bound to the function.
    pub fn driver(&self, root: &Root) -> Option<String> {
        root.link_name(self.folder.join("driver")).ok()
    }

    /// Names in the function's `net` folder.
    ///
    /// A virtio NIC hangs one level lower (`virtio0/net`).
    pub fn netdevs(&self, root: &Root) -> Vec<String> {
        let mut found = root.names(self.folder.join("net")).unwrap_or_default();
        for child in root.names(&self.folder).unwrap_or_default() {
            if child.starts_with("virtio") {
                found.extend(root.names(self.folder.join(child).join("net")).unwrap_or_default());
            }
        }
        found
    }

    /// RDMA devices on the function.
    pub fn rdma_devices(&self, root: &Root) -> Vec<String> {
        root.names(self.folder.join("infiniband")).unwrap_or_default()
    }

    /// CPUs the platform calls local: `local_cpulist`, on older kernels `local_cpus` alone.
    ///
    /// `None` also where it names none, as for a function on a node without CPUs.
    pub fn local_cpus(&self, root: &Root) -> Option<CpuSet> {
        let named = |cpus: &CpuSet| !cpus.is_empty();
        let list = root.text(self.folder.join("local_cpulist")).ok().and_then(|text| text.parse().ok());
        list.filter(named)
            .or_else(|| cpus_of_mask(&root.text(self.folder.join("local_cpus")).ok()?).filter(named))
    }

    /// `15b3` of the file `vendor`, `1021` of the file `device`; `None` where it is missing or empty.
    pub fn id(&self, root: &Root, file: &str) -> Option<String> {
        let text = root.text(self.folder.join(file)).ok()?;
        Some(text.trim_start_matches("0x").to_owned()).filter(|id| !id.is_empty())
    }
}

/// Device ids that Mellanox gave to virtual functions.
///
/// Sources: `mlx5_core_pci_table` in drivers/net/ethernet/mellanox/mlx5/core/main.c, `mlx4_pci_table` in mlx4's.
const MELLANOX_VIRTUAL: [&str; 10] =
    ["0x1002", "0x1004", "0x1012", "0x1014", "0x1016", "0x1018", "0x101a", "0x101c", "0x101e", "0xa2d3"];

/// Device ids that Broadcom gave to virtual functions of `NetXtreme`-C, -E and -S.
///
/// Source: `bnxt_pci_tbl` in drivers/net/ethernet/broadcom/bnxt/bnxt.c.
const BROADCOM_VIRTUAL: [&str; 21] = [
    "0x1606", "0x1607", "0x1608", "0x1609", "0x16bd", "0x16c1", "0x16c2", "0x16c3", "0x16c4", "0x16c5",
    "0x16cb", "0x16d3", "0x16dc", "0x16e1", "0x16e5", "0x16e6", "0x1806", "0x1807", "0x1808", "0x1809",
    "0x1819",
];

/// `0000:41:00` of `0000:41:00.0`: equal on the functions of one card.
pub(super) fn slot(address: &str) -> &str {
    address.rsplit_once('.').map_or(address, |(slot, _)| slot)
}

/// Whether a name is a PCI address as sysfs writes it: `0000:41:00.0`.
pub(super) fn is_address(name: &str) -> bool {
    let hex = |text: &str, least: usize, most: usize| {
        (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let mut parts = name.split(':');
    let (Some(domain), Some(bus), Some(rest), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    rest.split_once('.').is_some_and(|(device, function)| {
        // domains above 0xffff are those of volume management devices
        hex(domain, 4, 8) && hex(bus, 2, 2) && hex(device, 2, 2) && hex(function, 1, 1)
    })
}

/// The CPUs of a mask as sysfs writes it: `00000000,0000ff00`, most significant word first.
pub(crate) fn cpus_of_mask(mask: &str) -> Option<CpuSet> {
    let mut cpus = Vec::new();
    let mut first = 0;
    for word in mask.trim().rsplit(',') {
        let bits = u32::from_str_radix(word, 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
        first += 32;
    }
    Some(cpus.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::{Function, cpus_of_mask, is_address};
    use crate::survey::testing::Tree;

    #[test]
    fn a_pci_address_is_told_from_other_names() {
        for name in ["0000:41:00.0", "10000:01:00.3", "0000:AF:1f.7"] {
            assert!(is_address(name), "{name}");
        }
        for name in [
            "pci0000:40",
            "virtio0",
            "0000:41:00",
            "0000:41:00.10",
            "0000:4:00.0",
            "",
            "..:..:...",
            "41:00.0",
        ] {
            assert!(!is_address(name), "{name}");
        }
    }

    #[test]
    fn a_mask_is_read_from_its_least_significant_word() {
        let list = |mask| cpus_of_mask(mask).map(|cpus| cpus.to_string());
        assert_eq!(list("00000000,0000ff00").as_deref(), Some("8-15"));
        assert_eq!(list("0000,00000022,22222222\n").as_deref(), Some("1,5,9,13,17,21,25,29,33,37"));
        assert_eq!(list("zz"), None);
    }

    #[test]
    fn a_virtio_nic_is_found_one_level_below_its_function() {
        let tree = Tree::new();
        let function = tree.pci("pci0000:00", "0000:01:00.0", "0x020000\n", ("0x1af4\n", "0x1041\n"));
        let below = format!("sys/devices/{function}/virtio0");
        tree.netdev(&format!("{below}/net/nic0"), "nic0", "-1\n")
            .link(&format!("{below}/net/nic0/device"), &below);
        let root = tree.root();
        let found = Function::of_netdev(&root, "nic0").unwrap();
        assert_eq!(found.address, "0000:01:00.0");
        assert_eq!(found.netdevs(&root), ["nic0"]);
    }

    #[test]
    fn the_path_to_the_root_names_every_port() {
        let tree = Tree::with_nic();
        let nic = Function::of_rdma_device(&tree.root(), "mlx5_0").unwrap();
        let addresses: Vec<String> = nic.path_to_root().into_iter().map(|f| f.address).collect();
        assert_eq!(addresses, ["0000:41:00.0", "0000:40:01.0"]);
    }
}
