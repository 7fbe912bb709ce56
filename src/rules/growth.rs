//! What a rail's further counters grew by: totals since boot prove nothing.

use super::means::Over;
use crate::timeline::HostTimeline;
use probes::model::{Rail, RailId};

/// Growth of one rail's further counters.
pub(super) struct Growth<'a> {
    names: &'a [String],
    last_minute: Vec<u64>,
    session: Vec<u64>,
    at_link_changes: [Vec<u64>; 2],
    last_minute_s: f64,
    session_s: f64,
}

/// One counter that grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grown<'a> {
    /// Name with its place: `hw/out_of_sequence`.
    pub name: &'a str,
    /// By how much.
    pub by: u64,
}

impl Grown<'_> {
    /// Name as the tools print it.
    pub(super) fn short(&self) -> &str {
        self.name.split_once('/').map_or(self.name, |(_, name)| name)
    }
}

impl<'a> Growth<'a> {
    pub(super) fn of(id: RailId, rail: &'a Rail, local: &HostTimeline) -> Self {
        let mut last_minute = vec![0_u64; rail.counters.len()];
        let mut at_link_changes = last_minute.clone();
        for interval in local.intervals() {
            let Some(rates) = interval.rails.get(id.0) else { continue };
            let add = |sums: &mut [u64]| {
                for (sum, more) in sums.iter_mut().zip(&rates.growth) {
                    *sum = sum.saturating_add(more.unwrap_or(0));
                }
            };
            add(&mut last_minute);
            if !rates.growth.is_empty() && local.sums().link_changed(rail, interval) {
                add(&mut at_link_changes);
            }
        }
        let session = local
            .sums()
            .rails
            .get(id.0)
            .map_or(Vec::new(), |sums| sums.growth.iter().map(|growth| growth.unwrap_or(0)).collect());
        let begin = local.intervals().next().map_or(0, |interval| interval.from_ns);
        let end = local.intervals().last().map_or(0, |interval| interval.to_ns);
        Self {
            names: &rail.counters,
            last_minute,
            session,
            at_link_changes: [
                at_link_changes,
                local.sums().rails.get(id.0).map_or(Vec::new(), |sums| sums.growth_at_link_changes.clone()),
            ],
            last_minute_s: end.saturating_sub(begin) as f64 / 1e9,
            session_s: local.sums().until_ns as f64 / 1e9,
        }
    }

    /// The same without what came while the rail's link, or one of its bond's legs, went down or up.
    pub(super) fn without_link_changes(mut self) -> Self {
        let [in_minute, in_session] = std::mem::take(&mut self.at_link_changes);
        for (sums, excused) in [(&mut self.last_minute, in_minute), (&mut self.session, in_session)] {
            for (sum, excused) in sums.iter_mut().zip(excused) {
                *sum = sum.saturating_sub(excused);
            }
        }
        self
    }

    /// Counters that `wanted` likes and that grew, most growth first.
    pub(super) fn grown(&self, over: Over, wanted: impl Fn(&str) -> bool) -> Vec<Grown<'a>> {
        let by = match over {
            Over::Window => &self.last_minute,
            Over::Session => &self.session,
        };
        let names = self.names.iter().map(String::as_str);
        let mut grown: Vec<Grown<'a>> = names
            .zip(by)
            .filter(|(name, by)| **by > 0 && wanted(name))
            .map(|(name, by)| Grown { name, by: *by })
            .collect();
        grown.sort_by(|a, b| b.by.cmp(&a.by).then(a.name.cmp(b.name)));
        grown
    }

    /// Time over which it grew, seconds.
    pub(super) fn seconds(&self, over: Over) -> f64 {
        match over {
            Over::Window => self.last_minute_s,
            Over::Session => self.session_s,
        }
    }
}
