//! What a worker has done, published to the sampler without a lock.

use super::{Histogram, Pumped};
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
    /// How long sampled operations took.
    pub latency: Histogram,
    /// Fastest READ with nothing else under way, nanoseconds; 0 until it is measured.
    pub round_trip_ns: AtomicU64,
    phase: AtomicPhase,
}

impl Counts {
    /// Adds what one pump achieved. Only the worker's own thread may call this.
    pub fn add(&self, pumped: Pumped) {
        // one writer: load and store need no read-modify-write
        let add = |counter: &AtomicU64, more: u64| {
            counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        };
        add(&self.bytes, pumped.bytes);
        add(&self.operations, pumped.operations);
        add(&self.polls, pumped.polls);
        add(&self.empty_polls, pumped.empty_polls);
        if let Some(ns) = pumped.latency_ns {
            self.latency.count(ns);
        }
        if let Some(ns) = pumped.round_trip_ns {
            self.round_trip_ns.store(ns, Ordering::Relaxed);
        }
    }

    /// Where the worker is in its run.
    #[must_use]
    pub fn phase(&self) -> WorkerPhase {
        self.phase.get()
    }

    /// Says where the worker is in its run.
    pub fn set_phase(&self, phase: WorkerPhase) {
        self.phase.set(phase);
    }
}

/// A [`WorkerPhase`] that many may read while one writes.
#[derive(Debug, Default)]
pub struct AtomicPhase(AtomicU8);

impl AtomicPhase {
    /// The phase.
    #[must_use]
    #[inline]
    pub fn get(&self) -> WorkerPhase {
        match self.0.load(Ordering::Acquire) {
            0 => WorkerPhase::Waiting,
            1 => WorkerPhase::Warmup,
            2 => WorkerPhase::Measuring,
            3 => WorkerPhase::Done,
            _ => WorkerPhase::Failed,
        }
    }

    /// Changes it.
    pub fn set(&self, phase: WorkerPhase) {
        let code = match phase {
            WorkerPhase::Waiting => 0,
            WorkerPhase::Warmup => 1,
            WorkerPhase::Measuring => 2,
            WorkerPhase::Done => 3,
            WorkerPhase::Failed => 4,
        };
        self.0.store(code, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::{AtomicPhase, Counts};
    use crate::load::Pumped;
    use crate::model::WorkerPhase;
    use std::sync::atomic::Ordering;

    #[test]
    fn counts_add_up_and_lie_alone_on_their_cache_lines() {
        let counts = Counts::default();
        counts.add(Pumped {
            bytes: 4096,
            operations: 1,
            polls: 2,
            empty_polls: 1,
            latency_ns: Some(900),
            round_trip_ns: Some(7000),
        });
        counts.add(Pumped { bytes: 8192, operations: 2, polls: 1, ..Pumped::default() });
        assert_eq!(counts.bytes.load(Ordering::Relaxed), 12_288);
        assert_eq!(counts.polls.load(Ordering::Relaxed), 3);
        assert_eq!(counts.round_trip_ns.load(Ordering::Relaxed), 7000);
        assert_eq!(align_of::<Counts>(), 128);
    }

    #[test]
    fn every_phase_is_read_as_written() {
        let phase = AtomicPhase::default();
        for wanted in [
            WorkerPhase::Warmup,
            WorkerPhase::Measuring,
            WorkerPhase::Done,
            WorkerPhase::Failed,
            WorkerPhase::Waiting,
        ] {
            phase.set(wanted);
            assert_eq!(phase.get(), wanted);
        }
    }
}
