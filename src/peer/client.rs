//! `load`: the control connection, on a thread of its own while the screen runs.

use super::agreement::{Agreed, negotiate};
use super::attendance::{Attendance, Ended, LOOK_EVERY};
use super::crowding::crowding;
use super::diary::Diary;
use super::end::End;
use super::engine::Traffic;
use super::error::PeerError;
use super::perftest::Used;
use super::server::Say;
use super::target::Target;
use super::traffic::{Controlled, PeerSide, Sums};
use crate::session::Stop;
use crate::signals::Signals;
use probes::load::{Params, RunningLoad};
use probes::model::{LegsSought, Worker, WorkerPhase};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// A load whose rails are connected; nothing moves before [`Connected::go`].
pub struct Connected {
    /// What was agreed.
    pub agreed: Agreed,
    traffic: Arc<dyn Traffic>,
    there: Arc<PeerSide>,
    load: Option<Controlled>,
    go: Option<oneshot::Sender<()>>,
    finish: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Ended>>,
}

impl Connected {
    /// What a source samples; once.
    pub fn take_load(&mut self) -> Option<Box<dyn RunningLoad>> {
        Some(Box::new(self.load.take()?))
    }

    /// Keeps with the load how it was sought that each leg of a bond receives; before it is taken.
    pub fn keep_sought(&mut self, sought: Vec<LegsSought>) {
        if let Some(load) = &mut self.load {
            load.keep_sought(sought);
        }
    }

    /// Tells the load how many of its session came before it; before it is taken.
    pub fn keep_earlier(&mut self, earlier: u32) {
        if let Some(load) = &mut self.load {
            load.keep_earlier(earlier);
        }
    }

