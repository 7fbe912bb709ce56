//! Memory of a GPU as the buffer of a load: which GPU it is, and what helps where it cannot be had.

use super::LoadError;
use crate::ffi::cuda::{self, DeviceMemory, Facts, NoExport};
use crate::ffi::verbs::{Error, GpuRefused, NoDmabuf, lacks_dmabuf};
use crate::model::{Gpu, Readiness, Topology};
use std::sync::Arc;

/// The GPU that a load's buffers lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    /// What CUDA says of it.
    facts: Facts,
    /// The topology's name for it (`gpu0`), or its PCI address where the topology does not know it.
    pub(super) name: String,
    /// Its NUMA node.
    pub(super) numa_node: Option<u32>,
    /// What the survey says of peer memory.
    peermem: Option<Readiness>,
    /// What the survey says of dmabuf.
    dmabuf: Option<Readiness>,
}

/// What the GPU with this number is, as CUDA counts.
///
/// # Errors
///
/// No NVIDIA driver, or no such GPU.
pub fn gpu_facts(number: u32) -> Result<Facts, LoadError> {
    cuda::facts(number).map_err(|error| LoadError::Other(format!("memory of GPU {number}: {error}")))
}

impl Destination {
    /// The GPU with this number, as CUDA counts: the topology knows it by its PCI address.
    ///
    /// # Errors
    ///
    /// No NVIDIA driver, or no such GPU.
    pub(super) fn find(topology: &Topology, number: u32) -> Result<Self, LoadError> {
        let facts = gpu_facts(number)?;
        let known = topology.gpus.iter().find(|gpu| gpu.pcie.address == facts.pci_address);
        Ok(Self {
            name: known.map_or_else(|| facts.pci_address.clone(), |gpu| gpu.name.clone()),
            numa_node: known.and_then(|gpu| gpu.numa_node),
            peermem: known.and_then(|gpu: &Gpu| gpu.peermem.clone()),
            dmabuf: known.and_then(|gpu| gpu.dmabuf.clone()),
            facts,
        })
    }

    /// Memory of it for the buffer of a device.
    ///
    /// # Errors
    ///
    /// The GPU has not so much left, or another process has it for itself.
    pub(super) fn allocate(&self, device: &str, bytes: usize) -> Result<DeviceMemory, LoadError> {
        let memory = cuda::Gpu::open(self.facts.number)
            .and_then(|gpu| DeviceMemory::allocate(Arc::new(gpu), bytes))
            .map_err(|error| self.failed(device, &format!("a buffer of {bytes} bytes"), &error))?;
        Ok(memory)
    }

    /// An error of its driver.
    pub(super) fn failed(&self, device: &str, what: &str, error: &cuda::Error) -> LoadError {
        LoadError::Other(format!("{device}: {what} in the memory of {}: {error}", self.facts.label()))
    }

    /// The error of a registration, with what the survey knows of each way and what helps.
    pub(super) fn explained(&self, error: Error) -> LoadError {
        let Error::Gpu { device, refused } = error else { return LoadError::Verbs(error) };
        let lacks = |way: &Option<Readiness>| {
            let lack = way.as_ref().filter(|way| way.ready == Some(false));
            lack.map(|way| format!(" ({})", way.reason)).unwrap_or_default()
        };
        let GpuRefused { gpu, dmabuf, peermem } = &*refused;
        LoadError::Other(format!(
            "{device}: the memory of {gpu} cannot be registered: as a dmabuf: {dmabuf}{}; through peer memory: \
             ibv_reg_mr: {peermem}{}; {}",
            if says_more(dmabuf) { lacks(&self.dmabuf) } else { String::new() },
            lacks(&self.peermem),
            self.advice(dmabuf)
        ))
    }

