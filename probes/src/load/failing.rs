//! A rail on its way out: it waits for what is still out, and says why it is done for.

use super::LoadError;
use crate::ffi::verbs::{Error, Status};
use std::collections::BTreeMap;

/// Polls, all of them empty, after which a rail that failed no longer waits for requests that are still out: other
/// queue pairs may sit out their timeouts, which takes seconds.
const PATIENCE_POLLS: u32 = 1 << 14;

/// What a flushed request means when no other error came first.
const STOPPED_FROM_OUTSIDE: &str =
    "the device threw out all requests: it was reset or removed, or its port lost its address; see dmesg";

/// A rail on its way out: why, and all error completions counted until its queues are empty.
pub(super) struct Failing {
    why: Why,
    counts: BTreeMap<String, u64>,
    /// Polls in a row that found nothing.
    empty_polls: u32,
}

/// What went wrong first.
pub(super) enum Why {
    /// A request completed with this error.
    Completion(Status),
    /// The library refused a request.
    Refused(Error),
}

impl Failing {
    #[cold]
    pub(super) fn new(why: Why) -> Self {
        Self { why, counts: BTreeMap::new(), empty_polls: 0 }
    }

    /// Counts an error completion. Of several queue pairs the one that was flushed may speak first; the cause is
    /// what another says.
    pub(super) fn count(&mut self, status: Status) {
        if matches!(&self.why, Why::Completion(first) if first.is_flush()) {
            self.why = Why::Completion(status);
        }
        *self.counts.entry(status.to_string()).or_default() += 1;
    }

    /// Goes on waiting after a poll for what is still out.
    ///
    /// # Errors
    ///
    /// Nothing more comes: why the rail is done for.
    #[cold]
    pub(super) fn after_poll(
        mut self,
        found_nothing: bool,
        nothing_is_out: bool,
        device: &str,
    ) -> Result<Self, LoadError> {
        self.empty_polls = if found_nothing { self.empty_polls + 1 } else { 0 };
        if found_nothing && (nothing_is_out || self.empty_polls > PATIENCE_POLLS) {
            return Err(self.into_error(device));
        }
        Ok(self)
    }

    /// Why the rail is done for, once nothing more comes.
    #[cold]
    pub(super) fn into_error(self, device: &str) -> LoadError {
        match self.why {
            Why::Refused(error) => LoadError::Verbs(error),
            Why::Completion(status) => LoadError::Completion {
                device: device.to_owned(),
                status: status.to_string(),
                usual_cause: if status.is_flush() { STOPPED_FROM_OUTSIDE } else { status.usual_cause() },
                counts: self.counts,
            },
        }
    }
}
