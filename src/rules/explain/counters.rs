//! Codes about counters that cannot be trusted.

use super::Explanation;

pub(super) const CODES: &[Explanation] = &[
    Explanation {
        code: "counter-saturated",
        severity: "warning",
        means: "A counter of old stands at its maximum and counts no more: what it should show is unknown.",
        fires: "A counter of 4, 8, 16 or 32 bits that stops at its end reads as its maximum.",
        silent: "About 64-bit counters and those that wrap.",
        mend: "`perfquery -R` resets the port's counters; 64-bit ones (`counters/` of a newer driver) do not stop.",
        source: "IBTA 1.4, 16.1.3.5, PortCounters",
    },
    Explanation {
        code: "counter-reset",
        severity: "info",
        means: "A counter went backwards: somebody reset it, or the device restarted. That interval has no rate.",
        fires: "A counter of bytes, or one that tells of trouble, is lower than before and no wrap at its width explains it.",
        silent: "About wraps, which are taken modulo 2^32 where the counter is that wide.",
        mend: "Nothing, if you reset it; else look for a restart of the device: `dmesg | grep -i mlx5`.",
        source: "Documentation/ABI/stable/sysfs-class-infiniband",
    },
    Explanation {
        code: "counter-na",
        severity: "info",
        means: "The driver shows no byte counter for this port, so it has no rate and no verdict on rates.",
        fires: "Bytes of a direction were readable neither in `counters/` nor in `hw_counters/` in the whole session.",
        silent: "Where one of them was.",
        mend: "`railscope load` measures its own payload all the same; a newer driver may have the counter.",
        source: "Documentation/ABI/stable/sysfs-class-infiniband",
    },
];
