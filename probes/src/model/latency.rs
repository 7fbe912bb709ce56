//! How long sampled operations took, counted in buckets.

use serde::{Deserialize, Serialize};

/// Buckets per power of two: a value differs from any other of its bucket by less than 1/32.
const PER_OCTAVE_BITS: u32 = 5;
/// Highest power of two with buckets of its own: what takes 2^36 ns (68 s) or longer counts in the last bucket.
const LAST_OCTAVE: u32 = 35;

/// Counts of latencies in buckets that grow with the value, as `HdrHistogram` lays them out: one each for 0 to 31 ns,
/// then 32 for each power of two up to 68 s. Only buckets that hold something are kept, by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Latencies(Vec<(u16, u64)>);

impl Latencies {
    /// How many buckets there are.
    pub const BUCKETS: usize = ((LAST_OCTAVE - PER_OCTAVE_BITS + 2) << PER_OCTAVE_BITS) as usize;

    /// The bucket of a latency, below [`Latencies::BUCKETS`].
    #[must_use]
    pub fn bucket(ns: u64) -> usize {
        let ns = ns.min((1 << (LAST_OCTAVE + 1)) - 1);
        if ns < 1 << PER_OCTAVE_BITS {
            return ns as usize;
        }
        let octave = ns.ilog2();
        let within = (ns >> (octave - PER_OCTAVE_BITS)) as usize & ((1 << PER_OCTAVE_BITS) - 1);
        ((octave - PER_OCTAVE_BITS + 1) as usize) << PER_OCTAVE_BITS | within
    }

    /// Middle of a bucket, nanoseconds.
    #[must_use]
    pub fn middle_ns(bucket: usize) -> f64 {
        let per_octave = 1 << PER_OCTAVE_BITS;
        if bucket < per_octave {
            return bucket as f64;
        }
        let width = 2_f64.powf((bucket / per_octave - 1) as f64);
        ((per_octave + bucket % per_octave) as f64 + 0.5) * width
    }

    /// From counts by bucket, in rising order of buckets; those of 0 are left out, and so is what lies beyond the last.
    #[must_use]
    pub fn from_counts(counts: impl IntoIterator<Item = (usize, u64)>) -> Self {
        let there = counts.into_iter().filter(|(bucket, count)| *bucket < Self::BUCKETS && *count > 0);
        let mut list: Vec<(u16, u64)> =
            there.filter_map(|(bucket, count)| Some((u16::try_from(bucket).ok()?, count))).collect();
        list.sort_by_key(|(bucket, _)| *bucket);
        list.dedup_by_key(|(bucket, _)| *bucket);
        Self(list)
    }

    /// Buckets that hold something, with their counts, in rising order.
    #[must_use]
    pub fn counts(&self) -> impl ExactSizeIterator<Item = (usize, u64)> + '_ {
        self.0.iter().map(|(bucket, count)| (usize::from(*bucket), *count))
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Latencies counted.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// What was counted since `then`; a bucket that lost some has gained none.
    #[must_use]
    pub fn since(&self, then: &Self) -> Self {
        self.merged(then, u64::saturating_sub)
    }

    /// Buckets whose counts differ from `then`, each with its difference modulo 2^64.
    #[must_use]
    pub fn growth(&self, then: &Self) -> Vec<(usize, u64)> {
        self.merged(then, u64::wrapping_sub).counts().collect()
    }

    /// These counts with [`Latencies::growth`] added.
    #[must_use]
    pub fn grown(&self, growth: impl IntoIterator<Item = (usize, u64)>) -> Self {
        self.merged(&Self::from_counts(growth), u64::wrapping_add)
    }

    /// Adds what another counted.
    pub fn add(&mut self, more: &Self) {
        if !more.is_empty() {
            *self = self.merged(more, u64::saturating_add);
        }
    }

    fn merged(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut list = Vec::with_capacity(self.0.len());
        loop {
            let bucket = match (ours.peek(), theirs.peek()) {
                (None, None) => return Self(list),
                (Some((bucket, _)), None) | (None, Some((bucket, _))) => *bucket,
                (Some((our, _)), Some((their, _))) => *our.min(their),
            };
            let take = |list: &mut std::iter::Peekable<std::slice::Iter<'_, (u16, u64)>>| {
                list.next_if(|(at, _)| *at == bucket).map_or(0, |(_, count)| *count)
            };
            let count = of(take(&mut ours), take(&mut theirs));
            if count > 0 {
                list.push((bucket, count));
            }
        }
    }

    /// The latency that a share of the samples does not exceed, nanoseconds, to 1/64 of itself; `None` without
    /// samples.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        let wanted = share.clamp(0.0, 1.0) * self.samples() as f64;
        let mut seen = 0.0;
        for (bucket, count) in self.counts() {
            seen += count as f64;
            if seen >= wanted {
                return Some(Self::middle_ns(bucket));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Latencies;

    fn of(values_ns: &[u64]) -> Latencies {
        let mut all = Latencies::default();
        for value in values_ns {
            all.add(&Latencies::from_counts([(Latencies::bucket(*value), 1)]));
        }
        all
    }

    #[test]
    fn a_bucket_is_at_most_a_thirty_second_wide() {
        for octave in 0..36 {
            for value in [1_u64 << octave, (1 << octave) + (1 << octave) / 3, (2 << octave) - 1] {
                let middle = Latencies::middle_ns(Latencies::bucket(value));
                assert!((middle - value as f64).abs() <= value as f64 / 64.0 + 0.5, "{value}: {middle}");
            }
        }
    }

    #[test]
    fn buckets_rise_with_the_value_and_the_last_takes_all_beyond() {
        let buckets: Vec<usize> = (0..40).flat_map(|e| [1_u64 << e, 3 << e]).map(Latencies::bucket).collect();
        assert!(buckets.iter().all(|bucket| *bucket < Latencies::BUCKETS));
        let mut values: Vec<u64> = (0..5000).collect();
        values.push(60_000_000_000);
        assert!(values.windows(2).all(|pair| Latencies::bucket(pair[0]) <= Latencies::bucket(pair[1])));
        assert_eq!(Latencies::bucket(u64::MAX), Latencies::BUCKETS - 1);
        assert!(Latencies::bucket(60_000_000_000) < Latencies::BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_samples() {
        let thousand: Vec<u64> = (1..=1000).map(|n| n * 1000).collect();
        let all = of(&thousand);
        assert_eq!(all.samples(), 1000);
        for (share, expected) in [(0.5, 500e3), (0.9, 900e3), (0.99, 990e3), (0.999, 999e3)] {
            let found = all.quantile_ns(share).unwrap();
            assert!((found - expected).abs() <= expected / 32.0, "{share}: {found}");
        }
        assert_eq!(Latencies::default().quantile_ns(0.5), None);
    }

    #[test]
    fn what_came_since_is_the_difference() {
        let (then, now) = (of(&[100, 100, 9000]), of(&[100, 100, 100, 9000, 50_000]));
        assert_eq!(now.since(&then), of(&[100, 50_000]));
        assert_eq!(then.since(&now), Latencies::default());
        assert_eq!(then.grown(now.growth(&then)), now);
        assert_eq!(now.grown(then.growth(&now)), then);
    }
}
