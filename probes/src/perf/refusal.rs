//! Why a counter is not there, in words that tell the cases apart.

use std::{fs, io};

/// This CPU, virtual machine or kernel has no such counter.
pub const NOT_SUPPORTED: &str = "not supported";
/// The kernel has it and does not let this user count.
pub const NOT_PERMITTED: &str = "not permitted";
/// What the thread does in user space is counted, what the kernel does for it is not permitted.
pub const USER_SPACE_ONLY: &str = "user space only";
/// The CPU has fewer counters than were wanted, and this one had a part of the time, or none of it.
pub const MULTIPLEXED: &str = "multiplexed";

/// The word at the head of a reason: what of these it is, or `unknown`.
///
/// Reasons are kept as text in sessions, with the word first: `not supported: this CPU has no such counter`.
#[must_use]
pub fn state_of(reason: &str) -> &str {
    let words = [NOT_SUPPORTED, NOT_PERMITTED, USER_SPACE_ONLY, MULTIPLEXED, "simulated"];
    words.into_iter().find(|word| reason.starts_with(word)).unwrap_or("unknown")
}

/// Whether the kernel has the counter and does not let us use it.
pub(super) fn is_not_permitted(refusal: &io::Error) -> bool {
    matches!(refusal.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

/// Why the kernel refused a counter, and what to do.
pub(super) fn reason(refusal: &io::Error) -> String {
    match refusal.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            format!("{NOT_SUPPORTED}: this CPU or virtual machine has no such counter")
        }
        Some(libc::ENOSYS) => format!("{NOT_SUPPORTED}: the kernel is built without perf events"),
        Some(libc::EACCES | libc::EPERM) => {
            let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            let level = level.as_deref().map_or("unreadable", str::trim);
            format!(
                "{NOT_PERMITTED}: perf_event_paranoid is {level}; run as root, or sysctl kernel.perf_event_paranoid=1, \
                 or give CAP_PERFMON"
            )
        }
        _ => format!("perf_event_open: {refusal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{reason, state_of};
    use std::io;

    #[test]
    fn unsupported_and_not_permitted_are_different_words() {
        let reason = |errno| reason(&io::Error::from_raw_os_error(errno));
        assert!(reason(libc::EACCES).starts_with("not permitted: perf_event_paranoid is"));
        let states = [libc::ENOENT, libc::ENOSYS, libc::EPERM, libc::EMFILE].map(reason);
        let states = states.each_ref().map(|reason| state_of(reason));
        assert_eq!(states, ["not supported", "not supported", "not permitted", "unknown"]);
    }
}
