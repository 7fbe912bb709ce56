//! Which requests of a queue pair have completed, by the completions that speak for those before them.

/// Which requests of a queue pair are accounted for. A completion speaks for all requests before it, as a
/// reliable connection completes them in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    pub(super) depth: u32,
    /// Oldest request not accounted for.
    oldest: u32,
    /// Requests accounted for and not posted again.
    pub(super) idle: u32,
    /// Good operations so far.
    pub(super) good: u64,
}

impl Ledger {
    pub(super) fn new(depth: u32) -> Self {
        Self { depth, oldest: 0, idle: 0, good: 0 }
    }

    /// Requests from the oldest up to `slot`, which are accounted for from now on.
    #[inline]
    pub(super) fn through(&mut self, slot: u32) -> u32 {
        let after = slot + 1;
        let count = if after > self.oldest { after - self.oldest } else { after + self.depth - self.oldest };
        self.oldest = if after == self.depth { 0 } else { after };
        self.idle += count;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::Ledger;

    #[test]
    fn a_completion_accounts_for_the_unsignalled_requests_before_it() {
        let mut ledger = Ledger::new(8);
        assert_eq!([3, 7, 3, 4, 7].map(|slot| ledger.through(slot)), [4, 4, 4, 1, 3]);
    }

    #[test]
    fn a_queue_of_one_accounts_for_one_each_time() {
        let mut ledger = Ledger::new(1);
        assert_eq!([0, 0, 0].map(|slot| ledger.through(slot)), [1, 1, 1]);
    }

    #[test]
    fn a_whole_round_between_completions_is_the_depth() {
        let mut ledger = Ledger::new(8);
        ledger.through(4);
        assert_eq!(ledger.through(4), 8);
    }
}
