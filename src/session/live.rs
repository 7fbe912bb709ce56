//! This node, sampled in real time.

use super::open::header;
use super::second_look::SecondLook;
use super::throttle::{AsItIs, Throttle};
use super::{Every, FrameSource, SourceError, Stop};
use probes::counters::Sampler;
use probes::load::RunningLoad;
use probes::model::{Frame, Load, Session, Topology};
use probes::processes::Watcher;
use probes::root::Root;
use probes::survey::Again;
use probes::times::{nanoseconds, unix_ms};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often what is dear to read is read: further counters, legs, processes.
const FULL_EVERY: Duration = Duration::from_secs(1);

/// How often a load is asked whether it is over, and a person whether samples are to come sooner, where they are further apart.
const LOAD_LOOK: Duration = Duration::from_millis(100);

/// How long a load that was told to stop may take to check what it read. A rail that hangs takes longer; its frame
/// then says so by the phase of its worker.
const LAST_CHECK: Duration = Duration::from_secs(2);

/// Frames of this node, at absolute deadlines: a slow sample makes the next wait shorter, not the row late.
pub struct Live {
    session: Arc<Session>,
    root: Root,
    sampler: Sampler,
    watcher: Watcher,
    began: Instant,
    every: Duration,
    /// What it is to be from now on; `None` where nobody changes it.
    asked: Option<Every>,
    /// Deadlines are counted from here.
    from: Duration,
    until: Option<Duration>,
    /// Number of the next deadline; deadlines that passed during a slow sample are left out.
    tick: u32,
    seq: u64,
    last_due: Option<Duration>,
    last_full: Option<Duration>,
    load: Option<Box<dyn RunningLoad>>,
    throttle: Throttle,
    as_it_is: AsItIs,
    /// Looks whether the host is still what it was.
    second_look: Option<SecondLook>,
    is_over: bool,
    stop: Stop,
}

impl Live {
    /// A source over the surveyed node. With a `load`, the load's end ends the session, not `until`.
    #[must_use]
    pub fn new(
        root: Root,
        mut topology: Topology,
        every: Duration,
        until: Option<Duration>,
        load: Option<Box<dyn RunningLoad>>,
        stop: Stop,
    ) -> Self {
        let sampler = Sampler::open(&root, &mut topology);
        let watcher = Watcher::open(&root, &mut topology);
        let second_look = SecondLook::start(Again::new(root.clone(), topology.clone()));
        Self {
            session: header(topology, every, unix_ms()),
            root,
            sampler,
            watcher,
            began: Instant::now(),
            every,
            asked: None,
            from: Duration::ZERO,
            until: if load.is_some() { None } else { until },
            tick: 0,
            seq: 0,
            last_due: None,
            last_full: None,
            load,
            throttle: Throttle::new(),
            as_it_is: AsItIs::default(),
            second_look,
            is_over: false,
            stop,
        }
    }

    /// The same with a load whose rate is changed by this.
    #[must_use]
    pub fn held_by(mut self, throttle: Throttle) -> Self {
        self.throttle = throttle;
        self
    }

    /// Samples as far apart as this says from now on, however often it changes.
    #[must_use]
    pub fn changing(mut self, asked: Option<Every>) -> Self {
        self.asked = asked;
        self
    }

    /// The same as a later part of a session that began then: its times go on from there.
    #[must_use]
    pub fn going_on(mut self, began: Instant) -> Self {
        self.began = began;
        self.from = began.elapsed();
        self
    }

