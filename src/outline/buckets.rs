//! How bad it was over the length of a session, in a fixed number of buckets.

use crate::rules::Severity;

/// Buckets of a session: finer than any screen has cells.
const COUNT: usize = 1024;
/// Width of a bucket at first, where the length of the session is not known.
const FIRST_WIDTH_NS: u64 = 100_000_000;

/// What was seen of a stretch of time; the worse is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// Nobody has looked.
    #[default]
    Unseen,
    /// Nothing was found.
    Clear,
    /// Something was found; the worst of it.
    Found(Severity),
}

/// Looks over the length of a session.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    /// Where the first begins; `None` before the first look.
    from_ns: Option<u64>,
    width_ns: u64,
    looks: Vec<Look>,
    /// The last one.
    last: Look,
}

impl Default for Buckets {
    fn default() -> Self {
        Self { from_ns: None, width_ns: FIRST_WIDTH_NS, looks: Vec::new(), last: Look::Unseen }
    }
}

impl Buckets {
    /// For a session of this first and last time.
    pub(super) fn over(first_ns: u64, last_ns: u64) -> Self {
        let width_ns = last_ns.saturating_sub(first_ns) / COUNT as u64 + 1;
        Self { from_ns: Some(first_ns), width_ns, ..Self::default() }
    }

    /// At `to_ns` it looks like this; since the look before, at `after_ns`, it went on as it was then.
    pub(super) fn fill(&mut self, after_ns: Option<u64>, to_ns: u64, look: Look) {
        let from_ns = *self.from_ns.get_or_insert(to_ns);
        if to_ns < from_ns {
            return;
        }
        while (to_ns - from_ns) / self.width_ns >= COUNT as u64 {
            self.widen();
        }
        let last = self.bucket(to_ns);
        let first = after_ns.map_or(last, |after| self.bucket(after).min(last));
        if self.looks.len() <= last {
            self.looks.resize(last + 1, Look::Unseen);
        }
        for slot in &mut self.looks[first..last] {
            *slot = self.last.max(*slot);
        }
        self.looks[last] = look.max(self.looks[last]);
        self.last = look;
    }

    /// The worst from one time up to, and without, another.
    pub(super) fn worst(&self, from_ns: u64, to_ns: u64) -> Look {
        let begin = self.from_ns.unwrap_or(u64::MAX);
        if to_ns <= from_ns || to_ns <= begin {
            return Look::Unseen;
        }
        let first = self.bucket(from_ns);
        let last = self.bucket(to_ns - 1).min(self.looks.len().saturating_sub(1));
        self.looks.get(first..=last).unwrap_or_default().iter().copied().max().unwrap_or_default()
    }

    fn bucket(&self, at_ns: u64) -> usize {
        let since = at_ns.saturating_sub(self.from_ns.unwrap_or(at_ns));
        usize::try_from(since / self.width_ns).unwrap_or(usize::MAX)
    }

    /// Every two buckets become one.
    fn widen(&mut self) {
        self.looks = self.looks.chunks(2).map(|two| two.iter().copied().max().unwrap_or_default()).collect();
        self.width_ns = self.width_ns.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::{Buckets, COUNT, Look};
    use crate::rules::Severity;

    const SECOND: u64 = 1_000_000_000;
    const ERROR: Look = Look::Found(Severity::Error);

    #[test]
    fn it_goes_on_as_it_was_until_the_next_look() {
        let mut buckets = Buckets::over(0, 10 * SECOND);
        buckets.fill(None, 0, Look::Clear);
        buckets.fill(Some(0), 2 * SECOND, Look::Clear);
        buckets.fill(Some(2 * SECOND), 4 * SECOND, ERROR);
        buckets.fill(Some(4 * SECOND), 6 * SECOND, Look::Clear);
        // a bucket lies across a second's ends
        let second = |at: u64| buckets.worst(at * SECOND + SECOND / 4, at * SECOND + SECOND / 2);
        let seconds =
            [Look::Clear, Look::Clear, Look::Clear, Look::Clear, ERROR, ERROR, Look::Unseen, Look::Unseen];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(second), seconds);
    }

    #[test]
    fn a_session_of_any_length_keeps_to_its_buckets_and_loses_no_error() {
        let mut buckets = Buckets::default();
        let mut before = None;
        for at in 0..100_000 {
            let look = if at == 5 { ERROR } else { Look::Clear };
            buckets.fill(before, at * SECOND, look);
            before = Some(at * SECOND);
        }
        assert!(buckets.looks.len() <= COUNT);
        assert_eq!(buckets.worst(0, 200 * SECOND), ERROR);
        assert_eq!(buckets.worst(50_000 * SECOND, 60_000 * SECOND), Look::Clear);
    }
}
