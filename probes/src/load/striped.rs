//! How a KV cache reads: batches of pages over all rails, each awaited before the next begins.
//!
//! ```text
//! batch of 6 pages, 2 rails x 2 queue pairs       page  rail  queue pair
//!   post ─▶ poll all rails until all 6 are there   0, 2, 4   0   0, 1, 0
//!   next batch ◀───────────────┘                   1, 3, 5   1   0, 1, 0
//! ```
//! Page `i` of a batch goes to rail `i` modulo the rails, and there to the queue pairs in turn, where the next batch goes
//! on. What a queue pair has of a batch is one chain with one doorbell and one completion. A thread never has more out
//! than one batch: so the slowest rail holds up all others, and the queues run empty at the end of each batch. That is
//! what this load measures and the per-rail one does not.
//!
//! The pages of a rail that fails in the middle of a batch go to the rails left, and so do those of all later batches.
//! Where their queues cannot hold a batch it is posted in rounds, one after the other.

use super::failing::{Failing, Why};
use super::layout::Ticket;
use super::round_trip::{Next, RoundTrip};
use super::{LoadError, Pumped};
use crate::ffi::verbs::{CompletionQueue, Ring};
use crate::times::nanoseconds;
use std::time::Instant;

/// How many of `pages`, dealt out in turn among `places`, the place at `position` gets.
fn share(pages: u32, places: u32, position: u32) -> u32 {
    pages / places + u32::from(position < pages % places)
}

/// Connected queue pairs of one rail, and one completion queue for all.
pub(super) struct Stripe {
    device: String,
    size_bytes: u64,
    /// Requests that a queue pair holds.
    depth: u32,
    lanes: Vec<Lane>,
    queue: CompletionQueue,
    /// Queue pair that gets the next page.
    next: u32,
    /// Pages of this round that are not there yet.
    missing: u32,
    /// Requests that are out; fewer than the missing pages once some failed.
    out: u32,
    failing: Option<Failing>,
}

/// One queue pair.
struct Lane {
    ring: Ring,
    /// Oldest request not accounted for.
    oldest: u32,
    /// Good operations so far.
    good: u64,
}

impl Stripe {
    /// Takes connected queue pairs with `depth` requests of `size_bytes` each in one chain.
    pub(super) fn new(
        device: String,
        size_bytes: u64,
        depth: u32,
        rings: Vec<Ring>,
        queue: CompletionQueue,
    ) -> Self {
        let lanes = rings.into_iter().map(|ring| Lane { ring, oldest: 0, good: 0 }).collect();
        Self { device, size_bytes, depth, lanes, queue, next: 0, missing: 0, out: 0, failing: None }
    }

    /// Good operations of each queue pair so far.
    pub(super) fn operations(&self) -> Vec<u64> {
        self.lanes.iter().map(|lane| lane.good).collect()
    }

    /// Pages that its queues hold.
    fn capacity(&self) -> u32 {
        self.depth.saturating_mul(self.lanes())
    }

    fn lanes(&self) -> u32 {
        u32::try_from(self.lanes.len()).unwrap_or(u32::MAX)
    }

    /// The fastest of a few single READs on its first queue pair, one after the other, nanoseconds; they are counted
    /// nowhere else. `None` where `is_over` said so before that. Calls `waits` after each poll that found nothing.
    ///
    /// # Errors
    ///
    /// The rail is done for.
    fn time_round_trip(
        &mut self,
        is_over: impl Fn() -> bool,
        waits: impl Fn(),
    ) -> Result<Option<u64>, LoadError> {
        let mut watch = RoundTrip::new(true);
        while !is_over() {
            if watch.next() == Next::Post {
                let Some(lane) = self.lanes.first_mut() else { return Ok(None) };
                watch.posts();
                lane.ring.post_single()?;
            }
            let Some(completion) = self.queue.poll()?.first() else {
                waits();
                continue;
            };
            let status = completion.status();
            if !status.is_success() {
                let mut failing = Failing::new(Why::Completion(status));
                failing.count(status);
                return Err(failing.into_error(&self.device));
            }
            if let Some(fastest_ns) = watch.completes() {
                return Ok(Some(fastest_ns));
            }
        }
        Ok(None)
    }

    /// Posts its pages of a round.
    fn post(&mut self, pages: u32) {
        let lanes = self.lanes();
        self.missing = pages;
        for (at, lane) in (0..).zip(&mut self.lanes) {
            let position = if at < self.next { at + lanes - self.next } else { at - self.next };
            let count = share(pages, lanes, position);
            if count == 0 {
                continue;
            }
            lane.oldest = 0;
            match lane.ring.post_first(count as usize) {
                Ok(()) => self.out += count,
                Err(error) => {
                    self.failing = Some(Failing::new(Why::Refused(error)));
                    break;
                }
            }
        }
        self.next = (self.next + pages) % lanes.max(1);
    }

