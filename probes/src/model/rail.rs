//! A rail: one port of one RDMA device, the thing whose GB/s is asked for.

use super::{Bond, Gid, GidChoice, PciePath};
use serde::{Deserialize, Serialize};

/// Link layer of a port, as sysfs names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkLayer {
    /// RoCE, iWARP or a driver's own protocol over Ethernet.
    Ethernet,
    /// InfiniBand proper.
    InfiniBand,
}

/// A subnet that a netdev is directly in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subnet {
    /// The netdev: the rail's own, a VLAN of it, or the bond above it.
    pub netdev: String,
    /// The network, such as `198.51.100.0/24`.
    pub network: String,
}

/// One port of one RDMA device. Every `None` has a gap that says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rail {
    /// RDMA device name, such as `mlx5_bond_1`.
    pub device: String,
    /// Port number, from 1.
    pub port: u32,
    /// Netdev that belongs to the port.
    pub netdev: Option<String>,
    /// Kernel driver of the PCI function (`mlx5_core`), or of the device (`rdma_rxe`).
    pub driver: Option<String>,
    /// Whether the PCI function is a virtual function.
    pub is_vf: Option<bool>,
    /// Link layer.
    pub link_layer: Option<LinkLayer>,
    /// Node type as sysfs prints it after the number: `CA`, `RNIC`, `unspecified`.
    pub node_type: Option<String>,
    /// Port state word: `ACTIVE`, `INIT`, `DOWN`.
    pub state: Option<String>,
    /// Physical state word: `LinkUp`, `Polling`, `Disabled`.
    pub phys_state: Option<String>,
    /// InfiniBand local id; `None` on Ethernet.
    pub lid: Option<u16>,
    /// LID of the subnet manager; `None` on Ethernet.
    pub sm_lid: Option<u16>,
    /// NUMA node of the function; `None` when the platform does not tell.
    pub numa_node: Option<u32>,
    /// CPUs the platform calls local to the function.
    pub local_cpus: Option<super::CpuSet>,
    /// Firmware version.
    pub firmware: Option<String>,
    /// Board id (PSID).
    pub board_id: Option<String>,
    /// `sys_image_guid`: equal on functions of one card.
    pub system_image_guid: Option<String>,
    /// `rate` as sysfs prints it; a placeholder on a port that is DOWN, one leg's rate on a bond.
    pub rate_text: Option<String>,
    /// Rate of the wire, both legs of a bond together; `None` unless the port is ACTIVE.
    pub line_gbit_per_s: Option<f64>,
    /// Path MTU in use on the port, bytes.
    pub path_mtu: Option<u32>,
    /// Largest path MTU the port can do, bytes.
    pub max_path_mtu: Option<u32>,
    /// MTU of the netdev, bytes.
    pub netdev_mtu: Option<u32>,
    /// GID table without its empty entries.
    pub gids: Vec<Gid>,
    /// Whether the GID table could be read: an empty [`Rail::gids`] then means that it holds no address.
    #[serde(default)]
    pub gid_table_read: bool,
    /// IPv4 and IPv6 subnets that the netdevs of its GIDs are directly in, without link-local ones. Empty where
    /// there are none, and where the routing table is not readable (a gap).
    #[serde(default)]
    pub subnets: Vec<Subnet>,
    /// Recommended GID index; `None` when no entry is usable.
    pub gid: Option<GidChoice>,
    /// PCIe path; `None` for devices without a PCI function (soft-RoCE on a virtual netdev).
    pub pcie: Option<PciePath>,
    /// Bond under the rail; `None` when it is no bond.
    pub bond: Option<Bond>,
    /// READ requests a queue pair may have outstanding as initiator (`max_qp_init_rd_atom`).
    pub max_read_depth: Option<u32>,
    /// Interrupts of the PCI function; `None` unknown or without a function.
    #[serde(default)]
    pub interrupts: Option<Interrupts>,
    /// Character device of the verbs library, such as `/dev/infiniband/uverbs0`.
    pub uverbs: Option<String>,
    /// Character device that the kernel has announced and that is not in `/dev`, though `/dev` can be looked into;
    /// `/dev/infiniband/uverbs*` where the kernel announces none for any device.
    #[serde(default)]
    pub missing_uverbs: Option<String>,
    /// Whether the device has a node GUID; `Some(false)` where it reads as zero.
    #[serde(default)]
    pub has_guid: Option<bool>,
    /// Names of the counters sampled into [`super::RailFrame::counters`], in that order, such as
    /// `hw/out_of_sequence` or `port/link_downed`. The two byte counters are not among them.
    pub counters: Vec<String>,
}

/// Where the message-signalled interrupts of a PCI function are served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupts {
    /// How many there are.
    pub count: u32,
    /// CPUs that one of them may go to (`smp_affinity_list`); `None` when not readable.
    pub allowed: Option<super::CpuSet>,
    /// CPUs that one of them does go to (`effective_affinity_list`); `None` when not readable.
    pub effective: Option<super::CpuSet>,
}

impl Rail {
    /// Whether the port carries traffic.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.state.as_deref() == Some("ACTIVE")
    }

    /// Whether it may be reckoned with: it is ACTIVE, or a file tells its rate and not its state, as NCCL's do.
    #[must_use]
    pub fn may_carry(&self) -> bool {
        self.is_active() || (self.state.is_none() && self.line_gbit_per_s.is_some())
    }

    /// Whether the host's CPUs move the data (soft-RoCE, soft-iWARP), and no card of the rail's own.
    #[must_use]
    pub fn is_software(&self) -> bool {
        matches!(self.driver.as_deref(), Some("rdma_rxe" | "siw"))
    }
}
