//! Ending a source from outside while it waits for its next sample.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Ends a source; copies of it all mean the same source.
///
/// A source that waits for its next deadline wakes up at once.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// A source that has not been told to end.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells the source to end.
    pub fn stop(&self) {
        let (stopped, changed) = &*self.0;
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Whether it was told to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until `deadline`; `false` when it was told to end before that.
    #[must_use]
    pub fn wait_until(&self, deadline: Instant) -> bool {
        let (stopped, changed) = &*self.0;
        let mut stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if *stopped || left.is_zero() {
                return !*stopped;
            }
            stopped = changed.wait_timeout(stopped, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stop;
    use std::time::{Duration, Instant};

    #[test]
    fn a_wait_ends_at_once_when_told_to() {
        let stop = Stop::new();
        let handle = stop.clone();
        let waiting = std::thread::spawn(move || handle.wait_until(Instant::now() + Duration::from_hours(1)));
        stop.stop();
        assert!(!waiting.join().unwrap(), "an hour has not passed");
    }

    #[test]
    fn a_deadline_in_the_past_is_no_wait() {
        assert!(Stop::new().wait_until(Instant::now()));
    }
}
