//! What a worker has done, published to the sampler without a lock.

use crate::model::WorkerPhase;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Cumulative counts of one worker: written by its thread alone, read by the sampler.
///
/// Aligned to 128 bytes, two cache lines, because adjacent-line prefetch would otherwise make workers
/// slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counts {
    /// Payload bytes of good completions.
    pub bytes: AtomicU64,
    /// Good completions.
    pub operations: AtomicU64,
    /// Completion-queue polls.
    pub polls: AtomicU64,
    /// Polls that found nothing.
    pub empty_polls: AtomicU64,
    phase: AtomicU8,
}

/// The words for [`WorkerPhase`] in an atomic.
pub struct Phases;

impl Phases {
    const ORDER: [WorkerPhase; 5] = [
        WorkerPhase::Waiting,
        WorkerPhase::Warmup,
        WorkerPhase::Measuring,
        WorkerPhase::Done,
        WorkerPhase::Failed,
    ];
}

impl Counts {
    /// Adds what one pump achieved. Only the worker's own thread may call this.
    pub fn add(&self, pumped: super::Pumped) {
        // one writer: load and store need no read-modify-write
        let add = |counter: &AtomicU64, more: u64| {
            counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        };
        add(&self.bytes, pumped.bytes);
        add(&self.operations, pumped.operations);
        add(&self.polls, pumped.polls);
        add(&self.empty_polls, pumped.empty_polls);
    }

    /// Where the worker is in its run.
    #[must_use]
    pub fn phase(&self) -> WorkerPhase {
        Phases::ORDER[usize::from(self.phase.load(Ordering::Acquire)).min(Phases::ORDER.len() - 1)]
    }

    /// Says where the worker is in its run.
    pub fn set_phase(&self, phase: WorkerPhase) {
        let at = Phases::ORDER.iter().position(|p| *p == phase).unwrap_or(0);
        self.phase.store(u8::try_from(at).unwrap_or(0), Ordering::Release);
    }
}
