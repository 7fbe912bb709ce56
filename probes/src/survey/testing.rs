//! Small machines for tests: files and links in a throw-away folder.

use crate::root::Root;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A copied tree in the making.
pub(crate) struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> Root {
        Root::at(self.dir.path())
    }

    /// Writes a file; the folders on the way are made, links on the way are followed.
    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let full = self.dir.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
        self
    }

    /// Writes several files into one folder.
    pub(crate) fn files(&self, folder: &str, files: &[(&str, &str)]) -> &Self {
        for (name, text) in files {
            self.file(&format!("{folder}/{name}"), text);
        }
        self
    }

    /// Makes `path` a link to `to`, both seen from the tree's root.
    pub(crate) fn link(&self, path: &str, to: &str) -> &Self {
        let full = self.dir.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::create_dir_all(self.dir.path().join(to)).unwrap();
        let up = "../".repeat(Path::new(path).components().count() - 1);
        symlink(format!("{up}{to}"), full).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        let full = self.dir.path().join(path);
        if full.is_dir() {
            std::fs::remove_dir_all(full).unwrap();
        } else {
            std::fs::remove_file(full).unwrap();
        }
        self
    }

    /// A PCI function below `parent` (a path under `sys/devices`), with its link at x16 of 32 GT/s.
    pub(crate) fn pci(&self, parent: &str, address: &str, class: &str, id: (&str, &str)) -> String {
        let folder = format!("sys/devices/{parent}/{address}");
        self.files(
            &folder,
            &[
                ("class", class),
                ("vendor", id.0),
                ("device", id.1),
                ("numa_node", "0\n"),
                ("local_cpulist", "0-3\n"),
                ("current_link_speed", "32.0 GT/s PCIe\n"),
                ("current_link_width", "16\n"),
                ("max_link_speed", "32.0 GT/s PCIe\n"),
                ("max_link_width", "16\n"),
            ],
        );
        self.link(&format!("sys/bus/pci/devices/{address}"), &folder);
        format!("{parent}/{address}")
    }

    /// A `ConnectX-7` at 400G on root port `40:01.0`, with one RoCE port and the netdev `eth0`.
    pub(crate) fn with_nic() -> Self {
        let tree = Self::new();
        let port = tree.pci("pci0000:40", "0000:40:01.0", "0x060400\n", ("0x1022\n", "0x14ab\n"));
        let nic = tree.pci(&port, "0000:41:00.0", "0x020000\n", ("0x15b3\n", "0x1021\n"));
        let folder = format!("sys/devices/{nic}");
        tree.link(&format!("{folder}/driver"), "sys/bus/pci/drivers/mlx5_core");
        tree.rdma_device(&format!("{folder}/infiniband/mlx5_0"), "mlx5_0", "eth0");
        tree.link(&format!("{folder}/infiniband/mlx5_0/device"), &folder);
        tree.netdev(&format!("{folder}/net/eth0"), "eth0", "400000\n");
        tree.link(&format!("{folder}/net/eth0/device"), &folder);
        tree
    }

    /// Files of a RoCE device with one port.
    pub(crate) fn rdma_device(&self, folder: &str, device: &str, netdev: &str) -> &Self {
        self.files(
            folder,
            &[
                ("node_type", "1: CA\n"),
                ("fw_ver", "28.39.1002\n"),
                ("board_id", "MT_0000000834\n"),
                ("node_guid", "aaaa:0000:0000:0001\n"),
                ("sys_image_guid", "aaaa:0000:0000:0001\n"),
                ("ports/1/state", "4: ACTIVE\n"),
                ("ports/1/phys_state", "5: LinkUp\n"),
                ("ports/1/rate", "400 Gb/sec (4X NDR)\n"),
                ("ports/1/link_layer", "Ethernet\n"),
                ("ports/1/lid", "0x0\n"),
                ("ports/1/sm_lid", "0x0\n"),
                ("ports/1/gids/4", "0000:0000:0000:0000:0000:0000:0000:0000\n"),
            ],
        );
        let local = "fe80:0000:0000:0000:0000:00ff:fe00:0101\n";
        let ipv4 = "0000:0000:0000:0000:0000:ffff:c633:640b\n";
        for (index, gid, kind) in [
            (0, local, "IB/RoCE v1\n"),
            (1, local, "RoCE v2\n"),
            (2, ipv4, "IB/RoCE v1\n"),
            (3, ipv4, "RoCE v2\n"),
        ] {
            self.file(&format!("{folder}/ports/1/gids/{index}"), gid);
            self.file(&format!("{folder}/ports/1/gid_attrs/types/{index}"), kind);
            self.file(&format!("{folder}/ports/1/gid_attrs/ndevs/{index}"), format!("{netdev}\n"));
        }
        self.link(&format!("sys/class/infiniband/{device}"), folder)
    }

    /// Files of a netdev that is up, with an MTU of 4200.
    pub(crate) fn netdev(&self, folder: &str, netdev: &str, speed: &str) -> &Self {
        self.files(folder, &[("mtu", "4200\n"), ("speed", speed), ("operstate", "up\n"), ("carrier", "1\n")]);
        self.link(&format!("sys/class/net/{netdev}"), folder)
    }
}
