//! `load` from the word to go to its end: the server hears how far we are, what fails is opened anew, and both end
//! together.

use super::diary::Diary;
use super::error::PeerError;
use super::link::{Link, printable, printable_name};
use super::mending::Mending;
use super::message::{Message, Progress, Slot};
use super::party::{Done, Party};
use super::server::Say;
use super::sight::Sight;
use super::traffic::PeerSide;
use probes::load::Happening;
use probes::model::WorkerPhase;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

/// How often the server hears how far we are.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// How often the threads are asked what has happened to them.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How a failure goes on that passed.
const CAME_BACK: &str = " (it came back";

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

    /// What happened to our threads, and whose time to be tried again has come.
    async fn look(&mut self, running: &mut Running, goes_on: bool) {
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
    async fn finish(&mut self, running: &mut Running, done: Done) {
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
    fn refused(&self, running: &mut Running, at: usize, reason: &str) {
        let line = running.mending.refusal(at, Instant::now(), reason);
        self.tell(at, &line);
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

    /// Opens our threads anew whose counterparts failed and can be opened again: they have the same queue pairs.
    fn follow(&self, running: &mut Running, back: &[Slot]) {
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

    /// How far the server is with its own direction.
    fn progress_there(&self, running: &mut Running, progress: Progress, mends: bool) {
        let before = self.there.progress();
        let known = |line: &String| {
            // that it came back is told below
            let told = |old: &String| {
                let end = line
                    .strip_prefix(old.as_str())
                    .or_else(|| line.strip_prefix(old.split(CAME_BACK).next()?));
                end.is_some_and(|end| end.is_empty() || end.starts_with(CAME_BACK))
            };
            before.as_ref().is_some_and(|before| before.troubles.iter().any(told))
        };
        let host = self.link.peer();
        for line in progress.troubles.iter().filter(|line| !known(line)) {
            let line = format!("{host}: {}", printable(line));
            (self.say)(&line);
            self.diary.note(None, &line);
        }
        let now = Instant::now();
        running.away_there.retain(|thread, since| {
            let is_away = progress.failed.contains(thread);
            if !is_away {
                let seconds = now.duration_since(*since).as_secs_f64();
                let line =
                    format!("{host}: the direction of {}: back after {seconds:.1} s", printable_name(thread));
                (self.say)(&line);
                self.diary.note(None, &line);
            }
            is_away
        });
        for thread in &progress.failed {
            // where ours is opened anew, the server's is, too, and that is told of ours
            let is_ours = self.party.at_of_there(thread).is_some_and(|at| running.mending.is_away(at));
            let is_over = running.seconds.is_some() || !self.party.mends();
            if is_ours || is_over || running.away_there.contains_key(thread) {
                continue;
            }
            running.away_there.insert(thread.clone(), now);
            let then = if !mends {
                "it stays down until ours fails too: only then both are opened anew"
            } else if running.mending.has_time(now) {
                "it is tried again there"
            } else {
                "it is not tried again, as the load is about to end"
            };
            let line = format!("{host}: the direction of {} failed; {then}", printable_name(thread));
            (self.say)(&line);
            self.diary.note(None, &line);
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
    async fn part(&mut self, running: &mut Running, seconds: f64, reason: String) -> Result<(), PeerError> {
        let farewell = self.link.timing().farewell;
        running.seconds.get_or_insert(seconds);
        let _ = self.link.send(Message::Progress(self.progress(running, seconds))).await;
        // a connection that is gone is heard below, with the reason
        let _ = self.link.send(Message::Bye { reason }).await;
        let peer = self.link.peer().to_owned();
        let answered = async {
            loop {
                match self.link.next().await {
                    Ok(Message::Progress(progress)) => self.progress_there(running, progress, false),
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
