//! `load`: the control connection, on a thread of its own while the screen runs.

use super::agreement::{Agreed, negotiate};
use super::attendance::{Ended, attend};
use super::end::End;
use super::engine::Traffic;
use super::error::PeerError;
use super::signals::Signals;
use super::target::Target;
use super::traffic::Controlled;
use probes::load::{Params, RunningLoad};
use probes::model::WorkerPhase;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A load whose rails are connected; nothing moves before [`Connected::go`].
pub struct Connected {
    /// What was agreed.
    pub agreed: Agreed,
    traffic: Arc<dyn Traffic>,
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
            let mut signals = Signals::catch();
            let mut interrupted = pin!(signals.received());
            match negotiate(&end, &target, params, &mut interrupted).await {
                Ok((link, agreed, traffic)) => {
                    let _ = ready.send(Ok((agreed, traffic.clone())));
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
        Ok(Ok((agreed, traffic))) => Ok(Connected {
            load: Some(Box::new(Controlled::new(traffic.clone(), agreed.loopback))),
            traffic,
            agreed,
            go: Some(go),
            finish: Some(finish),
            thread: Some(thread),
        }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(PeerError::NoThread(std::io::Error::other("it ended without a word"))),
    }
}
