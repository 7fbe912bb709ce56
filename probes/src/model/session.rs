//! The header of a session: everything that stays the same from frame to frame.

use super::Topology;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// That a session is simulated, and from what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulation {
    /// Scenario name, such as `mixed`.
    pub scenario: String,
    /// Equal seeds give equal frames.
    pub seed: u64,
}

/// The header of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Program and version that made it: `railscope 0.1.0`.
    pub generated_by: String,
    /// Wall clock at the start, milliseconds since 1970; `None` where it would not be deterministic.
    pub started_unix_ms: Option<u64>,
    /// Planned time between frames.
    pub interval_ns: u64,
    /// One host, or reader and target.
    pub hosts: Vec<Arc<Topology>>,
    /// What to add to a time of `hosts[1]` to get one of `hosts[0]`, nanoseconds; `None` with one host.
    pub clock_offset_ns: Option<i64>,
    /// `None` in life; set, nothing in the session is a measurement.
    pub simulated: Option<Simulation>,
}

impl Session {
    /// The host this program ran on.
    ///
    /// # Panics
    ///
    /// Never for sessions made by this program: a session has one or two hosts, and readers of files check it.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        self.hosts.first().expect("a session has at least one host")
    }

    /// A time of this host on the clock of the first one, nanoseconds.
    #[must_use]
    pub fn on_first_clock(&self, host: usize, at_ns: u64) -> u64 {
        at_ns.saturating_add_signed(self.offset_ns(host))
    }

    /// A time on the first host's clock on the clock of this one, nanoseconds.
    #[must_use]
    pub fn on_own_clock(&self, host: usize, at_ns: u64) -> u64 {
        at_ns.saturating_add_signed(self.offset_ns(host).saturating_neg())
    }

    fn offset_ns(&self, host: usize) -> i64 {
        if host == 1 { self.clock_offset_ns.unwrap_or(0) } else { 0 }
    }

    /// Whether it is a copied tree stepped in virtual time: neither a wall clock nor a simulator stands behind it.
    #[must_use]
    pub fn is_stepped(&self) -> bool {
        self.started_unix_ms.is_none() && self.simulated.is_none()
    }
}
