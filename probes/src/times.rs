//! Times as the numbers that sessions carry.

use std::time::{Duration, SystemTime};

/// The length in nanoseconds; five centuries fit, and more is the largest number.
#[must_use]
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The wall clock, milliseconds since 1970; `None` where it is set to a time before that.
#[must_use]
pub fn unix_ms() -> Option<u64> {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since_1970.as_millis()).ok()
}
