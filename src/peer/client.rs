//! `load`: the control connection, on a thread of its own while the screen runs.

use super::end::End;
use super::engine::Traffic;
use super::error::PeerError;
use super::joining::join;
use super::link::{Link, printable};
use super::matching::{Matching, matching};
use super::message::{Hello, Message, Plan, Progress};
use super::offer::{Offer, listed};
use super::signals;
use super::target::Target;
use super::traffic::Controlled;
use probes::load::{Params, Role, RunningLoad};
use probes::model::WorkerPhase;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

/// How often the server hears how far we are.
const REPORT_EVERY: Duration = Duration::from_secs(1);

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

/// What was agreed with the peer before anything moved.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// The peer.
    pub peer: Hello,
    /// Its address.
    pub address: IpAddr,
    /// Whether the peer is this machine.
    pub loopback: bool,
    /// Which rails go together, and which do not.
    pub matching: Matching,
    /// Our rails.
    pub ours: Vec<Offer>,
    /// The peer's rails.
    pub theirs: Vec<Offer>,
    /// Rails of the plan that failed on one end, one line each.
    pub left_out: Vec<String>,
    /// What both ends opened.
    pub plan: Plan,
}

/// A load whose rails are connected; nothing moves before [`Connected::go`].
pub struct Connected {
    /// What was agreed.
    pub agreed: Agreed,
    load: Option<Box<dyn RunningLoad>>,
    go: Option<oneshot::Sender<()>>,
    finish: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Ended>>,
}

impl Connected {
    /// What a source samples; once.
    pub fn take_load(&mut self) -> Option<Box<dyn RunningLoad>> {
        self.load.take()
    }

    /// Lets all rails begin together.
    pub fn go(&mut self) {
        if let Some(go) = self.go.take() {
            // the control thread may have ended already: the load is over then
            let _ = go.send(());
        }
    }

    /// Ends the load on both hosts, if it has not ended, and says how it came to its end.
    #[must_use]
    pub fn finish(mut self) -> Ended {
        self.end()
    }

