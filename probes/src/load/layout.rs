//! Which request reads what, and how requests are chained. The same on both ends, from the same parameters.

use super::{Params, WorkingSet};
use crate::ffi::verbs::{Request, Walk};

/// Requests posted with one doorbell, at most. Longer chains save nothing measurable and refill the queue in
/// larger lumps.
const LONGEST_CHAIN: u32 = 16;

/// Buffers and chains of one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    qps: u32,
    depth: u32,
    /// From one queue pair's buffer to the next.
    stride_bytes: u64,
    /// Places of one queue pair's buffer; its requests start over when each was used.
    places: u64,
    /// From one place to the next.
    place_bytes: u64,
    /// Places from one request's to the next one's, of a queue pair that walks over its buffer.
    stride: Option<u64>,
    /// Requests per doorbell.
    chain: u32,
    /// Requests per completion asked for; divides or is divided by `chain`.
    signal: u32,
    /// Chains that a completion frees: 1, unless a completion speaks for several.
    group: u32,
}

impl Layout {
    /// The layout for these parameters.
    ///
    /// A hot working set is re-used as perftest does: messages up to 2 KiB walk over one page, larger ones all use the
    /// same place of their queue pair. So the data stay in the last-level cache: this measures the rail, not the memory.
    /// Of a working set of some size each queue pair has its part, and goes over it in an order that visits every place
    /// as often as any other and jumps further than any prefetcher follows.
    pub(super) fn new(params: &Params) -> Self {
        let depth = params.depth.max(1);
        let size_bytes = params.size_bytes.max(1);
        let (chain, signal) = params.chain_and_signal();
        let step = size_bytes.next_multiple_of(64);
        let qps = params.qps.max(1);
        let (places, stride) = match params.working_set {
            WorkingSet::Hot if size_bytes <= 2048 => ((4096 / step).min(depth.into()), None),
            WorkingSet::Hot => (1, None),
            WorkingSet::Bytes(bytes) => {
                let places = (bytes / u64::from(qps) / step).max(1);
                (places, Some(far_stride(places)))
            }
        };
        let used_bytes = if stride.is_some() { places.saturating_mul(step) } else { size_bytes };
        Self {
            qps,
            depth,
            stride_bytes: used_bytes.checked_next_multiple_of(4096).unwrap_or(u64::MAX),
            places,
            place_bytes: step,
            stride,
            chain,
            signal,
            group: (signal / chain).max(1),
        }
    }

    /// Queue pairs.
    pub(super) fn lanes(&self) -> usize {
        self.qps as usize
    }

    /// Bytes of the whole buffer.
    pub(super) fn bytes(&self) -> u64 {
        self.stride_bytes.saturating_mul(u64::from(self.qps))
    }

    /// Requests posted with one doorbell.
    pub(super) fn chain(&self) -> u32 {
        self.chain
    }

    /// Chains that are posted one after the other when a completion has freed them all.
    pub(super) fn group(&self) -> u32 {
        self.group
    }

    /// Where the data of the `nth` operation of queue pair `lane` lie, counted from 0, bytes from the start of the
    /// buffer.
    pub(super) fn offset(&self, lane: u32, nth: u64) -> u64 {
        // as the walk adds its stride each time; the product may need more than 64 bits
        let place =
            u128::from(nth % self.places) * u128::from(self.stride.unwrap_or(1)) % u128::from(self.places);
        let place = u64::try_from(place).expect("a place is below a number of 64 bits");
        u64::from(lane) * self.stride_bytes + place * self.place_bytes
    }

    /// Places of one queue pair's buffer that its first operations have filled: those of [`Layout::offset`] from 0 up
    /// to this number.
    pub(super) fn places_filled(&self, operations: u64) -> u64 {
        operations.min(self.places)
    }

    /// The way of a queue pair over its part of the working set; `None` where every request keeps its place.
    pub(super) fn walk(&self, lane: u32, remote_address: u64) -> Option<Walk> {
        let first_offset = u64::from(lane) * self.stride_bytes;
        Some(Walk {
            first_offset,
            remote_address: remote_address.wrapping_add(first_offset),
            place_bytes: self.place_bytes,
            places: self.places,
            stride: self.stride?,
        })
    }

    /// The way of a queue pair whose requests are posted a batch at a time, each batch from its first request on:
    /// over the same places in the same order as [`Layout::offset`] counts them. `None` where there is but one place.
    pub(super) fn batch_walk(&self, lane: u32, remote_address: u64) -> Option<Walk> {
        let walking = Self { stride: Some(self.stride.unwrap_or(1)), ..*self };
        walking.walk(lane, remote_address).filter(|walk| walk.places > 1)
    }