    /// Why rails failed since, one line each.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        self.traffic.failures()
    }

    /// Whether not a single thread got to its end.
    #[must_use]
    pub fn all_failed(&self) -> bool {
        let workers = self.traffic.workers();
        !workers.is_empty() && workers.iter().all(|worker| worker.phase == WorkerPhase::Failed)
    }

    /// Whether the measured time has begun.
    #[must_use]
    pub fn has_measured(&self) -> bool {
        self.traffic.measured().is_some()
    }

    /// In what pages our buffers lie, in one line; `None` where none lies in the host's memory.
    #[must_use]
    pub fn pages(&self) -> Option<String> {
        let load = self.traffic.load();
        let huge = |worker: &&Worker| worker.page_bytes.is_some_and(|bytes| bytes >= 2 << 20);
        let all = load.workers.iter().filter(|worker| worker.page_bytes.is_some()).count();
        match load.workers.iter().filter(huge).count() {
            _ if all == 0 => None,
            0 => Some("buffers in ordinary pages: not enough huge ones are free on their node".to_owned()),
            some if some == all => Some("buffers in huge pages of 2 MiB".to_owned()),
            some => Some(format!(
                "buffers of {some} of {all} threads in huge pages of 2 MiB, the others in ordinary ones"
            )),
        }
    }

    /// The path MTU that both ends agreed on, in one line; `None` where no queue pair is connected.
    #[must_use]
    pub fn path_mtu(&self) -> Option<String> {
        path_mtu_words(&self.traffic.load().workers)
    }

    /// That our threads have to share CPUs, in one line; `None` where each has its own.
    #[must_use]
    pub fn crowding(&self) -> Option<String> {
        let load = self.traffic.load();
        let mut workers = load.workers.clone();
        if let (Some(_), Some(first)) = (load.batch, load.workers.first()) {
            // a thread of a striped load is a worker of every rail
            workers.retain(|worker| worker.device == first.device);
        }
        crowding(&workers, probes::bind::allowed_cpus().as_ref())
    }

    /// READs outstanding per queue pair of each rail, in the order of [`probes::model::Load::devices`].
    #[must_use]
    pub fn read_depths(&self) -> Vec<(String, Option<u32>)> {
        let load = self.traffic.load();
        let mut depths: Vec<(String, Option<u32>)> = Vec::new();
        for worker in &load.workers {
            if depths.last().is_none_or(|(device, _)| *device != worker.device) {
                depths.push((worker.device.clone(), worker.read_depth));
            }
        }
        depths
    }

    /// What each of our devices uses, for the same load with perftest.
    #[must_use]
    pub fn used(&self) -> Vec<Used> {
        let load = self.traffic.load();
        let node = |device: &str| load.workers.iter().find(|worker| worker.device == device)?.buffer_node;
        let of = |(device, read_depth): (String, _)| Used { node: node(&device), device, read_depth };
        self.read_depths().into_iter().map(of).collect()
    }

    /// What both ends move, of a load of both directions; complete once the load has ended.
    #[must_use]
    pub fn sums(&self) -> Sums {
        Sums {
            traffic: self.traffic.clone(),
            there: self.there.clone(),
            peer: self.agreed.peer.host.clone(),
            is_bidirectional: self.agreed.plan.params.bidirectional,
        }
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

/// The path MTU of these threads' queue pairs, device by device where they differ.
fn path_mtu_words(workers: &[Worker]) -> Option<String> {
    let mut known: Vec<(&str, u32)> =
        workers.iter().filter_map(|worker| Some((worker.device.as_str(), worker.path_mtu?))).collect();
    known.dedup();
    let (_, first) = *known.first()?;
    if known.iter().all(|(_, mtu)| *mtu == first) {
        return Some(format!("path MTU {first}, as agreed"));
    }
    let each: Vec<String> = known.iter().map(|(device, mtu)| format!("{device} {mtu}")).collect();
    Some(format!("path MTU, as agreed: {}", each.join(", ")))
}

/// Connects to a `railscope serve` and its rails; returns when every queue pair is ready. `say` hears from another thread
/// what happens to rails while the load runs: that they fail, are tried again, and come back.
///
/// # Errors
///
/// In one line: the peer is not there, is something else, does not fit, or no rail could be opened.
pub fn connect(end: End, target: Target, params: Params, say: Say) -> Result<Connected, PeerError> {
    connect_until(&Stop::new(), end, target, params, say)
}

/// The same, given up when this is told to stop: a key does that where the terminal makes no signals. Once connected, nobody
/// listens to it.
///
/// # Errors
///
/// As [`connect`].
pub fn connect_until(
    stop: &Stop,
    end: End,
    target: Target,
    params: Params,
    say: Say,
) -> Result<Connected, PeerError> {
    let stop = stop.clone();
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
            let mut signals = Signals::catch();
            let mut interrupted = pin!(signals.received());
            let negotiated = {
                let mut given_up = pin!(async {
                    tokio::select! {
                        signal = &mut interrupted => signal,
                        () = told(&stop) => "a key",
                    }
                });
                negotiate(&end, &target, params, &mut given_up).await
            };
            match negotiated {
                Ok((link, agreed, party)) => {
                    let there = Arc::new(PeerSide::default());
                    let diary = Arc::new(Diary::default());
                    for failure in &agreed.left_out {
                        diary.note(failure.device.as_deref(), &format!("left out: {failure}"));
                    }
                    let load =
                        Controlled::new(party.traffic.clone(), agreed.loopback, there.clone(), diary.clone())
                            .between(&agreed.plan);
                    let sight = agreed.sight.clone();
                    let _ = ready.send(Ok((agreed, load, party.traffic.clone(), there.clone())));
                    let attendance = Attendance { link, party, say, there, diary, sight };
                    attendance.attend(may_go, finished, &mut interrupted).await
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
        Ok(Ok((agreed, load, traffic, there))) => Ok(Connected {
            load: Some(load),
            traffic,
            there,
            agreed,
            go: Some(go),
            finish: Some(finish),
            thread: Some(thread),
        }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(PeerError::NoThread(std::io::Error::other("it ended without a word"))),
    }
}

/// Waits until it was told to stop.
async fn told(stop: &Stop) {
    while !stop.is_stopped() {
        sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::path_mtu_words;
    use probes::model::Worker;

    #[test]
    fn the_agreed_path_mtu_is_said_once_or_rail_by_rail() {
        let worker = |(device, path_mtu): (&str, _)| Worker {
            device: device.to_owned(),
            path_mtu,
            ..Worker::default()
        };
        let said = |each: &[(&str, Option<u32>)]| {
            path_mtu_words(&each.iter().copied().map(worker).collect::<Vec<_>>())
        };
        assert_eq!(
            said(&[("a", Some(4096)), ("a", Some(4096)), ("b", Some(4096))]).as_deref(),
            Some("path MTU 4096, as agreed")
        );
        assert_eq!(
            said(&[("a", Some(4096)), ("b", Some(1024)), ("c", None)]).as_deref(),
            Some("path MTU, as agreed: a 4096, b 1024")
        );
        assert_eq!(said(&[("a", None)]), None, "over TCP");
    }
}
