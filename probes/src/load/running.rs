//! A load in flight: connected rails, and how the sampler sees them.

use super::control::{Control, Happening, Worker, lock};
use super::pattern::{self, Wrong};
use super::thread::{Opened, Order};
use super::{Endpoint, LoadError, Params};
use crate::model::{Failure, Load, Measured, WorkerFrame, WorkerPhase};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A load in flight: what a source samples, and how it is stopped.
pub trait RunningLoad: Send + Sync {
    /// What was asked for and negotiated; the same from start to end.
    fn load(&self) -> Arc<Load>;

    /// What each worker has done so far, in the order of [`Load::workers`]. Never waits for a worker.
    fn workers(&self) -> Vec<WorkerFrame>;

    /// What the peer's own threads have done in their measured time so far; `None` unless the load has both directions
    /// and the peer has told.
    fn peer(&self) -> Option<Measured> {
        None
    }

    /// Whether no worker will move another byte.
    fn is_over(&self) -> bool;

    /// Asks all workers to stop; returns at once.
    fn stop(&self);

    /// Holds each rail to this rate from now on, GB/s; 0 moves nothing, `None` as much as goes. `false` where the load
    /// cannot be held while it runs.
    fn hold_to(&self, _gb_per_s: Option<f64>) -> bool {
        false
    }

    /// Why workers failed, one line each: device, call, cause and what to do. Empty while all is well.
    fn failures(&self) -> Vec<String> {
        Vec::new()
    }

    /// What went wrong since it was last asked for, or right again; for the one who samples the load.
    fn fresh_failures(&self) -> Vec<Failure> {
        Vec::new()
    }
}

/// Connected rails. Traffic flows from [`Running::go`] on; dropping it stops the threads and waits until they have closed
/// their queue pairs, but not more than 4 s for a driver that does not answer: the kernel closes those with the process.
pub struct Running {
    pub(super) control: Arc<Control>,
    pub(super) load: Arc<Load>,
    pub(super) params: Params,
    pub(super) units: Vec<RunningUnit>,
    pub(super) threads: Vec<JoinHandle<()>>,
    /// Whether somebody opens anew what failed.
    pub(super) mends: AtomicBool,
}

/// One thread of a load in flight.
pub(super) struct RunningUnit {
    pub(super) worker: Arc<Worker>,
    /// Dropped, the thread ends where it waits.
    pub(super) orders: Sender<Order>,
    pub(super) opened: Mutex<Receiver<Result<Opened, LoadError>>>,
    pub(super) connected: Mutex<Receiver<Result<u32, LoadError>>>,
}

/// How long opening or connecting a rail may take.
const OPENING: Duration = Duration::from_mins(1);

/// How long queue pairs and memory may take to be closed.
const CLOSING: Duration = Duration::from_secs(4);

impl RunningUnit {
    /// Whether it will move no more bytes. One that failed and is opened anew may.
    fn is_over(&self, mends: bool) -> bool {
        let may_come_back = mends && self.worker.has_worked();
        match self.worker.counts.phase() {
            WorkerPhase::Done => true,
            WorkerPhase::Failed => !may_come_back,
            _ => false,
        }
    }

    fn order(&self, order: Order) {
        // a thread that is gone has told why
        let _ = self.orders.send(order);
    }

    fn late(&self, what: &str) -> LoadError {
        let seconds = OPENING.as_secs();
        let text =
            format!("{}: {what} took more than {seconds} s, or its thread is gone", self.worker.device);
        self.worker.unit.name(LoadError::Other(text))
    }
}

impl Running {
    /// Lets all rails begin, at the same moment. A target begins to answer when it is connected; this only says
    /// so in its frames.
    pub fn go(&self) {
        if self.control.phase() == WorkerPhase::Waiting {
            self.control.advance(WorkerPhase::Warmup);
        }
    }

    /// Says that threads which fail after they had moved something are opened anew: the load is not over for them.
    pub fn mend(&self) {
        self.mends.store(true, Ordering::Relaxed);
    }

    /// What has happened to threads since it was last asked for, by their positions.
    pub fn news(&self) -> Vec<(usize, Happening)> {
        let news = self.units.iter().enumerate();
        news.flat_map(|(at, unit)| unit.worker.news().into_iter().map(move |news| (at, news))).collect()
    }

    /// Opens the rail of thread `at` anew, on that thread; what it had before is closed. Blocks meanwhile.
    ///
    /// # Errors
    ///
    /// What stands in the way: the device is gone, its port is not ACTIVE.
    pub fn reopen(&self, at: usize) -> Result<Endpoint, LoadError> {
        let Some(unit) = self.units.get(at) else { return Err(unknown(at)) };
        let opened = lock(&unit.opened);
        // of an attempt that took too long
        while opened.try_recv().is_ok() {}
        self.control.halt(&unit.worker);
        unit.order(Order::Open);
        let opened = opened.recv_timeout(OPENING).map_err(|_| unit.late("opening it"))?;
        opened.map(|opened| opened.endpoint).map_err(|error| unit.worker.unit.name(error))
    }

