//! What a load asks for, in perftest's words where it has them.

use crate::model::{CpuSet, LoadOp};
use serde::{Deserialize, Serialize};

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

/// What a load asks for. Both ends hold the same values once negotiated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Direction.
    pub op: LoadOp,
    /// Queue pairs per rail (perftest `-q`).
    pub qps: u32,
    /// Message size in bytes (perftest `-s`).
    pub size_bytes: u64,
    /// Send queue depth per queue pair (perftest `-t`).
    pub depth: u32,
    /// Outstanding READs per queue pair (perftest `-o`); `None`: as many as both ends can.
    pub read_depth: Option<u32>,
    /// Every how many work requests one asks for a completion (perftest `-Q`); `None`: chosen from the depth.
    pub cq_mod: Option<u32>,
    /// QP timeout exponent: 4.096 µs × 2^n (perftest `-u`).
    pub timeout: u8,
    /// Placement.
    pub place: Place,
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

impl Default for Params {
    fn default() -> Self {
        Self {
            op: LoadOp::Read,
            qps: 4,
            size_bytes: 64 << 10,
            depth: 128,
            read_depth: None,
            cq_mod: None,
            // 4.096 us × 2^14 = 67 ms: perftest's default
            timeout: 14,
            place: Place::Local,
            gid_index: None,
            path_mtu: None,
            traffic_class: 0,
            warmup_s: 2.0,
            duration_s: None,
        }
    }
}
