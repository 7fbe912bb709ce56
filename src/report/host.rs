//! The host block and the NUMA nodes.

use probes::model::{CpuSet, Host, HugePages, NumaNode};
use serde::Serialize;
use std::collections::BTreeMap;

/// Software and hardware around the rails.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostBlock {
    /// Host name.
    pub hostname: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Operating system name for people.
    pub os: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// CPU sockets.
    pub sockets: Option<u32>,
    /// Logical CPUs online.
    pub cpus: Option<u32>,
    /// Memory of the machine.
    pub memory_bytes: Option<u64>,
    /// Version of rdma-core.
    pub rdma_core: Option<String>,
    /// Version of an out-of-tree driver stack; null when in-tree.
    pub ofed: Option<String>,
    /// Locked-memory limit; null when unlimited or unknown.
    pub memlock_bytes: Option<u64>,
    /// Whether locked memory is unlimited.
    pub memlock_unlimited: Option<bool>,
    /// Whether this process may lock more than the limit.
    pub memlock_exempt: Option<bool>,
    /// Kernel automatic NUMA balancing.
    pub numa_balancing: Option<bool>,
    /// CPUs by frequency governor; null where the kernel sets no frequency.
    pub cpu_governors: Option<BTreeMap<String, CpuSet>>,
    /// CPUs by energy preference; null where the driver has none.
    pub energy_preferences: Option<BTreeMap<String, CpuSet>>,
    /// `off`, `passthrough` or `translated`.
    pub iommu: Option<String>,
}

impl HostBlock {
    pub(super) fn of(host: &Host) -> Self {
        Self {
            hostname: host.hostname.clone(),
            kernel: host.kernel.clone(),
            os: host.os.clone(),
            cpu_model: host.cpu_model.clone(),
            sockets: host.sockets,
            cpus: host.cpus,
            memory_bytes: host.memory_bytes,
            rdma_core: host.rdma_core.clone(),
            ofed: host.ofed.clone(),
            memlock_bytes: host.memlock_bytes,
            memlock_unlimited: host.memlock_unlimited,
            memlock_exempt: host.memlock_exempt,
            numa_balancing: host.numa_balancing,
            cpu_governors: host.cpu_governors.clone(),
            energy_preferences: host.energy_preferences.clone(),
            iommu: host.iommu.clone(),
        }
    }
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeRow {
    /// Kernel's number of the node.
    pub node: u32,
    /// CPUs as a list such as `0-95,192-287`; empty for a node without CPUs.
    pub cpus: Option<CpuSet>,
    /// Memory of the node.
    pub memory_bytes: Option<u64>,
    /// Memory of the node that nobody had when it was looked at.
    pub memory_free_bytes: Option<u64>,
    /// Socket of the node's CPUs.
    pub socket: Option<u32>,
    /// ACPI distances by node; 10 is local.
    pub distances: BTreeMap<u32, u32>,
    /// Pools of huge pages, smallest pages first; null unknown.
    pub hugepages: Option<Vec<HugePages>>,
}

impl NodeRow {
    pub(super) fn of(node: &NumaNode) -> Self {
        Self {
            node: node.node,
            cpus: node.cpus.clone(),
            memory_bytes: node.memory_bytes,
            memory_free_bytes: node.memory_free_bytes,
            socket: node.socket,
            distances: node.distances.clone(),
            hugepages: node.hugepages.clone(),
        }
    }
}
