//! Whether a NIC can reach GPU memory: by a peer-memory module, or by dmabuf.

use super::Probe;
use super::look::Look;
use crate::model::{Gap, Readiness, Topology};
use crate::root::{ReadError, Root};

const NAME: &str = "gpu-direct";
/// First kernel whose `ib_uverbs` registers a dmabuf (commit bfe0cc6eb249, "RDMA/uverbs: Add uverbs command
/// for dma-buf based MR registration").
const DMABUF_KERNEL: (u32, u32) = (5, 12);
/// First rdma-core with `ibv_reg_dmabuf_mr` (libibverbs/libibverbs.map.in, `IBVERBS_1.12`).
const DMABUF_RDMA_CORE: (u32, u32) = (34, 0);
/// First NVIDIA driver whose open kernel modules export a dmabuf (CUDA 11.7 comes with it).
const DMABUF_NVIDIA: (u32, u32) = (515, 0);

/// Looks what the GPUs' drivers, the kernel and rdma-core have of the two ways.
///
/// Sources: NVIDIA, "`GPUDirect` RDMA", `nvidia-peermem`; NCCL, `src/transport/net_ib` (`ncclIbGdrSupport`);
/// RCCL's version of it for `amdgpu`.
pub(super) struct GpuDirect;

impl Probe for GpuDirect {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { host, gpus, gaps, .. } = topology;
        if gpus.is_empty() {
            return Ok(());
        }
        let mut unheard = Vec::new();
        let look = Look::into(root, NAME, "host", "", &mut unheard);
        let modules = Modules::of(root, &look);
        let rdma = Rdma {
            kernel: host.kernel.as_deref(),
            has_ofed: host.ofed.is_some(),
            library: host.rdma_core.as_deref(),
            uverbs: root.exists("sys/class/infiniband_verbs").then_some(true).or(modules.has("ib_uverbs")),
        };
        for gpu in gpus {
            let (peermem, dmabuf) = match gpu.driver.as_deref() {
                Some("nvidia") => (nvidia_peermem(root, &modules), nvidia_dmabuf(&look, &rdma)),
                Some("amdgpu") => (amd_peermem(root), amd_dmabuf(&look, &rdma)),
                Some(driver) => {
                    let other = no(format!("driver {driver} gives RDMA no GPU memory"));
                    (other.clone(), other)
                }
                None => {
                    let other = unknown("no driver is bound to the GPU, as far as sysfs shows");
                    (other.clone(), other)
                }
            };
            for (what, way) in [("peermem", &peermem), ("dmabuf", &dmabuf)] {
                if way.ready.is_none() {
                    gaps.push(Gap {
                        probe: NAME.to_owned(),
                        subject: gpu.name.clone(),
                        reason: format!("{what}: {}", way.reason),
                    });
                }
            }
            gpu.peermem = Some(peermem);
            gpu.dmabuf = Some(dmabuf);
        }
        Ok(())
    }
}

fn yes(reason: impl Into<String>) -> Readiness {
    Readiness { ready: Some(true), reason: reason.into() }
}

fn no(reason: impl Into<String>) -> Readiness {
    Readiness { ready: Some(false), reason: reason.into() }
}

fn unknown(reason: impl Into<String>) -> Readiness {
    Readiness { ready: None, reason: reason.into() }
}

/// Kernel modules that are loaded.
struct Modules {
    /// `None` where neither list is readable.
    loaded: Option<Vec<String>>,
}

impl Modules {
    /// `/sys/module` has those built in that have parameters too, `/proc/modules` the loadable ones alone.
    fn of(root: &Root, look: &Look<'_>) -> Self {
        let of_proc = look.maybe("proc/modules").map(|text| {
            text.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
        });
        let of_sys = root.names("sys/module").ok();
        let loaded = match (of_proc, of_sys) {
            (Some(one), Some(other)) => Some([one, other].concat()),
            (one, other) => one.or(other),
        };
        Self { loaded }
    }

    fn has(&self, module: &str) -> Option<bool> {
        self.loaded.as_ref().map(|loaded| loaded.iter().any(|name| name == module))
    }
}

/// Folders in which peer-memory clients show themselves, by kernel and by how `ib_core` was patched.
const MEMORY_PEERS: [&str; 3] = ["sys/kernel/mm/memory_peers", "sys/kernel/memory_peers", "sys/memory_peers"];

/// `nvidia_peermem` refuses to load where `ib_core` has no peer-memory interface, so that being loaded proves it.
fn nvidia_peermem(root: &Root, modules: &Modules) -> Readiness {
    for client in ["nvidia-peermem", "nv_mem", "nv_mem_nc"] {
        if let Some(folder) = MEMORY_PEERS.iter().find(|folder| root.exists(format!("{folder}/{client}"))) {
            return yes(format!("/{folder}/{client} is there"));
        }
    }
    let wanted = ["nvidia_peermem", "nv_peer_mem"];
    if let Some(module) = wanted.into_iter().find(|module| modules.has(module) == Some(true)) {
        return yes(format!("module {module} is loaded"));
    }
    match modules.loaded {
        Some(_) => no("module nvidia_peermem is not loaded"),
        None => unknown("neither /proc/modules nor /sys/module is readable"),
    }
}

