//! Processes that use a rail, and where they run.

use super::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a process was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessSource {
    /// RDMA netlink names the PID of every user queue pair (`RDMA_NLDEV_CMD_RES_QP_GET`).
    QueuePairs,
    /// It holds the rail's uverbs file open; it may not have a queue pair there.
    OpenFile,
    /// It is the load of this session.
    OurLoad,
}

/// A process's place in a parallel job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank {
    /// What the launcher calls the job.
    pub job: String,
    /// Number of the process in it, over all hosts.
    pub rank: u32,
}

/// Threads of a process that may run on the same CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundThreads {
    /// CPUs that they may run on.
    pub cpus: CpuSet,
    /// How many there are.
    pub count: u32,
    /// Id of the one that did most.
    pub busiest: u32,
    /// Its name; other than the process's where it was given one.
    pub name: String,
    /// Whether they did a tenth or more of what the process did (CPU time); `None` while it did next to nothing.
    pub works: Option<bool>,
}

/// One process on one rail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Process id, in this program's PID namespace.
    pub pid: u32,
    /// Command name (`comm`).
    pub name: String,
    /// RDMA device it uses.
    pub device: String,
    /// Queue pairs it has there; `None` when only the open file is known.
    pub queue_pairs: Option<u32>,
    /// How it was found.
    pub source: ProcessSource,
    /// CPUs it may run on, all threads together.
    pub cpus_allowed: Option<CpuSet>,
    /// Its threads by the CPUs that each may run on, those that did most first, at most 8 kinds; empty where all may run on
    /// the same, and in older sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound_threads: Vec<BoundThreads>,
    /// Nodes its memory may come from.
    pub mems_allowed: Option<CpuSet>,
    /// CPU each of its threads last ran on, busiest threads first, at most 16.
    pub last_cpus: Vec<u32>,
    /// Resident bytes per NUMA node, in mappings of at least 2 MiB (`numa_maps`);
    /// `None` when not readable or not read (the gap says which).
    pub large_mapping_bytes_by_node: Option<BTreeMap<u32, u64>>,
    /// Bytes that it registered with the device in memory regions of at least 2 MiB, which lie in such mappings (but for memory
    /// of a GPU); what is registered twice counts twice. `None` where the kernel does not tell, and in older sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_large_bytes: Option<u64>,
    /// PCI address of the one GPU that it holds open; `None` where it holds none or several, where that is not readable, and in
    /// older sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// Its rank, where its launcher wrote one into its environment; `None` as well when that is not readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
}

/// Large mappings that are more than this many times what a process registered are a heap, and do not tell where its buffers
/// are.
const MANY: u64 = 8;

impl Process {
    /// Whether large mappings of so many bytes tell where the buffers are, of which so many bytes were registered; taken for
    /// granted where the kernel does not tell what was.
    #[must_use]
    pub fn mappings_tell(mapped_bytes: u64, registered_large_bytes: Option<u64>) -> bool {
        registered_large_bytes.is_none_or(|registered| mapped_bytes <= registered.saturating_mul(MANY))
    }
}
