//! The timeline: the last minute of frames, and running sums of everything before.
//!
//! Frames hold cumulative counters; here they become rates. The window is bounded, the sums are per rail,
//! so a session of a day never sits in memory, and a seek needs one block and its sums.

mod bounds;
mod changes;
mod events;
mod failures;
mod growth;
mod interval;
mod last_seen;
mod load_mean;
mod measured;
mod past;
mod sums;

#[cfg(test)]
mod tests;

pub use events::Event;
pub use failures::LoadFailure;
pub(crate) use growth::{growth, growth_of};
pub(crate) use interval::leg_rates;
pub use interval::{Interval, LegRates, Quality, RailRates, gb_per_s};
pub use measured::{Done, Measured, Reading};
pub use past::Past;
pub(crate) use sums::median;
pub use sums::{LegSums, RailSums, Sum, Sums};

use crate::ceilings;
use interval::Tracker;
use probes::model::{Frame, Load, Process, RailId, Session, Topology};
use std::collections::VecDeque;
use std::sync::Arc;

/// How far back rules and trends may look, nanoseconds.
pub const WINDOW_NS: u64 = 60_000_000_000;

/// Share of the PCIe path's raw rate above which a rate is a measurement error: the path cannot carry it,
/// and two per cent are more than timestamps are ever off.
pub const IMPLAUSIBLE_ABOVE: f64 = 1.02;

/// What is known up to one moment of a session.
#[derive(Clone, Debug)]
pub struct Timeline {
    session: Arc<Session>,
    hosts: Vec<HostTimeline>,
}

/// The same of one host.
#[derive(Clone, Debug)]
pub struct HostTimeline {
    topology: Arc<Topology>,
    frames: VecDeque<Arc<Frame>>,
    intervals: VecDeque<Interval>,
    sums: Sums,
    tracker: Tracker,
    processes: Option<Arc<Vec<Process>>>,
    load: Option<Arc<Load>>,
    newest: Newest,
}

/// The newest frames of the window that have something, which most have not: to look for it in each costs more than to draw.
#[derive(Clone, Debug, Default)]
struct Newest {
    of_our_load: Option<Arc<Frame>>,
    of_a_load: Option<Arc<Frame>>,
}

impl Newest {
    fn push(&mut self, frame: &Arc<Frame>) {
        if !frame.workers.is_empty() {
            self.of_our_load = Some(frame.clone());
        }
        if frame.load.is_some() {
            self.of_a_load = Some(frame.clone());
        }
    }

    fn forget(&mut self, frame: &Arc<Frame>) {
        for newest in [&mut self.of_our_load, &mut self.of_a_load] {
            if newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, frame)) {
                *newest = None;
            }
        }
    }
}

impl Timeline {
    /// An empty timeline of this session.
    #[must_use]
    pub fn new(session: Arc<Session>) -> Self {
        let hosts = session.hosts.iter().cloned().map(HostTimeline::new).collect();
        Self { session, hosts }
    }

    /// The header of the session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Takes the next frame of its host. Of a planned load of a diagnosis only what the host counted: it is placed and shaped to
    /// show something, which is no finding about anybody's load. Frames of a host the session does not have are left out.
    pub fn push(&mut self, frame: impl Into<Arc<Frame>>) {
        let frame = without_experiment(frame.into());
        let (host, at_ns) = (frame.host, frame.at_ns);
        let Some(timeline) = self.hosts.get_mut(host) else { return };
        timeline.push(frame);
        let begin_ns = self.session.on_first_clock(host, at_ns).saturating_sub(WINDOW_NS);
        for (at, other) in self.hosts.iter_mut().enumerate() {
            other.forget(self.session.on_own_clock(at, begin_ns));
        }
    }

    /// What the host this program ran on is by now: [`HostTimeline::topology`].
    #[must_use]
    pub fn topology(&self) -> &Topology {
        self.local().topology()
    }

    /// What is known of the host this program ran on.
    ///
    /// # Panics
    ///
    /// Never: a session has at least one host.
    #[must_use]
    pub fn local(&self) -> &HostTimeline {
        self.hosts.first().expect("a session has at least one host")
    }

    /// What is known of the target, where the session has one.
    #[must_use]
    pub fn peer(&self) -> Option<&HostTimeline> {
        self.hosts.get(1)
    }

    /// The session as the target sees itself: the target's timeline first; `None` where there is no target.
    #[must_use]
    pub fn as_seen_by_peer(&self) -> Option<Self> {
        self.peer()?;
        let mut session = (*self.session).clone();
        let mut hosts = self.hosts.clone();
        session.hosts.swap(0, 1);
        session.clock_offset_ns = session.clock_offset_ns.map(|offset| -offset);
        hosts.swap(0, 1);
        Some(Self { session: Arc::new(session), hosts })
    }
}