    /// Connects thread `at`, which was opened anew, with its peer. Blocks meanwhile.
    ///
    /// # Errors
    ///
    /// The ends do not fit together, or a queue pair cannot reach its peer.
    pub fn reconnect(&self, at: usize, peer: Endpoint) -> Result<(), LoadError> {
        let Some(unit) = self.units.get(at) else { return Err(unknown(at)) };
        let connected = lock(&unit.connected);
        while connected.try_recv().is_ok() {}
        unit.order(Order::Connect(peer));
        let connected = connected.recv_timeout(OPENING).map_err(|_| unit.late("connecting it"))?;
        connected.map(|_| ()).map_err(|error| unit.worker.unit.name(error))
    }

    /// Lets thread `at` go on, which was opened and connected anew.
    pub fn resume(&self, at: usize) {
        if let Some(unit) = self.units.get(at) {
            unit.order(Order::Go);
        }
    }

    /// Looks at the data that the peer wrote into the memory of thread `at` with so many good operations of each
    /// queue pair. `None` when that memory is no more or cannot be looked at.
    #[must_use]
    pub fn check(&self, at: usize, operations: &[u64]) -> Option<Wrong> {
        let exposed = lock(&self.units.get(at)?.worker.exposed).clone();
        let (region, layout) = exposed?;
        let operations = &operations[..operations.len().min(layout.lanes())];
        pattern::wrong(region.buffer(), &layout, self.params.size_bytes, operations).ok()
    }

    /// Tells thread `at` what the peer found where its data went.
    pub fn verdict(&self, at: usize, found: Option<Wrong>) {
        if let Some(unit) = self.units.get(at) {
            unit.order(Order::Verdict(found));
        }
    }

    /// Tells thread `at` that nothing of the peer's is out: it may let go of its queue pairs.
    pub fn release(&self, at: usize) {
        if let Some(unit) = self.units.get(at) {
            unit.order(Order::Release);
        }
    }

    /// Payload of this end's own operations in the measured time so far; `None` before it begins.
    #[must_use]
    pub fn measured(&self) -> Option<Measured> {
        let each = self.units.iter().filter_map(|unit| unit.worker.measured());
        each.reduce(|all, one| Measured {
            bytes: all.bytes.saturating_add(one.bytes),
            ns: all.ns.max(one.ns),
        })
    }
}

fn unknown(at: usize) -> LoadError {
    LoadError::Other(format!("there is no thread {at} in this load"))
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers: Vec<_> = self.units.iter().map(|unit| &unit.worker).collect();
        f.debug_struct("Running").field("load", &self.load).field("workers", &workers).finish_non_exhaustive()
    }
}

impl RunningLoad for Running {
    fn load(&self) -> Arc<Load> {
        Arc::clone(&self.load)
    }

    fn workers(&self) -> Vec<WorkerFrame> {
        self.units.iter().map(|unit| unit.worker.frame()).collect()
    }

    fn is_over(&self) -> bool {
        let mends = self.mends.load(Ordering::Relaxed) && self.control.phase() != WorkerPhase::Done;
        self.units.iter().all(|unit| unit.is_over(mends))
    }

    fn stop(&self) {
        self.control.advance(WorkerPhase::Done);
    }

    fn hold_to(&self, gb_per_s: Option<f64>) -> bool {
        if !self.params.can_be_held() {
            return false;
        }
        for unit in &self.units {
            let share = f64::from(unit.worker.unit.qps) / f64::from(self.params.qps.max(1));
            unit.worker.hold_to(gb_per_s.map(|rate| rate * share));
        }
        true
    }

    fn failures(&self) -> Vec<String> {
        self.units.iter().flat_map(|unit| unit.worker.failures()).collect()
    }

    fn fresh_failures(&self) -> Vec<Failure> {
        self.units.iter().flat_map(|unit| unit.worker.fresh_failures()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        // threads that wait for an order find that none will come
        self.units.clear();
        let told = Instant::now();
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && told.elapsed() < CLOSING {
                std::thread::sleep(CLOSING / 2000);
            }
            if thread.is_finished() {
                // a panic of the thread has been printed
                let _ = thread.join();
            }
        }
    }
}

/// Moves all rails from phase to phase at the same moment, and ends the load in time.
pub(super) struct Clock {
    pub(super) control: Arc<Control>,
    pub(super) workers: Vec<Arc<Worker>>,
    pub(super) warmup_s: f64,
    pub(super) duration_s: Option<f64>,
}

impl Clock {
    /// Until the load is over.
    pub(super) fn run(self) {
        let span = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        let workers = || self.workers.iter().map(|worker| &**worker);
        if self.control.wait_while(WorkerPhase::Waiting, None) == WorkerPhase::Warmup {
            self.control.wait_while(WorkerPhase::Warmup, Some(span(self.warmup_s)));
            // before the phase, so that no thread has counted its share by then
            let now = Instant::now();
            workers().for_each(|worker| worker.measured_from(now));
            self.control.advance(WorkerPhase::Measuring);
        }
        self.control.wait_while(WorkerPhase::Measuring, self.duration_s.map(span));
        self.control.advance(WorkerPhase::Done);
        let now = Instant::now();
        workers().for_each(|worker| worker.measured_until(now));
    }
}
