//! The plain data that every part of railscope speaks.
//!
//! A session is one [`Session`] header followed by [`Frame`]s. Frames hold cumulative counters and
//! timestamps, never rates and never findings: both are computed from frames, so that live, replay,
//! `check` and `report` cannot disagree.
//!
//! Unknown is `None`, never zero; why it is unknown stands in a [`Gap`].

mod bond;
mod cpus;
mod experiment;
mod failure;
mod frame;
mod gid;
mod gpu;
mod host;
mod latency;
mod legs_sought;
mod load;
mod pcie;
mod perf;
mod process;
mod rail;
mod session;
mod topology;

pub use bond::{Bond, Lag, Leg};
pub use cpus::CpuSet;
pub use experiment::{Experiment, ExperimentEdge, ExperimentKind, FarSample};
pub use failure::Failure;
pub use frame::{Frame, LegFrame, Measured, RailFrame, WorkerFrame, WorkerPhase};
pub use gid::{Gid, GidChoice, GidType};
pub use gpu::{Acs, Gpu, GpuPath, PathClass, PathPort, Readiness};
pub use host::{AbiRefusal, Host, HugePages, NumaNode};
pub use latency::Latencies;
pub use legs_sought::LegsSought;
pub use load::{Load, LoadOp, LoadOrigin, LoadTarget, Registered, Worker};
pub use pcie::{Hop, LinkErrors, PciePath};
pub use perf::{PERF_GROUPS, PerfFrame, PerfGroup};
pub use process::{BoundThreads, Process, ProcessSource, Rank};
pub use rail::{Interrupts, LinkLayer, Rail, Subnet};
pub use session::{Session, Simulation};
pub use topology::{DrawnBy, Gap, LostCard, RailId, Topology};
