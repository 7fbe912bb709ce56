//! How long operations take, from samples: the clock is read twice for a few hundred operations.

use crate::model::Latencies;
use crate::times::nanoseconds;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Operations between two samples, about. Two readings of the clock cost some 50 ns, a tenth of a nanosecond for
/// each of so many operations.
const OPERATIONS_BETWEEN: u32 = 512;

/// Sampled latencies of one worker: written by its thread alone, read by the sampler.
#[derive(Debug)]
pub struct Histogram(Box<[AtomicU64]>);

impl Default for Histogram {
    fn default() -> Self {
        Self((0..Latencies::BUCKETS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Histogram {
    /// Counts one latency. Only the worker's own thread may call this.
    #[cold]
    pub fn count(&self, ns: u64) {
        if let Some(bucket) = self.0.get(Latencies::bucket(ns)) {
            // one writer: load and store need no read-modify-write
            bucket.store(bucket.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn read(&self) -> Latencies {
        Latencies::from_counts(self.0.iter().map(|bucket| bucket.load(Ordering::Relaxed)).enumerate())
    }
}

/// Picks one chain of requests now and then and measures it, from the moment before it is posted until its
/// completion is seen: with its wait behind everything that its queue pair had to do before.
#[derive(Debug)]
pub(super) struct Stopwatch {
    /// Chains, or polls that found nothing, until the next sample; while one runs, more than are ever posted.
    countdown: u32,
    /// Id of the completion that ends the sample that runs.
    awaited: u64,
    started: Option<Instant>,
    chains_between: u32,
    /// Samples so far: the distance between samples varies with it, so that it is never in step with the order in
    /// which queue pairs complete.
    taken: u32,
}

/// No completion has this id: no queue pair has so many requests.
const NOTHING: u64 = u64::MAX;

impl Stopwatch {
    /// For chains of `chain` requests.
    pub(super) fn new(chain: u32) -> Self {
        let chains_between = (OPERATIONS_BETWEEN / chain.max(1)).max(1);
        Self { countdown: 1, awaited: NOTHING, started: None, chains_between, taken: 0 }
    }

    /// A chain is posted next, and the completion with this `id` will end it.
    #[inline]
    pub(super) fn posts(&mut self, id: u64) {
        self.countdown -= 1;
        if self.countdown == 0 {
            self.start(id);
        }
    }

    #[cold]
    fn start(&mut self, id: u64) {
        self.countdown = u32::MAX;
        self.awaited = id;
        self.started = Some(Instant::now());
    }

    /// A poll found nothing. There is time to spare, and a slow rail shall not wait for hundreds of operations.
    #[inline]
    pub(super) fn idles(&mut self) {
        if self.started.is_none() && self.countdown > 1 {
            self.countdown -= 1;
        }
    }

    /// A completion was seen; nanoseconds since its chain was posted, if that is the one that is measured.
    #[inline]
    pub(super) fn sees(&mut self, id: u64) -> Option<u64> {
        if id == self.awaited { self.stop() } else { None }
    }

    #[cold]
    fn stop(&mut self) -> Option<u64> {
        self.awaited = NOTHING;
        self.taken = self.taken.wrapping_add(1);
        self.countdown = self.chains_between + self.taken % 7;
        let elapsed = self.started.take()?.elapsed();
        Some(nanoseconds(elapsed))
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, Stopwatch};

    #[test]
    fn the_first_chain_is_measured_and_then_one_in_a_few_hundred_operations() {
        let mut watch = Stopwatch::new(16);
        let mut samples = 0;
        for chain in 0..1000 {
            watch.posts(chain);
            samples += u32::from(watch.sees(chain).is_some());
        }
        assert!((25..=32).contains(&samples), "{samples}");
    }

    #[test]
    fn one_sample_runs_at_a_time_and_ends_with_its_own_completion() {
        let mut watch = Stopwatch::new(16);
        watch.posts(7);
        watch.posts(8);
        watch.idles();
        assert!(watch.sees(8).is_none());
        assert!(watch.sees(7).is_some());
        assert!(watch.sees(7).is_none());
    }

    #[test]
    fn empty_polls_bring_the_next_sample_nearer() {
        let mut watch = Stopwatch::new(1);
        watch.posts(1);
        watch.sees(1);
        for _ in 0..1000 {
            watch.idles();
        }
        watch.posts(2);
        assert!(watch.sees(2).is_some());
    }

    #[test]
    fn what_is_counted_is_read() {
        let histogram = Histogram::default();
        for ns in [100, 100, 5000, u64::MAX] {
            histogram.count(ns);
        }
        assert_eq!(histogram.read().samples(), 4);
        assert_eq!(histogram.read().counts().map(|(_, count)| count).collect::<Vec<_>>(), [2, 1, 1]);
    }
}
