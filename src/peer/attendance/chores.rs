//! What has to be done for our threads while they run: what failed is opened anew, what was written is looked at.

use super::super::message::{Message, Slot};
use super::super::party::Done;
use super::{Attendance, Running};
use probes::load::Happening;
use probes::model::WorkerPhase;
use tokio::time::Instant;

impl Attendance {
    /// What happened to our threads, and whose time to be tried again has come.
    pub(super) async fn look(&mut self, running: &mut Running, goes_on: bool) {
        for (at, happening) in self.party.traffic.news() {
            match happening {
                Happening::Failed(why) => {
                    let line = if goes_on { self.party.failed(&mut running.mending, at, &why) } else { why };
                    (self.say)(&line);
                }
                Happening::AtRest(operations) => {
                    let slot = self.party.slot(at);
                    let _ = self.link.send(Message::AtRest { slot, operations }).await;
                }
            }
        }
        if !goes_on {
            return;
        }
        let now = Instant::now();
        for at in running.mending.due(now) {
            self.party.open(&mut running.chores, at);
        }
        for at in running.mending.unanswered(now) {
            let reason = format!("{} did not answer for {}", self.link.peer(), self.party.name(at));
            self.refused(running, at, &reason);
        }
    }

    /// What came of something that may block.
    pub(super) async fn finish(&mut self, running: &mut Running, done: Done) {
        match done {
            Done::Opened(at, Ok(end)) => {
                running.mending.asked(at, end.clone(), Instant::now());
                // the server opens nothing anew of which it has not heard that it failed
                let seconds = running.start.elapsed().as_secs_f64();
                let _ = self.link.send(Message::Progress(self.progress(running, seconds))).await;
                let _ = self.link.send(Message::Reopen { slot: self.party.slot(at), end }).await;
            }
            Done::Connected(at, Ok(())) => {
                let _ = self.link.send(Message::Resumed { slot: self.party.slot(at) }).await;
                self.party.traffic.resume(at);
                let how =
                    if running.mending.follows(at) { "opened anew for the peer's direction" } else { "back" };
                let away = running.mending.back(at, Instant::now());
                self.tell(at, &format!("{}: {how} after {:.1} s", self.party.name(at), away.as_secs_f64()));
            }
            Done::Opened(at, Err(reason)) | Done::Connected(at, Err(reason)) => {
                self.refused(running, at, &reason);
            }
            Done::Checked(at, found) => {
                let (answer, text) = self.party.checked(at, found, self.link.peer());
                let _ = self.link.send(answer).await;
                if let Some(text) = text {
                    self.tell(at, &text);
                }
                self.party.traffic.release(at);
            }
            Done::Reopened(..) => {}
        }
    }

    /// A try to open a rail anew came to nothing.
    pub(super) fn refused(&self, running: &mut Running, at: usize, reason: &str) {
        let line = running.mending.refusal(at, Instant::now(), reason);
        self.tell(at, &line);
    }

    /// Opens our threads anew whose counterparts failed and can be opened again: they have the same queue pairs.
    pub(super) fn follow(&self, running: &mut Running, back: &[Slot]) {
        if running.seconds.is_some() || !self.party.mends() {
            return;
        }
        let workers = self.party.traffic.workers();
        for at in back.iter().filter_map(|slot| self.party.at(*slot)) {
            // one that failed, too, is tried again in its own time
            let is_well = workers
                .get(at)
                .is_some_and(|worker| matches!(worker.phase, WorkerPhase::Warmup | WorkerPhase::Measuring));
            if is_well && running.mending.invited(at, Instant::now()) {
                self.party.open(&mut running.chores, at);
            }
        }
    }
}
