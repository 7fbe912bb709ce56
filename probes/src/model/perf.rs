//! What a thread has cost, in counts of its CPU and of the kernel.

use serde::{Deserialize, Serialize};

/// Makes [`PerfFrame`] of one list of its fields, so that names and slots cannot differ from them.
macro_rules! perf_frame {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// What one thread has cost since its counters were enabled.
        ///
        /// Counts of the CPU are as they were read. Where the counters took turns (multiplexing) a group ran only for
        /// part of the time it was wanted; [`PerfFrame::scaled`] makes of them what the whole time would have given.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct PerfFrame {
            $($(#[$doc])* pub $field: Option<u64>,)*
        }

        impl PerfFrame {
            /// Names of all fields, in the order of a session file's columns.
            pub const NAMES: [&'static str; [$(stringify!($field)),*].len()] = [$(stringify!($field)),*];

            fn slots(&mut self) -> [&mut Option<u64>; Self::NAMES.len()] {
                [$(&mut self.$field),*]
            }
        }
    };
}

perf_frame! {
    /// CPU cycles.
    cycles,
    /// Instructions retired.
    instructions,
    /// Context switches.
    context_switches,
    /// Moves to another CPU.
    migrations,
    /// Nanoseconds the group of cycles was wanted and really counted; equal unless multiplexed.
    enabled_ns,
    /// See [`PerfFrame::enabled_ns`].
    running_ns,
    /// References to the cache that the CPU's maker means by it: the last level as a rule. Counted with the cycles.
    cache_references,
    /// Those of them that missed.
    cache_misses,
    /// Loads that missed the level 1 data cache.
    l1d_load_misses,
    /// Loads that missed the last-level cache.
    llc_load_misses,
    /// Stores that missed the last-level cache.
    llc_store_misses,
    /// Nanoseconds the group of level 1 and last-level misses was wanted.
    cache_enabled_ns,
    /// Nanoseconds it really counted.
    cache_running_ns,
    /// Loads whose address was not in the TLB of data.
    dtlb_load_misses,
    /// Fetches whose address was not in the TLB of instructions.
    itlb_load_misses,
    /// Nanoseconds the group of TLB misses was wanted.
    tlb_enabled_ns,
    /// Nanoseconds it really counted.
    tlb_running_ns,
    /// Nanoseconds the thread was on a CPU.
    on_cpu_ns,
}

/// Counters of the CPU that count over the same time, and the time they had.
#[derive(Clone, Copy, Debug)]
pub struct PerfGroup {
    /// Names of the counters, as the fields of [`PerfFrame`] are named.
    pub counters: &'static [&'static str],
    enabled: &'static str,
    running: &'static str,
}

/// Every group of CPU counters. Four counters at most, or a CPU with four of its own never runs the group.
pub const PERF_GROUPS: [PerfGroup; 3] = [
    PerfGroup {
        counters: &["cycles", "instructions", "cache_references", "cache_misses"],
        enabled: "enabled_ns",
        running: "running_ns",
    },
    PerfGroup {
        counters: &["l1d_load_misses", "llc_load_misses", "llc_store_misses"],
        enabled: "cache_enabled_ns",
        running: "cache_running_ns",
    },
    PerfGroup {
        counters: &["dtlb_load_misses", "itlb_load_misses"],
        enabled: "tlb_enabled_ns",
        running: "tlb_running_ns",
    },
];

impl PerfGroup {
    /// Nanoseconds the group was wanted, and those it really counted; `None` where it was not opened.
    #[must_use]
    pub fn times_ns(&self, of: &PerfFrame) -> Option<(u64, u64)> {
        Some((of.get(self.enabled)?, of.get(self.running)?))
    }

    /// Share of the time it was wanted in which it counted, 1 unless multiplexed; `None` where it was not opened, or
    /// no time passed.
    #[must_use]
    pub fn counted_share(&self, of: &PerfFrame) -> Option<f64> {
        let (enabled, running) = self.times_ns(of)?;
        (enabled > 0).then(|| running as f64 / enabled as f64)
    }

    /// Puts the time a reading had into the frame.
    pub(crate) fn set_times_ns(&self, of: &mut PerfFrame, enabled: u64, running: u64) {
        *of.slot(self.enabled) = Some(enabled);
        *of.slot(self.running) = Some(running);
    }
}

impl PerfFrame {
    /// All fields, in the order of [`PerfFrame::NAMES`].
    #[must_use]
    pub fn values(&self) -> [Option<u64>; Self::NAMES.len()] {
        let mut copy = self.clone();
        copy.slots().map(|slot| *slot)
    }

    /// A frame of fields in the order of [`PerfFrame::NAMES`].
    #[must_use]
    pub fn of_values(values: [Option<u64>; Self::NAMES.len()]) -> Self {
        let mut frame = Self::default();
        for (slot, value) in frame.slots().into_iter().zip(values) {
            *slot = value;
        }
        frame
    }

