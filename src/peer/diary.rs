//! What happened to rails of a load that only its control connection knows, for the session.

use probes::model::Failure;
use std::sync::{Mutex, PoisonError};

/// What is kept until the sampler takes it; a load that nobody samples does not fill the memory.
const MOST: usize = 1000;

/// What happened to rails of a load, until the sampler takes it.
#[derive(Debug, Default)]
pub struct Diary(Mutex<Vec<Failure>>);

impl Diary {
    /// Notes what happened to a device of this host, or with `None` to the peer.
    pub(super) fn note(&self, device: Option<&str>, text: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MOST {
            notes.push(Failure::new(device, text));
        }
    }

    /// What was noted since it was last asked for.
    #[must_use]
    pub(super) fn take(&self) -> Vec<Failure> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