/// The frame without the planned load that it is a sample of.
fn without_experiment(frame: Arc<Frame>) -> Arc<Frame> {
    if frame.experiment.is_none() {
        return frame;
    }
    let bare = Frame { load: None, workers: Vec::new(), failures: Vec::new(), ..(*frame).clone() };
    Arc::new(bare)
}

impl HostTimeline {
    fn new(topology: Arc<Topology>) -> Self {
        Self {
            frames: VecDeque::new(),
            intervals: VecDeque::new(),
            sums: Sums::new(&topology),
            topology,
            tracker: Tracker::default(),
            processes: None,
            load: None,
            newest: Newest::default(),
        }
    }

    fn push(&mut self, frame: Arc<Frame>) {
        let changed = frame.topology.as_ref().filter(|now| now.has_the_columns_of(&self.topology));
        if let Some(now) = changed {
            self.sums.note_changes(&self.topology, now, frame.at_ns);
            self.topology = now.clone();
        }
        if let Some(load) = frame.load.as_deref().filter(|load| load.earlier != self.sums.earlier_loads) {
            self.begin_load(load.earlier);
        }
        let interval = self.tracker.interval(&self.topology, &frame);
        self.sums.note_events(&self.topology, self.frames.back().map(|f| &**f), &frame);
        if let Some(interval) = interval {
            self.sums.add(&self.topology, &interval);
            self.intervals.push_back(interval);
        }
        if frame.processes.is_some() {
            self.processes.clone_from(&frame.processes);
        }
        self.load.clone_from(&frame.load);
        self.newest.push(&frame);
        self.frames.push_back(frame);
    }

    /// Another load begins: what the one before did is no part of what is judged of a load.
    fn begin_load(&mut self, earlier_loads: u32) {
        self.sums.begin_load(earlier_loads);
        for rail in self.intervals.iter_mut().flat_map(|interval| &mut interval.rails) {
            (rail.measured, rail.under_load) = (false, false);
        }
    }

    /// Leaves out what is older than the window, but for the newest frame.
    fn forget(&mut self, begin_ns: u64) {
        while self.frames.len() > 1 && self.frames.front().is_some_and(|f| f.at_ns < begin_ns) {
            if let Some(gone) = self.frames.pop_front() {
                self.newest.forget(&gone);
            }
        }
        while self.intervals.front().is_some_and(|i| i.from_ns < begin_ns) {
            self.intervals.pop_front();
        }
    }

    /// What the host is by now: as the survey found it, or as a later look did. Rails keep their positions.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Frames of the window, oldest first.
    #[must_use]
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = &Frame> + ExactSizeIterator {
        self.frames.iter().map(|f| &**f)
    }

    /// The newest frame.
    #[must_use]
    pub fn latest(&self) -> Option<&Frame> {
        self.frames.back().map(|f| &**f)
    }

    /// Intervals of the window, oldest first.
    #[must_use]
    pub fn intervals(&self) -> impl DoubleEndedIterator<Item = &Interval> + ExactSizeIterator {
        self.intervals.iter()
    }

    /// The load of the newest frame in the window that had one.
    #[must_use]
    pub fn newest_load(&self) -> Option<&Load> {
        self.newest.of_a_load.as_ref()?.load.as_deref()
    }

    /// The newest frame with threads of our load.
    fn newest_of_our_load(&self) -> Option<&Frame> {
        self.newest.of_our_load.as_deref()
    }

    /// Rates of one rail in the newest interval in which it was read.
    #[must_use]
    pub fn now(&self, rail: RailId) -> Option<&RailRates> {
        self.intervals
            .iter()
            .rev()
            .filter_map(|i| i.rails.get(rail.0))
            .find(|r| r.quality != Quality::NotRead)
    }

    /// Running sums since the session began.
    #[must_use]
    pub fn sums(&self) -> &Sums {
        &self.sums
    }

    /// Processes on the rails, as they were looked up last; `None` when they never were.
    #[must_use]
    pub fn processes(&self) -> Option<&[Process]> {
        self.processes.as_deref().map(Vec::as_slice)
    }

    /// The load that covers the newest interval.
    #[must_use]
    pub fn load(&self) -> Option<&Load> {
        self.load.as_deref()
    }

    /// The same, to be kept.
    #[must_use]
    pub fn shared_load(&self) -> Option<Arc<Load>> {
        self.load.clone()
    }
}

/// Raw limit of the rail's PCIe path, above which a rate is no traffic.
fn implausible_above(topology: &Topology, rail: usize) -> Option<f64> {
    let path = topology.rails.get(rail)?.pcie.as_ref()?;
    Some(ceilings::path_raw_gb_per_s(path)? * IMPLAUSIBLE_ABOVE)
}
