//! Which request reads what, and how requests are chained. The same on both ends, from the same parameters.

use super::Params;
use crate::ffi::verbs::Request;

/// Requests posted with one doorbell, at most. Longer chains save nothing measurable and refill the queue in
/// larger lumps.
const LONGEST_CHAIN: u32 = 16;

/// Buffers and chains of one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    qps: u32,
    depth: u32,
    size_bytes: u64,
    /// From one queue pair's buffer to the next.
    stride_bytes: u64,
    /// Requests of one queue pair that have a place of their own before they start over.
    places: u32,
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
    /// Buffers are re-used as perftest does: messages up to 2 KiB walk over one page, larger ones all use the
    /// same place of their queue pair. So the data stay hot in the last-level cache: this measures the rail,
    /// not the memory.
    pub(super) fn new(params: &Params) -> Self {
        let depth = params.depth.max(1);
        let size_bytes = params.size_bytes.max(1);
        let (chain, signal) = params.chain_and_signal();
        let step = size_bytes.next_multiple_of(64);
        let places = if size_bytes <= 2048 { u32::try_from(4096 / step).unwrap_or(1).min(depth) } else { 1 };
        Self {
            qps: params.qps.max(1),
            depth,
            size_bytes,
            stride_bytes: size_bytes.next_multiple_of(4096),
            places,
            chain,
            signal,
            group: (signal / chain).max(1),
        }
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

    /// Where the data of request `slot` of queue pair `lane` lie, bytes from the start of the buffer.
    pub(super) fn offset(&self, lane: u32, slot: u32) -> u64 {
        u64::from(lane) * self.stride_bytes
            + u64::from(slot % self.places) * self.size_bytes.next_multiple_of(64)
    }

    /// Places of one queue pair's buffer that its first `operations` requests have filled.
    pub(super) fn places_filled(&self, operations: u64) -> u32 {
        u32::try_from(operations).unwrap_or(u32::MAX).min(self.places)
    }

    /// The requests of one queue pair, in posting order.
    pub(super) fn requests(&self, lane: u32, remote_address: u64) -> Vec<Request> {
        (0..self.depth)
            .map(|slot| {
                let is_last = slot + 1 == self.depth;
                let of_group = self.chain * self.group;
                let ends_group = is_last || (slot + 1).is_multiple_of(of_group);
                let offset = self.offset(lane, slot);
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

impl Params {
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
mod tests {
    use super::{Layout, Ticket};
    use crate::load::Params;

    fn layout(depth: u32, cq_mod: Option<u32>, size_bytes: u64) -> Layout {
        Layout::new(&Params { qps: 2, depth, cq_mod, size_bytes, ..Params::default() })
    }

    fn chains_and_signals(layout: &Layout) -> (Vec<u32>, Vec<u32>) {
        let requests = layout.requests(0, 0);
        let slots = |wanted: fn(&crate::ffi::verbs::Request) -> bool| {
            (0..).zip(&requests).filter(|(_, request)| wanted(request)).map(|(slot, _)| slot).collect()
        };
        (slots(|r| r.ends_chain), slots(|r| r.signaled))
    }

    #[test]
    fn one_completion_and_one_doorbell_for_a_quarter_of_a_short_queue() {
        assert_eq!(chains_and_signals(&layout(8, None, 4096)), (vec![1, 3, 5, 7], vec![1, 3, 5, 7]));
    }

    #[test]
    fn chains_of_a_deep_queue_are_sixteen_long() {
        let (chains, signals) = chains_and_signals(&layout(128, None, 4096));
        assert_eq!((chains.len(), chains[0]), (8, 15));
        assert_eq!(chains, signals);
    }

    #[test]
    fn a_queue_of_one_completes_every_request() {
        assert_eq!(chains_and_signals(&layout(1, None, 4096)), (vec![0], vec![0]));
        assert_eq!(chains_and_signals(&layout(1, Some(100), 4096)), (vec![0], vec![0]));
    }

    #[test]
    fn an_asked_for_moderation_is_kept_up_to_half_the_queue() {
        assert_eq!(chains_and_signals(&layout(16, Some(1), 4096)).1, (0..16).collect::<Vec<_>>());
        assert_eq!(chains_and_signals(&layout(16, Some(2), 4096)).1, [1, 3, 5, 7, 9, 11, 13, 15]);
        assert_eq!(chains_and_signals(&layout(16, Some(100), 4096)).1, [7, 15]);
    }

    #[test]
    fn an_asked_for_chain_is_kept_and_the_moderation_fits_it() {
        let of = |chain, cq_mod| Params { depth: 128, chain, cq_mod, ..Params::default() }.chain_and_signal();
        assert_eq!(of(None, None), (16, 16));
        assert_eq!(of(Some(4), None), (4, 4));
        assert_eq!(of(Some(1), Some(16)), (1, 16));
        assert_eq!(of(Some(6), Some(4)), (6, 3));
        assert_eq!(of(Some(6), Some(16)), (6, 12));
        assert_eq!(of(Some(500), Some(500)), (128, 128));
        assert_eq!(of(None, Some(100)), (16, 64));
    }

    #[test]
    fn one_completion_frees_several_chains() {
        let layout = Layout::new(&Params { depth: 10, chain: Some(2), cq_mod: Some(4), ..Params::default() });
        assert_eq!(layout.group(), 2);
        let (chains, signals) = chains_and_signals(&layout);
        assert_eq!((chains, signals), (vec![1, 3, 5, 7, 9], vec![3, 7, 9]));
    }

    #[test]
    fn the_last_chain_of_an_uneven_queue_is_shorter_and_still_asks() {
        let (chains, signals) = chains_and_signals(&layout(10, Some(3), 4096));
        assert_eq!(chains, [2, 5, 8, 9]);
        assert_eq!(signals, [2, 5, 8, 9]);
    }

    #[test]
    fn small_messages_walk_over_a_page_and_large_ones_stay() {
        let small = layout(128, None, 1000);
        assert_eq!([0, 1, 3, 4].map(|slot| small.offset(1, slot)), [4096, 5120, 7168, 4096]);
        let large = layout(128, None, 65_536);
        assert_eq!([0, 1].map(|slot| large.offset(1, slot)), [65_536, 65_536]);
        assert_eq!((small.bytes(), large.bytes()), (8192, 131_072));
    }

    #[test]
    fn a_ticket_survives_its_id() {
        let ticket = Ticket { lane: 65_535, group: 8_388_607, slot: 8_388_607, ends_group: true };
        assert_eq!(Ticket::from_id(ticket.id()), ticket);
        let ticket = Ticket { lane: 3, group: 2, slot: 47, ends_group: false };
        assert_eq!(Ticket::from_id(ticket.id()), ticket);
    }
}
