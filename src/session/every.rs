//! Time between samples, which a person may change while the session goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Times between samples that keys go through.
const STEPS: [Duration; 7] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Time between samples of a live session; copies of it all mean the same session.
#[derive(Clone, Debug)]
pub struct Every(Arc<AtomicU64>);

impl Every {
    /// This time, until it is changed.
    #[must_use]
    pub fn new(every: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(probes::times::nanoseconds(every))))
    }

    /// The time that was asked for last.
    #[must_use]
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// The next shorter of the usual times; `false` where there is none.
    #[must_use]
    pub fn shorten(&self) -> bool {
        self.go(STEPS.into_iter().rfind(|step| *step < self.get()))
    }

    /// The next longer of them; `false` where there is none.
    #[must_use]
    pub fn lengthen(&self) -> bool {
        self.go(STEPS.into_iter().find(|step| *step > self.get()))
    }

    fn go(&self, step: Option<Duration>) -> bool {
        if let Some(step) = step {
            self.0.store(probes::times::nanoseconds(step), Ordering::Relaxed);
        }
        step.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Every;
    use std::time::Duration;

    #[test]
    fn the_interval_goes_by_usual_steps_from_wherever_it_is() {
        let every = Every::new(Duration::from_millis(250));
        let mut ms = |longer: bool| {
            let moved = if longer { every.lengthen() } else { every.shorten() };
            (moved, every.get().as_millis())
        };
        assert_eq!(
            [true, false, false, false].map(&mut ms),
            [(true, 500), (true, 200), (true, 100), (false, 100)]
        );
        assert_eq!([true; 7].map(ms).last(), Some(&(false, 10_000)));
    }
}