    /// The field of this name; `None` also where there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        self.values()[at]
    }

    /// What was counted since `earlier`; unknown where either reading lacks it, or where it went backwards.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::checked_sub)
    }

    /// Both together; unknown where either lacks it: a part is no sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |one, other| Some(one.saturating_add(other)))
    }

    /// What multiplexed groups would have counted in the whole time they were wanted; unknown where a group had no
    /// turn at all. The times stay as they are.
    #[must_use]
    pub fn scaled(&self) -> Self {
        let mut scaled = self.clone();
        for group in &PERF_GROUPS {
            let Some((enabled, running)) = group.times_ns(self) else { continue };
            for name in group.counters {
                let slot = scaled.slot(name);
                *slot = slot.and_then(|count| scale(count, enabled, running));
            }
        }
        scaled
    }

    fn with(&self, other: &Self, join: impl Fn(u64, u64) -> Option<u64>) -> Self {
        let mut joined = [None; Self::NAMES.len()];
        for ((slot, one), other) in joined.iter_mut().zip(self.values()).zip(other.values()) {
            *slot = one.zip(other).and_then(|(one, other)| join(one, other));
        }
        Self::of_values(joined)
    }

    /// The field of this name, to be written.
    pub(crate) fn slot(&mut self, name: &str) -> &mut Option<u64> {
        let at = Self::NAMES.iter().position(|known| *known == name);
        let at = at.expect("names of counters are written in this crate, and a test asks for each");
        self.slots().into_iter().nth(at).expect("there is a slot for each name")
    }
}

/// A count for the whole time the counter was wanted, from the part it really ran; `None` if it never did.
fn scale(count: u64, enabled_ns: u64, running_ns: u64) -> Option<u64> {
    if running_ns == 0 {
        return None;
    }
    let whole = u128::from(count) * u128::from(enabled_ns) / u128::from(running_ns);
    u64::try_from(whole).ok()
}

#[cfg(test)]
mod tests {
    use super::{PERF_GROUPS, PerfFrame, scale};

    #[test]
    fn every_name_is_a_field_and_every_field_has_one() {
        let frame = PerfFrame::of_values(std::array::from_fn(|at| Some(at as u64)));
        let json = serde_json::to_value(&frame).unwrap();
        assert_eq!(json.as_object().unwrap().len(), PerfFrame::NAMES.len());
        for (at, name) in PerfFrame::NAMES.iter().enumerate() {
            assert_eq!(json[name], at, "{name}");
            assert_eq!(frame.get(name), Some(at as u64), "{name}");
        }
        for group in &PERF_GROUPS {
            assert!(group.counters.len() <= 4 && group.times_ns(&frame).is_some(), "{group:?}");
            assert!(group.counters.iter().all(|name| frame.get(name).is_some()), "{group:?}");
        }
        assert_eq!(frame.get("no such counter"), None);
    }

    #[test]
    fn a_multiplexed_count_is_scaled_to_the_whole_time() {
        assert_eq!(scale(100, 4000, 1000), Some(400));
        assert_eq!(scale(100, 4000, 4000), Some(100));
        assert_eq!(scale(u64::MAX, u64::MAX, 1), None, "more than a count can hold");
    }

    #[test]
    fn a_counter_that_never_ran_is_unknown_not_zero() {
        assert_eq!(scale(0, 4000, 0), None);
        let frame = PerfFrame {
            dtlb_load_misses: Some(0),
            tlb_enabled_ns: Some(4000),
            tlb_running_ns: Some(0),
            ..PerfFrame::default()
        };
        assert_eq!(frame.scaled().dtlb_load_misses, None);
        assert_eq!(PERF_GROUPS[2].counted_share(&frame), Some(0.0));
    }

    #[test]
    fn a_window_is_scaled_by_its_own_turns_and_not_by_those_before() {
        let counts = |cycles, enabled, running, switches| PerfFrame {
            cycles: Some(cycles),
            enabled_ns: Some(enabled),
            running_ns: Some(running),
            context_switches: Some(switches),
            ..PerfFrame::default()
        };
        // all of the first second, half of the next
        let window = counts(1500, 2000, 1500, 9).since(&counts(1000, 1000, 1000, 4)).scaled();
        assert_eq!((window.cycles, window.context_switches), (Some(1000), Some(5)));
        assert_eq!((window.enabled_ns, window.running_ns), (Some(1000), Some(500)));
    }

    #[test]
    fn a_sum_lacks_what_one_of_its_parts_lacks() {
        let one = PerfFrame { cycles: Some(1), migrations: Some(0), ..PerfFrame::default() };
        let other = PerfFrame { cycles: Some(2), ..PerfFrame::default() };
        assert_eq!(one.plus(&other), PerfFrame { cycles: Some(3), ..PerfFrame::default() });
        assert_eq!(other.since(&one).cycles, Some(1));
        assert_eq!(one.since(&other).cycles, None, "a count that went backwards");
    }
}
