//! Memory of GPUs that the data of a load lie in, on either end.

use probes::ffi::cuda::Facts;
use probes::load::{Endpoint, Memory};
use probes::model::Registered;
use std::fmt;

/// Memory of a GPU that the data of one end lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuMemory {
    /// The GPU's number on its host, as CUDA counts.
    pub number: u32,
    /// What the GPU is; `None` of the peer's.
    pub facts: Option<Facts>,
    /// How it was made known to the devices; mostly all took the same way.
    pub ways: Vec<Registered>,
}

/// Memory of GPUs on the two ends; `None` where the data lie in the host's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpus {
    /// On this host.
    pub ours: Option<GpuMemory>,
    /// On the peer.
    pub theirs: Option<GpuMemory>,
}

impl GpuMemory {
    /// That of one end, of which these are the rails.
    pub(super) fn of<'a>(ends: impl Iterator<Item = &'a Endpoint>, facts: Option<&Facts>) -> Option<Self> {
        let mut found: Option<Self> = None;
        for end in ends {
            let (Memory::Gpu(number), Some(way)) = (end.memory, end.registered) else { continue };
            let memory = found.get_or_insert_with(|| Self {
                number,
                facts: facts.filter(|facts| facts.number == number).cloned(),
                ways: Vec::new(),
            });
            if !memory.ways.contains(&way) {
                memory.ways.push(way);
            }
        }
        found
    }

    /// The flags with which perftest does the same.
    pub(super) fn perftest(&self) -> String {
        let dmabuf = if self.ways.contains(&Registered::Dmabuf) { " --use_cuda_dmabuf" } else { "" };
        format!(" --use_cuda={}{dmabuf}", self.number)
    }
}

/// `GPU 0 (NVIDIA H100 80GB HBM3, 0000:1b:00.0), registered as a dmabuf`.
impl fmt::Display for GpuMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.facts {
            Some(facts) => f.write_str(&facts.label())?,
            None => write!(f, "GPU {}", self.number)?,
        }
        for (at, way) in self.ways.iter().enumerate() {
            f.write_str(if at == 0 { ", registered " } else { " or " })?;
            f.write_str(match way {
                Registered::Dmabuf => "as a dmabuf",
                Registered::Peermem => "through peer memory",
            })?;
        }
        Ok(())
    }
}
