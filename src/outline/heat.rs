//! What each rail moved over the length of a session, in a bounded number of stretches of time.

use crate::timeline::{Interval, Quality, RailRates};
use probes::model::RailId;

/// Most stretches; finer than most screens have cells.
const MOST: usize = 512;
/// Length of a stretch at first, nanoseconds.
const FIRST_NS: u64 = 100_000_000;

/// Bytes and the time they took.
type Moved = (f64, f64);

/// What each rail moved, stretch by stretch; stretches grow longer as the session does.
#[derive(Clone, Debug)]
pub struct Heat {
    width_ns: u64,
    /// For each stretch since the session's begin one entry a rail.
    stretches: Vec<Vec<Moved>>,
}

impl Default for Heat {
    fn default() -> Self {
        Self { width_ns: FIRST_NS, stretches: Vec::new() }
    }
}

impl Heat {
    /// Takes an interval: of each rail our load's payload, or the busier direction of what the NIC counted.
    pub(super) fn add(&mut self, interval: &Interval) {
        while self.stretch(interval.to_ns) >= MOST {
            self.widen();
        }
        let last = self.stretch(interval.to_ns.saturating_sub(1));
        if self.stretches.len() <= last {
            self.stretches.resize_with(last + 1, Vec::new);
        }
        for (at, rates) in interval.rails.iter().enumerate() {
            let Some((gb_per_s, ns)) = moved(rates, interval.ns()) else { continue };
            let from_ns = interval.to_ns.saturating_sub(ns);
            // all stretches of the time that it is a mean of, which may be longer than one
            for stretch in self.stretch(from_ns)..=last {
                let begin_ns = (stretch as u64).saturating_mul(self.width_ns);
                let end_ns = begin_ns.saturating_add(self.width_ns).min(interval.to_ns);
                let within_ns = end_ns.saturating_sub(begin_ns.max(from_ns)) as f64;
                let row = &mut self.stretches[stretch];
                if row.len() <= at {
                    row.resize(interval.rails.len(), (0.0, 0.0));
                }
                row[at].0 += gb_per_s * within_ns;
                row[at].1 += within_ns;
            }
        }
    }

    /// Mean rates of a rail in so many equal parts of a time, GB/s, oldest first; `None` where nothing is known.
    #[must_use]
    pub fn rates(&self, rail: RailId, (from_ns, to_ns): (u64, u64), parts: usize) -> Vec<Option<f64>> {
        let length = u128::from(to_ns.saturating_sub(from_ns).max(1));
        let begin = |part: usize| {
            from_ns.saturating_add(
                u64::try_from(length * part as u128 / parts.max(1) as u128).unwrap_or(u64::MAX),
            )
        };
        let rate = |part: usize| {
            let first = self.stretch(begin(part));
            let last = self.stretch(begin(part + 1).saturating_sub(1)).max(first);
            let known = self.stretches.get(first..=last.min(self.stretches.len().checked_sub(1)?))?;
            let sums = known.iter().filter_map(|row| row.get(rail.0));
            let (bytes, ns) = sums.fold((0.0, 0.0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
            (ns > 0.0).then(|| bytes / ns)
        };
        (0..parts).map(rate).collect()
    }

    fn stretch(&self, at_ns: u64) -> usize {
        usize::try_from(at_ns / self.width_ns).unwrap_or(usize::MAX)
    }

    /// Every two stretches become one.
    fn widen(&mut self) {
        let joined = self.stretches.chunks(2).map(|two| {
            let mut first = two[0].clone();
            for (at, more) in two.get(1).into_iter().flatten().enumerate() {
                match first.get_mut(at) {
                    Some(sum) => *sum = (sum.0 + more.0, sum.1 + more.1),
                    None => first.push(*more),
                }
            }
            first
        });
        self.stretches = joined.collect();
        self.width_ns = self.width_ns.saturating_mul(2);
    }
}

/// Rate of a rail in an interval and the time it is a mean of.
fn moved(rates: &RailRates, ns: u64) -> Option<(f64, u64)> {
    if let Some(load) = rates.load_gb_per_s {
        return Some((load, ns));
    }
    if rates.quality != Quality::Good {
        return None;
    }
    let busier = [rates.rx_gb_per_s, rates.tx_gb_per_s].into_iter().flatten().reduce(f64::max)?;
    Some((busier, rates.counted_ns))
}

#[cfg(test)]
mod tests {
    use super::{FIRST_NS, Heat, MOST};
    use crate::timeline::{Interval, Quality, RailRates};
    use probes::model::RailId;

    fn interval(at: u64, gb_per_s: Option<f64>) -> Interval {
        let quality = if gb_per_s.is_some() { Quality::Good } else { Quality::Reset };
        let rates =
            RailRates { quality, rx_gb_per_s: gb_per_s, counted_ns: FIRST_NS, ..RailRates::default() };
        Interval {
            from_ns: at * FIRST_NS,
            to_ns: (at + 1) * FIRST_NS,
            rails: vec![rates],
            load_op: None,
            earlier_loads: None,
        }
    }

    fn rates(heat: &Heat, count: u64, parts: usize) -> Vec<Option<f64>> {
        heat.rates(RailId(0), (0, count * FIRST_NS), parts)
    }

    #[test]
    fn a_sag_is_where_it_was_and_what_was_not_read_is_not_zero() {
        let mut heat = Heat::default();
        for (at, rate) in (0..).zip([Some(40.0), Some(20.0), None, Some(40.0)]) {
            heat.add(&interval(at, rate));
        }
        assert_eq!(rates(&heat, 4, 4), [Some(40.0), Some(20.0), None, Some(40.0)]);
        assert_eq!(rates(&heat, 4, 2), [Some(30.0), Some(40.0)]);
        assert_eq!(rates(&heat, 8, 4), [Some(30.0), Some(40.0), None, None]);
        assert_eq!(rates(&Heat::default(), 4, 2), [None, None]);
    }

    #[test]
    fn a_mean_of_a_second_fills_that_second() {
        let mut heat = Heat::default();
        for at in 0..3 {
            let rates = RailRates {
                quality: Quality::Good,
                rx_gb_per_s: Some(20.0 + at as f64),
                counted_ns: 10 * FIRST_NS,
                ..RailRates::default()
            };
            let (from_ns, to_ns) = (at * 10 * FIRST_NS, (at + 1) * 10 * FIRST_NS);
            heat.add(&Interval { from_ns, to_ns, rails: vec![rates], load_op: None, earlier_loads: None });
        }
        let all = rates(&heat, 30, 30);
        assert_eq!(all[..10], [Some(20.0); 10]);
        assert_eq!(all[20..], [Some(22.0); 10]);
    }

    #[test]
    fn a_long_session_keeps_its_means_in_a_bounded_space() {
        let mut heat = Heat::default();
        let count = 10 * MOST as u64;
        for at in 0..count {
            heat.add(&interval(at, Some(if at < count / 2 { 10.0 } else { 30.0 })));
        }
        assert!(heat.stretches.len() <= MOST);
        assert_eq!(rates(&heat, count, 2), [Some(10.0), Some(30.0)]);
    }
}
