//! The host around the rails.

use super::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Software and hardware of the host. Every `None` has a gap that says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub hostname: Option<String>,
    /// Kernel release (`uname -r`).
    pub kernel: Option<String>,
    /// Operating system name for people (`PRETTY_NAME` of os-release).
    pub os: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// CPU sockets with at least one online CPU.
    pub sockets: Option<u32>,
    /// Logical CPUs online.
    pub cpus: Option<u32>,
    /// Memory of the machine, bytes.
    pub memory_bytes: Option<u64>,
    /// Version of the rdma-core library found.
    pub rdma_core: Option<String>,
    /// Out-of-tree driver stack version (`MLNX_OFED_LINUX-…`); `None` when in-tree.
    pub ofed: Option<String>,
    /// Soft limit of locked memory of this process, bytes; `None` when unlimited or unknown.
    pub memlock_bytes: Option<u64>,
    /// Whether locked memory is unlimited.
    pub memlock_unlimited: Option<bool>,
    /// Whether this process may lock more than the limit (`CAP_IPC_LOCK`), as root may.
    #[serde(default)]
    pub memlock_exempt: Option<bool>,
    /// Kernel automatic NUMA balancing (`/proc/sys/kernel/numa_balancing` not 0).
    pub numa_balancing: Option<bool>,
    /// CPUs by their frequency governor (`performance`, `powersave`); `None` where the kernel sets no frequency,
    /// as in most virtual machines.
    #[serde(default)]
    pub cpu_governors: Option<BTreeMap<String, CpuSet>>,
    /// CPUs by their energy preference (`performance`, `balance_power`); `None` where the driver has none.
    #[serde(default)]
    pub energy_preferences: Option<BTreeMap<String, CpuSet>>,
    /// `off`, `passthrough` or `translated`, as far as the command line and sysfs tell.
    pub iommu: Option<String>,
    /// CPUs of each physical package (socket), by the kernel's number of it.
    #[serde(default)]
    pub packages: BTreeMap<u32, CpuSet>,
    /// Cores whose threads the nodes' CPU lists put on more than one node; each entry is one core's threads.
    #[serde(default)]
    pub split_cores: Vec<CpuSet>,
    /// Whether the kernel's RDMA core is loaded (`/sys/class/infiniband` is there); `None` in older sessions.
    #[serde(default)]
    pub rdma_loaded: Option<bool>,
    /// Drivers whose part of the verbs library refuses the kernel's ABI.
    #[serde(default)]
    pub abi_refusals: Vec<AbiRefusal>,
    /// CPUs this process's cgroup may use.
    pub cpuset_cpus: Option<CpuSet>,
    /// NUMA nodes this process's cgroup may take memory from.
    pub cpuset_mems: Option<CpuSet>,
}

/// A kernel ABI that the verbs library, or its part for one driver, does not speak.
///
/// Source: rdma-core, libibverbs/init.c, `match_driver` and `check_abi_version`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbiRefusal {
    /// Driver's part of the library (`bnxt_re`); `None` where the library as a whole refuses.
    pub provider: Option<String>,
    /// RDMA device it was refused for; `None` where it is every device's.
    pub device: Option<String>,
    /// ABI the kernel speaks.
    pub kernel_abi: u32,
    /// Oldest ABI the library speaks.
    pub library_min_abi: Option<u32>,
    /// Newest ABI the library speaks.
    pub library_max_abi: Option<u32>,
}

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NumaNode {
    /// Kernel's number of the node; numbers may have holes.
    pub node: u32,
    /// CPUs of the node; empty for memory-only nodes, `None` unknown.
    pub cpus: Option<CpuSet>,
    /// Memory of the node, bytes; 0 for nodes without memory.
    pub memory_bytes: Option<u64>,
    /// Memory of the node that nobody has, when the survey looked, bytes; `None` unknown.
    #[serde(default)]
    pub memory_free_bytes: Option<u64>,
    /// Socket (physical package) of the node's first CPU.
    pub socket: Option<u32>,
    /// ACPI SLIT distances by node number; 10 is local.
    pub distances: BTreeMap<u32, u32>,
    /// Pools of huge pages, smallest pages first; `None` unknown, or a kernel without them.
    #[serde(default)]
    pub hugepages: Option<Vec<HugePages>>,
}

/// Huge pages of one size on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePages {
    /// Bytes of one page.
    pub page_bytes: u64,
    /// Pages in the pool.
    pub total: u64,
    /// Pages of the pool that nobody has.
    pub free: u64,
}
