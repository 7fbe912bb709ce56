//! What a rail moved in some loads, and what both ends counted meanwhile.

use crate::experiments::counted::Counted;
use crate::experiments::plan::Kind;
use crate::experiments::{RailSeen, Seen};

/// What a NIC counted of one kind.
pub(super) type Count = fn(&Counted) -> Option<u64>;

/// Whose counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// This host, which reads.
    Here,
    /// The other one, which sends the data.
    There,
}

/// What a rail moved in some loads, each with the length of its window.
pub(super) struct Moved<'a>(Vec<(&'a RailSeen, f64)>);

impl<'a> Moved<'a> {
    /// In loads of these kinds.
    pub(super) fn of(seen: &'a [Seen], device: &str, kinds: &[Kind]) -> Self {
        let loads = seen.iter().filter(|seen| kinds.iter().any(|kind| seen.step.is(kind, device)));
        Self(loads.filter_map(|seen| Some((seen.of(device)?, seen.window_s))).collect())
    }

    /// What an end counted of a kind in each load, and the gigabytes that went with it.
    fn each(&self, end: End, of: Count) -> impl Iterator<Item = (u64, Option<f64>)> {
        self.0.iter().filter_map(move |(seen, window_s)| match end {
            End::Here => Some((of(&seen.nic)?, seen.gb_per_s.map(|rate| rate * window_s))),
            End::There => seen.far.as_ref().and_then(|far| Some((of(&far.nic)?, far.sent_gb))),
        })
    }

    /// How much counters of a kind grew; `None` where the NIC has none of the kind, or the end was not seen.
    pub(super) fn grown(&self, end: End, of: Count) -> Option<u64> {
        self.each(end, of).map(|(count, _)| count).reduce(u64::saturating_add)
    }

    /// The same for each gigabyte; `None` where that is not known either.
    pub(super) fn per_gb(&self, end: End, of: Count) -> Option<f64> {
        let with_gb = self.each(end, of).filter_map(|(count, gb)| Some((count, gb?)));
        let (count, gb) =
            with_gb.fold((0_u64, 0.0), |(count, gb), (more, of)| (count.saturating_add(more), gb + of));
        (gb > 0.0).then_some(count as f64 / gb)
    }
}
