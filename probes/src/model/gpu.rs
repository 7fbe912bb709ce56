//! GPUs: where they sit, how near each rail is, and whether RDMA can reach their memory.

use super::PciePath;
use serde::{Deserialize, Serialize};

/// A GPU and its PCIe path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Name in findings: `gpu0`, in PCI address order.
    pub name: String,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// PCIe path.
    pub pcie: PciePath,
    /// What it is called (`NVIDIA H100 80GB HBM3`); `None` where neither its driver nor its ids tell.
    #[serde(default)]
    pub model: Option<String>,
    /// Kernel driver (`nvidia`, `amdgpu`); `None` when none is bound.
    #[serde(default)]
    pub driver: Option<String>,
    /// How near each RDMA device with a PCI function is, in the order of the rails.
    #[serde(default)]
    pub paths: Vec<GpuPath>,
    /// Whether its memory can be registered through a peer-memory module; `None` in a session that is older
    /// than the question.
    #[serde(default)]
    pub peermem: Option<Readiness>,
    /// Whether its memory can be registered as a dmabuf; `None` as for [`Gpu::peermem`].
    #[serde(default)]
    pub dmabuf: Option<Readiness>,
}

impl Gpu {
    /// Whether one of the two ways to register its memory with a NIC is proven ready.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        [&self.peermem, &self.dmabuf].into_iter().flatten().any(|way| way.ready == Some(true))
    }

    /// The path to an RDMA device.
    #[must_use]
    pub fn path_to(&self, device: &str) -> Option<&GpuPath> {
        self.paths.iter().find(|path| path.device == device)
    }
}

/// Whether something can be used, and what says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// `None` unknown; [`Readiness::reason`] says why.
    pub ready: Option<bool>,
    /// What proves it, what is missing, or what could not be learnt: one phrase for people.
    pub reason: String,
}

/// What lies between a GPU and an RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuPath {
    /// RDMA device.
    pub device: String,
    /// `None` when they share no bridge and the node of one is unknown.
    pub class: Option<PathClass>,
    /// Ports that traffic between the two passes below what they share, the GPU's side first; with
    /// [`PathClass::Phb`] the root ports are among them. Empty where it leaves the host bridge.
    pub ports: Vec<PathPort>,
}

/// How far apart two PCI functions are, nearest first.
///
/// Source: legend of `nvidia-smi topo -m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PathClass {
    /// At most one PCIe switch between them.
    Pix,
    /// Several PCIe switches, but not the host bridge.
    Pxb,
    /// One PCIe host bridge, which is in the CPU.
    Phb,
    /// Two host bridges of one NUMA node.
    Node,
    /// The link between NUMA nodes.
    Sys,
}

impl PathClass {
    /// The word as `nvidia-smi topo -m` prints it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
        }
    }

    /// Whether traffic between the two can stay below the CPU, given that no port redirects it.
    #[must_use]
    pub fn is_below_cpu(self) -> bool {
        self <= Self::Pxb
    }
}

/// A switch or root port between a GPU and an RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathPort {
    /// PCI address.
    pub address: String,
    /// Access control; `None` where extended config space is not readable, as without root.
    pub acs: Option<Acs>,
}

/// Access Control Services that send peer-to-peer traffic up to the root complex.
///
/// A port without the capability redirects nothing. Source: PCI Express Base Specification 5.0, section
/// 7.7.8 (ACS Control Register).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acs {
    /// P2P Request Redirect is enabled.
    pub request_redirect: bool,
    /// P2P Completion Redirect is enabled.
    pub completion_redirect: bool,
}

impl Acs {
    /// Whether traffic between two devices below the switch makes a detour over the root complex.
    #[must_use]
    pub fn redirects(self) -> bool {
        self.request_redirect || self.completion_redirect
    }
}
