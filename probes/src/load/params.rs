//! What a load asks for, in perftest's words where it has them.

mod checks;

use crate::model::{CpuSet, LoadOp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where workers and their buffers go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Threads and buffers on the NIC's node.
    #[default]
    Local,
    /// Threads and buffers on the node farthest from the NIC.
    Remote,
    /// Wherever the kernel puts them.
    None,
    /// Threads on the CPUs of node `cpu`, buffers on node `mem`.
    Nodes {
        /// NUMA node of the threads.
        cpu: u32,
        /// NUMA node of the buffers.
        mem: u32,
    },
    /// Threads on these CPUs, buffers on the node of the first.
    Cpus(CpuSet),
}

/// How much memory a rail's operations go over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkingSet {
    /// Re-used like perftest's, so that the data stay in the last-level cache: this measures the rail alone.
    #[default]
    Hot,
    /// So many bytes a rail, walked over in turn. On the command line `cold` becomes a size far beyond the caches.
    Bytes(u64),
}

impl WorkingSet {
    /// Its size; `None` for hot.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Hot => None,
            Self::Bytes(bytes) => Some(bytes),
        }
    }
}

/// Whose memory the data of this end lie in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// The host's.
    #[default]
    Host,
    /// That of the GPU with this number, as CUDA counts.
    Gpu(u32),
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Gpu(number) => write!(f, "gpu:{number}"),
        }
    }
}

impl std::str::FromStr for Memory {
    type Err = String;

    /// `host` or `gpu:N`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.strip_prefix("gpu:")?.parse().ok();
        match (text, number(text)) {
            ("host", _) => Ok(Self::Host),
            (_, Some(number)) => Ok(Self::Gpu(number)),
            _ => Err("write host, or gpu:N with N as CUDA counts the GPUs".to_owned()),
        }
    }
}

/// What carries the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// RDMA.
    #[default]
    Verbs,
    /// A TCP connection from the rail's own address: a functional check, not a performance figure.
    Tcp,
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Verbs => "verbs",
            Self::Tcp => "tcp",
        })
    }
}

/// Which worker posts on which rail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Each worker drives one rail, without a pause.
    #[default]
    PerRail,
    /// Each worker posts a batch of pages over all rails and waits for all of it: how a KV cache reads.
    Striped,
}

/// What a load asks for. Both ends hold the same values once negotiated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Direction.
    pub op: LoadOp,
    /// Whether the peer does the same in the other direction at the same time (perftest `-b`).
    pub bidirectional: bool,
    /// Which worker posts on which rail.
    pub shape: Shape,
    /// Pages of a batch, of a striped load.
    pub batch: u32,
    /// Threads per rail, which share its queue pairs; of a striped load, threads in all.
    pub workers: u32,
    /// What carries the bytes.
    pub transport: Transport,
    /// Queue pairs per rail (perftest `-q`), shared out among its workers.
    pub qps: u32,
    /// Message size in bytes (perftest `-s`).
    pub size_bytes: u64,
    /// Send queue depth per queue pair (perftest `-t`).
    pub depth: u32,
    /// Outstanding READs per queue pair (perftest `-o`); `None`: as many as both ends can.
    pub read_depth: Option<u32>,
    /// Work requests posted with one doorbell (perftest `-l`); `None`: chosen from the depth.
    pub chain: Option<u32>,
    /// Every how many work requests one asks for a completion (perftest `-Q`); `None`: chosen from the depth.
    pub cq_mod: Option<u32>,
    /// QP timeout exponent: 4.096 µs × 2^n (perftest `-u`).
    pub timeout: u8,
    /// Placement.
    pub place: Place,
    /// How much memory a rail's operations go over.
    pub working_set: WorkingSet,
    /// Memory of the end that posts.
    pub memory: Memory,
    /// Most payload per rail, GB/s; `None`: as much as goes.
    pub rate_gb_per_s: Option<f64>,
    /// Leg of the bond, from 1, on which the end that sends the data sends them; `None`: the driver's choice.
    pub leg: Option<u32>,
    /// Which set of flow labels a rail's queue pairs send with, by RDMA device of the end that holds this; of a rail that
    /// is not named, or named with 0, the driver's choice.
    pub labels: BTreeMap<String, u32>,
    /// Good operations of a rail, counted after the warm-up, with which it is done (perftest `-n`, which counts
    /// them per queue pair); what is under way by then counts too. `None`: not ended by a count.
    pub operations: Option<u64>,
    /// GID index on this end; `None`: the survey's recommendation.
    pub gid_index: Option<u32>,
    /// Path MTU in bytes; `None`: the smaller of both ends' active MTU.
    pub path_mtu: Option<u32>,
    /// Traffic class of the packets.
    pub traffic_class: u8,
    /// Seconds at the start that are not measured.
    pub warmup_s: f64,
    /// Seconds measured; `None` until stopped.
    pub duration_s: Option<f64>,
}

impl Params {
    /// Good operations after which one worker of a rail is done.
    pub(super) fn share_of_operations(&self) -> Option<u64> {
        self.operations.map(|all| all.div_ceil(u64::from(self.workers.max(1))))
    }

    /// Whether the rate of a load with these parameters can be changed while it runs: of one over verbs whose threads post
    /// on one rail each, in one direction.
    #[must_use]
    pub fn can_be_held(&self) -> bool {
        self.transport == Transport::Verbs && self.shape == Shape::PerRail && !self.bidirectional
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            op: LoadOp::Read,
            bidirectional: false,
            shape: Shape::PerRail,
            batch: 128,
            workers: 1,
            transport: Transport::Verbs,
            qps: 4,
            size_bytes: 64 << 10,
            depth: 128,
            read_depth: None,
            chain: None,
            cq_mod: None,
            // 4.096 us × 2^14 = 67 ms: perftest's default
            timeout: 14,
            place: Place::Local,
            working_set: WorkingSet::Hot,
            memory: Memory::Host,
            rate_gb_per_s: None,
            leg: None,
            labels: BTreeMap::new(),
            operations: None,
            gid_index: None,
            path_mtu: None,
            traffic_class: 0,
            warmup_s: 2.0,
            duration_s: None,
        }
    }
}
