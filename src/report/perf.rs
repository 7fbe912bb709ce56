//! What the threads of a load cost in their measured time.

use super::number::{known, round};
use crate::timeline::Done;
use probes::model::{PERF_GROUPS, PerfFrame};
use probes::perf::{MULTIPLEXED, state_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What threads cost over their measured time, warm-up left out; null for a counter that this machine does not give.
///
/// Counters of the CPU that took turns are scaled to the whole time, and `state` then says `multiplexed`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PerfRow {
    /// The time that was measured; null when there was none yet.
    pub measured_s: Option<f64>,
    /// CPU cycles.
    pub cycles: Option<u64>,
    /// Instructions retired.
    pub instructions: Option<u64>,
    /// Instructions a cycle; of a spinning thread it says little about the data.
    pub instructions_per_cycle: Option<f64>,
    /// Cycles over the time on a CPU; null also where only cycles of user space could be counted.
    pub effective_ghz: Option<f64>,
    /// Cycles over payload bytes.
    pub cycles_per_byte: Option<f64>,
    /// References to the cache, the last level as a rule.
    pub cache_references: Option<u64>,
    /// Those of them that missed.
    pub cache_misses: Option<u64>,
    /// Loads that missed the level 1 data cache.
    pub l1d_load_misses: Option<u64>,
    /// Loads that missed the last-level cache.
    pub llc_load_misses: Option<u64>,
    /// Stores that missed it.
    pub llc_store_misses: Option<u64>,
    /// Loads whose address was not in the TLB of data.
    pub dtlb_load_misses: Option<u64>,
    /// Fetches whose address was not in the TLB of instructions.
    pub itlb_load_misses: Option<u64>,
    /// Context switches.
    pub context_switches: Option<u64>,
    /// Moves to another CPU.
    pub migrations: Option<u64>,
    /// Time on a CPU, of all threads together.
    pub on_cpu_s: Option<f64>,
    /// Share of the time in which the group of cycles and instructions really counted; below 1 it was multiplexed.
    pub counted_share: Option<f64>,
    /// Of each counter that is not simply there: `not supported`, `not permitted`, `user space only`, `multiplexed`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, String>,
    /// Why that is, by the same names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unavailable: BTreeMap<String, String>,
}

impl PerfRow {
    /// What one worker, or several together, cost; `None` is a worker without measured time.
    #[must_use]
    pub fn of(done: Option<&Done>, gaps: &BTreeMap<String, String>) -> Self {
        let mut unavailable = gaps.clone();
        let nothing = Done::default();
        let done = done.unwrap_or(&nothing);
        for (name, turns) in turns(&done.perf) {
            // why it was not wanted at all says more than that it had no turn
            unavailable.entry(name.to_owned()).or_insert(turns);
        }
        let state = unavailable.iter().map(|(name, why)| (name.clone(), state_of(why).to_owned())).collect();
        let perf = done.perf.scaled();
        Self {
            measured_s: known((done.ns > 0).then(|| done.ns as f64 / 1e9)),
            cycles: perf.cycles,
            instructions: perf.instructions,
            instructions_per_cycle: share(perf.instructions, perf.cycles),
            effective_ghz: effective_ghz(&perf, gaps),
            cycles_per_byte: share(perf.cycles, Some(done.bytes)),
            cache_references: perf.cache_references,
            cache_misses: perf.cache_misses,
            l1d_load_misses: perf.l1d_load_misses,
            llc_load_misses: perf.llc_load_misses,
            llc_store_misses: perf.llc_store_misses,
            dtlb_load_misses: perf.dtlb_load_misses,
            itlb_load_misses: perf.itlb_load_misses,
            context_switches: perf.context_switches,
            migrations: perf.migrations,
            on_cpu_s: known(perf.on_cpu_ns.map(|ns| ns as f64 / 1e9)),
            counted_share: known(PERF_GROUPS[0].counted_share(&perf)),
            state,
            unavailable,
        }
    }

    /// The counter of this name, as [`PerfFrame`] names it; `None` also for what is no counter of the CPU.
    #[must_use]
    pub fn of_cpu(&self, name: &str) -> Option<u64> {
        match name {
            "cycles" => self.cycles,
            "instructions" => self.instructions,
            "cache_references" => self.cache_references,
            "cache_misses" => self.cache_misses,
            "l1d_load_misses" => self.l1d_load_misses,
            "llc_load_misses" => self.llc_load_misses,
            "llc_store_misses" => self.llc_store_misses,
            "dtlb_load_misses" => self.dtlb_load_misses,
            "itlb_load_misses" => self.itlb_load_misses,
            _ => None,
        }
    }
}

