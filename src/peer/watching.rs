//! `serve` from the word to go to the goodbye of its client.

mod hearing;
mod result;

use super::attendance::LOOK_EVERY;
use super::error::PeerError;
use super::link::{Link, printable};
use super::message::{Message, Progress};
use super::party::{Done, Party};
use super::returning::Returning;
use super::server::{Say, stopped};
use super::telling::Telling;
use probes::load::Happening;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

/// How often the client of a load of both directions hears how far we are.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// A client that has said nothing of its load for so long is shown out; it tells each second.
const TELLS_WITHIN: Duration = Duration::from_mins(1);

/// What a client may need beyond twice the time that its plan has.
const GRACE: Duration = Duration::from_mins(1);

/// A client's load that runs.
pub(super) struct Watching<'a> {
    link: &'a mut Link,
    party: &'a Party,
    say: Say,
    start: Instant,
    so_far: Progress,
    /// When the client told last how far it is.
    told_at: Instant,
    chores: JoinSet<Done>,
    /// Threads that are being opened anew, as the client wants it.
    mending: BTreeSet<usize>,
    /// Threads that failed on this end.
    returning: Returning,
    /// Failures of our own threads that were told.
    told: Vec<String>,
    /// This host's own samples, where the client wants them.
    telling: Option<Telling>,
}

impl<'a> Watching<'a> {
    pub fn new(link: &'a mut Link, party: &'a Party, say: Say) -> Self {
        let (start, so_far) = (Instant::now(), Progress::default());
        let returning = Returning::new(party, link.timing(), start);
        Self {
            returning,
            link,
            party,
            say,
            start,
            so_far,
            told_at: start,
            chores: JoinSet::new(),
            mending: BTreeSet::new(),
            told: Vec::new(),
            telling: None,
        }
    }

    /// The same, with this host's own samples for the client.
    pub fn telling(self, telling: Option<Telling>) -> Self {
        Self { telling, ..self }
    }

    /// Until the client says goodbye; `ended` is the word that this end must stop.
    pub async fn watch(mut self, ended: &mut watch::Receiver<Option<&'static str>>) -> Result<(), PeerError> {
        let both = self.party.is_bidirectional();
        let mut patience = None;
        let mut tick = interval(REPORT_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let over = self.overtime();
        loop {
            let message = tokio::select! {
                message = self.link.next() => message?,
                reason = stopped(ended), if patience.is_none() => {
                    patience = Some(Instant::now() + self.link.timing().farewell * 2);
                    self.returning.close();
                    let reason = format!("`railscope serve` was stopped by {reason}");
                    self.link.send(Message::Stop { reason }).await?;
                    continue;
                }
                () = sleep_until(patience.unwrap_or_else(Instant::now)), if patience.is_some() => {
                    return Err(PeerError::Late {
                        peer: self.link.peer().to_owned(),
                        wanted: "its goodbye",
                        seconds: (self.link.timing().farewell * 2).as_secs_f64(),
                    });
                }
                () = sleep_until(over.unwrap_or(self.start)), if over.is_some() => {
                    return Err(self.shown_out("its load goes on long after the time of its plan".to_owned()));
                }
                () = sleep_until(self.told_at + TELLS_WITHIN) => {
                    let seconds = TELLS_WITHIN.as_secs();
                    return Err(self.shown_out(format!("it has not told for {seconds} s how far its load is")));
                }
                Some(done) = self.chores.join_next() => {
                    if let Ok(done) = done {
                        self.finish(done).await?;
                    }
                    continue;
                }
                frame = told(&mut self.telling) => {
                    self.link.offer(frame);
                    continue;
                }
                _ = tick.tick(), if both => {
                    self.report().await?;
                    continue;
                }
                _ = look.tick(), if both => {
                    self.look().await?;
                    continue;
                }
            };
            if let Message::Bye { reason } = message {
                if both {
                    self.come_to_rest().await;
                    for line in self.party.traffic.failures() {
                        if !self.told.iter().any(|told| line.starts_with(told.as_str())) {
                            self.tell(&format!("our direction: {line}"));
                        }
                    }
                    self.report().await?;
                }
                self.tell(&format!("{}; {}", printable(&reason), self.result()));
                return Ok(());
            }
            self.hear(message).await?;
        }
    }

    /// When the client should have been done long ago; `None` for a load that is ended by hand or by a count.
    fn overtime(&self) -> Option<Instant> {
        let params = &self.party.plan.params;
        let span = Duration::try_from_secs_f64((params.warmup_s + params.duration_s?) * 2.0).ok()?;
        self.start.checked_add(span)?.checked_add(GRACE)
    }

    fn shown_out(&self, reason: String) -> PeerError {
        PeerError::ShownOut { peer: self.link.peer().to_owned(), reason }
    }

    /// What came of something that may block.
    async fn finish(&mut self, done: Done) -> Result<(), PeerError> {
        match done {
            Done::Checked(at, found) => {
                let (answer, text) = self.party.checked(at, found, self.link.peer());
                if let Some(text) = text {
                    (self.say)(&text);
                }
                self.party.traffic.release(at);
                self.link.send(answer).await
            }
            Done::Reopened(at, end) => {
                self.mending.remove(&at);
                if let Err(reason) = &end
                    && let Some(line) = self.returning.refused(at, reason)
                {
                    self.tell(&format!("our direction: {line}"));
                }
                let slot = self.party.slot(at);
                self.link.send(Message::Reopened { slot, end }).await
            }
            Done::Opened(at, end) => {
                if let Some(line) = self.returning.opened(self.party, &mut self.chores, at, end) {
                    self.tell(&format!("our direction: {line}"));
                }
                // the client hears at once of what is open
                self.report().await
            }
            Done::Connected(..) => Ok(()),
        }
    }

    /// What happened to our own threads, in a load of both directions.
    async fn look(&mut self) -> Result<(), PeerError> {
        for (at, happening) in self.party.traffic.news() {
            match happening {
                Happening::Failed(why) => {
                    let line = self.returning.failed(self.party, at, &why);
                    self.tell(&format!("our direction: {line}"));
                    self.told.push(why);
                    self.report().await?;
                }
                Happening::AtRest(operations) => {
                    let slot = self.party.slot(at);
                    // before the word with which the client's thread may end
                    self.report().await?;
                    self.link.send(Message::AtRest { slot, operations }).await?;
                }
            }
        }
        self.returning.try_due(self.party, &mut self.chores);
        Ok(())
    }

    async fn report(&self) -> Result<(), PeerError> {
        let back = self.returning.back(self.party);
        let progress = Progress { back, ..self.party.progress(self.start.elapsed().as_secs_f64()) };
        self.link.send(Message::Progress(progress)).await
    }

    /// Waits until our own threads have looked at their data.
    async fn come_to_rest(&self) {
        self.party.traffic.stop();
        self.party.let_go();
        let at_rest = async {
            while !self.party.traffic.is_over() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = timeout(self.link.timing().farewell, at_rest).await;
    }

    fn tell(&self, line: &str) {
        (self.say)(&format!("{}: {line}", self.link.peer()));
    }
}

/// Waits for this host's next sample; for ever where nobody wants any.
async fn told(telling: &mut Option<Telling>) -> Message {
    match telling {
        Some(telling) => telling.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
