//! Marks: what a user says of a moment, kept with the frames.

use super::{FrameSource, SourceError};
use probes::model::{Frame, Session};
use std::sync::{Arc, Mutex, PoisonError};

/// Longest text of a mark, in characters; what is beyond is left out.
const LONGEST: usize = 500;

/// Sets marks on the session of a [`Marked`] source; copies of it all mean the same session.
#[derive(Clone, Debug, Default)]
pub struct Marks(Arc<Mutex<Vec<String>>>);

impl Marks {
    /// No mark yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says this of the moment: the next frame carries it. An empty text is a mark as well; white space at its ends
    /// and line breaks are none of it.
    pub fn set(&self, text: &str) {
        let text: String = text.trim().chars().take(LONGEST).collect();
        let text = text.replace(|c: char| c.is_control(), " ");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A source whose frames carry the marks that were set meanwhile. A recording has them if it is made of this.
#[derive(Debug)]
pub struct Marked<S> {
    source: S,
    marks: Marks,
}

impl<S> Marked<S> {
    /// Takes marks from `marks`.
    #[must_use]
    pub fn new(source: S, marks: Marks) -> Self {
        Self { source, marks }
    }
}

impl<S: FrameSource> FrameSource for Marked<S> {
    fn session(&self) -> Arc<Session> {
        self.source.session()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let Some(mut frame) = self.source.next_frame()? else { return Ok(None) };
        if frame.host == 0 {
            frame.marks.extend(self.marks.take());
        }
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::{Marked, Marks};
    use crate::session::{FrameSource, Recorded, Replay};
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use std::time::Duration;

    #[test]
    fn what_is_said_of_a_moment_is_an_event_of_the_session_and_of_its_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marked.rsz");
        let (every, end) = (Duration::from_millis(100), Duration::from_secs(3));
        let source = Simulated::new("healthy", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let marks = Marks::new();
        let mut live = Recorded::create(Marked::new(source, marks.clone()), &path).unwrap();
        let mut timeline = Timeline::new(live.session());
        for at in 0.. {
            if at == 12 {
                marks.set(" switch port 7\nrebooted ");
            }
            let Some(frame) = live.next_frame().unwrap() else { break };
            timeline.push(frame);
        }
        let events = timeline.local().sums().events.clone();
        let texts: Vec<_> =
            events.iter().map(|e| (e.at_s, e.device.as_str(), e.is_mark(), e.text.as_deref())).collect();
        assert_eq!(texts, [(1.2, "host", true, Some("switch port 7 rebooted"))]);
        let mut replay = Replay::open(&path).unwrap();
        let mut again = Timeline::new(replay.session());
        while let Some(frame) = replay.next_frame().unwrap() {
            again.push(frame);
        }
        assert_eq!(again.local().sums().events, events);
    }
}
