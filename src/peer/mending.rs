//! Threads that failed and are opened anew: when each is tried next.
//!
//! The first try comes a second after the failure, and each later one after twice the time, up to 16 s. A thread that
//! fails again soon after it came back is no new case: its tries go on where they were.

use super::link::Timing;
use probes::load::{Endpoint, Params};
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
    /// Whether it is opened anew only because the peer's failed.
    follows: bool,
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

    /// The same for a load with these parameters, which begins at `start`.
    pub fn of(params: &Params, timing: Timing, start: Instant) -> Self {
        let ends = params.duration_s.and_then(|duration| {
            let span = Duration::try_from_secs_f64(params.warmup_s + duration).ok()?;
            start.checked_add(span)
        });
        Self::new(timing, ends)
    }

    /// The load comes to its end now: nothing is tried any more.
    pub fn close(&mut self, now: Instant) {
        self.ends = Some(now);
    }

    /// Whether a thread that fails now is tried again before the load ends.
    pub fn has_time(&self, now: Instant) -> bool {
        self.is_worth(now + self.timing.retry)
    }

    fn is_worth(&self, until: Instant) -> bool {
        self.ends.is_none_or(|ends| until + WORTH <= ends)
    }

    /// A thread failed. Says how long until it is tried again; `None` when that is not worth it.
    pub fn failed(&mut self, at: usize, now: Instant) -> Option<Duration> {
        let case = self.case(at, now);
        case.follows = false;
        self.wait(at, now)
    }

    /// The peer's thread failed and can be opened again, ours is well: it is to be opened anew with it. Says whether
    /// that begins now; not while it is tried already, and not when it is not worth it.
    pub fn invited(&mut self, at: usize, now: Instant) -> bool {
        if !self.is_worth(now) || self.is_away(at) {
            return false;
        }
        let case = self.case(at, now);
        (case.follows, case.step) = (true, Step::Opens);
        true
    }

    /// The case of a thread that is away from now on.
    fn case(&mut self, at: usize, now: Instant) -> &mut Case {
        let first = self.timing.retry;
        let new = Case { failed: now, wait: first, follows: false, step: Step::Opens };
        let case = self.cases.entry(at).or_insert(new);
        if matches!(case.step, Step::Back(since) if now.duration_since(since) >= WELL) {
            case.wait = first;
        }
        case.failed = now;
        case
    }

    /// Whether it failed, or was let go of, and has not come back.
    pub fn is_away(&self, at: usize) -> bool {
        self.cases.get(&at).is_some_and(|case| !matches!(case.step, Step::Back(_)))
    }

    /// Whether it is opened anew only because the peer's failed.
    pub fn follows(&self, at: usize) -> bool {
        self.cases.get(&at).is_some_and(|case| case.follows)
    }

    /// Whether our end is being opened now.
    pub fn is_opening(&self, at: usize) -> bool {
        self.cases.get(&at).is_some_and(|case| matches!(case.step, Step::Opens))
    }

    /// Those whose end here is open, and for which the peer was asked.
    pub fn open_here(&self) -> Vec<usize> {
        let asked = self.cases.iter().filter(|(_, case)| matches!(case.step, Step::Asked(..)));
        asked.map(|(at, _)| *at).collect()
    }

    /// It is being connected, as the peer wants it.
    pub fn connects(&mut self, at: usize) {
        if let Some(case) = self.cases.get_mut(&at).filter(|case| !matches!(case.step, Step::Back(_))) {
            case.step = Step::Connects;
        }
    }

    /// A try came to nothing. Says how long until the next; `None` when that is not worth it.
    pub fn refused(&mut self, at: usize, now: Instant) -> Option<Duration> {
        if let Some(case) = self.cases.get_mut(&at) {
            // it is down in earnest now
            case.follows = false;
        }
        self.wait(at, now)
    }

    /// The same, in words: why it came to nothing, and when the next try is.
    pub fn refusal(&mut self, at: usize, now: Instant, reason: &str) -> String {
        let next = match self.refused(at, now) {
            Some(wait) => format!("next in {} s", wait.as_secs_f64()),
            None => "not again, as the load is about to end".to_owned(),
        };
        format!("tried again: {reason}; {next}")
    }

    fn wait(&mut self, at: usize, now: Instant) -> Option<Duration> {
        let wait = self.cases.get(&at)?.wait;
        let is_worth = self.is_worth(now + wait);
        let case = self.cases.get_mut(&at)?;
        if !is_worth {
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
        if !self.is_worth(now) {
            return due;
        }
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
        (case.step, case.follows) = (Step::Back(now), false);
        now.duration_since(case.failed)
    }
}

#[cfg(test)]
mod tests;
