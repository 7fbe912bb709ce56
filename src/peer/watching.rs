//! `serve` from the word to go to the goodbye of its client.

use super::attendance::LOOK_EVERY;
use super::error::PeerError;
use super::link::{Link, printable, printable_name};
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

/// The fastest wire that there is, 800 Gb/s.
const MOST_WIRE_GB_PER_S: f64 = 100.0;

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

    /// What the client says while its load runs.
    async fn hear(&mut self, message: Message) -> Result<(), PeerError> {
        self.party.check_news(&message, self.link.peer())?;
        match message {
            Message::Progress(progress) => {
                self.told_at = Instant::now();
                for thread in progress.failed.iter().filter(|name| !self.so_far.failed.contains(name)) {
                    self.tell(&format!("its {} failed", printable_name(thread)));
                }
                for thread in self.so_far.failed.iter().filter(|name| !progress.failed.contains(name)) {
                    self.tell(&format!("its {} is back", printable_name(thread)));
                }
                self.so_far = progress;
            }
            Message::AtRest { slot, operations } if self.party.writes() || self.party.is_bidirectional() => {
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
            }
            Message::Checked { slot, found } if self.party.writes() => {
                if let Some(at) = self.party.at(slot) {
                    self.party.traffic.verdict(at, found);
                }
            }
            Message::Reopen { slot, end } => match self.party.at(slot) {
                // the server has seen nothing of it that the client has not told, unless it failed here
                Some(at)
                    if !self.returning.is_away(at)
                        && !self.so_far.failed.contains(&self.party.name_there(slot)) =>
                {
                    return Err(self
                        .link
                        .out_of_turn(&Message::Reopen { slot, end }, "a thread that has failed"));
                }
                // one at a time; a client that asks again meanwhile gets that one's answer
                Some(at) if self.mending.insert(at) => {
                    self.returning.wanted(self.party, &mut self.chores, at, end);
                }
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

    /// Whether so much can have moved over our rails since the load began: several times what their wires carry is
    /// left for clocks that differ and for a loopback, which no wire holds back.
    fn is_plausible(&self, gb: f64) -> bool {
        let seconds = self.start.elapsed().as_secs_f64().max(1.0);
        let rails = self.party.plan.lines.len() as f64;
        gb <= 8.0 * MOST_WIRE_GB_PER_S * rails * seconds
    }

    /// What the load has moved, in one phrase.
    fn result(&self) -> String {
        let (progress, rails) = (&self.so_far, self.party.plan.lines.len());
        let gb = progress.bytes as f64 / 1e9;
        let rate = if progress.seconds > 0.0 { gb / progress.seconds } else { 0.0 };
        if progress.bytes > 0 && !self.is_plausible(gb) {
            return format!(
                "what it says of its load is implausible: more than its {rails} rails can have moved in {:.1} s",
                self.start.elapsed().as_secs_f64()
            );
        }
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

/// Waits for this host's next sample; for ever where nobody wants any.
async fn told(telling: &mut Option<Telling>) -> Message {
    match telling {
        Some(telling) => telling.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::Watching;
    use crate::peer::fake;
    use crate::peer::link::{Link, Timing};
    use crate::peer::matching::matching;
    use crate::peer::message::{Message, Plan, Progress};
    use crate::peer::party::Party;
    use probes::load::{Params, Role};
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::io::duplex;
    use tokio::sync::watch;
    use tokio::time::{Instant, sleep};

    /// A server's end of a load with these parameters.
    fn party(params: Params) -> Party {
        let (client, server) = (fake::end("n1", 1), fake::end("n2", 2));
        let pairs = matching(&client.offers, &server.offers);
        let plan = Plan::new(&pairs, &client.offers, &server.offers, params).unwrap();
        let (topology, rails, params) = plan.for_end(Role::Target, &server).unwrap();
        let mut opened = server.engine.open(&topology, &rails, &params, Role::Target);
        let ends = opened.endpoints().into_iter().map(Result::ok).collect();
        let traffic = opened.connect(ends).unwrap();
        Party { traffic, slots: plan.slots().collect(), plan, role: Role::Target }
    }

    /// What the server says to a client that goes on for ever, and after how many seconds.
    async fn shown_out(params: Params, tells: bool) -> (String, u64) {
        let (near, far) = duplex(1 << 16);
        let greet = |stream, name: &str| Link::greet(stream, name.to_owned(), Timing::default());
        let (server, client) = tokio::join!(greet(near, "n1"), greet(far, "n2"));
        let (mut server, client) = (server.unwrap(), client.unwrap());
        let client = tokio::spawn(async move {
            while !tells || client.send(Message::Progress(Progress::default())).await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let (_stop, mut ended) = watch::channel(None);
        let (party, since) = (party(params), Instant::now());
        let watching = Watching::new(&mut server, &party, Arc::new(|_: &str| {}));
        let said = watching.watch(&mut ended).await.unwrap_err().to_string();
        client.abort();
        (said, since.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_only_stays_alive_is_shown_out_after_a_minute() {
        let (said, after_s) = shown_out(Params::default(), false).await;
        assert_eq!(said, "n1 is shown out: it has not told for 60 s how far its load is");
        assert_eq!(after_s, 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_goes_on_long_after_its_time_is_shown_out() {
        let params = Params { warmup_s: 2.0, duration_s: Some(10.0), ..Params::default() };
        let (said, after_s) = shown_out(params, true).await;
        assert_eq!(said, "n1 is shown out: its load goes on long after the time of its plan");
        assert_eq!(after_s, 84);
    }
}
