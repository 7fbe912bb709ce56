//! What a timeline must know of the time before a block to go on as if it had seen all of it.

use super::interval::Tracker;
use super::sums::Sums;
use super::{HostTimeline, Newest, Timeline};
use probes::model::{Frame, Process, Session, Topology};
use std::collections::VecDeque;
use std::sync::Arc;

/// What is known of one host before a place in a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// Running sums.
    pub sums: Sums,
    /// What the host was by then; `None` is what the header says.
    pub topology: Option<Arc<Topology>>,
    /// Processes as they were looked up last.
    pub processes: Option<Arc<Vec<Process>>>,
    /// Frames that hold the newest reading of each counter, of older ones only that. The last one is whole and the
    /// newest; empty before the first frame.
    pub frames: Vec<Arc<Frame>>,
    /// Since when a load has covered each rail without a break, nanoseconds.
    pub loaded_since: Vec<Option<u64>>,
}

impl Timeline {
    /// What is known of every host by now, for [`Timeline::resume`].
    #[must_use]
    pub fn past(&self) -> Vec<Past> {
        self.hosts.iter().map(HostTimeline::past).collect()
    }

    /// A timeline that goes on from there: sums and rates of what follows are those of a timeline that has seen
    /// everything, and so is the window once a minute has been pushed. A host without a past begins anew.
    #[must_use]
    pub fn resume(session: Arc<Session>, past: Vec<Past>) -> Self {
        let mut timeline = Self::new(session);
        for (host, past) in timeline.hosts.iter_mut().zip(past) {
            host.resume(past);
        }
        timeline
    }
}

impl HostTimeline {
    fn past(&self) -> Past {
        Past {
            sums: self.sums.clone(),
            topology: Some(self.topology.clone()),
            processes: self.processes.clone(),
            frames: self.tracker.remembered(),
            loaded_since: self.tracker.loaded_since.clone(),
        }
    }

    fn resume(&mut self, past: Past) {
        let Past { sums, topology, processes, frames, loaded_since } = past;
        if let Some(now) = topology.filter(|now| now.has_the_columns_of(&self.topology)) {
            self.topology = now;
        }
        // a file may be of a time when blocks had none
        if sums.rails.len() == self.topology.rails.len() {
            self.sums = sums;
        }
        self.processes = processes;
        self.load = frames.last().and_then(|frame| frame.load.clone());
        self.tracker = Tracker::of(&frames, loaded_since, self.topology.rails.len());
        self.frames = frames.last().cloned().into_iter().collect::<VecDeque<_>>();
        self.newest = Newest::default();
        self.frames.iter().for_each(|frame| self.newest.push(frame));
    }
}

impl Tracker {
    fn of(frames: &[Arc<Frame>], mut loaded_since: Vec<Option<u64>>, rails: usize) -> Self {
        if frames.is_empty() {
            return Self::default();
        }
        loaded_since.resize(rails, None);
        let newest = |has: &dyn Fn(&probes::model::RailFrame) -> bool| {
            let of_rail =
                |at| frames.iter().rev().find(|frame| frame.rails.get(at).is_some_and(has)).cloned();
            (0..rails).map(of_rail).collect()
        };
        Self {
            last: frames.last().cloned(),
            bytes: newest(&|rail| rail.rx_bytes.is_some() || rail.tx_bytes.is_some()),
            legs: newest(&|rail| !rail.legs.is_empty()),
            counters: newest(&|rail| !rail.counters.is_empty()),
            loaded_since,
        }
    }

    /// The newest frame, and before it what older ones are remembered for.
    fn remembered(&self) -> Vec<Arc<Frame>> {
        let Some(last) = &self.last else { return Vec::new() };
        let mut older: Vec<&Arc<Frame>> = Vec::new();
        for frame in [&self.bytes, &self.legs, &self.counters].into_iter().flatten().flatten() {
            if !Arc::ptr_eq(frame, last) && !older.iter().any(|known| Arc::ptr_eq(known, frame)) {
                older.push(frame);
            }
        }
        older.sort_by_key(|frame| (frame.at_ns, frame.seq));
        let newest = Frame { topology: None, marks: Vec::new(), processes: None, ..(**last).clone() };
        older.into_iter().map(|frame| Arc::new(self.remembered_of(frame))).chain([Arc::new(newest)]).collect()
    }

    fn remembered_of(&self, frame: &Arc<Frame>) -> Frame {
        let is_of = |list: &[Option<Arc<Frame>>], at: usize| {
            list.get(at).is_some_and(|known| known.as_ref().is_some_and(|known| Arc::ptr_eq(known, frame)))
        };
        let mut rails = vec![probes::model::RailFrame::default(); frame.rails.len()];
        for (at, (kept, read)) in rails.iter_mut().zip(&frame.rails).enumerate() {
            // what its ports moved is a leg's only beside what the rail did
            if is_of(&self.bytes, at) || is_of(&self.legs, at) {
                (kept.rx_bytes, kept.tx_bytes) = (read.rx_bytes, read.tx_bytes);
            }
            if is_of(&self.legs, at) {
                kept.legs.clone_from(&read.legs);
            }
            if is_of(&self.counters, at) {
                kept.counters.clone_from(&read.counters);
            }
        }
        Frame { host: frame.host, seq: frame.seq, at_ns: frame.at_ns, rails, ..Frame::default() }
    }
}
