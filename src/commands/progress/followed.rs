//! A source whose reader is told how far it is.

use super::{Progress, left_after};
use crate::session::{FrameSource, SourceError, on_first_clock};
use crate::view::time_in_words;
use probes::model::{Frame, Session};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What sets the pace of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// The clock: what is left of its time is what it takes.
    Clock,
    /// The disk: what is left is learnt from what was read.
    Disk,
}

/// A source whose progress is shown while it is read; with its last frame the line goes.
#[derive(Debug)]
pub struct Followed<S> {
    source: S,
    /// `None` once it has ended.
    progress: Option<Progress>,
    what: String,
    pace: Pace,
    /// Time of the session at which it begins and ends, nanoseconds; an end of `None` is not known.
    span_ns: (u64, Option<u64>),
    began: Instant,
    /// Whether it is a load, of which its frames tell how long it goes on.
    is_load: bool,
    /// Time of the session that was shown last.
    shown_ns: Option<u64>,
}

impl<S: FrameSource> Followed<S> {
    /// Of a source that goes with the clock for `time`, or until it is told to end.
    pub fn live(source: S, what: impl Into<String>, time: Option<Duration>) -> Self {
        let end_ns = time.map(probes::times::nanoseconds);
        Self::new(source, what.into(), Pace::Clock, (0, end_ns))
    }

    /// Of a load, which tells how long it goes on; without end where it does not.
    pub fn load(source: S) -> Self {
        let is_simulated = source.session().simulated.is_some();
        Self {
            is_load: true,
            pace: if is_simulated { Pace::Disk } else { Pace::Clock },
            ..Self::live(source, "loading", None)
        }
    }

    /// Of a simulation, which has no clock.
    pub fn simulation(source: S, time: Duration) -> Self {
        Self::file(source, "simulating", (0, probes::times::nanoseconds(time)))
    }

    /// Of a file, or a part of it, with these times of its first and last frame.
    pub fn file(source: S, what: impl Into<String>, (first_ns, last_ns): (u64, u64)) -> Self {
        Self::new(source, what.into(), Pace::Disk, (first_ns, Some(last_ns)))
    }

    fn new(source: S, what: String, pace: Pace, span_ns: (u64, Option<u64>)) -> Self {
        let (progress, began) = (Some(Progress::new()), Instant::now());
        Self { source, progress, what, pace, span_ns, began, is_load: false, shown_ns: None }
    }

    fn show(&mut self, at_ns: u64) {
        // a file brings a thousand frames in the time of one line
        let step_ns = match self.span_ns {
            (first_ns, Some(end_ns)) if self.pace == Pace::Disk => end_ns.saturating_sub(first_ns) / 1000,
            _ => 100_000_000,
        };
        if self.shown_ns.is_some_and(|shown_ns| at_ns < shown_ns.saturating_add(step_ns)) {
            return;
        }
        self.shown_ns = Some(at_ns);
        if let Some(progress) = &self.progress {
            let (text, left) = told(&self.what, self.pace, self.span_ns, at_ns, self.began.elapsed());
            progress.show(text, left);
        }
    }
}

/// What is said at this time of the session, and the time left.
fn told(
    what: &str,
    pace: Pace,
    (first_ns, end_ns): (u64, Option<u64>),
    at_ns: u64,
    elapsed: Duration,
) -> (String, Option<Duration>) {
    let done_ns = at_ns.saturating_sub(first_ns);
    let Some(end_ns) = end_ns else {
        return (format!("{what}: {}", time_in_words(Duration::from_nanos(done_ns))), None);
    };
    let all_ns = end_ns.saturating_sub(first_ns).max(1);
    match pace {
        Pace::Clock => {
            let text = format!("{what}: {}", time_in_words(Duration::from_nanos(done_ns)));
            (text, Some(Duration::from_nanos(all_ns.saturating_sub(done_ns))))
        }
        Pace::Disk => {
            let share = (done_ns as f64 / all_ns as f64).min(1.0);
            (format!("{what}: {:.0} %", 100.0 * share), left_after(elapsed, share))
        }
    }
}

impl<S: FrameSource> FrameSource for Followed<S> {
    fn session(&self) -> Arc<Session> {
        self.source.session()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let next = self.source.next_frame();
        match &next {
            Ok(Some(frame)) => {
                let load = frame.load.as_ref().filter(|_| self.is_load);
                if let Some(measured_s) = load.and_then(|load| load.duration_s) {
                    let warmup_s = load.and_then(|load| load.warmup_s).unwrap_or_default();
                    let time = Duration::try_from_secs_f64(warmup_s + measured_s).unwrap_or(Duration::MAX);
                    self.span_ns.1 = Some(probes::times::nanoseconds(time));
                }
                self.show(on_first_clock(&self.source.session(), frame));
            }
            // nothing may stand in the way of the report, or of the reason
            Ok(None) | Err(_) => self.progress = None,
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::{Followed, Pace, told};
    use crate::session::FrameSource;
    use crate::sim::{self, Simulated};
    use std::time::Duration;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn what_goes_with_the_clock_takes_what_is_left_of_its_time() {
        let at = |end_s: Option<u64>, at_s| {
            let span = (0, end_s.map(|s| s * SECOND_NS));
            told("recording", Pace::Clock, span, at_s * SECOND_NS, Duration::from_secs(99))
        };
        assert_eq!(at(Some(60), 20), ("recording: 20 s".to_owned(), Some(Duration::from_secs(40))));
        assert_eq!(at(Some(60), 61).1, Some(Duration::ZERO));
        assert_eq!(at(None, 80), ("recording: 1 min 20 s".to_owned(), None));
    }

    #[test]
    fn what_comes_from_a_disk_tells_its_share() {
        let span = (10 * SECOND_NS, Some(110 * SECOND_NS));
        let at = |at_s: u64| told("reading", Pace::Disk, span, at_s * SECOND_NS, Duration::from_secs(2));
        assert_eq!(at(35), ("reading: 25 %".to_owned(), Some(Duration::from_secs(6))));
        assert_eq!(at(10), ("reading: 0 %".to_owned(), None));
    }

    #[test]
    fn a_followed_source_is_the_same_source() {
        let every = Duration::from_millis(500);
        let end = Some(Duration::from_secs(5));
        let source = || Simulated::new("mixed", 1, every, sim::Pace::AsFastAsPossible, end).unwrap();
        let (mut plain, mut followed) = (source(), Followed::live(source(), "watching", end));
        while let Some(frame) = plain.next_frame().unwrap() {
            assert_eq!(followed.next_frame().unwrap(), Some(frame));
        }
        assert_eq!(followed.next_frame().unwrap(), None);
    }
}
