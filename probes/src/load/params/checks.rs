//! What cannot be asked for together.

use super::{Memory, Params, Shape, Transport, WorkingSet};

impl Params {
    /// Refuses what a striped load cannot do, and a batch that its queues cannot hold over so many `rails`.
    ///
    /// # Errors
    ///
    /// In words: the flag, and what to leave out or ask for.
    pub fn check_shape(&self, rails: Option<usize>) -> Result<(), String> {
        if self.shape != Shape::Striped {
            return Ok(());
        }
        for (asked, flag, why) in [
            (self.bidirectional, "--bidirectional", "only one end posts batches; leave it out"),
            (self.operations.is_some(), "--operations (-n)", "rails share each batch; end it with --for"),
            (
                self.rate_gb_per_s.is_some(),
                "--rate",
                "rails wait for each other, not for a clock; leave it out",
            ),
            (
                self.chain.is_some(),
                "--chain (-l)",
                "a queue pair's part of a batch is one chain; leave it out",
            ),
            (
                self.cq_mod.is_some(),
                "--cq-mod (-Q)",
                "a queue pair's part of a batch has one completion; leave it out",
            ),
        ] {
            if asked {
                return Err(format!("{flag} and --shape striped: {why}"));
            }
        }
        let Some(rails) = rails.and_then(|rails| u32::try_from(rails).ok()) else { return Ok(()) };
        let batch = self.batch;
        if batch < rails {
            return Err(format!(
                "--batch {batch} over {rails} rails: some would get no page; ask for --batch {rails} or more"
            ));
        }
        let qps = (self.qps / self.workers.max(1)).max(1);
        let pages = batch.div_ceil(rails.max(1)).div_ceil(qps);
        if pages > self.depth {
            return Err(format!(
                "--batch {batch} over {rails} rails is {pages} pages for each of a thread's {qps} queue pairs a \
                 rail, which hold {}: ask for --depth {pages}, a smaller batch or more --qps",
                self.depth
            ));
        }
        Ok(())
    }

    /// Refuses a working set that does not hold one message of each queue pair.
    ///
    /// # Errors
    ///
    /// In words: how much it must be.
    pub fn check_working_set(&self) -> Result<(), String> {
        let WorkingSet::Bytes(bytes) = self.working_set else { return Ok(()) };
        let least = u64::from(self.qps.max(1)).saturating_mul(self.size_bytes);
        if bytes >= least {
            return Ok(());
        }
        let pairs = if self.qps == 1 { "queue pair" } else { "queue pairs" };
        Err(format!(
            "--working-set {bytes} B a rail is too small for {} {pairs} x {} B: {least} B is the least",
            self.qps, self.size_bytes
        ))
    }

    /// Refuses what the transport cannot do.
    ///
    /// # Errors
    ///
    /// In words: the flag, and what to leave out.
    pub fn check_transport(&self) -> Result<(), String> {
        if self.transport == Transport::Verbs {
            return Ok(());
        }
        for (asked, flag) in [
            (self.bidirectional, "--bidirectional"),
            (self.shape == Shape::Striped, "--shape striped"),
            (self.memory != Memory::Host, "--memory gpu:N"),
            (self.leg.is_some(), "--leg"),
            (self.rate_gb_per_s.is_some(), "--rate"),
            (self.working_set != WorkingSet::Hot, "--working-set"),
        ] {
            if asked {
                return Err(format!("{flag} and --transport tcp: only --transport verbs can do that"));
            }
        }
        Ok(())
    }
}
