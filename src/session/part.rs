//! A recording from some moment on, as if it had begun there.

use super::{FrameSource, Replay, SourceError};
use probes::model::{Frame, Measured, Session};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A recording from some moment on: what was counted before is taken off, times stay those of the recording.
///
/// Each host's newest frame at or before the moment comes first, as what the first rates are differences to.
#[derive(Debug)]
pub struct Part {
    replay: Replay,
    session: Arc<Session>,
    first: VecDeque<Frame>,
    /// What each host's load had done before.
    before: Vec<Option<Frame>>,
}

impl Part {
    /// Reads the minute of the recording before that moment, and nothing earlier.
    ///
    /// # Errors
    ///
    /// The recording ends before that moment, or the block that holds it is damaged.
    pub fn new(mut replay: Replay, from: Duration) -> Result<Self, SourceError> {
        let from_ns = probes::times::nanoseconds(from);
        if let Some((_, last_ns)) = replay.span_ns()
            && from_ns > last_ns
        {
            let (from, last) = (from.as_secs_f64(), last_ns as f64 / 1e9);
            return Err(SourceError::Live(format!(
                "--from {from} s: the recording ends at {last:.1} s; take an earlier moment"
            )));
        }
        let mut before: Vec<Option<Frame>> = vec![None; replay.session().hosts.len()];
        let sought = replay.seek(from_ns)?;
        for mut frame in sought.frames {
            let Some(slot) = before.get_mut(frame.host) else { continue };
            if let Some(earlier) = slot.take() {
                frame.processes = frame.processes.or(earlier.processes);
                frame.topology = frame.topology.or(earlier.topology);
            }
            *slot = Some(frame);
        }
        for (frame, past) in before.iter_mut().zip(sought.past) {
            if let Some(frame) = frame {
                frame.processes = frame.processes.take().or(past.processes);
                frame.topology = frame.topology.take().or(past.topology);
            }
        }
        let mut session = (*replay.session()).clone();
        for (host, frame) in session.hosts.iter_mut().zip(&mut before) {
            // what it was by then is where this part begins, and no event of it
            let known = frame.as_mut().and_then(|frame| frame.topology.take());
            if let Some(known) = known.filter(|known| known.has_the_columns_of(host)) {
                *host = known;
            }
        }
        let mut first: Vec<Frame> = before.iter().flatten().cloned().collect();
        first.sort_by_key(|frame| super::on_first_clock(&replay.session(), frame));
        Ok(Self { replay, session: Arc::new(session), first: first.into(), before })
    }

    /// Takes off what the load had done before.
    fn taken_off(&self, mut frame: Frame) -> Frame {
        let Some(Some(before)) = self.before.get(frame.host) else { return frame };
        let number = |frame: &Frame| frame.load.as_ref().map(|load| load.earlier);
        if number(before) != number(&frame) {
            // of a load that began within the part nothing was done before
            return frame;
        }
        for (worker, then) in frame.workers.iter_mut().zip(&before.workers) {
            worker.measured = since(worker.measured, then.measured);
            worker.restarts = worker.restarts.saturating_sub(then.restarts);
            worker.errors = grown(&worker.errors, &then.errors);
        }
        frame.peer = since(frame.peer, before.peer);
        frame
    }
}

/// What was done since; of a load that began anew, all of it.
fn since(now: Option<Measured>, then: Option<Measured>) -> Option<Measured> {
    let (now, Some(then)) = (now?, then) else { return now };
    match (now.bytes.checked_sub(then.bytes), now.ns.checked_sub(then.ns)) {
        (Some(bytes), Some(ns)) => Some(Measured { bytes, ns }),
        _ => Some(now),
    }
}

fn grown(now: &BTreeMap<String, u64>, then: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let more = |(status, count): (&String, &u64)| {
        let more = count.saturating_sub(then.get(status).copied().unwrap_or(0));
        (more > 0).then(|| (status.clone(), more))
    };
    now.iter().filter_map(more).collect()
}

impl FrameSource for Part {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let next = match self.first.pop_front() {
            Some(frame) => Some(frame),
            None => self.replay.next_frame()?,
        };
        Ok(next.map(|frame| self.taken_off(frame)))
    }
}

#[cfg(test)]
mod tests {
    use super::Part;
    use crate::session::{FrameSource, Recorded, Replay};
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use probes::model::RailId;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    fn recorded(folder: &Path) -> PathBuf {
        let (every, end) = (Duration::from_millis(100), Duration::from_secs(5));
        let source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let path = folder.join("a.rsz");
        let mut recorded = Recorded::create(source, &path).unwrap();
        while recorded.next_frame().unwrap().is_some() {}
        path
    }

    fn part(path: &Path, from_ms: u64) -> Part {
        Part::new(Replay::open(path).unwrap(), Duration::from_millis(from_ms)).unwrap()
    }

    #[test]
    fn a_part_holds_what_happened_in_it_and_who_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = recorded(folder.path());
        let mut part = part(&path, 2550);
        let mut timeline = Timeline::new(part.session());
        let first = part.next_frame().unwrap().unwrap();
        assert_eq!((first.at_ns, first.processes.is_some()), (2_500_000_000, true));
        timeline.push(first);
        while let Some(frame) = part.next_frame().unwrap() {
            timeline.push(frame);
        }
        let host = timeline.local();
        assert_eq!(host.sums().frames, 26);
        let rail = &timeline.session().topology().rails[2];
        let mean = host.load_gb_per_s(RailId(2)).unwrap();
        assert!((24.0..24.6).contains(&mean), "{} {mean}", rail.device);
    }

    #[test]
    fn a_part_from_the_beginning_is_the_whole_and_one_beyond_the_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = recorded(folder.path());
        let (mut whole, mut part) = (Replay::open(&path).unwrap(), part(&path, 0));
        let next = |source: &mut dyn FrameSource| source.next_frame().unwrap();
        while let Some(frame) = next(&mut whole) {
            assert_eq!(next(&mut part), Some(frame));
        }
        assert_eq!(next(&mut part), None);
        let late = Part::new(Replay::open(&path).unwrap(), Duration::from_mins(1)).unwrap_err().to_string();
        assert_eq!(late, "--from 60 s: the recording ends at 5.0 s; take an earlier moment");
    }
}
