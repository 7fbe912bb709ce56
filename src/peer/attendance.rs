//! `load` from the word to go to its end: the server hears how far we are, what fails is opened anew, and both end
//! together.

use super::diary::Diary;
use super::error::PeerError;
use super::link::{Link, printable, printable_name};
use super::mending::Mending;
use super::message::{Message, Progress};
use super::party::{Done, Party};
use super::server::Say;
use super::sight::Sight;
use super::traffic::PeerSide;
use probes::load::Happening;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

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
        if let Ended::There(words) = &ended {
            reason = format!("stopped: {words}");
        }
        if !matches!(ended, Ended::Lost(_))
            && let Err(error) = self.part(seconds, reason).await
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
                    let _ = self.link.send(Message::Progress(self.party.progress(seconds))).await;
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
            Ok(Message::Progress(progress)) if both => self.progress_there(progress),
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

    /// What happened to our threads, and whose time to be tried again has come.
    async fn look(&mut self, running: &mut Running, goes_on: bool) {
        for (at, happening) in self.party.traffic.news() {
            match happening {
                Happening::Failed(why) => {
                    let has_moved =
                        self.party.traffic.workers().get(at).is_some_and(|worker| worker.operations > 0);
                    let never = self.party.not_mended(has_moved);
                    let wait = (goes_on && self.party.mends() && never.is_none())
                        .then(|| running.mending.failed(at, Instant::now()))
                        .flatten();
                    match (wait, never.filter(|_| goes_on)) {
                        (Some(wait), _) => {
                            (self.say)(&format!("{why}; it is tried again in {} s", wait.as_secs_f64()));
                        }
                        (None, Some(never)) => (self.say)(&format!("{why}; {never}")),
                        (None, None) => (self.say)(&why),
                    }
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
    async fn finish(&mut self, running: &mut Running, done: Done) {
        match done {
            Done::Opened(at, Ok(end)) => {
                running.mending.asked(at, end.clone(), Instant::now());
                // the server opens nothing anew of which it has not heard that it failed
                let seconds = running.start.elapsed().as_secs_f64();
                let _ = self.link.send(Message::Progress(self.party.progress(seconds))).await;
                let _ = self.link.send(Message::Reopen { slot: self.party.slot(at), end }).await;
            }
            Done::Connected(at, Ok(())) => {
                let _ = self.link.send(Message::Resumed { slot: self.party.slot(at) }).await;
                self.party.traffic.resume(at);
                let away = running.mending.back(at, Instant::now());
                self.tell(at, &format!("{}: back after {:.1} s", self.party.name(at), away.as_secs_f64()));
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
    fn refused(&self, running: &mut Running, at: usize, reason: &str) {
        let next = match running.mending.refused(at, Instant::now()) {
            Some(wait) => format!("next in {} s", wait.as_secs_f64()),
            None => "not again, as the load is about to end".to_owned(),
        };
        self.tell(at, &format!("tried again: {reason}; {next}"));
    }

    /// Tells people, and the session, what happened to a worker that its engine does not know.
    fn tell(&self, at: usize, line: &str) {
        (self.say)(line);
        let load = self.party.traffic.load();
        self.diary.note(load.workers.get(at).map(|worker| worker.device.as_str()), line);
    }

    /// How far the server is with its own direction.
    fn progress_there(&self, progress: Progress) {
        let before = self.there.progress();
        let known = |list: fn(&Progress) -> &Vec<String>, line: &String| {
            before.as_ref().is_some_and(|before| list(before).contains(line))
        };
        let host = self.link.peer();
        for line in progress.troubles.iter().filter(|line| !known(|p| &p.troubles, line)) {
            let line = format!("{host}: {}", printable(line));
            (self.say)(&line);
            self.diary.note(None, &line);
        }
        for thread in progress.failed.iter().filter(|thread| !known(|p| &p.failed, thread)) {
            if self.party.mends() {
                (self.say)(&format!(
                    "{host}: the direction of {} stays down until ours fails too: only then both are opened anew",
                    printable_name(thread)
                ));
            }
        }
        self.there.set(progress);
    }

    /// Waits until nothing of ours is out: the server frees its buffers at our goodbye.
    async fn rest(&self, begun: bool) {
        if !begun || self.party.traffic.is_over() {
            return;
        }
        // nothing more will be said
        self.party.let_go();
        let at_rest = async {
            while !self.party.traffic.is_over() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = timeout(self.link.timing().farewell, at_rest).await;
    }

    /// Says goodbye, and waits for the server's.
    ///
    /// # Errors
    ///
    /// The server is gone, silent, or does not say it.
    async fn part(&mut self, seconds: f64, reason: String) -> Result<(), PeerError> {
        let farewell = self.link.timing().farewell;
        let _ = self.link.send(Message::Progress(self.party.progress(seconds))).await;
        // a connection that is gone is heard below, with the reason
        let _ = self.link.send(Message::Bye { reason }).await;
        let peer = self.link.peer().to_owned();
        let answered = async {
            loop {
                match self.link.next().await {
                    Ok(Message::Progress(progress)) => self.progress_there(progress),
                    Ok(Message::Frame { frame }) => self.see(&frame),
                    Ok(Message::Bye { .. }) => return Ok(()),
                    Err(error) => return Err(error),
                    Ok(_) => {}
                }
            }
        };
        // its threads come to rest, and it frees its memory
        let limit = farewell * 3;
        match timeout(limit, answered).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(PeerError::Silent { seconds, .. })) => Err(PeerError::NoGoodbye { peer, seconds }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(PeerError::Late { peer, wanted: "its goodbye", seconds: limit.as_secs_f64() }),
        }
    }
}

/// What a load that runs has to remember.
struct Running {
    start: Instant,
    /// How long it ran, once it is over.
    seconds: Option<f64>,
    mending: Mending,
    chores: JoinSet<Done>,
}

impl Running {
    fn new(party: &Party, timing: super::link::Timing) -> Self {
        let params = &party.plan.params;
        let start = Instant::now();
        let ends = params.duration_s.and_then(|duration| {
            let span = Duration::try_from_secs_f64(params.warmup_s + duration).ok()?;
            start.checked_add(span)
        });
        Self { start, seconds: None, mending: Mending::new(timing, ends), chores: JoinSet::new() }
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
