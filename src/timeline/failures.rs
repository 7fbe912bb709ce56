//! What went wrong with rails of our load, for as long as the session.

use super::sums::Sums;
use probes::model::Frame;
use serde::{Deserialize, Serialize};

/// Most that a session's sums keep, of which each block of a file has a copy.
const MOST: usize = 100;

/// What went wrong with a rail of our load, or right again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadFailure {
    /// Seconds since the session began, at the sample that saw it.
    pub at_s: f64,
    /// RDMA device of the host; null where it is about the peer.
    pub device: Option<String>,
    /// As it was told.
    pub text: String,
}

impl Sums {
    /// Keeps what went wrong, if there is room.
    pub(super) fn note_failures(&mut self, frame: &Frame) {
        for failure in &frame.failures {
            if self.failures.len() < MOST {
                self.failures.push(LoadFailure {
                    at_s: frame.at_ns as f64 / 1e9,
                    device: failure.device.clone(),
                    text: failure.text.clone(),
                });
            } else {
                self.more_failures = self.more_failures.saturating_add(1);
            }
        }
    }
}
