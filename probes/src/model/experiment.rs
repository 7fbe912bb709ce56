//! Planned loads of a diagnosis, as the frames name them whose samples they are.

use super::{Rail, RailFrame};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a planned load is to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentKind {
    /// What a rail does by itself.
    Alone,
    /// What all do at once.
    Together,
    /// What one leg of the bond does, from 1.
    Leg(u32),
    /// Which legs receive with other queue pair numbers and flow labels: the set of labels, from 1.
    Labels(u32),
    /// What a placement does: node of the CPUs, node of the memory.
    Place {
        /// Node of the threads.
        cpu: u32,
        /// Node of the buffers.
        mem: u32,
    },
    /// What memory does that is in no cache.
    Cold,
    /// What more threads do.
    Workers(u32),
    /// What more queue pairs do, and so more READs under way.
    Queues(u32),
    /// What a rail does beside those with which it shares a PCIe link.
    Sharing,
    /// What the rails of a node do at once.
    Near(u32),
    /// The same over memory that is in no cache.
    NearCold(u32),
    /// What those do at once, without the others, that do well alone and badly beside all.
    Dropping,
}

impl fmt::Display for ExperimentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => f.write_str("alone"),
            Self::Together => f.write_str("all together"),
            Self::Leg(leg) => write!(f, "leg {leg} of its bond"),
            Self::Labels(set) => write!(f, "queue pairs and flow labels anew, set {set}"),
            Self::Place { cpu, mem } => write!(f, "CPUs of node {cpu}, memory of node {mem}"),
            Self::Cold => f.write_str("cold memory"),
            Self::Workers(workers) => write!(f, "{workers} threads"),
            Self::Queues(qps) => write!(f, "{qps} queue pairs"),
            Self::Sharing => f.write_str("with those that share a PCIe link"),
            Self::Near(node) => write!(f, "rails of node {node}"),
            Self::NearCold(node) => write!(f, "rails of node {node}, cold memory"),
            Self::Dropping => f.write_str("those that drop beside others, without the others"),
        }
    }
}

/// Which moment of a planned load a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExperimentEdge {
    /// Its measured time begins.
    Begins,
    /// Its measured time is over.
    Ends,
    /// It could not be made; [`Experiment::failures`] says why.
    Failed,
}

/// A rail at the other end at two of its own samples during a planned load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FarSample {
    /// RDMA device at this end that it is connected with.
    pub device: String,
    /// Its host; `None` where that does not tell its name.
    pub hostname: Option<String>,
    /// What it is, without addresses.
    pub rail: Rail,
    /// What it had counted at the first.
    pub from: RailFrame,
    /// What it had counted at the last.
    pub to: RailFrame,
    /// Time between the two on its own clock, nanoseconds.
    pub ns: u64,
}

/// The planned load whose sample a frame is.
///
/// Both of its samples and this say all that it showed, so that a diagnosis is computed from a session, and never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// What it is to show.
    pub kind: ExperimentKind,
    /// Which moment of it this is.
    pub edge: ExperimentEdge,
    /// RDMA devices that it loads; the first is the one it is about, but of all together and of those of a node.
    pub devices: Vec<String>,
    /// How often it was made then, from 1.
    pub round: u32,
    /// Rails of the whole diagnosis, by RDMA device.
    pub among: Vec<String>,
    /// Queue pairs a rail of a load that asks for nothing else.
    pub base_qps: u32,
    /// Message size, bytes.
    pub size_bytes: u64,
    /// Why rails failed, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// What the rails at the other end counted meanwhile, where it told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub far: Vec<FarSample>,
    /// Why a rail at the other end is not seen meanwhile; `None` where all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_gap: Option<String>,
    /// Name of the other end; `None` in a simulation, and where no load came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// What the plan expects it to take, with what is around it, milliseconds.
    pub takes_ms: u64,
}
