//! A load in flight: connected rails, and how the sampler sees them.

use super::control::{Control, Worker};
use crate::model::{Load, WorkerFrame, WorkerPhase};
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A load in flight: what a source samples, and how it is stopped.
pub trait RunningLoad: Send + Sync {
    /// What was asked for and negotiated; the same from start to end.
    fn load(&self) -> Arc<Load>;

    /// What each worker has done so far, in the order of [`Load::workers`]. Never waits for a worker.
    fn workers(&self) -> Vec<WorkerFrame>;

    /// Whether no worker will move another byte.
    fn is_over(&self) -> bool;

    /// Asks all workers to stop; returns at once.
    fn stop(&self);

    /// Why workers failed, one line each: device, call, cause and what to do. Empty while all is well.
    fn failures(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Connected rails. Traffic flows from [`Running::go`] on; dropping it stops and joins the threads.
pub struct Running {
    pub(super) control: Arc<Control>,
    pub(super) load: Arc<Load>,
    pub(super) workers: Vec<Arc<Worker>>,
    pub(super) threads: Vec<JoinHandle<()>>,
}

impl Running {
    /// Lets all rails begin, at the same moment. A target begins to answer when it is connected; this only says
    /// so in its frames.
    pub fn go(&self) {
        if self.control.phase() == WorkerPhase::Waiting {
            self.control.advance(WorkerPhase::Warmup);
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("load", &self.load)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

impl RunningLoad for Running {
    fn load(&self) -> Arc<Load> {
        Arc::clone(&self.load)
    }

    fn workers(&self) -> Vec<WorkerFrame> {
        self.workers.iter().map(|worker| worker.frame()).collect()
    }

    fn is_over(&self) -> bool {
        self.workers.iter().all(|worker| worker.is_over())
    }

    fn stop(&self) {
        self.control.advance(WorkerPhase::Done);
    }

    fn failures(&self) -> Vec<String> {
        self.workers.iter().filter_map(|worker| worker.failure()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // a panic of the thread has been printed
            let _ = thread.join();
        }
    }
}

/// Moves all rails from phase to phase at the same moment, and ends the load in time.
pub(super) struct Clock {
    pub(super) control: Arc<Control>,
    pub(super) warmup_s: f64,
    pub(super) duration_s: Option<f64>,
}

impl Clock {
    /// Until the load is over.
    pub(super) fn run(self) {
        let span = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        if self.control.wait_while(WorkerPhase::Waiting, None) == WorkerPhase::Warmup {
            self.control.wait_while(WorkerPhase::Warmup, Some(span(self.warmup_s)));
            self.control.advance(WorkerPhase::Measuring);
        }
        self.control.wait_while(WorkerPhase::Measuring, self.duration_s.map(span));
        self.control.advance(WorkerPhase::Done);
    }
}