    /// When the session began: the times of its frames count from here.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.began
    }

    /// The next deadline; `None` when the session is over by then.
    fn due(&self) -> Option<Duration> {
        let due = self.from.checked_add(self.every.checked_mul(self.tick)?)?;
        match self.until {
            Some(until) if due > until => {
                // slow samples may have run past the last deadline, but the end must be seen
                let unseen = self.last_due.is_some_and(|last| last + self.every.min(until) / 2 < until);
                unseen.then_some(until)
            }
            _ => Some(due),
        }
    }

    /// Sleeps until the next deadline and returns it; `None` when the session is over.
    fn wait(&mut self) -> Option<Duration> {
        if self.is_over {
            return None;
        }
        self.follow();
        let due = self.due()?;
        let due = self.sleep_until(due).or_else(|| self.end_of_load())?;
        let late = self.began.elapsed().saturating_sub(due);
        let missed = u32::try_from(late.as_nanos() / self.every.as_nanos().max(1)).unwrap_or(u32::MAX);
        self.tick = self.tick.saturating_add(missed).saturating_add(1);
        self.last_due = Some(due);
        Some(due)
    }

    /// Takes another time between samples, counted from the last one.
    fn follow(&mut self) {
        if let Some(every) = self.asked_for() {
            self.every = every;
            self.from = self.last_due.unwrap_or_default();
            self.tick = u32::from(self.last_due.is_some());
        }
    }

    /// Another time between samples than the one in force.
    fn asked_for(&self) -> Option<Duration> {
        self.asked.as_ref().map(Every::get).filter(|every| *every != self.every)
    }

    /// Sleeps until `due`, until a load that ended before, or until other samples were asked for; `None` when told to end.
    fn sleep_until(&self, due: Duration) -> Option<Duration> {
        if self.load.is_none() && self.asked.is_none() {
            return self.stop.wait_until(self.began + due).then_some(due);
        }
        loop {
            let look = due.min(self.began.elapsed() + LOAD_LOOK);
            if !self.stop.wait_until(self.began + look) {
                return None;
            }
            // a load is asked last: it may be over by then
            let is_over = || self.load.as_ref().is_some_and(|load| load.is_over());
            if look == due || self.asked_for().is_some() || is_over() {
                return Some(look);
            }
        }
    }

    /// Stops a load and waits until its workers have counted their last, the check of the data included; `None`
    /// without a load.
    fn end_of_load(&mut self) -> Option<Duration> {
        let load = self.load.as_ref()?;
        load.stop();
        let told = Instant::now();
        while !load.is_over() && told.elapsed() < LAST_CHECK {
            std::thread::sleep(LAST_CHECK / 400);
        }
        self.is_over = true;
        Some(self.began.elapsed())
    }

    fn is_full(&self, due: Duration) -> bool {
        let Some(last) = self.last_full else { return true };
        // half an interval of grace, so that jitter does not make it every eleventh frame
        let elapsed = due.saturating_sub(last) + self.every / 2 >= FULL_EVERY;
        let is_last = self.until.is_some_and(|until| due + self.every > until);
        elapsed || is_last || self.is_over
    }

    /// The load as it is by now, after what was asked of it.
    fn load_now(&mut self) -> Option<Arc<Load>> {
        let load = self.load.as_ref()?;
        if let Some(rate) = self.throttle.take()
            && load.hold_to(rate.gb_per_s)
        {
            self.as_it_is.change(rate);
        }
        Some(self.as_it_is.of(load.load()))
    }

    fn sample(&mut self, due: Duration) -> Frame {
        let load = self.load_now();
        let workers = self.load.as_ref().map(|load| load.workers()).unwrap_or_default();
        self.is_over |= self.load.as_ref().is_some_and(|load| load.is_over());
        // after that, so that the last sample of a load has all of them
        let failures = self.load.as_ref().map(|load| load.fresh_failures()).unwrap_or_default();
        let is_full = self.is_full(due);
        // bytes of rails that we drive come from completions; their counters need not be read at every sample
        let ours: BTreeSet<_> = workers.iter().filter_map(|worker| worker.rail).collect();

        let before = self.began.elapsed();
        let mut rails = self.sampler.bytes(&self.root, |rail| is_full || !ours.contains(&rail));
        let after = self.began.elapsed();
        let mut processes = None;
        if is_full {
            self.last_full = Some(due);
            self.sampler.further(&self.root, &mut rails);
            processes = self.watcher.look(&self.root, nanoseconds(after)).map(Arc::new);
        }
        let seq = self.seq;
        self.seq += 1;
        let mut frame = Frame {
            host: 0,
            seq,
            // each counter was read somewhere in between
            at_ns: nanoseconds((before + after) / 2),
            rails,
            processes,
            load,
            workers,
            peer: self.load.as_ref().and_then(|load| load.peer()),
            failures,
            sampled_in_ns: Some(nanoseconds(self.began.elapsed().saturating_sub(before))),
            topology: None,
            experiment: None,
            marks: Vec::new(),
        };
        if let Some(second_look) = &mut self.second_look {
            frame.topology = second_look.after(&frame, self.session.topology());
        }
        frame
    }
}

impl FrameSource for Live {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        Ok(self.wait().map(|due| self.sample(due)))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(load) = &self.load {
            load.stop();
        }
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
