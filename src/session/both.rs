//! A session of two hosts: our own source, and frames that the other end of the load sends.

use super::{FrameSource, SourceError};
use probes::model::{Frame, Session, Topology};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Frames that wait for the sampler at most; it takes them at each sample of its own.
const MOST: usize = 256;

/// Frames of the other host, from when they came until the source takes them.
#[derive(Debug, Default)]
pub struct Inbox(Mutex<VecDeque<Frame>>);

impl Inbox {
    /// Takes a frame in. What nobody takes out is not kept for ever: the oldest goes.
    pub fn put(&self, frame: Frame) {
        let mut frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if frames.len() >= MOST {
            frames.pop_front();
        }
        frames.push_back(frame);
    }

    /// All that wait, in the order in which they came.
    #[must_use]
    pub fn drain(&self) -> Vec<Frame> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    fn take(&self) -> Option<Frame> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Frames of both hosts, as they come.
pub struct Both<S> {
    here: S,
    there: Arc<Inbox>,
    /// What the other host's times here lie behind those of the session, nanoseconds.
    behind_ns: i64,
    session: Arc<Session>,
}

impl<S: FrameSource> Both<S> {
    /// Beside our own source the other host, which is this, and whose times become ours by adding `clock_offset_ns`.
    #[must_use]
    pub fn new(here: S, there: Arc<Inbox>, topology: Arc<Topology>, clock_offset_ns: i64) -> Self {
        let own = here.session();
        let hosts = own.hosts.iter().take(1).cloned().chain([topology]).collect();
        let session = Session { hosts, clock_offset_ns: Some(clock_offset_ns), ..(*own).clone() };
        Self { here, there, behind_ns: 0, session: Arc::new(session) }
    }

    /// A later part of a session of both hosts: the other one's times become ours by adding `clock_offset_ns`, which need not
    /// be what the session has.
    #[must_use]
    pub fn going_on(here: S, there: Arc<Inbox>, session: Arc<Session>, clock_offset_ns: i64) -> Self {
        let behind_ns = clock_offset_ns.saturating_sub(session.clock_offset_ns.unwrap_or_default());
        Self { here, there, behind_ns, session }
    }

    /// The other host's frame as the session has it.
    fn of_session(&self, frame: Frame) -> Frame {
        Frame { host: 1, at_ns: frame.at_ns.saturating_add_signed(self.behind_ns), ..frame }
    }
}

impl<S: FrameSource> FrameSource for Both<S> {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        if let Some(frame) = self.there.take() {
            return Ok(Some(self.of_session(frame)));
        }
        match self.here.next_frame()? {
            Some(frame) => Ok(Some(frame)),
            // what came while we waited for our own last one
            None => Ok(self.there.take().map(|frame| self.of_session(frame))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Both, Inbox};
    use crate::session::{FrameSource, Recorded, Replay};
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use probes::model::{Frame, Rail, RailFrame, Topology};
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn frames_of_both_hosts_are_one_session_and_one_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("both.rsz");
        let (every, end) = (Duration::from_millis(100), Duration::from_secs(1));
        let here = Simulated::new("healthy", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let far = Topology {
            rails: vec![Rail { device: "far_0".into(), ..Rail::default() }],
            ..Topology::default()
        };
        let inbox = Arc::new(Inbox::default());
        let mut both =
            Recorded::create(Both::new(here, inbox.clone(), Arc::new(far), -5_000), &path).unwrap();
        let mut timeline = Timeline::new(both.session());
        for seq in 0.. {
            let rail =
                RailFrame { rx_bytes: Some(seq * 1000), tx_bytes: Some(seq * 9000), ..RailFrame::default() };
            if seq < 5 {
                inbox.put(Frame {
                    seq,
                    at_ns: seq * 100_000_000 + 5_000,
                    rails: vec![rail],
                    ..Frame::default()
                });
            }
            let Some(frame) = both.next_frame().unwrap() else { break };
            timeline.push(frame);
        }
        drop(both);
        assert_eq!(timeline.peer().unwrap().sums().frames, 5);
        assert_eq!(timeline.topology().rails.len(), 8);
        let mut replay = Replay::open(&path).unwrap();
        let mut again = Timeline::new(replay.session());
        while let Some(frame) = replay.next_frame().unwrap() {
            again.push(frame);
        }
        assert_eq!(again.session().clock_offset_ns, Some(-5_000));
        assert_eq!(again.peer().unwrap().sums(), timeline.peer().unwrap().sums());
    }
}
