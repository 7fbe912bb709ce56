//! Threads that failed and are opened anew: when each is tried next.
//!
//! The first try comes a second after the failure, and each later one after twice the time, up to 16 s. A thread that
//! fails again soon after it came back is no new case: its tries go on where they were.

use super::link::Timing;
use probes::load::Endpoint;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Who was back for so long is well.
const WELL: Duration = Duration::from_secs(10);

/// What is left of a load must be worth a try.
const WORTH: Duration = Duration::from_secs(1);

/// The threads that failed.
#[derive(Debug)]
pub(super) struct Mending {
    timing: Timing,
    /// When the load ends; `None` when it is stopped from outside.
    ends: Option<Instant>,
    cases: BTreeMap<usize, Case>,
}

#[derive(Debug)]
struct Case {
    failed: Instant,
    /// Before the next try.
    wait: Duration,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// Until the next try.
    Waits(Instant),
    /// Our end is being opened.
    Opens,
    /// Our end is open, and the peer is to answer before this.
    Asked(Box<Endpoint>, Instant),
    /// Our end is being connected.
    Connects,
    /// It went on then.
    Back(Instant),
    /// It is not tried any more.
    GivenUp,
}

impl Mending {
    /// Nothing failed yet.
    pub fn new(timing: Timing, ends: Option<Instant>) -> Self {
        Self { timing, ends, cases: BTreeMap::new() }
    }

    /// A thread failed. Says how long until it is tried again; `None` when that is not worth it.
    pub fn failed(&mut self, at: usize, now: Instant) -> Option<Duration> {
        let first = self.timing.retry;
        let case = self.cases.entry(at).or_insert(Case { failed: now, wait: first, step: Step::Opens });
        if matches!(case.step, Step::Back(since) if now.duration_since(since) >= WELL) {
            case.wait = first;
        }
        case.failed = now;
        self.wait(at, now)
    }

    /// A try came to nothing. Says how long until the next; `None` when that is not worth it.
    pub fn refused(&mut self, at: usize, now: Instant) -> Option<Duration> {
        self.wait(at, now)
    }

    fn wait(&mut self, at: usize, now: Instant) -> Option<Duration> {
        let case = self.cases.get_mut(&at)?;
        let wait = case.wait;
        if self.ends.is_some_and(|ends| now + wait + WORTH > ends) {
            case.step = Step::GivenUp;
            return None;
        }
        case.wait = (wait * 2).min(self.timing.retry_most);
        case.step = Step::Waits(now + wait);
        Some(wait)
    }

    /// Threads whose time has come; they are being opened from now on.
    pub fn due(&mut self, now: Instant) -> Vec<usize> {
        let mut due = Vec::new();
        for (at, case) in &mut self.cases {
            if matches!(case.step, Step::Waits(until) if until <= now) {
                case.step = Step::Opens;
                due.push(*at);
            }
        }
        due
    }

    /// Threads for which the peer did not answer in time.
    pub fn unanswered(&mut self, now: Instant) -> Vec<usize> {
        let late = |case: &Case| matches!(&case.step, Step::Asked(_, until) if *until <= now);
        self.cases.iter().filter(|(_, case)| late(case)).map(|(at, _)| *at).collect()
    }

    /// Our end is open, and the peer was asked for its own.
    pub fn asked(&mut self, at: usize, ours: Endpoint, now: Instant) {
        if let Some(case) = self.cases.get_mut(&at) {
            case.step = Step::Asked(Box::new(ours), now + self.timing.opening);
        }
    }

    /// The peer answered. Our end, which is connected from now on; `None` when nothing was asked.
    pub fn answered(&mut self, at: usize) -> Option<Endpoint> {
        let case = self.cases.get_mut(&at)?;
        match std::mem::replace(&mut case.step, Step::Connects) {
            Step::Asked(ours, _) => Some(*ours),
            step => {
                case.step = step;
                None
            }
        }
    }

    /// A thread went on. Says how long it had been away.
    pub fn back(&mut self, at: usize, now: Instant) -> Duration {
        let Some(case) = self.cases.get_mut(&at) else { return Duration::ZERO };
        case.step = Step::Back(now);
        now.duration_since(case.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::Mending;
    use crate::peer::link::Timing;
    use std::time::Duration;
    use tokio::time::Instant;

    fn seconds(wait: Option<Duration>) -> Option<u64> {
        wait.map(|wait| wait.as_secs())
    }

    #[test]
    fn tries_come_after_a_second_and_then_twice_as_late_each() {
        let mut now = Instant::now();
        let mut mending = Mending::new(Timing::default(), None);
        let mut waits = vec![mending.failed(3, now).unwrap()];
        assert!(mending.due(now).is_empty());
        for _ in 0..6 {
            now += *waits.last().unwrap();
            assert_eq!(mending.due(now), [3]);
            assert!(mending.due(now).is_empty(), "it is being opened");
            waits.push(mending.refused(3, now).unwrap());
        }
        assert_eq!(waits.iter().map(Duration::as_secs).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 16, 16]);
    }

    #[test]
    fn who_fails_again_soon_is_no_new_case() {
        let now = Instant::now();
        let mut mending = Mending::new(Timing::default(), None);
        mending.failed(0, now);
        mending.refused(0, now);
        assert_eq!(mending.back(0, now + Duration::from_secs(3)).as_secs(), 3);
        assert_eq!(seconds(mending.failed(0, now + Duration::from_secs(4))), Some(4));
        mending.back(0, now + Duration::from_secs(20));
        assert_eq!(seconds(mending.failed(0, now + Duration::from_secs(40))), Some(1));
    }

    #[test]
    fn a_load_that_is_about_to_end_is_not_mended() {
        let now = Instant::now();
        let mut mending = Mending::new(Timing::default(), Some(now + Duration::from_secs(4)));
        assert_eq!(seconds(mending.failed(0, now)), Some(1));
        assert_eq!(seconds(mending.refused(0, now + Duration::from_secs(2))), None);
        assert!(mending.due(now + Duration::from_mins(1)).is_empty());
    }

    #[test]
    fn an_answer_that_was_not_asked_for_is_none() {
        let now = Instant::now();
        let mut mending = Mending::new(Timing::default(), None);
        assert!(mending.answered(0).is_none());
        mending.failed(0, now);
        assert!(mending.answered(0).is_none());
        assert_eq!(mending.due(now + Duration::from_secs(1)), [0]);
    }
}
