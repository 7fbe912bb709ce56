//! The part of a session that can be stepped through: its newest frames, and what was known before them.

use crate::timeline::{Timeline, WINDOW_NS};
use probes::model::{Frame, Session};
use std::collections::VecDeque;
use std::sync::Arc;

/// How far behind the newest frame a picture that is held may fall before what lies behind it is forgotten.
const LONGEST_HELD_NS: u64 = 5 * WINDOW_NS;

/// The newest frames of a session, and the timeline as it was before the oldest of them.
///
/// What a frame showed is made again by playing the frames up to it onto that timeline, so it is the same to the last
/// figure: means since the session began, findings, the minute before it.
#[derive(Clone, Debug)]
pub struct History {
    base: Timeline,
    frames: VecDeque<Arc<Frame>>,
    newest: Timeline,
}

/// What of the past must stay at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The last minute.
    Minute,
    /// What a picture that is held can be stepped back through, as long as that is some minutes.
    Held,
}

impl History {
    /// Of a session that has not begun.
    #[must_use]
    pub fn new(session: Arc<Session>) -> Self {
        Self::after(Timeline::new(session), Vec::new())
    }

    /// Of these frames, after what was known before them.
    #[must_use]
    pub fn after(base: Timeline, frames: Vec<Arc<Frame>>) -> Self {
        let mut newest = base.clone();
        for frame in &frames {
            newest.push(frame.clone());
        }
        Self { base, frames: frames.into(), newest }
    }

    /// Takes the next frame.
    pub fn push(&mut self, frame: Arc<Frame>, keep: Keep) {
        self.newest.push(frame.clone());
        self.frames.push_back(frame);
        let keep_ns = match keep {
            Keep::Minute => WINDOW_NS,
            Keep::Held => LONGEST_HELD_NS,
        };
        let begin = self.newest_ns().unwrap_or(0).saturating_sub(keep_ns);
        while self.times().next().is_some_and(|at_ns| at_ns < begin) {
            let Some(frame) = self.frames.pop_front() else { return };
            self.base.push(frame);
        }
    }

    /// The session up to its newest frame.
    #[must_use]
    pub fn newest(&self) -> &Timeline {
        &self.newest
    }

    /// The session up to its newest frame, when the screen needs it no longer.
    #[must_use]
    pub fn into_newest(self) -> Timeline {
        self.newest
    }

    /// Time of the newest frame, nanoseconds; `None` before the first.
    #[must_use]
    pub fn newest_ns(&self) -> Option<u64> {
        self.newest.local().latest().map(|frame| frame.at_ns)
    }

    /// Time of the oldest frame that can be gone back to, nanoseconds; `None` before the first.
    #[must_use]
    pub fn oldest_ns(&self) -> Option<u64> {
        self.times().next()
    }

    /// Time of the frame before the one of this time; `None` at the oldest.
    #[must_use]
    pub fn before_ns(&self, at_ns: u64) -> Option<u64> {
        self.times().take_while(|time| *time < at_ns).last()
    }

    /// Time of the frame after the one of this time; `None` at the newest.
    #[must_use]
    pub fn after_ns(&self, at_ns: u64) -> Option<u64> {
        self.times().find(|time| *time > at_ns)
    }

    /// The session as it was at this time: up to the last frame that is no later; `None` before the oldest.
    #[must_use]
    pub fn at(&self, at_ns: u64) -> Option<Timeline> {
        // of two hosts, what the other one did up to there is seen too
        let count = self.frames.iter().rposition(|frame| frame.host == 0 && frame.at_ns <= at_ns)? + 1;
        let mut timeline = self.base.clone();
        for frame in self.frames.iter().take(count) {
            timeline.push(frame.clone());
        }
        Some(timeline)
    }

    /// Times of the frames of the host this program ran on.
    fn times(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().filter(|frame| frame.host == 0).map(|frame| frame.at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::{History, Keep};
    use crate::rules::{Limits, diagnose};
    use crate::session::FrameSource;
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use probes::model::Frame;
    use std::sync::Arc;
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;

    fn mixed(seconds: u64) -> (Arc<probes::model::Session>, Vec<Arc<Frame>>) {
        let (every, end) = (Duration::from_millis(500), Duration::from_secs(seconds));
        let mut source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let session = source.session();
        (session, std::iter::from_fn(|| source.next_frame().unwrap()).map(Arc::new).collect())
    }

    #[test]
    fn stepping_back_shows_what_was_seen_then() {
        let (session, frames) = mixed(90);
        let mut history = History::new(session.clone());
        let mut seen = Timeline::new(session);
        let mut then = Vec::new();
        let judged = |timeline: &Timeline| {
            (timeline.past(), diagnose(timeline.topology(), timeline, &Limits::default()))
        };
        for frame in frames {
            history.push(frame.clone(), Keep::Minute);
            seen.push(frame.clone());
            then.push((frame.at_ns, judged(&seen)));
        }
        let oldest = history.oldest_ns().unwrap();
        assert_eq!(oldest, 30 * SECOND);
        for (at_ns, judgement) in then.iter().filter(|then| then.0 >= oldest).step_by(7) {
            assert_eq!(&judged(&history.at(*at_ns).unwrap()), judgement, "{at_ns}");
        }
        assert!(history.at(oldest - 1).is_none());
    }

    #[test]
    fn a_picture_that_is_held_keeps_its_past_for_some_minutes() {
        let (session, frames) = mixed(400);
        let mut history = History::new(session);
        let oldest = |history: &History| history.oldest_ns().unwrap() / SECOND;
        for frame in frames {
            let keep = if frame.at_ns < 100 * SECOND { Keep::Minute } else { Keep::Held };
            history.push(frame, keep);
            match history.newest_ns().unwrap() / SECOND {
                at @ 100..=330 => assert!(oldest(&history) <= 40, "{at}"),
                at @ 341.. => assert_eq!(oldest(&history), at - 300),
                _ => {}
            }
        }
    }

    #[test]
    fn frames_are_stepped_through_one_by_one() {
        let frame = |at_ns| Arc::new(Frame { at_ns, ..Frame::default() });
        let (session, _) = mixed(1);
        let history = History::after(Timeline::new(session), [10, 20, 30].map(frame).to_vec());
        assert_eq!([5, 10, 20, 30].map(|at| history.before_ns(at)), [None, None, Some(10), Some(20)]);
        assert_eq!([5, 10, 20, 30].map(|at| history.after_ns(at)), [Some(10), Some(20), Some(30), None]);
        let at = |at_ns| history.at(at_ns)?.local().latest().map(|frame| frame.at_ns);
        assert_eq!([5, 10, 25, 99].map(at), [None, Some(10), Some(20), Some(30)]);
    }
}
