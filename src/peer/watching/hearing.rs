//! What a client says while its load runs, and what is done for it.

use super::super::error::PeerError;
use super::super::link::printable_name;
use super::super::message::{Message, Progress, Slot};
use super::Watching;
use probes::load::Endpoint;
use tokio::time::Instant;

impl Watching<'_> {
    /// Does what a message asks for.
    ///
    /// # Errors
    ///
    /// The message does not belong here, or the client is gone.
    pub(super) async fn hear(&mut self, message: Message) -> Result<(), PeerError> {
        self.party.check_news(&message, self.link.peer())?;
        match message {
            Message::Progress(progress) => self.progress(progress),
            Message::AtRest { slot, operations } if self.party.writes() || self.party.is_bidirectional() => {
                return self.at_rest(slot, operations).await;
            }
            Message::Checked { slot, found } if self.party.writes() => {
                if let Some(at) = self.party.at(slot) {
                    self.party.traffic.verdict(at, found);
                }
            }
            Message::Reopen { slot, end } => return self.reopen(slot, end),
            Message::Resumed { slot } => {
                if let Some(at) = self.party.at(slot) {
                    self.party.traffic.resume(at);
                    if let Some(line) = self.returning.resumed(self.party, at) {
                        self.tell(&format!("our direction: {line}"));
                        self.report().await?;
                    }
                }
            }
            other => return Err(self.link.out_of_turn(&other, "`progress` or `bye`")),
        }
        Ok(())
    }

    /// How far the client's load is, and which of its threads failed or came back.
    fn progress(&mut self, progress: Progress) {
        self.told_at = Instant::now();
        for thread in progress.failed.iter().filter(|name| !self.so_far.failed.contains(name)) {
            self.tell(&format!("its {} failed", printable_name(thread)));
        }
        for thread in self.so_far.failed.iter().filter(|name| !progress.failed.contains(name)) {
            self.tell(&format!("its {} is back", printable_name(thread)));
        }
        self.so_far = progress;
    }

    /// A thread of the client's has nothing out any more.
    async fn at_rest(&mut self, slot: Slot, operations: Vec<u64>) -> Result<(), PeerError> {
        if self.party.is_bidirectional() && self.party.plan.params.operations.is_none() {
            self.party.traffic.stop();
            self.returning.close();
        }
        match self.party.at(slot) {
            Some(at) if self.returning.is_away(at) => {
                // nothing of ours is out, and the client's thread need not wait for it
                self.link.send(Message::AtRest { slot, operations: Vec::new() }).await?;
                if self.party.writes() {
                    self.party.check(&mut self.chores, at, operations);
                }
            }
            Some(at) if self.party.writes() => self.party.check(&mut self.chores, at, operations),
            Some(at) => self.party.traffic.release(at),
            None => {}
        }
        Ok(())
    }

    /// A thread of the client's was opened anew, and wants ours to be.
    fn reopen(&mut self, slot: Slot, end: Endpoint) -> Result<(), PeerError> {
        let refused =
            |wanted| Err(self.link.out_of_turn(&Message::Reopen { slot, end: end.clone() }, wanted));
        let Some(at) = self.party.at(slot) else { return refused("a thread of the plan") };
        // the server has seen nothing of it that the client has not told, unless it failed here
        if !self.returning.is_away(at) && !self.so_far.failed.contains(&self.party.name_there(slot)) {
            return refused("a thread that has failed");
        }
        // one at a time; a client that asks again meanwhile gets that one's answer
        if self.mending.insert(at) {
            self.returning.wanted(self.party, &mut self.chores, at, end);
        }
        Ok(())
    }
}