    /// The requests of such a queue pair: one chain of as many as the queue holds.
    pub(super) fn batch_requests(&self, lane: u32, remote_address: u64) -> Vec<Request> {
        (0..self.depth)
            .map(|slot| {
                let offset = self.offset(lane, slot.into());
                Request {
                    id: Ticket { lane, group: 0, slot, ends_group: false }.id(),
                    local_offset: offset,
                    remote_address: remote_address.wrapping_add(offset),
                    signaled: false,
                    ends_chain: false,
                }
            })
            .collect()
    }

    /// The requests of one queue pair, in posting order.
    pub(super) fn requests(&self, lane: u32, remote_address: u64) -> Vec<Request> {
        (0..self.depth)
            .map(|slot| {
                let is_last = slot + 1 == self.depth;
                let of_group = self.chain * self.group;
                let ends_group = is_last || (slot + 1).is_multiple_of(of_group);
                let offset = self.offset(lane, slot.into());
                Request {
                    id: Ticket { lane, group: slot / of_group, slot, ends_group }.id(),
                    local_offset: offset,
                    remote_address: remote_address.wrapping_add(offset),
                    signaled: ends_group || (slot + 1).is_multiple_of(self.signal),
                    ends_chain: is_last || (slot + 1).is_multiple_of(self.chain),
                }
            })
            .collect()
    }
}

/// A step through so many places that comes by each of them before it comes by one twice: near the golden ratio of
/// their number, so that neighbours in time lie far apart, and without a common divisor with it.
fn far_stride(places: u64) -> u64 {
    if places < 3 {
        return places - 1;
    }
    let near = (places / 1_000_000 * 618_034 + places % 1_000_000 * 618_034 / 1_000_000) | 1;
    (near..places).step_by(2).find(|stride| common_divisor(*stride, places) == 1).unwrap_or(1)
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Params {
    /// Memory that a rail's buffer takes on either end, bytes.
    #[must_use]
    pub fn bytes_per_rail(&self) -> u64 {
        Layout::new(self).bytes()
    }

    /// Requests posted with one doorbell, and requests per completion asked for: as asked, as far as the queue allows
    /// and one divides the other; if nothing was asked for, both a quarter of the queue, at most 16. The message size
    /// never changes it (perftest's `-Q` silently becomes 1 above 8 KiB).
    #[must_use]
    pub fn chain_and_signal(&self) -> (u32, u32) {
        let depth = self.depth.max(1);
        // a quarter of the queue, so that three quarters are in flight while one is refilled
        let short = (depth / 4).clamp(1, LONGEST_CHAIN);
        let divisor =
            |of: u32, most: u32| (1..=most.min(of)).rev().find(|n| of.is_multiple_of(*n)).unwrap_or(1);
        let most_signal = |chain: u32| (depth / 2).max(chain).max(1);
        match (self.chain.map(|chain| chain.clamp(1, depth)), self.cq_mod.map(|signal| signal.max(1))) {
            (None, None) => (short, short),
            (Some(chain), None) => (chain, chain),
            (Some(chain), Some(signal)) if signal >= chain => {
                (chain, signal.min(most_signal(chain)) / chain * chain)
            }
            (Some(chain), Some(signal)) => (chain, divisor(chain, signal)),
            (None, Some(signal)) => {
                let signal = signal.min(most_signal(1));
                if signal < short {
                    // whole signals per chain, so that a completion always tells when a chain is free again
                    (short / signal * signal, signal)
                } else if signal <= LONGEST_CHAIN {
                    (signal, signal)
                } else {
                    (LONGEST_CHAIN, signal / LONGEST_CHAIN * LONGEST_CHAIN)
                }
            }
        }
    }
}

/// What the id of a work request says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    /// Queue pair, below 2^16.
    pub(super) lane: u32,
    /// Group of chains of the queue pair, below 2^23.
    pub(super) group: u32,
    /// Position in the queue pair's ring, below 2^24.
    pub(super) slot: u32,
    /// Whether the group can be posted anew once this is complete.
    pub(super) ends_group: bool,
}

/// Most queue pairs a [`Ticket`] can name.
pub(super) const MOST_QPS: u32 = 1 << 16;
/// Deepest queue a [`Ticket`] can name.
pub(super) const MOST_DEPTH: u32 = 1 << 23;

impl Ticket {
    pub(super) fn id(self) -> u64 {
        u64::from(self.lane) << 48
            | u64::from(self.group) << 25
            | u64::from(self.slot) << 1
            | u64::from(self.ends_group)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the mask leaves 24 bits at most")]
    pub(super) fn from_id(id: u64) -> Self {
        let field = |shift: u32, bits: u32| (id >> shift & ((1 << bits) - 1)) as u32;
        Self { lane: field(48, 16), group: field(25, 23), slot: field(1, 24), ends_group: id & 1 == 1 }
    }
}

#[cfg(test)]
mod tests;
