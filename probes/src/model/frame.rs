//! One sample of one host: cumulative counters and the time they were read.

use super::{Experiment, Failure, Latencies, Load, PerfFrame, Process, RailId, Topology};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One sample of one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Position of the host in [`super::Session::hosts`].
    pub host: usize,
    /// Counts up by one per frame of this host; a hole means frames that were lost.
    pub seq: u64,
    /// Nanoseconds since the session began, on this host's monotonic clock.
    pub at_ns: u64,
    /// One entry per rail of the host's topology, in that order.
    pub rails: Vec<RailFrame>,
    /// Processes on the rails, when they were looked up for this frame; `None` means unchanged.
    pub processes: Option<Arc<Vec<Process>>>,
    /// The load that covers the interval which ends here; `None` when there is none.
    pub load: Option<Arc<Load>>,
    /// What the threads of our load have done so far, in the order of [`Load::workers`].
    #[serde(default)]
    pub workers: Vec<WorkerFrame>,
    /// What the peer has done by its own threads in its measured time so far, where the load has both directions and
    /// the peer has told; else `None`.
    #[serde(default)]
    pub peer: Option<Measured>,
    /// What went wrong with rails of our load since the host's last frame, or right again, in the order in which it came.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// What taking this sample cost: nanoseconds from its first read to its last, processes included.
    /// `None` where nothing was measured (a copied tree, a simulation).
    #[serde(default)]
    pub sampled_in_ns: Option<u64>,
    /// What the host is from this frame on, when a second look at it found a difference; `None` means unchanged. Its
    /// rails are those of the header, in that order, with the same counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Arc<Topology>>,
    /// What the user said of this moment, in the order in which it was said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// The planned load of a diagnosis whose sample this is; `None` of all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Arc<Experiment>>,
}

/// Payload of good completions over a time that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Payload bytes.
    pub bytes: u64,
    /// That time so far, nanoseconds on the clock of whom it is about.
    pub ns: u64,
}

/// What one rail has counted so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RailFrame {
    /// RDMA bytes received since the port came up; `None` when unreadable (or not read at this sample).
    pub rx_bytes: Option<u64>,
    /// RDMA bytes sent.
    pub tx_bytes: Option<u64>,
    /// Port state word, when it was read at this sample.
    pub state: Option<String>,
    /// Physical state word, when it was read at this sample.
    pub phys_state: Option<String>,
    /// Further counters, in the order of [`super::Rail::counters`]; empty when not read at this sample.
    #[serde(default)]
    pub counters: Vec<Option<u64>>,
    /// Legs of the rail's bond, in that order; empty without a bond or when not read at this sample.
    #[serde(default)]
    pub legs: Vec<LegFrame>,
    /// Whether the device was gone when the sample was taken.
    #[serde(default)]
    pub lost: bool,
}

/// What one leg of a bond has counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegFrame {
    /// RDMA bytes received through this leg (`rx_vport_rdma_unicast_bytes` on mlx5).
    pub rx_rdma_bytes: Option<u64>,
    /// RDMA bytes sent through this leg.
    pub tx_rdma_bytes: Option<u64>,
    /// All bytes received by the port of this leg, RDMA or not.
    pub rx_port_bytes: Option<u64>,
    /// All bytes sent by the port of this leg.
    pub tx_port_bytes: Option<u64>,
    /// Link detected.
    pub link_up: Option<bool>,
    /// The bonding driver lets it carry traffic now.
    pub active: Option<bool>,
}

/// Where a worker is in its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerPhase {
    /// Connecting, registering memory, waiting for the others.
    #[default]
    Waiting,
    /// Running, not yet measured.
    Warmup,
    /// Running and measured.
    Measuring,
    /// Stopped as planned.
    Done,
    /// Stopped by an error; [`WorkerFrame::errors`] names it.
    Failed,
}

/// What one thread of our load has done so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerFrame {
    /// Rail it drives.
    pub rail: Option<RailId>,
    /// Where it is in its run.
    pub phase: WorkerPhase,
    /// Payload bytes of good completions.
    pub bytes: u64,
    /// Good completions.
    pub operations: u64,
    /// Polls of the completion queue.
    pub polls: u64,
    /// Polls that found nothing.
    pub empty_polls: u64,
    /// Error completions by status name (`RETRY_EXC_ERR`).
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// How often it was opened anew after it had failed, and went on.
    #[serde(default)]
    pub restarts: u64,
    /// What the thread cost; `None` for a counter this machine does not give.
    #[serde(default)]
    pub perf: PerfFrame,
    /// How long sampled operations took, from before they were posted until their completion was seen, their wait
    /// in the queue included; empty where nothing was measured.
    #[serde(default)]
    pub latency: Latencies,
    /// The fastest of a few READs made before the load, one after the other, nanoseconds; `None` where none was timed.
    #[serde(default)]
    pub round_trip_ns: Option<u64>,
    /// What it did in its measured time so far, by its own engine's clock and to the moment: also where that ended
    /// between two frames, and with the time in which it had failed. `None` before that time, and where the engine
    /// does not tell.
    #[serde(default)]
    pub measured: Option<Measured>,
}