    /// What helps.
    fn advice(&self, dmabuf: &NoDmabuf) -> String {
        if self.facts.gpudirect == Some(false) {
            return "its driver says that no other device can reach this GPU's memory (GPUDirect RDMA): take another GPU, \
                    or --memory host"
                .to_owned();
        }
        let for_dmabuf = match dmabuf {
            NoDmabuf::OldLibrary => "rdma-core 34 or later",
            NoDmabuf::NoExport(NoExport::OldDriver(..) | NoExport::NotSupported) => {
                "an NVIDIA driver from 515 on with its open kernel modules"
            }
            NoDmabuf::Refused { cause } if lacks_dmabuf(cause) => {
                "a kernel from 5.12 on whose RDMA driver takes a dmabuf"
            }
            NoDmabuf::Refused { .. } => "what dmesg says of the RDMA driver",
            NoDmabuf::NoExport(NoExport::Failed(_)) => "what dmesg says of the NVIDIA driver",
        };
        let for_peermem = match self.peermem.as_ref().and_then(|way| way.ready) {
            Some(true) => "what dmesg says of nvidia_peermem",
            _ => "modprobe nvidia-peermem",
        };
        format!("either helps: {for_peermem}, or {for_dmabuf}")
    }
}

/// Whether the survey may know more of why there is no dmabuf than CUDA says.
fn says_more(reason: &NoDmabuf) -> bool {
    matches!(reason, NoDmabuf::NoExport(NoExport::NotSupported))
}

#[cfg(test)]
mod tests {
    use super::Destination;
    use crate::ffi::cuda::{Facts, NoExport};
    use crate::ffi::verbs::{Error, GpuRefused, NoDmabuf};
    use crate::model::Readiness;
    use std::io;

    fn destination(peermem: Option<bool>, gpudirect: bool) -> Destination {
        let readiness = |ready, reason: &str| Some(Readiness { ready, reason: reason.into() });
        Destination {
            facts: Facts {
                number: 0,
                model: "H100".into(),
                pci_address: "0000:1b:00.0".into(),
                memory_bytes: 1 << 30,
                gpudirect: Some(gpudirect),
                dmabuf: Some(false),
                driver_cuda: (12, 4),
            },
            name: "gpu0".into(),
            numa_node: Some(0),
            peermem: readiness(peermem, "module nvidia_peermem is not loaded"),
            dmabuf: readiness(Some(false), "nvidia 550.54.15 is the proprietary kernel module"),
        }
    }

    fn said(destination: &Destination, dmabuf: NoDmabuf) -> String {
        let peermem = io::Error::from_raw_os_error(libc::EFAULT);
        let refused = GpuRefused { gpu: destination.facts.label(), dmabuf, peermem };
        destination.explained(Error::Gpu { device: "mlx5_0".into(), refused: Box::new(refused) }).to_string()
    }

    #[test]
    fn each_way_is_named_with_what_it_lacks_and_what_helps() {
        assert_eq!(
            said(&destination(Some(false), true), NoDmabuf::NoExport(NoExport::NotSupported)),
            "mlx5_0: the memory of GPU 0 (H100, 0000:1b:00.0) cannot be registered: as a dmabuf: the NVIDIA driver exports \
             none for this GPU (only its open kernel modules do, from 515 on) (nvidia 550.54.15 is the proprietary kernel \
             module); through peer memory: ibv_reg_mr: Bad address (os error 14) (module nvidia_peermem is not loaded); \
             either helps: modprobe nvidia-peermem, or an NVIDIA driver from 515 on with its open kernel modules"
        );
    }

    #[test]
    fn a_module_that_is_loaded_is_not_asked_for() {
        let said = said(&destination(Some(true), true), NoDmabuf::OldLibrary);
        assert!(
            said.ends_with("either helps: what dmesg says of nvidia_peermem, or rdma-core 34 or later"),
            "{said}"
        );
    }

    #[test]
    fn a_gpu_that_no_device_can_reach_is_told_so() {
        let said = said(&destination(None, false), NoDmabuf::OldLibrary);
        assert!(said.ends_with("(GPUDirect RDMA): take another GPU, or --memory host"), "{said}");
    }
}
