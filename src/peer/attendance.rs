//! `load` from the word to go to its end: the server hears how far we are, what fails is opened anew, and both end
//! together.

mod chores;
mod parting;
mod there;

use super::diary::Diary;
use super::error::PeerError;
use super::link::{Link, printable};
use super::mending::Mending;
use super::message::{Message, Progress};
use super::party::{Done, Party};
use super::server::Say;
use super::sight::Sight;
use super::traffic::PeerSide;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// How often the server hears how far we are.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// How often the threads are asked what has happened to them.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How a load came to its end.
#[derive(Debug)]
pub enum Ended {
    /// This end was done, or was told to stop.
    Here,
    /// The peer was told to stop; in its words.
    There(String),
    /// The peer is gone.
    Lost(PeerError),
}

/// The client's end of a load that is about to run.
pub(super) struct Attendance {
    /// The control connection.
    pub link: Link,
    /// Our threads.
    pub party: Party,
    /// Takes lines for people.
    pub say: Say,
    /// What the server does itself.
    pub there: Arc<PeerSide>,
    /// What the session is to keep of all that happens.
    pub diary: Arc<Diary>,
    /// The server's host, where it is seen.
    pub sight: Option<Arc<Sight>>,
}

impl Attendance {
    /// From `go` to `bye`; the load is stopped when this returns.
    pub async fn attend(
        mut self,
        go: oneshot::Receiver<()>,
        mut finished: oneshot::Receiver<()>,
        interrupted: &mut (impl Future<Output = &'static str> + Unpin),
    ) -> Ended {
        let mut reason = "done".to_owned();
        let mut ended = Ended::Here;
        let begun = tokio::select! {
            go = go => go.is_ok(),
            gone = self.link.next() => { ended = why_gone(&self.link, gone); false }
            signal = &mut *interrupted => { reason = format!("stopped by {signal}"); false }
        };
        if !begun && matches!(ended, Ended::Here) && reason == "done" {
            "called off before it began".clone_into(&mut reason);
        }
        let mut running = Running::new(&self.party, self.link.timing());
        if begun {
            self.party.traffic.go();
            if self.party.mends() {
                self.party.traffic.mend();
            }
            if let Err(error) = self.link.send(Message::Go).await {
                ended = Ended::Lost(error);
            } else {
                ended = self.run(&mut running, &mut finished, interrupted, &mut reason).await;
            }
        }
        match &ended {
            Ended::Here => {}
            Ended::There(words) => self.diary.note(None, &format!("ended by the peer: {words}")),
            Ended::Lost(error) => self.diary.note(None, &error.to_string()),
        }
        // after that, as the last sample comes once the load is over
        self.party.traffic.stop();
        let seconds = running.seconds.unwrap_or(running.start.elapsed().as_secs_f64());
        self.rest(begun).await;
        if begun {
            self.tell_unclosed();
        }
        if let Ended::There(words) = &ended {
            reason = format!("stopped: {words}");
        }
        if !matches!(ended, Ended::Lost(_))
            && let Err(error) = self.part(&mut running, seconds, reason).await
        {
            ended = Ended::Lost(error);
        }
        self.link.close().await;
        ended
    }

    /// From `go` until our threads have come to rest.
    async fn run(
        &mut self,
        running: &mut Running,
        finished: &mut oneshot::Receiver<()>,
        interrupted: &mut (impl Future<Output = &'static str> + Unpin),
        reason: &mut String,
    ) -> Ended {
        let mut ended = Ended::Here;
        let mut tick = interval(REPORT_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // from when we were told to stop: until then our threads must be at rest
        let mut resting: Option<Instant> = None;
        loop {
            let mut stops = false;
            tokio::select! {
                said = self.link.next() => match self.hear(running, said) {
                    Ok(()) => {}
                    Err(gone @ Ended::Lost(_)) => return gone,
                    Err(gone) => { ended = gone; stops = true; }
                },
                _ = &mut *finished, if resting.is_none() => stops = true,
                signal = &mut *interrupted, if resting.is_none() => {
                    *reason = format!("stopped by {signal}");
                    stops = true;
                }
                _ = tick.tick() => {
                    if self.party.traffic.is_over() {
                        running.seconds.get_or_insert(running.start.elapsed().as_secs_f64());
                    }
                    let seconds = running.seconds.unwrap_or(running.start.elapsed().as_secs_f64());
                    // a link that is gone is noticed by the arm above
                    let _ = self.link.send(Message::Progress(self.progress(running, seconds))).await;
                }
                _ = look.tick() => self.look(running, resting.is_none()).await,
                Some(done) = running.chores.join_next() => {
                    if let Ok(done) = done {
                        self.finish(running, done).await;
                    }
                }
                () = sleep_until(resting.unwrap_or_else(Instant::now)), if resting.is_some() => return ended,
            }
            if stops && resting.is_none() {
                self.party.traffic.stop();
                running.seconds.get_or_insert(running.start.elapsed().as_secs_f64());
                resting = Some(Instant::now() + self.link.timing().farewell);
            }
            if resting.is_some() && self.party.traffic.is_over() {
                return ended;
            }
        }
    }

    /// What the server says while the load runs.
    fn hear(&mut self, running: &mut Running, said: Result<Message, PeerError>) -> Result<(), Ended> {
        let both = self.party.is_bidirectional();
        if let Ok(message) = &said {
            self.party.check_news(message, self.link.peer()).map_err(Ended::Lost)?;
        }
        match said {
            Ok(Message::Checked { slot, found }) if self.party.writes() => {
                if let Some(at) = self.party.at(slot) {
                    self.party.traffic.verdict(at, found);
                }
            }
            Ok(Message::AtRest { slot, operations }) if both => match self.party.at(slot) {
                Some(at) if self.party.writes() => self.party.check(&mut running.chores, at, operations),
                Some(at) => self.party.traffic.release(at),
                None => {}
            },
            Ok(Message::Progress(mut progress)) if both => {
                let back = progress.back.take();
                self.progress_there(running, progress, back.is_some());
                self.follow(running, &back.unwrap_or_default());
            }
            Ok(Message::Frame { frame }) if self.sight.is_some() => self.see(&frame),
            Ok(Message::Reopened { slot, end }) => {
                let ours = self.party.at(slot).and_then(|at| Some((at, running.mending.answered(at)?)));
                match (ours, end) {
                    (Some((at, ours)), Ok(theirs)) => {
                        self.party.connect(&mut running.chores, at, ours, theirs);
                    }
                    (Some((at, _)), Err(reason)) => {
                        let reason = format!("{}: {}", self.link.peer(), printable(&reason));
                        self.refused(running, at, &reason);
                    }
                    // it came too late, and another try is under way
                    (None, _) => {}
                }
            }
            said => return Err(why_gone(&self.link, said)),
        }
        Ok(())
    }

    /// A sample of the server's host.
    fn see(&self, frame: &str) {
        if let Some(sight) = &self.sight {
            sight.take(frame);
        }
    }

    /// Tells people, and the session, what happened to a worker that its engine does not know.
    fn tell(&self, at: usize, line: &str) {
        (self.say)(line);
        let load = self.party.traffic.load();
        self.diary.note(load.workers.get(at).map(|worker| worker.device.as_str()), line);
    }

    /// How far we are; a thread that only follows the peer's has not failed.
    fn progress(&self, running: &Running, seconds: f64) -> Progress {
        let mut progress = self.party.progress(seconds);
        let follows = |name: &String| {
            (0..self.party.slots.len()).any(|at| running.mending.follows(at) && self.party.name(at) == *name)
        };
        progress.failed.retain(|name| !follows(name));
        progress
    }
}

/// What a load that runs has to remember.
struct Running {
    start: Instant,
    /// How long it ran, once it is over.
    seconds: Option<f64>,
    mending: Mending,
    /// Threads of the server that failed alone, and since when.
    away_there: BTreeMap<String, Instant>,
    chores: JoinSet<Done>,
}

impl Running {
    fn new(party: &Party, timing: super::link::Timing) -> Self {
        let start = Instant::now();
        let mending = Mending::of(&party.plan.params, timing, start);
        Self { start, seconds: None, mending, away_there: BTreeMap::new(), chores: JoinSet::new() }
    }
}

/// What it means that the server said something during a load.
fn why_gone(link: &Link, said: Result<Message, PeerError>) -> Ended {
    match said {
        Ok(Message::Stop { reason } | Message::Bye { reason }) => Ended::There(printable(&reason)),
        Ok(other) => Ended::Lost(link.out_of_turn(&other, "nothing")),
        Err(error) => Ended::Lost(error),
    }
}
