//! A session that is of several things, one after the other.

use super::anew::{Anew, Wish};
use super::{FrameSource, SourceError, Stop};
use probes::model::{Frame, Session};
use std::sync::Arc;

/// A part of a session.
pub struct Link {
    /// Its frames, whose times are those of the session.
    pub source: Box<dyn FrameSource>,
    /// What is said of the moment at which it begins.
    pub mark: Option<String>,
}

/// Makes the next part: what was wished for, or what comes after a part that is over by itself; `None` ends the session.
pub type Next = Box<dyn FnMut(Option<Wish>) -> Option<Link> + Send>;

/// Parts of one session, one after the other, in the order in which they are wished for.
pub struct Chained {
    session: Arc<Session>,
    part: Box<dyn FrameSource>,
    next: Next,
    anew: Anew,
    stop: Stop,
    mark: Option<String>,
    hosts: Vec<Host>,
}

/// What the parts so far had of a host.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    /// Frames before the part.
    before: u64,
    /// Frames so far.
    frames: u64,
    last_ns: Option<u64>,
}

impl Chained {
    /// Begins with `first`, whose session is that of the whole; `stop` ends it all.
    #[must_use]
    pub fn new(first: Box<dyn FrameSource>, next: Next, anew: Anew, stop: Stop) -> Self {
        let session = first.session();
        let hosts = vec![Host::default(); session.hosts.len()];
        Self { session, part: first, next, anew, stop, mark: None, hosts }
    }

    /// The frame as one of the whole; `None` where it belongs before one that was there already.
    fn of_whole(&mut self, mut frame: Frame) -> Option<Frame> {
        let host = self.hosts.get_mut(frame.host)?;
        if host.last_ns.is_some_and(|last_ns| frame.at_ns < last_ns) {
            return None;
        }
        host.last_ns = Some(frame.at_ns);
        frame.seq += host.before;
        host.frames = frame.seq + 1;
        if frame.host == 0 {
            frame.marks.extend(self.mark.take());
        }
        Some(frame)
    }
}

impl FrameSource for Chained {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        loop {
            if let Some(frame) = self.part.next_frame()? {
                match self.of_whole(frame) {
                    None => continue,
                    some => return Ok(some),
                }
            }
            if self.stop.is_stopped() {
                return Ok(None);
            }
            let Some(Link { source, mark }) = (self.next)(self.anew.take()) else { return Ok(None) };
            self.part = source;
            self.mark = mark;
            for host in &mut self.hosts {
                host.before = host.frames;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Anew, Chained, Link, Wish};
    use crate::session::{FrameSource, Recorded, Replay, SourceError, Stop};
    use crate::timeline::Timeline;
    use probes::model::{
        Frame, Load, LoadOrigin, Rail, RailFrame, RailId, Session, Topology, WorkerFrame, WorkerPhase,
    };
    use std::sync::Arc;

    const SECOND_NS: u64 = 1_000_000_000;
    const GB: u64 = 1_000_000_000;

    /// Seconds of a load whose single thread reads so many GB in each, from a second on.
    struct Load1 {
        earlier: u32,
        from_s: u64,
        gb_per_s: u64,
        threads: usize,
        next: u64,
        of: u64,
    }

    fn session() -> Arc<Session> {
        let rail = Rail { device: "mlx5_0".into(), ..Rail::default() };
        Arc::new(Session {
            generated_by: "test".into(),
            started_unix_ms: None,
            interval_ns: SECOND_NS,
            hosts: vec![Arc::new(Topology { rails: vec![rail], ..Topology::default() })],
            clock_offset_ns: None,
            simulated: None,
        })
    }

    impl FrameSource for Load1 {
        fn session(&self) -> Arc<Session> {
            session()
        }

        fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
            if self.next == self.of {
                return Ok(None);
            }
            let load = Load { origin: LoadOrigin::Ours, earlier: self.earlier, ..Load::default() };
            let worker = WorkerFrame {
                rail: Some(RailId(0)),
                phase: WorkerPhase::Measuring,
                bytes: self.next * self.gb_per_s * GB,
                ..WorkerFrame::default()
            };
            let frame = Frame {
                seq: self.next,
                at_ns: (self.from_s + self.next) * SECOND_NS,
                rails: vec![RailFrame::default()],
                load: Some(Arc::new(load)),
                workers: vec![worker; self.threads],
                ..Frame::default()
            };
            self.next += 1;
            Ok(Some(frame))
        }
    }

    fn load(earlier: u32, from_s: u64, gb_per_s: u64, threads: usize) -> Box<dyn FrameSource> {
        Box::new(Load1 { earlier, from_s, gb_per_s, threads, next: 0, of: 4 })
    }

    #[test]
    fn no_rate_goes_across_a_new_start_and_a_recording_says_so_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two.rsz");
        let anew = Anew::new(|_| Ok("16 queue pairs a rail".to_owned()));
        anew.load("-q 16").unwrap();
        let next = Box::new(|wish: Option<Wish>| {
            wish.map(|_| Link { source: load(1, 10, 40, 1), mark: Some("started anew: -q 16".to_owned()) })
        });
        let chained = Chained::new(load(0, 0, 5, 2), next, anew, Stop::new());
        let mut source = Recorded::create(chained, &path).unwrap();
        let mut timeline = Timeline::new(source.session());
        let mut frames = Vec::new();
        while let Some(frame) = source.next_frame().unwrap() {
            frames.push(frame.clone());
            timeline.push(frame);
        }
        drop(source);
        assert_eq!(frames.iter().map(|frame| frame.seq).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
        assert_eq!(frames[4].marks, ["started anew: -q 16"]);
        let host = timeline.local();
        let rates: Vec<_> = host.intervals().map(|interval| interval.rails[0].load_gb_per_s).collect();
        assert_eq!(
            rates,
            [Some(10.0), Some(10.0), Some(10.0), None, Some(40.0), Some(40.0), Some(40.0)],
            "not between the two"
        );
        let judged: Vec<bool> = host.intervals().map(|interval| interval.rails[0].measured).collect();
        assert_eq!(judged, [false, false, false, false, true, true, true], "as a load that is judged");
        assert_eq!(host.load_gb_per_s(RailId(0)), Some(40.0), "of the load that goes on alone");
        assert_eq!(host.sums().workers.len(), 1, "of two threads one is left");
        let mut replay = Replay::open(&path).unwrap();
        let mut again = Timeline::new(replay.session());
        while let Some(frame) = replay.next_frame().unwrap() {
            again.push(frame);
        }
        assert_eq!(again.local().sums(), host.sums());
    }

    #[test]
    fn a_part_that_is_over_without_a_wish_ends_the_session_and_so_does_stop() {
        let anew = Anew::new(|_| Ok(String::new()));
        let over = Box::new(|wish: Option<Wish>| {
            assert_eq!(wish, None);
            None
        });
        let mut source = Chained::new(load(0, 0, 5, 1), over, anew.clone(), Stop::new());
        assert_eq!(std::iter::from_fn(|| source.next_frame().unwrap()).count(), 4);
        let stop = Stop::new();
        let never = Box::new(|_| panic!("nothing begins once it is to end"));
        let mut source = Chained::new(load(0, 0, 5, 1), never, anew.clone(), stop.clone());
        anew.diagnosis().unwrap();
        stop.stop();
        assert_eq!(std::iter::from_fn(|| source.next_frame().unwrap()).count(), 4, "its last frames count");
    }
}
