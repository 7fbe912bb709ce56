//! A rate that a thread keeps below.

use std::time::Instant;

/// How much of the rate may be made up for at once after a pause, nanoseconds. Longer than a thread is usually away
/// from its CPU, so that the mean stays at the rate; short enough for a burst to be none that a fabric feels.
const BURST_NS: f64 = 10e6;

/// How many bytes may be posted by now. It is asked before requests are posted, never before completions are seen, so
/// that the latency is that of a rail with time to spare.
#[derive(Debug)]
pub(super) struct Cap {
    bucket: Bucket,
    /// When it was first asked.
    start: Option<Instant>,
}

impl Cap {
    /// At most `gb_per_s`, 10^9 bytes a second.
    pub(super) fn new(gb_per_s: f64) -> Self {
        Self { bucket: Bucket::new(gb_per_s), start: None }
    }

    /// Keeps to another rate from now on; 0 lets nothing go.
    pub(super) fn change(&mut self, gb_per_s: f64) {
        self.bucket.change(gb_per_s);
    }

    /// Lets everything go from now on.
    pub(super) fn lift(&mut self) {
        self.bucket.change(f64::INFINITY);
    }

    /// Whether everything goes.
    pub(super) fn is_lifted(&self) -> bool {
        self.bucket.bytes_per_ns.is_infinite()
    }

    /// Whether something may be posted now.
    pub(super) fn has_some(&mut self) -> bool {
        if self.is_lifted() {
            return true;
        }
        let elapsed = self.start.get_or_insert_with(Instant::now).elapsed();
        self.bucket.has_some(elapsed.as_nanos() as f64)
    }

    /// So many bytes were posted.
    pub(super) fn take(&mut self, bytes: u64) {
        self.bucket.take(bytes);
    }
}

/// Fills with the bytes that may be moved, up to a burst.
#[derive(Debug)]
struct Bucket {
    bytes_per_ns: f64,
    /// Below 0 after more was posted than was there: requests go out in chains.
    bytes: f64,
    filled_at_ns: f64,
}

impl Bucket {
    fn new(gb_per_s: f64) -> Self {
        Self { bytes_per_ns: gb_per_s, bytes: 0.0, filled_at_ns: 0.0 }
    }

    /// What was moved while everything went is no debt.
    fn change(&mut self, gb_per_s: f64) {
        self.bytes_per_ns = gb_per_s;
        self.bytes = 0.0;
    }

    /// Whether anything may be moved at this time.
    fn has_some(&mut self, now_ns: f64) -> bool {
        let more = (now_ns - self.filled_at_ns) * self.bytes_per_ns;
        self.filled_at_ns = now_ns;
        self.bytes = (self.bytes + more).min(BURST_NS * self.bytes_per_ns);
        self.bytes > 0.0
    }

    fn take(&mut self, bytes: u64) {
        self.bytes -= bytes as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::Bucket;

    /// Bytes moved in a second of polls every `poll_ns`, each of which would find `lump` bytes.
    fn moved(gb_per_s: f64, poll_ns: u32, lump: u64) -> f64 {
        let mut bucket = Bucket::new(gb_per_s);
        let mut bytes = 0.0;
        for now_ns in (0..1_000_000_000).step_by(poll_ns as usize) {
            if bucket.has_some(f64::from(now_ns)) {
                bucket.take(lump);
                bytes += lump as f64;
            }
        }
        bytes / 1e9
    }

    #[test]
    fn the_rate_is_kept_to_a_hundredth_whatever_the_lumps() {
        for (gb_per_s, poll_ns, lump) in [(1.0, 1000, 4096), (5.0, 10_000, 1 << 20), (0.01, 100_000, 65_536)]
        {
            let rate = moved(gb_per_s, poll_ns, lump);
            assert!((0.99 * gb_per_s..=1.01 * gb_per_s).contains(&rate), "{gb_per_s}: {rate}");
        }
    }

    #[test]
    fn a_rail_that_is_slower_is_not_held_back() {
        let rate = moved(50.0, 1000, 4096);
        assert!((rate - 4.096).abs() < 0.01, "{rate}");
    }

    #[test]
    fn a_rate_is_changed_and_nothing_is_let_go_at_none() {
        let mut bucket = Bucket::new(1.0);
        assert!(bucket.has_some(1e9));
        bucket.change(0.0);
        assert!(!bucket.has_some(2e9) && !bucket.has_some(9e9));
        bucket.change(2.0);
        bucket.take(1);
        assert!(bucket.has_some(9e9 + 1.0), "two bytes by then");
    }

    #[test]
    fn after_a_pause_no_more_than_a_burst_is_made_up_for() {
        let mut bucket = Bucket::new(1.0);
        assert!(bucket.has_some(5e9));
        bucket.take(10_000_001);
        assert!(!bucket.has_some(5e9));
    }
}
