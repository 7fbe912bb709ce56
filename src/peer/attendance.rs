//! `load` from the word to go to its end: the server hears how far we are, and both end together.

use super::engine::Traffic;
use super::error::PeerError;
use super::link::{Link, printable};
use super::message::{Message, Progress};
use probes::model::WorkerPhase;
use std::collections::BTreeSet;
use std::sync::Arc;
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
    let frames = traffic.workers();
    let load = traffic.load();
    let (mut failed, mut going) = (Vec::new(), BTreeSet::new());
    for (frame, worker) in frames.iter().zip(&load.workers) {
        if frame.phase == WorkerPhase::Failed {
            failed.push(worker.to_string());
        } else {
            going.insert(&worker.device);
        }
    }
    Progress { bytes: frames.iter().map(|w| w.bytes).sum(), seconds, failed, rails: going.len() }
}
