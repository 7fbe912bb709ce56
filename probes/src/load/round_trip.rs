//! How long one READ takes while nothing else is under way: a few of them, one after the other, before a load begins.

use crate::times::nanoseconds;
use std::time::Instant;

/// How many READs are timed. They take a fraction of a millisecond on a NIC; the fastest counts, as another rail may
/// have begun its load meanwhile.
const TIMED: u32 = 16;

/// Times single READs.
#[derive(Debug)]
pub(super) struct RoundTrip {
    left: u32,
    posted: Option<Instant>,
    fastest_ns: Option<u64>,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Post a single READ.
    Post,
    /// Wait for its completion.
    Wait,
    /// Begin the load.
    Begin,
}

impl RoundTrip {
    /// A stopwatch for READs; `measured` is false where a round trip bounds nothing, as with WRITEs.
    pub(super) fn new(measured: bool) -> Self {
        Self { left: if measured { TIMED } else { 0 }, posted: None, fastest_ns: None }
    }

    /// What is to be done next.
    pub(super) fn next(&self) -> Next {
        match (self.left, self.posted) {
            (0, _) => Next::Begin,
            (_, None) => Next::Post,
            (_, Some(_)) => Next::Wait,
        }
    }

    /// A READ is about to be posted.
    pub(super) fn posts(&mut self) {
        self.posted = Some(Instant::now());
    }

    /// It has completed. The fastest of all when it was the last.
    pub(super) fn completes(&mut self) -> Option<u64> {
        let took = self.posted.take()?.elapsed();
        let ns = nanoseconds(took).max(1);
        self.fastest_ns = Some(self.fastest_ns.map_or(ns, |fastest| fastest.min(ns)));
        self.left = self.left.saturating_sub(1);
        self.fastest_ns.filter(|_| self.left == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Next, RoundTrip, TIMED};

    #[test]
    fn single_reads_follow_each_other_and_the_fastest_is_told_at_the_end() {
        let mut watch = RoundTrip::new(true);
        for at in 1..=TIMED {
            assert_eq!(watch.next(), Next::Post);
            watch.posts();
            assert_eq!(watch.next(), Next::Wait);
            assert_eq!(watch.completes().is_some(), at == TIMED);
        }
        assert_eq!(watch.next(), Next::Begin);
        assert_eq!(watch.completes(), None);
    }

    #[test]
    fn a_load_that_is_not_bound_by_round_trips_begins_at_once() {
        assert_eq!(RoundTrip::new(false).next(), Next::Begin);
    }
}
