//! READ traffic: what is asked for, what drives it, and over what.
//!
//! ```text
//! Setup ── spawn ──▶ one thread per rail and worker ── pump() ──▶ Counts (relaxed atomics)
//!                                                                   ▲ read by the sampler
//! ```

mod counts;
mod described;
mod endpoint;
mod params;
mod running;

pub use counts::{Counts, Phases};
pub use described::described;
pub use endpoint::{Endpoint, QpAddress, RemoteBuffer, Role};
pub use params::{Params, Place};
pub use running::RunningLoad;

use crate::model::PerfFrame;

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
}

/// Traffic of one worker on one rail, owned by that worker's thread.
pub trait LoadTransport: Send {
    /// Refills the queues and reaps what is done. Never blocks, never allocates, makes no system call.
    ///
    /// # Errors
    ///
    /// The rail is done for: its queue pairs are in error, or the device is gone. The engine stops
    /// this rail alone.
    fn pump(&mut self) -> Result<Pumped, LoadError>;
}

/// Why a rail's load could not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A call of the verbs library failed.
    #[error("{device} port {port}: {call}: {cause}{hint}")]
    Verbs {
        /// RDMA device.
        device: String,
        /// Port.
        port: u32,
        /// Call, such as `ibv_modify_qp to RTR`.
        call: &'static str,
        /// What the system said.
        cause: std::io::Error,
        /// Empty, or `; ` and what usually causes it and what to do.
        hint: String,
    },
    /// A work request completed with an error.
    #[error("{device}: {status}: {usual_cause}")]
    Completion {
        /// RDMA device.
        device: String,
        /// Status by its verbs name without prefix: `RETRY_EXC_ERR`.
        status: String,
        /// What usually causes it, and what to look at.
        usual_cause: &'static str,
    },
    /// Something else stands in the way; the text names it and says what to do.
    #[error("{0}")]
    Other(String),
}

/// What a thread has cost so far; see [`crate::perf`].
pub type Cost = PerfFrame;
