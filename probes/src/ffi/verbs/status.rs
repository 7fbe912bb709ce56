//! Completion statuses by name, and what usually causes them.

use std::fmt;

/// Status of a completion, `enum ibv_wc_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Status(pub(super) u32);

/// Names without `IBV_WC_` in the order of the enum, each with what usually causes it and what to look at.
///
/// Sources: `ibv_poll_cq`(3), InfiniBand Architecture Specification volume 1, section 11.6.2.
const WORDS: &[(&str, &str)] = &[
    ("SUCCESS", "no error"),
    ("LOC_LEN_ERR", "the message is longer than the queue pair or the port allows"),
    ("LOC_QP_OP_ERR", "the work request is not valid for this queue pair"),
    ("LOC_EEC_OP_ERR", "not used by this transport"),
    ("LOC_PROT_ERR", "the local buffer is not covered by its memory region"),
    ("WR_FLUSH_ERR", "follows another error: the queue pair stopped and its queued requests were thrown out"),
    ("MW_BIND_ERR", "a memory window could not be bound"),
    ("BAD_RESP_ERR", "the peer sent an answer that does not fit; look for loss or a driver fault"),
    ("LOC_ACCESS_ERR", "the local memory region does not allow this access"),
    ("REM_INV_REQ_ERR", "the peer refused the request: READ depth or size beyond what it was set up for"),
    ("REM_ACCESS_ERR", "the peer's memory region does not cover or allow this access; was it restarted?"),
    ("REM_OP_ERR", "the peer could not do it; look at its log and its device"),
    (
        "RETRY_EXC_ERR",
        "the peer did not answer: it ended, its link is down, or packets are lost; look at link state, MTU, PFC \
         and routes, and raise the timeout (-u) if the peer is only slow",
    ),
    ("RNR_RETRY_EXC_ERR", "the peer had no receive posted"),
    ("LOC_RDD_VIOL_ERR", "not used by this transport"),
    ("REM_INV_RD_REQ_ERR", "not used by this transport"),
    ("REM_ABORT_ERR", "the peer aborted the request"),
    ("INV_EECN_ERR", "not used by this transport"),
    ("INV_EEC_STATE_ERR", "not used by this transport"),
    ("FATAL_ERR", "the device had a fatal error; see dmesg"),
    ("RESP_TIMEOUT_ERR", "the answer did not come in time"),
    ("GENERAL_ERR", "the driver names no cause; see dmesg"),
    ("TM_ERR", "tag matching failed"),
    ("TM_RNDV_INCOMPLETE", "tag matching did not complete"),
];

impl Status {
    /// Whether the operation succeeded.
    #[must_use]
    pub fn is_success(self) -> bool {
        self.0 == 0
    }

    /// Whether this only follows an earlier error of the queue pair.
    #[must_use]
    pub fn is_flush(self) -> bool {
        self.0 == 5
    }

    /// What usually causes it, and what to look at.
    #[must_use]
    pub fn usual_cause(self) -> &'static str {
        WORDS
            .get(self.0 as usize)
            .map_or("unknown to this version of railscope; see ibv_poll_cq(3)", |word| word.1)
    }
}

impl fmt::Display for Status {
    /// The name without prefix: `RETRY_EXC_ERR`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match WORDS.get(self.0 as usize) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "STATUS_{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Status;
    use rdma_sys::ibv_wc_status::{
        IBV_WC_FATAL_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_TM_RNDV_INCOMPLETE, IBV_WC_WR_FLUSH_ERR,
    };

    #[test]
    fn names_are_those_of_the_header() {
        let name = |status| Status(status).to_string();
        assert_eq!(name(IBV_WC_RETRY_EXC_ERR), "RETRY_EXC_ERR");
        assert_eq!(name(IBV_WC_FATAL_ERR), "FATAL_ERR");
        assert_eq!(name(IBV_WC_TM_RNDV_INCOMPLETE), "TM_RNDV_INCOMPLETE");
        assert_eq!(name(77), "STATUS_77");
        assert!(Status(IBV_WC_WR_FLUSH_ERR).is_flush());
    }
}
