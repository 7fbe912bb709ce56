//! What two ends say to each other.
//!
//! ```text
//! client (load)                        server (serve)
//!   greeting  ─────────────────────────▶ ◀── greeting     one line of text, in every version
//!   (Challenge and Proof of `token` come between the two Hello, where the server has one)
//!   Hello     ─────────────────────────▶ ◀── Hello, or Busy
//!                                        ◀── Rails
//!   Plan      ─────────────────────────▶                  which rails, which parameters
//!   Endpoint for each thread ──────────▶ ◀── Endpoint for each thread
//!   Ready     ─────────────────────────▶ ◀── Ready        queue pairs can receive
//!                                        ◀── Host …       where the client wants it: what the host is
//!   Clock …   ─────────────────────────▶ ◀── Clock …      and how the two clocks differ
//!   Go, Progress … ────────────────────▶ ◀── Progress …   of a load of both directions
//!                                        ◀── Frame …      where the client wants them
//!   Reopen    ─────────────────────────▶ ◀── Reopened     a thread failed, and its rail is back; one of the server's
//!                                                         is named in its Progress first
//!   Resumed   ─────────────────────────▶
//!   AtRest    ─────────────────────────▶ ◀── Checked      WRITE: are the data there?
//!                                        ◀── AtRest       both directions
//!   Checked   ─────────────────────────▶
//!   Bye       ─────────────────────────▶ ◀── Bye          or Stop from the server first
//! ```
//! `KeepAlive` goes both ways all the time, and either end may say `Error` and close.

use super::offer::Offer;
use probes::load::{Endpoint, Params, Wrong};
use probes::model::Measured;
use serde::{Deserialize, Serialize};

/// Version of everything after the greeting.
pub const PROTOCOL: u32 = 2;

/// Who an end is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Host name.
    pub host: String,
    /// Program version.
    pub version: String,
    /// Random at each boot; equal on two ends of one machine. `None` when not readable.
    pub boot_id: Option<String>,
}

/// Port of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// RDMA device.
    pub device: String,
    /// Port number, from 1.
    pub port: u32,
    /// GID index on its host.
    pub gid_index: u32,
}

/// Two rails that are to be connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// On the client.
    pub client: Port,
    /// On the server.
    pub server: Port,
}

/// A thread of each end: their queue pairs talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// Position in [`Plan::lines`].
    pub line: usize,
    /// Position among the threads of the line, from 0.
    pub worker: u32,
}

/// The load that the client wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Rails, in the order in which everything after is told.
    pub lines: Vec<Line>,
    /// What both ends open with.
    pub params: Params,
    /// Whether the server is to tell what its host is, and a sample of it each second. Older servers do not know the word.
    #[serde(default)]
    pub wants_frames: bool,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Message {
    /// Who speaks.
    Hello(Hello),
    /// The server wants to see that the client knows its token.
    Challenge {
        /// Random bytes, hexadecimal.
        nonce: String,
    },
    /// This end knows the token.
    Proof {
        /// Random bytes of the client, hexadecimal; `None` of the server.
        #[serde(default)]
        nonce: Option<String>,
        /// What only who knows it can compute, hexadecimal.
        proof: String,
    },
    /// The server has another client.
    Busy {
        /// Its host.
        with: String,
        /// Since how many seconds.
        for_s: u64,
    },
    /// Rails of the server.
    Rails {
        /// Those that may be used, and those that are not ACTIVE with their state.
        rails: Vec<Offer>,
        /// Whether the server can tell what it sees of itself: [`Plan::wants_frames`]. Older ones cannot.
        #[serde(default)]
        frames: bool,
    },
    /// What the client wants.
    Plan(Plan),
    /// One end of one thread's queue pairs, or why they could not be opened.
    Endpoint {
        /// Which.
        slot: Slot,
        /// The end.
        end: Result<Endpoint, String>,
    },
    /// Every queue pair of this end can receive.
    Ready,
    /// What the server's host is, where the client wants that: a part of a description.
    Host {
        /// When the times of its samples begin, on the server's clock.
        began_ns: i64,
        /// Parts that follow.
        left: usize,
        /// JSON of a topology, this part of it.
        text: String,
    },
    /// What this end's clock shows; the server answers with its own.
    Clock {
        /// Nanoseconds since some moment.
        now_ns: i64,
    },
    /// A sample of the server's host.
    Frame {
        /// It, as JSON.
        frame: String,
    },
    /// The client's threads begin.
    Go,
    /// How far this end is; of the server where the load has both directions.
    Progress(Progress),
    /// This thread's posts are done and nothing of it is out: of a WRITE load, or one of both directions.
    AtRest {
        /// Which.
        slot: Slot,
        /// Good operations of each of its queue pairs.
        operations: Vec<u64>,
    },
    /// What was found where the data of the other end's thread went.
    Checked {
        /// Which.
        slot: Slot,
        /// `None`: the memory is no more.
        found: Option<Wrong>,
    },
    /// The client's thread failed and is open again: the server's should be, too.
    Reopen {
        /// Which.
        slot: Slot,
        /// The client's new end.
        end: Endpoint,
    },
    /// The server's thread is open again and connected, or why not.
    Reopened {
        /// Which.
        slot: Slot,
        /// The server's new end.
        end: Result<Endpoint, String>,
    },
    /// The client's thread is connected again and goes on.
    Resumed {
        /// Which.
        slot: Slot,
    },
    /// Nothing to say, still there.
    KeepAlive,
    /// The server must end: stop reading, then say `Bye`.
    Stop {
        /// In words.
        reason: String,
    },
    /// This end is done and its queue pairs are at rest.
    Bye {
        /// In words.
        reason: String,
    },
    /// This end cannot go on.
    Error {
        /// One line: what, why, what to do.
        text: String,
    },
}

/// How far a load is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Payload bytes of good completions on all rails, warm-up included.
    pub bytes: u64,
    /// Since the start, seconds.
    pub seconds: f64,
    /// Threads that have failed, as people call them: `mlx5_0`, or `worker 2 of mlx5_0`.
    pub failed: Vec<String>,
    /// Rails on which a thread has not failed.
    pub rails: usize,
    /// What was done in the measured time so far; `None` before it.
    pub measured: Option<Measured>,
    /// What went wrong at this end, one line each.
    pub troubles: Vec<String>,
    /// Threads of the server that failed and whose rail opens again: the client is to open its own anew, as both
    /// directions have the same queue pairs. `None` of a client, and of older servers, which wait for a `Reopen`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Vec<Slot>>,
}

impl Message {
    /// The word for it, as on the wire.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Challenge { .. } => "challenge",
            Self::Proof { .. } => "proof",
            Self::Busy { .. } => "busy",
            Self::Rails { .. } => "rails",
            Self::Plan(_) => "plan",
            Self::Endpoint { .. } => "endpoint",
            Self::Ready => "ready",
            Self::Host { .. } => "host",
            Self::Clock { .. } => "clock",
            Self::Frame { .. } => "frame",
            Self::Go => "go",
            Self::Progress(_) => "progress",
            Self::AtRest { .. } => "at-rest",
            Self::Checked { .. } => "checked",
            Self::Reopen { .. } => "reopen",
            Self::Reopened { .. } => "reopened",
            Self::Resumed { .. } => "resumed",
            Self::KeepAlive => "keep-alive",
            Self::Stop { .. } => "stop",
            Self::Bye { .. } => "bye",
            Self::Error { .. } => "error",
        }
    }
}
