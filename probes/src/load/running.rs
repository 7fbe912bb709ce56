//! A load in flight, as the sampler sees it.

use crate::model::{Load, WorkerFrame};
use std::sync::Arc;

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
