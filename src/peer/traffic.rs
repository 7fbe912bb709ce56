//! The load as a source samples it, with what only the control connection knows.

use super::diary::Diary;
use super::engine::Traffic;
use super::message::{Line, Plan, Progress};
use probes::load::RunningLoad;
use probes::model::{Failure, LegsSought, Load, Measured, WorkerFrame};
use std::sync::{Arc, Mutex, PoisonError};

/// What the server of a load of both directions does itself, as it tells.
#[derive(Debug, Default)]
pub struct PeerSide(Mutex<Option<Progress>>);

impl PeerSide {
    /// What it told last; `None` while it has told nothing.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps what it told.
    pub fn set(&self, progress: Progress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }
}

/// What both ends move, of a load of both directions.
pub struct Sums {
    pub(super) traffic: Arc<dyn Traffic>,
    pub(super) there: Arc<PeerSide>,
    pub(super) peer: String,
    pub(super) is_bidirectional: bool,
}

impl Sums {
    /// Both rates and their sum in one line; `None` of a load of one direction. Each end measures its own time.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        if !self.is_bidirectional {
            return None;
        }
        let rate = |measured: Option<Measured>| {
            measured.filter(|m| m.ns > 0).map(|measured| measured.bytes as f64 / measured.ns as f64)
        };
        let ours = rate(self.traffic.measured());
        let theirs = rate(self.there.progress().and_then(|progress| progress.measured));
        let text = |rate: Option<f64>| rate.map_or("no data".to_owned(), |rate| format!("{rate:.3} GB/s"));
        let both = ours.zip(theirs).map(|(ours, theirs)| ours + theirs);
        Some(format!(
            "both directions: {} by this host, {} by {}, {} together",
            text(ours),
            text(theirs),
            self.peer,
            text(both)
        ))
    }
}

/// A load that knows whether its peer is this machine.
pub struct Controlled {
    traffic: Arc<dyn Traffic>,
    load: Arc<Load>,
    there: Arc<PeerSide>,
    diary: Arc<Diary>,
}

impl Controlled {
    /// The engine's load, with `loopback` said.
    #[must_use]
    pub fn new(traffic: Arc<dyn Traffic>, loopback: bool, there: Arc<PeerSide>, diary: Arc<Diary>) -> Self {
        let load = traffic.load();
        let load =
            if load.loopback == loopback { load } else { Arc::new(Load { loopback, ..(*load).clone() }) };
        Self { traffic, load, there, diary }
    }

    /// The same, with the peer's device at the other end of each of ours.
    #[must_use]
    pub(super) fn between(mut self, plan: &Plan) -> Self {
        let pair = |line: &Line| (line.client.device.clone(), line.server.device.clone());
        let peer_devices = plan.lines.iter().map(pair).collect();
        self.load = Arc::new(Load { peer_devices, ..(*self.load).clone() });
        self
    }

    /// So many loads of its session came before it.
    pub(super) fn keep_earlier(&mut self, earlier: u32) {
        self.load = Arc::new(Load { earlier, ..(*self.load).clone() });
    }

    /// Keeps how it was sought that each leg of a bond receives.
    pub(super) fn keep_sought(&mut self, legs_sought: Vec<LegsSought>) {
        if !legs_sought.is_empty() {
            self.load = Arc::new(Load { legs_sought, ..(*self.load).clone() });
        }
    }
}

impl RunningLoad for Controlled {
    fn load(&self) -> Arc<Load> {
        self.load.clone()
    }

    fn workers(&self) -> Vec<WorkerFrame> {
        self.traffic.workers()
    }

    fn peer(&self) -> Option<Measured> {
        self.there.progress()?.measured
    }

    fn is_over(&self) -> bool {
        self.traffic.is_over()
    }

    fn stop(&self) {
        self.traffic.stop();
    }

    fn hold_to(&self, gb_per_s: Option<f64>) -> bool {
        self.traffic.hold_to(gb_per_s)
    }

    fn failures(&self) -> Vec<String> {
        self.traffic.failures()
    }

    fn fresh_failures(&self) -> Vec<Failure> {
        let mut fresh = self.traffic.fresh_failures();
        fresh.extend(self.diary.take());
        fresh
    }
}