/// Cycles a nanosecond on a CPU. Time in the kernel is in the one and must then be in the other.
fn effective_ghz(perf: &PerfFrame, gaps: &BTreeMap<String, String>) -> Option<f64> {
    if gaps.contains_key("cycles") { None } else { share(perf.cycles, perf.on_cpu_ns) }
}

fn share(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let (part, whole) = (part?, whole.filter(|whole| *whole > 0)?);
    round(part as f64 / whole as f64)
}

/// Counters that did not count all of the time they were wanted, with how much of it they had.
fn turns(perf: &PerfFrame) -> Vec<(&'static str, String)> {
    let mut turns = Vec::new();
    for group in &PERF_GROUPS {
        let Some((enabled, running)) = group.times_ns(perf).filter(|(enabled, running)| running < enabled)
        else {
            continue;
        };
        let text = if running == 0 {
            format!("{MULTIPLEXED}: the CPU has too few counters, and these had no turn")
        } else {
            let percent = 100.0 * running as f64 / enabled as f64;
            format!("{MULTIPLEXED}: counted in {percent:.0} % of the time and scaled to all of it")
        };
        let counted = group.counters.iter().filter(|name| perf.get(name).is_some());
        turns.extend(counted.map(|name| (*name, text.clone())));
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::PerfRow;
    use crate::timeline::Done;
    use probes::model::PerfFrame;
    use std::collections::BTreeMap;

    fn ten_seconds() -> Done {
        let perf = PerfFrame {
            cycles: Some(26_000_000_000),
            instructions: Some(70_200_000_000),
            enabled_ns: Some(10_000_000_000),
            running_ns: Some(10_000_000_000),
            l1d_load_misses: Some(600),
            cache_enabled_ns: Some(10_000_000_000),
            cache_running_ns: Some(4_000_000_000),
            dtlb_load_misses: Some(0),
            tlb_enabled_ns: Some(10_000_000_000),
            tlb_running_ns: Some(0),
            on_cpu_ns: Some(10_000_000_000),
            ..PerfFrame::default()
        };
        Done { ns: 10_000_000_000, bytes: 52_000_000_000, perf, ..Done::default() }
    }

    #[test]
    fn what_was_counted_becomes_cycles_a_byte_and_effective_ghz() {
        let row = PerfRow::of(Some(&ten_seconds()), &BTreeMap::new());
        assert_eq!((row.effective_ghz, row.cycles_per_byte), (Some(2.6), Some(0.5)));
        assert_eq!((row.instructions_per_cycle, row.counted_share), (Some(2.7), Some(1.0)));
        assert_eq!(row.measured_s, Some(10.0));
    }

    #[test]
    fn unsupported_not_permitted_and_multiplexed_are_three_words_and_none_is_zero() {
        let gaps =
            [("cache_misses", "not supported: no such"), ("migrations", "not permitted: paranoid is 3")];
        let gaps = gaps.map(|(name, why)| (name.to_owned(), why.to_owned())).into();
        let row = PerfRow::of(Some(&ten_seconds()), &gaps);
        assert_eq!((row.cache_misses, row.migrations, row.dtlb_load_misses), (None, None, None));
        assert_eq!(row.l1d_load_misses, Some(1500), "scaled to the whole time");
        let states: Vec<_> = row.state.iter().map(|(name, state)| (name.as_str(), state.as_str())).collect();
        let expected = [
            ("cache_misses", "not supported"),
            ("dtlb_load_misses", "multiplexed"),
            ("l1d_load_misses", "multiplexed"),
            ("migrations", "not permitted"),
        ];
        assert_eq!(states, expected);
        assert!(row.unavailable["l1d_load_misses"].contains("in 40 % of the time"), "{row:?}");
        assert!(row.unavailable["dtlb_load_misses"].contains("had no turn"), "{row:?}");
    }

    #[test]
    fn cycles_of_user_space_alone_give_no_frequency() {
        let gaps = [("cycles".to_owned(), "user space only: perf_event_paranoid is 2".to_owned())].into();
        let row = PerfRow::of(Some(&ten_seconds()), &gaps);
        assert_eq!((row.effective_ghz, row.cycles), (None, Some(26_000_000_000)));
        assert_eq!(row.state["cycles"], "user space only");
    }

    #[test]
    fn without_measured_time_nothing_is_known() {
        let row = PerfRow::of(None, &BTreeMap::new());
        assert_eq!(row, PerfRow::default());
    }
}