    /// Reaps what is done.
    ///
    /// # Errors
    ///
    /// The rail is done for.
    fn poll(&mut self) -> Result<Pumped, LoadError> {
        let completions = self.queue.poll()?;
        let empty = completions.is_empty();
        let mut operations = 0;
        for completion in completions {
            let ticket = Ticket::from_id(completion.id());
            let lane = &mut self.lanes[ticket.lane as usize];
            // a completion speaks for all requests before it: a reliable connection completes them in order
            let accounted = ticket.slot + 1 - lane.oldest;
            lane.oldest = ticket.slot + 1;
            self.out -= accounted;
            let status = completion.status();
            let good = if status.is_success() {
                accounted
            } else {
                let failing = self.failing.get_or_insert_with(|| Failing::new(Why::Completion(status)));
                failing.count(status);
                accounted - 1
            };
            lane.good += u64::from(good);
            operations += good;
        }
        self.missing -= operations;
        if let Some(failing) = self.failing.take() {
            self.failing = Some(failing.after_poll(empty, self.out == 0, &self.device)?);
        }
        let operations = u64::from(operations);
        Ok(Pumped {
            bytes: operations * self.size_bytes,
            operations,
            polls: 1,
            empty_polls: u64::from(empty),
            ..Pumped::default()
        })
    }
}

/// The rails of one thread.
pub(super) struct Striped {
    /// `None`: it failed.
    rails: Vec<Option<Stripe>>,
    /// Pages of a batch.
    batch: u32,
    /// Pages of the batch under way that are still to be posted.
    left: u32,
    /// When the batch under way was begun; `None` before the first.
    begun: Option<Instant>,
}

impl Striped {
    /// Batches of `batch` pages over these rails.
    pub(super) fn new(rails: Vec<Stripe>, batch: u32) -> Self {
        Self { rails: rails.into_iter().map(Some).collect(), batch: batch.max(1), left: 0, begun: None }
    }

    /// Times single READs on each rail before the load begins, and tells the fastest, or why the rail is done for.
    pub(super) fn time_round_trips(
        &mut self,
        is_over: impl Fn() -> bool,
        waits: impl Fn(),
        mut tell: impl FnMut(usize, Result<u64, LoadError>),
    ) {
        for (at, place) in self.rails.iter_mut().enumerate() {
            let Some(rail) = place else { continue };
            match rail.time_round_trip(&is_over, &waits) {
                Ok(fastest_ns) => fastest_ns.into_iter().for_each(|ns| tell(at, Ok(ns))),
                Err(error) => {
                    *place = None;
                    tell(at, Err(error));
                }
            }
        }
    }

    /// Whether no rail is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rails.iter().all(Option::is_none)
    }

    /// What became of each rail; `None` of one that failed.
    pub(super) fn into_rails(self) -> Vec<Option<Stripe>> {
        self.rails
    }

    /// Posts what may be posted, polls each rail whose pages are not all there, and tells what it achieved, or why the
    /// rail is done for. The time of a batch is told with the first rail left. Never blocks, never allocates, makes no
    /// system call, and reads the clock once a batch.
    #[inline]
    pub(super) fn pump(&mut self, mut tell: impl FnMut(usize, Result<Pumped, LoadError>)) {
        let begun = *self.begun.get_or_insert_with(|| {
            self.left = self.batch;
            Instant::now()
        });
        if self.rails.iter().flatten().all(|rail| rail.missing == 0) {
            self.post();
        }
        let mut missing = 0;
        for (at, place) in self.rails.iter_mut().enumerate() {
            let Some(rail) = place.as_mut().filter(|rail| rail.missing > 0) else { continue };
            let polled = rail.poll();
            if polled.is_ok() {
                missing += rail.missing;
            } else {
                self.left += rail.missing;
                *place = None;
            }
            tell(at, polled);
        }
        if missing == 0 && self.left == 0 {
            let now = Instant::now();
            let ns = nanoseconds(now.duration_since(begun));
            if let Some(first) = self.rails.iter().position(Option::is_some) {
                tell(first, Ok(Pumped { latency_ns: Some(ns), ..Pumped::default() }));
            }
            // the end of a batch is the beginning of the next
            self.begun = Some(now);
            self.left = self.batch;
        }
    }

    /// Deals out the pages that are left, as many as the queues hold.
    fn post(&mut self) {
        let rails = self.rails.iter().flatten();
        let Some(capacity) = rails.clone().map(Stripe::capacity).min() else { return };
        let count = u32::try_from(rails.count()).unwrap_or(u32::MAX);
        let pages = self.left.min(capacity.saturating_mul(count));
        self.left -= pages;
        for (position, rail) in (0..).zip(self.rails.iter_mut().flatten()) {
            rail.post(share(pages, count, position));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn pages_dealt_out_in_turn_differ_by_one_and_the_first_get_more() {
        let dealt = |pages, places| (0..places).map(|at| share(pages, places, at)).collect::<Vec<_>>();
        assert_eq!(dealt(128, 8), [16; 8]);
        assert_eq!(dealt(10, 4), [3, 3, 2, 2]);
        assert_eq!(dealt(3, 4), [1, 1, 1, 0]);
        assert_eq!(dealt(7, 1), [7]);
    }

    #[test]
    fn each_page_of_a_batch_goes_to_the_rail_of_its_number_modulo_the_rails() {
        for (pages, rails) in [(128, 3), (5, 5), (9, 2)] {
            for rail in 0..rails {
                let of_rail = (0..pages).filter(|page| page % rails == rail).count();
                assert_eq!(share(pages, rails, rail) as usize, of_rail, "{pages} over {rails}");
            }
        }
    }
}
