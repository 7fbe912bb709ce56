//! The end of a thread of a load: whether the data that it moved arrived.

use super::{Order, Thread};
use crate::ffi::verbs::Region;
use crate::load::LoadError;
use crate::load::layout::Layout;
use crate::load::pattern::{self, Wrong};
use crate::model::{LoadOp, WorkerPhase};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How long a peer that is at its end too may take to say so, or to look at the data.
pub(super) const LAST_WORD: Duration = Duration::from_secs(5);

/// What the peer found where our data went.
#[derive(Clone, Copy, Debug)]
pub(in crate::load) enum Verdict {
    /// It has nothing to look at: we read.
    NotWanted,
    /// This.
    Found(Wrong),
    /// It cannot look, or is gone.
    NotLooked,
    /// It has not said so in time.
    Late,
}

impl Thread {
    /// Waits for what the peer has to say at the end: that it is at rest, and what it found where our data went.
    pub(in crate::load) fn last_word(&self, wants_rest: bool) -> Verdict {
        let (mut wants_rest, mut wants_verdict) = (wants_rest, self.params.op == LoadOp::Write);
        let mut verdict = if wants_verdict { Verdict::Late } else { Verdict::NotWanted };
        while wants_rest || wants_verdict {
            match self.orders.recv_timeout(LAST_WORD) {
                Ok(Order::Release) => wants_rest = false,
                Ok(Order::Verdict(found)) => {
                    (verdict, wants_verdict) = (found.map_or(Verdict::NotLooked, Verdict::Found), false);
                }
                Ok(_) => {}
                // a counted load ends on each rail when it does
                Err(RecvTimeoutError::Timeout) if self.control.phase() != WorkerPhase::Done => {}
                Err(_) => break,
            }
        }
        verdict
    }

    /// Reports data that did not arrive: ours, which we look at, or those that we wrote and the peer looked at.
    pub(in crate::load) fn judge(
        &self,
        local: Option<&Arc<Region>>,
        layout: &Layout,
        operations: &[u64],
        verdict: Verdict,
    ) {
        let size_bytes = self.params.size_bytes;
        let not_checked = |why: &str| {
            let text = format!("{}: data not checked: {why}", self.worker.device);
            let text = self.worker.unit.name(LoadError::Other(text)).to_string();
            self.worker.report([], text);
        };
        let (wrong, (place, wanted)) = match (self.params.op, local) {
            (LoadOp::Read, Some(local)) => {
                match pattern::wrong(local.buffer(), layout, size_bytes, operations) {
                    Ok(wrong) => (wrong, ("the buffer", "what the peer holds")),
                    Err(error) => return not_checked(&error.to_string()),
                }
            }
            (LoadOp::Write, _) if operations.iter().all(|count| *count == 0) => return,
            (LoadOp::Write, _) => match verdict {
                Verdict::Found(wrong) => (wrong, ("the peer's buffer", "what was written")),
                Verdict::NotWanted => return,
                Verdict::NotLooked => return not_checked("the peer did not look at what was written"),
                Verdict::Late => {
                    let seconds = LAST_WORD.as_secs();
                    return not_checked(&format!(
                        "the peer did not say within {seconds} s what it found where they were written"
                    ));
                }
            },
            (LoadOp::Read, None) => return,
        };
        if wrong.messages > 0 {
            let op = match self.params.op {
                LoadOp::Read => "READs",
                LoadOp::Write => "WRITEs",
            };
            let text = format!(
                "{}: {}: {op} completed without their data",
                self.worker.device,
                wrong.in_words(place, wanted)
            );
            let text = self.worker.unit.name(LoadError::Other(text)).to_string();
            self.worker.report([("DATA_MISMATCH".to_owned(), wrong.messages)], text);
        }
    }
}