/// `amdgpu` is its own client; where `ib_core` shows no clients, only its symbols could tell.
fn amd_peermem(root: &Root) -> Readiness {
    match MEMORY_PEERS.iter().find(|folder| root.exists(format!("{folder}/amdkfd"))) {
        Some(folder) => yes(format!("/{folder}/amdkfd is there")),
        None => unknown("ib_core shows no memory_peers/amdkfd under /sys; not every patched one does"),
    }
}

/// The RDMA side of dmabuf, equal for every GPU.
struct Rdma<'a> {
    kernel: Option<&'a str>,
    has_ofed: bool,
    library: Option<&'a str>,
    uverbs: Option<bool>,
}

impl Rdma<'_> {
    /// What is missing or not known on the RDMA side; `None` when all is there.
    fn obstacle(&self) -> Option<Readiness> {
        let Some(kernel) = self.kernel else { return Some(unknown("kernel version unknown")) };
        let [major, minor] = [DMABUF_KERNEL.0, DMABUF_KERNEL.1];
        match version(kernel) {
            None => return Some(unknown(format!("kernel version {kernel} is not understood"))),
            Some(at) if at < DMABUF_KERNEL => {
                let older = format!("kernel {kernel} is older than {major}.{minor}");
                // Red Hat's kernels and out-of-tree stacks carry newer RDMA than their number says
                let backported = self.has_ofed || kernel.contains(".el");
                return Some(if backported {
                    unknown(format!("{older}, but its RDMA stack may be newer"))
                } else {
                    no(older)
                });
            }
            Some(_) => {}
        }
        match self.uverbs {
            Some(true) => {}
            Some(false) => return Some(no("module ib_uverbs is not loaded")),
            None => return Some(unknown("whether ib_uverbs is loaded is not known")),
        }
        let Some(library) = self.library else {
            return Some(unknown("rdma-core not found, its version unknown"));
        };
        match version(library) {
            Some(at) if at >= DMABUF_RDMA_CORE => None,
            Some(_) => Some(no(format!("rdma-core {library} is older than {}", DMABUF_RDMA_CORE.0))),
            None => Some(unknown(format!("rdma-core version {library} is not understood"))),
        }
    }

    fn there(&self) -> String {
        format!("kernel {}, rdma-core {}", self.kernel.unwrap_or("?"), self.library.unwrap_or("?"))
    }
}

/// Only the open kernel modules export a dmabuf.
fn nvidia_dmabuf(look: &Look<'_>, rdma: &Rdma<'_>) -> Readiness {
    let text = look.maybe("proc/driver/nvidia/version");
    let open = match &text {
        Some(text) => Some(text.contains("Open Kernel Module")),
        // the kernel marks a proprietary module (Documentation/admin-guide/tainted-kernels.rst)
        None => look.maybe_empty("sys/module/nvidia/taint").map(|taint| !taint.contains('P')),
    };
    let driver = text.as_deref().and_then(nvidia_version).or_else(|| look.maybe("sys/module/nvidia/version"));
    let name = driver.as_deref().map_or_else(|| "nvidia".to_owned(), |version| format!("nvidia {version}"));
    match (open, driver.as_deref().and_then(version)) {
        (Some(false), _) => {
            return no(format!("{name} is the proprietary kernel module, dmabuf needs the open one"));
        }
        (None, _) => {
            return unknown("neither /proc/driver/nvidia/version nor /sys/module/nvidia/taint is readable");
        }
        (Some(true), Some(at)) if at < DMABUF_NVIDIA => {
            return no(format!("{name} is older than {}", DMABUF_NVIDIA.0));
        }
        (Some(true), Some(_)) => {}
        (Some(true), None) => return unknown("version of the nvidia module unknown"),
    }
    rdma.obstacle().unwrap_or_else(|| yes(format!("{name} (open kernel module), {}", rdma.there())))
}

/// `550.54.15` of `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar ...`.
fn nvidia_version(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.contains("NVRM version"))?;
    let is_version = |word: &&str| {
        word.contains('.')
            && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    line.split_whitespace().find(is_version).map(str::to_owned)
}

/// `amdgpu` exports a dmabuf that a NIC can use where the kernel was built with moving dmabufs and PCI
/// peer-to-peer.
fn amd_dmabuf(look: &Look<'_>, rdma: &Rdma<'_>) -> Readiness {
    if let Some(obstacle) = rdma.obstacle() {
        return obstacle;
    }
    let file = format!("boot/config-{}", rdma.kernel.unwrap_or_default());
    let Some(config) = look.maybe(&file) else {
        return unknown(format!(
            "/{file} is not readable, which tells CONFIG_PCI_P2PDMA and CONFIG_DMABUF_MOVE_NOTIFY"
        ));
    };
    let missing = ["CONFIG_PCI_P2PDMA", "CONFIG_DMABUF_MOVE_NOTIFY"]
        .into_iter()
        .find(|option| !config.lines().any(|line| line == format!("{option}=y")));
    match missing {
        Some(option) => no(format!("the kernel was built without {option}")),
        None => yes(format!("amdgpu, {}", rdma.there())),
    }
}

/// Major and minor of `5.15.0-105-generic`, `550.54.15` or `44.0`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

#[cfg(test)]
mod tests;
