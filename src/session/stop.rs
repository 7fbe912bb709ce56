//! Ending a source from outside while it waits for its next sample.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// Ends a source; copies of it all mean the same source.
///
/// A source that waits for its next deadline wakes up at once.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Told>);

/// Whether a source was told to end.
#[derive(Debug, Default)]
struct Told {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_stopped: bool,
    /// Parts of the source, which end with it.
    parts: Vec<Weak<Told>>,
}

impl Told {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        let parts = {
            let mut state = self.state();
            state.is_stopped = true;
            std::mem::take(&mut state.parts)
        };
        self.changed.notify_all();
        parts.iter().filter_map(Weak::upgrade).for_each(|part| part.stop());
    }
}

impl Stop {
    /// A source that has not been told to end.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A part of the source, which ends with it, and may end before it.
    #[must_use]
    pub fn part(&self) -> Self {
        let part = Self::new();
        let mut state = self.0.state();
        state.parts.retain(|part| part.strong_count() > 0);
        if state.is_stopped {
            part.stop();
        } else {
            state.parts.push(Arc::downgrade(&part.0));
        }
        drop(state);
        part
    }

    /// Tells the source to end.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Whether it was told to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.state().is_stopped
    }

    /// Sleeps until `deadline`; `false` when it was told to end before that.
    #[must_use]
    pub fn wait_until(&self, deadline: Instant) -> bool {
        let mut state = self.0.state();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.is_stopped || left.is_zero() {
                return !state.is_stopped;
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
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

    #[test]
    fn a_part_ends_with_the_whole_and_the_whole_outlives_a_part() {
        let whole = Stop::new();
        let (one, other) = (whole.part(), whole.part());
        one.stop();
        assert_eq!([&whole, &one, &other].map(Stop::is_stopped), [false, true, false]);
        let waiting = std::thread::spawn({
            let other = other.clone();
            move || other.wait_until(Instant::now() + Duration::from_hours(1))
        });
        whole.stop();
        assert!(!waiting.join().unwrap());
        assert!(whole.part().is_stopped(), "one that is made too late");
    }
}