    fn end(&mut self) -> Ended {
        drop(self.load.take());
        drop(self.go.take());
        if let Some(finish) = self.finish.take() {
            let _ = finish.send(());
        }
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or(Ended::Here)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Connects to a `railscope serve` and its rails; returns when every queue pair is ready.
///
/// # Errors
///
/// In one line: the peer is not there, is something else, does not fit, or no rail could be opened.
pub fn connect(end: End, target: Target, params: Params) -> Result<Connected, PeerError> {
    let (ready, connected) = mpsc::channel();
    let (go, may_go) = oneshot::channel();
    let (finish, finished) = oneshot::channel();
    let control = move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(cause) => {
                let _ = ready.send(Err(PeerError::NoThread(cause)));
                return Ended::Here;
            }
        };
        let farewell = end.timing.farewell;
        let ended = runtime.block_on(async move {
            let mut interrupted = pin!(signals::interrupted());
            match negotiate(&end, &target, params, &mut interrupted).await {
                Ok((link, agreed, traffic)) => {
                    let load = Controlled::new(traffic.clone(), agreed.loopback);
                    let _ = ready.send(Ok((agreed, load)));
                    attend(link, traffic, may_go, finished, &mut interrupted).await
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                    Ended::Here
                }
            }
        });
        // a device that hangs in the kernel must not keep us
        runtime.shutdown_timeout(farewell);
        ended
    };
    let thread =
        std::thread::Builder::new().name("control".to_owned()).spawn(control).map_err(PeerError::NoThread)?;
    match connected.recv() {
        Ok(Ok((agreed, load))) => Ok(Connected {
            agreed,
            load: Some(Box::new(load)),
            go: Some(go),
            finish: Some(finish),
            thread: Some(thread),
        }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(PeerError::NoThread(std::io::Error::other("it ended without a word"))),
    }
}

/// From the first packet until every queue pair on both ends is ready.
pub(super) async fn negotiate(
    end: &End,
    target: &Target,
    params: Params,
    interrupted: &mut (impl Future<Output = &'static str> + Unpin),
) -> Result<(Link, Agreed, Arc<dyn Traffic>), PeerError> {
    let greet = async {
        let (stream, address) = target.connect(end.timing.answer).await?;
        let link = Link::greet(stream, target.to_string(), end.timing).await?;
        Ok((link, address.ip().to_canonical()))
    };
    let (mut link, address) = tokio::select! {
        greeted = greet => greeted?,
        signal = &mut *interrupted => return Err(PeerError::StoppedHere(signal)),
    };
    let agreed = tokio::select! {
        agreed = agree(&mut link, end, address, params) => agreed,
        signal = interrupted => Err(PeerError::StoppedHere(signal)),
    };
    match agreed {
        Ok((agreed, traffic)) => Ok((link, agreed, traffic)),
        Err(error) => {
            let parting = match &error {
                PeerError::StoppedHere(_) => Some(Message::Bye { reason: error.to_string() }),
                error if error.is_ours() => Some(Message::Error { text: error.to_string() }),
                _ => None,
            };
            if let Some(parting) = parting {
                let _ = link.send(parting).await;
            }
            link.close().await;
            Err(error)
        }
    }
}

async fn agree(
    link: &mut Link,
    end: &End,
    address: IpAddr,
    params: Params,
) -> Result<(Agreed, Arc<dyn Traffic>), PeerError> {
    let limit = link.timing().answer;
    link.send(Message::Hello(end.me.clone())).await?;
    let peer = match link.next_within(limit, "its name").await? {
        Message::Hello(hello) => Hello { host: printable(&hello.host), ..hello },
        other => return Err(link.out_of_turn(&other, "`hello`")),
    };
    link.rename(format!("{} ({address})", peer.host));
    let theirs = match link.next_within(limit, "its rails").await? {
        Message::Rails { rails } => rails,
        other => return Err(link.out_of_turn(&other, "`rails`")),
    };
    let matching = matching(&end.offers, &theirs);
    if matching.pairs.is_empty() {
        let reasons: Vec<String> =
            matching.unmatched.iter().map(|u| format!("{}: {}", u.device, printable(&u.reason))).collect();
        let reasons = listed(&reasons, "there is none");
        return Err(PeerError::NothingMatches { peer: link.peer().to_owned(), reasons });
    }
    let plan = Plan::new(&matching, &end.offers, &theirs, params)?;
    link.send(Message::Plan(plan.clone())).await?;
    let joined = join(link, end, &plan, Role::Reader).await?;
    let agreed = Agreed {
        loopback: end.me.is_same_machine(&peer),
        peer,
        address,
        matching,
        ours: end.offers.clone(),
        theirs,
        left_out: joined.left_out,
        plan,
    };
    Ok((agreed, joined.traffic))
}

/// From `go` to `bye`; the load is stopped when this returns.
pub(super) async fn attend(
    mut link: Link,
    traffic: Arc<dyn Traffic>,
    go: oneshot::Receiver<()>,
    mut finished: oneshot::Receiver<()>,
    interrupted: &mut (impl Future<Output = &'static str> + Unpin),
) -> Ended {
    let mut reason = "done".to_owned();
    let mut ended = Ended::Here;
    let begun = tokio::select! {
        go = go => go.is_ok(),
        gone = link.next() => { ended = why_gone(&link, gone); false }
        signal = &mut *interrupted => { reason = format!("stopped by {signal}"); false }
    };
    if !begun && matches!(ended, Ended::Here) && reason == "done" {
        "called off before it began".clone_into(&mut reason);
    }
    let start = Instant::now();
    let mut seconds = None;
    if begun {
        traffic.go();
        if let Err(error) = link.send(Message::Go).await {
            ended = Ended::Lost(error);
        }
        let mut tick = interval(REPORT_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while matches!(ended, Ended::Here) {
            tokio::select! {
                gone = link.next() => ended = why_gone(&link, gone),
                _ = &mut finished => break,
                signal = &mut *interrupted => { reason = format!("stopped by {signal}"); break; }
                _ = tick.tick() => {
                    if traffic.is_over() {
                        seconds.get_or_insert(start.elapsed().as_secs_f64());
                    }
                    let progress = progress(&*traffic, seconds.unwrap_or(start.elapsed().as_secs_f64()));
                    // a link that is gone is noticed by the arm above
                    let _ = link.send(Message::Progress(progress)).await;
                }
            }
        }
    }
    traffic.stop();
    let seconds = seconds.unwrap_or(start.elapsed().as_secs_f64());
    let farewell = link.timing().farewell;
    // the server frees its buffers at our goodbye: no read may be under way then
    let at_rest = async {
        while begun && !traffic.is_over() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = timeout(farewell, at_rest).await;
    if let Ended::There(words) = &ended {
        reason = format!("stopped: {words}");
    }
    if !matches!(ended, Ended::Lost(_)) {
        let _ = link.send(Message::Progress(progress(&*traffic, seconds))).await;
        if link.send(Message::Bye { reason }).await.is_ok() {
            let answered = async { while !matches!(link.next().await, Ok(Message::Bye { .. }) | Err(_)) {} };
            let _ = timeout(farewell, answered).await;
        }
    }
    link.close().await;
    ended
}

/// What it means that the server said something during a load.
fn why_gone(link: &Link, said: Result<Message, PeerError>) -> Ended {
    match said {
        Ok(Message::Stop { reason } | Message::Bye { reason }) => Ended::There(printable(&reason)),
        Ok(other) => Ended::Lost(link.out_of_turn(&other, "nothing")),
        Err(error) => Ended::Lost(error),
    }
}

fn progress(traffic: &dyn Traffic, seconds: f64) -> Progress {
    let workers = traffic.workers();
    let load = traffic.load();
    let failed = workers.iter().zip(&load.workers);
    let failed = failed.filter(|(w, _)| w.phase == WorkerPhase::Failed).map(|(_, w)| w.device.clone());
    Progress { bytes: workers.iter().map(|w| w.bytes).sum(), seconds, failed: failed.collect() }
}
