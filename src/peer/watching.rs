//! `serve` from the word to go to the goodbye of its client.

use super::attendance::LOOK_EVERY;
use super::error::PeerError;
use super::link::{Link, printable};
use super::message::{Message, Progress};
use super::party::{Done, Party};
use super::server::{Say, stopped};
use probes::load::Happening;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

/// How often the client of a load of both directions hears how far we are.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// A client's load that runs.
pub(super) struct Watching<'a> {
    link: &'a mut Link,
    party: &'a Party,
    say: Say,
    start: Instant,
    so_far: Progress,
    chores: JoinSet<Done>,
    /// Threads that are being opened anew.
    mending: BTreeSet<usize>,
    /// Failures of our own threads that were told.
    told: Vec<String>,
}

impl<'a> Watching<'a> {
    pub fn new(link: &'a mut Link, party: &'a Party, say: Say) -> Self {
        let (start, so_far) = (Instant::now(), Progress::default());
        Self {
            link,
            party,
            say,
            start,
            so_far,
            chores: JoinSet::new(),
            mending: BTreeSet::new(),
            told: Vec::new(),
        }
    }

    /// Until the client says goodbye; `ended` is the word that this end must stop.
    pub async fn watch(mut self, ended: &mut watch::Receiver<Option<&'static str>>) -> Result<(), PeerError> {
        let both = self.party.is_bidirectional();
        let mut patience = None;
        let mut tick = interval(REPORT_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let message = tokio::select! {
                message = self.link.next() => message?,
                reason = stopped(ended), if patience.is_none() => {
                    patience = Some(Instant::now() + self.link.timing().farewell * 2);
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
                Some(done) = self.chores.join_next() => {
                    if let Ok(done) = done {
                        self.finish(done).await?;
                    }
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
            self.hear(message)?;
        }
    }

    /// What the client says while its load runs.
    fn hear(&mut self, message: Message) -> Result<(), PeerError> {
        match message {
            Message::Progress(progress) => {
                for thread in progress.failed.iter().filter(|name| !self.so_far.failed.contains(name)) {
                    self.tell(&format!("its {} failed", printable(thread)));
                }
                for thread in self.so_far.failed.iter().filter(|name| !progress.failed.contains(name)) {
                    self.tell(&format!("its {} is back", printable(thread)));
                }
                self.so_far = progress;
            }
            Message::AtRest { slot, operations } if self.party.writes() || self.party.is_bidirectional() => {
                if self.party.is_bidirectional() && self.party.plan.params.operations.is_none() {
                    self.party.traffic.stop();
                }
                match self.party.at(slot) {
                    Some(at) if self.party.writes() => self.party.check(&mut self.chores, at, operations),
                    Some(at) => self.party.traffic.release(at),
                    None => {}
                }
            }
            Message::Checked { slot, found } if self.party.writes() => {
                if let Some(at) = self.party.at(slot) {
                    self.party.traffic.verdict(at, found);
                }
            }
            Message::Reopen { slot, end } => match self.party.at(slot) {
                // one at a time; a client that asks again meanwhile gets that one's answer
                Some(at) if self.mending.insert(at) => self.party.reopen(&mut self.chores, at, end),
                Some(_) => {}
                None => {
                    return Err(self
                        .link
                        .out_of_turn(&Message::Reopen { slot, end }, "a thread of the plan"));
                }
            },
            Message::Resumed { slot } => {
                if let Some(at) = self.party.at(slot) {
                    self.party.traffic.resume(at);
                }
            }
            other => return Err(self.link.out_of_turn(&other, "`progress` or `bye`")),
        }
        Ok(())
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
                let slot = self.party.slot(at);
                self.link.send(Message::Reopened { slot, end }).await
            }
            Done::Opened(..) | Done::Connected(..) => Ok(()),
        }
    }

    /// What happened to our own threads, in a load of both directions.
    async fn look(&mut self) -> Result<(), PeerError> {
        for (at, happening) in self.party.traffic.news() {
            match happening {
                Happening::Failed(why) => {
                    self.tell(&format!("our direction: {why}"));
                    self.told.push(why);
                }
                Happening::AtRest(operations) => {
                    let slot = self.party.slot(at);
                    // before the word with which the client's thread may end
                    self.report().await?;
                    self.link.send(Message::AtRest { slot, operations }).await?;
                }
            }
        }
        Ok(())
    }

    async fn report(&self) -> Result<(), PeerError> {
        let progress = self.party.progress(self.start.elapsed().as_secs_f64());
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

    /// What the load has moved, in one phrase.
    fn result(&self) -> String {
        let (progress, rails) = (&self.so_far, self.party.plan.lines.len());
        let gb = progress.bytes as f64 / 1e9;
        let rate = if progress.seconds > 0.0 { gb / progress.seconds } else { 0.0 };
        let back = if self.party.is_bidirectional() {
            let ours = self.party.progress(0.0).bytes as f64 / 1e9;
            format!("; {ours:.3} GB the other way")
        } else {
            String::new()
        };
        format!(
            "{gb:.3} GB in {:.1} s over {} of {rails} rails, {rate:.3} GB/s with warm-up{back}",
            progress.seconds,
            progress.rails.min(rails),
        )
    }
}
