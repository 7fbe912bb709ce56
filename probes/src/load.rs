//! READ traffic: what is asked for, what drives it, and over what.
//!
//! ```text
//! open ─▶ Opening ── endpoints ⇄ the peer's ─▶ connect ─▶ Running ── go ─▶ traffic
//!            │ spawns                                        │
//!            └▶ threads of each rail: bind themselves, ─▶ pump() ─▶ Counts (relaxed atomics)
//!               allocate, make queue pairs                          ▲ read by the sampler
//! ```
//!
//! Each thread drives one [`Unit`]: a rail with a share of its queue pairs. It binds itself to the NIC's NUMA node
//! before it allocates anything, owns all of its verbs objects, and spins in `drive()`. Nothing is shared between
//! threads but the phase they are in. In a striped load one thread drives a unit on each rail.

mod cap;
mod connect;
mod control;
mod counts;
mod crew;
mod described;
mod drive;
mod endpoint;
mod failing;
mod gpu;
mod host_memory;
mod latency;
mod layout;
mod ledger;
mod leg;
mod opening;
mod params;
mod pattern;
mod placement;
mod rail;
mod round_trip;
mod running;
mod striped;
mod tcp;
mod thread;
mod unit;
mod verbs;

pub use control::Happening;
pub use counts::{AtomicPhase, Counts};
pub use described::described;
pub use endpoint::{Endpoint, QpAddress, RemoteBuffer, Role};
pub use gpu::gpu_facts;
pub use latency::Histogram;
pub use opening::{Opening, open};
pub use params::{Memory, Params, Place, Shape, Transport, WorkingSet};
pub use pattern::Wrong;
pub use placement::check_place;
pub use running::{Running, RunningLoad};
pub use tcp::TcpEnd;
pub use unit::Unit;

use std::collections::BTreeMap;

/// What one call of [`LoadTransport::pump`] achieved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pumped {
    /// Payload bytes of good completions.
    pub bytes: u64,
    /// Good completions.
    pub operations: u64,
    /// Completion-queue polls made.
    pub polls: u64,
    /// Polls that found nothing.
    pub empty_polls: u64,
    /// A sampled operation that completed: nanoseconds since before it was posted; `None` for most pumps.
    pub latency_ns: Option<u64>,
    /// How long the fastest of a few READs took with nothing else under way, nanoseconds; told once, before the load.
    pub round_trip_ns: Option<u64>,
}

/// Traffic of one worker on one rail, owned by that worker's thread.
pub trait LoadTransport: Send {
    /// Refills the queues and reaps what is done. Never blocks, never allocates, and over verbs makes no system
    /// call; over TCP it makes some for each connection.
    ///
    /// # Errors
    ///
    /// The rail is done for: its queue pairs are in error, or the device is gone. The engine stops
    /// this rail alone.
    fn pump(&mut self) -> Result<Pumped, LoadError>;

    /// Moves no more than this from now on, 10^9 bytes a second; 0 moves nothing, `None` as much as goes. One that cannot
    /// goes on as it was.
    fn hold_to(&mut self, _gb_per_s: Option<f64>) {}
}

/// Why a rail's load could not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A call of the verbs library failed.
    #[error(transparent)]
    Verbs(#[from] crate::ffi::verbs::Error),
    /// A work request completed with an error.
    #[error("{device}: {status}: {usual_cause}")]
    Completion {
        /// RDMA device.
        device: String,
        /// Status by its verbs name without prefix: `RETRY_EXC_ERR`.
        status: String,
        /// What usually causes it, and what to look at.
        usual_cause: &'static str,
        /// All error completions of the rail, by status name.
        counts: BTreeMap<String, u64>,
    },
    /// One of several threads of a rail met an error.
    #[error("worker {number} of {error}")]
    Worker {
        /// Which, from 1.
        number: u32,
        /// What it met, beginning with the rail.
        #[source]
        error: Box<LoadError>,
    },
    /// Something else stands in the way; the text names it and says what to do.
    #[error("{0}")]
    Other(String),
}
