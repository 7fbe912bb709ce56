//! What the kernel's files say of a thread, where its counters are not permitted.

use std::fs;

/// Counts since the birth of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FromFiles {
    pub(super) switches: Option<u64>,
    pub(super) migrations: Option<u64>,
    pub(super) on_cpu_ns: Option<u64>,
}

impl FromFiles {
    /// Sources: `proc_pid_status`(5); `sched` is there with `CONFIG_SCHED_DEBUG`; `schedstat` with
    /// `CONFIG_SCHED_INFO`, its first number is the time on a CPU (Documentation/scheduler/sched-stats.rst).
    pub(super) fn read(thread: u32) -> Self {
        let text = |file: &str| fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).ok();
        let status = text("status");
        let field = |name: &str| number_after(status.as_ref()?, name);
        let (voluntary, forced) = (field("voluntary_ctxt_switches"), field("nonvoluntary_ctxt_switches"));
        Self {
            switches: voluntary.zip(forced).map(|(voluntary, forced)| voluntary + forced),
            migrations: text("sched").and_then(|text| number_after(&text, "se.nr_migrations")),
            on_cpu_ns: text("schedstat").and_then(|text| text.split_whitespace().next()?.parse().ok()),
        }
    }
}

/// The number in the line `name : 12`.
fn number_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        if key.trim() == name { value.trim().parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::number_after;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\nse.nr_migrations   :   2\n";
        assert_eq!(number_after(text, "voluntary_ctxt_switches"), Some(7));
        assert_eq!(number_after(text, "nonvoluntary_ctxt_switches"), Some(3));
        assert_eq!(number_after(text, "se.nr_migrations"), Some(2));
    }
}
