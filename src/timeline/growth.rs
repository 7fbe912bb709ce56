//! How far a rail's further counters have grown between two samples.

use probes::model::{Rail, RailFrame};

/// Differences of the further counters. Queue-pair counters of mlx5 are 32 bits wide and wrap
/// (`be32_to_cpu` in drivers/infiniband/hw/mlx5/counters.c): a small number after a large one below 2^32.
pub(crate) fn growth(then: &RailFrame, now: &RailFrame) -> Vec<Option<u64>> {
    const WRAP: u64 = 1 << 32;
    now.counters
        .iter()
        .zip(&then.counters)
        .map(|(new, old)| {
            let (new, old) = ((*new)?, (*old)?);
            match new.checked_sub(old) {
                Some(more) => Some(more),
                None if old < WRAP && new + WRAP - old < WRAP / 2 => Some(new + WRAP - old),
                None => None,
            }
        })
        .collect()
}

/// How far those have grown together whose names `tells` knows; `None` where the rail has none of the kind.
pub(crate) fn growth_of(rail: &Rail, growth: &[Option<u64>], tells: impl Fn(&str) -> bool) -> Option<u64> {
    let of_kind = rail.counters.iter().zip(growth).filter(|(name, _)| tells(name));
    of_kind.filter_map(|(_, by)| *by).reduce(u64::saturating_add)
}
