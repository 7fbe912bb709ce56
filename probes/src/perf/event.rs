//! Which event of the kernel stands behind a name in [`PerfFrame`](crate::model::PerfFrame).

use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, Software, WhichCache};

/// Names of what the kernel's scheduler counts; these take no counter of the CPU.
pub(super) const OF_THE_SCHEDULER: [&str; 3] = ["context_switches", "migrations", "on_cpu_ns"];

/// The event of a counter's name.
///
/// Source: `perf_event_open`(2); `perf stat -d -d` shows the same events by these names.
pub(super) fn of(name: &str) -> Event {
    let missed = |which, operation| Cache { which, operation, result: CacheResult::MISS }.into();
    match name {
        "cycles" => Hardware::CPU_CYCLES.into(),
        "instructions" => Hardware::INSTRUCTIONS.into(),
        "cache_references" => Hardware::CACHE_REFERENCES.into(),
        "cache_misses" => Hardware::CACHE_MISSES.into(),
        "l1d_load_misses" => missed(WhichCache::L1D, CacheOp::READ),
        "llc_load_misses" => missed(WhichCache::LL, CacheOp::READ),
        "llc_store_misses" => missed(WhichCache::LL, CacheOp::WRITE),
        "dtlb_load_misses" => missed(WhichCache::DTLB, CacheOp::READ),
        "itlb_load_misses" => missed(WhichCache::ITLB, CacheOp::READ),
        "context_switches" => Software::CONTEXT_SWITCHES.into(),
        "migrations" => Software::CPU_MIGRATIONS.into(),
        "on_cpu_ns" => Software::TASK_CLOCK.into(),
        _ => unreachable!("{name} is no counter; the tables of names and this one belong together"),
    }
}

#[cfg(test)]
mod tests {
    use super::{OF_THE_SCHEDULER, of};
    use crate::model::{PERF_GROUPS, PerfFrame};

    #[test]
    fn every_counter_has_an_event_of_its_own_and_a_place_in_a_frame() {
        let hardware = PERF_GROUPS.iter().flat_map(|group| group.counters);
        let mut events = Vec::new();
        for name in hardware.chain(&OF_THE_SCHEDULER) {
            assert!(PerfFrame::NAMES.contains(name), "{name}");
            let event = format!("{:?}", of(name));
            assert!(!events.contains(&event), "{name}: {event}");
            events.push(event);
        }
    }
}
