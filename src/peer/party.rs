//! The threads of this end in a load that runs: whom they talk to, and what both ends do alike for them.

use super::engine::Traffic;
use super::error::PeerError;
use super::joining::other;
use super::mending::Mending;
use super::message::{Message, Plan, Progress, Slot};
use probes::load::{Endpoint, Role, Shape, Transport, Wrong};
use probes::model::{LoadOp, WorkerPhase};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The threads of this end.
#[derive(Clone)]
pub(super) struct Party {
    /// What they do.
    pub traffic: Arc<dyn Traffic>,
    /// Who is who: one for each of its workers.
    pub slots: Vec<Slot>,
    /// What both ends opened.
    pub plan: Plan,
    /// Which end this is.
    pub role: Role,
}

/// What was done on a thread that may block; the number is the worker's position.
pub(super) enum Done {
    /// A rail was opened anew.
    Opened(usize, Result<Endpoint, String>),
    /// It was connected.
    Connected(usize, Result<(), String>),
    /// It was opened and connected with the peer's new end.
    Reopened(usize, Result<Endpoint, String>),
    /// Data that the peer wrote were looked at.
    Checked(usize, Option<Wrong>),
}

impl Party {
    /// The worker of a slot; `None` when it has no part in the load.
    pub fn at(&self, slot: Slot) -> Option<usize> {
        self.slots.iter().position(|own| *own == slot)
    }

    /// The slot of a worker.
    pub fn slot(&self, at: usize) -> Slot {
        self.slots.get(at).copied().unwrap_or(Slot { line: usize::MAX, worker: 0 })
    }

    /// A worker as people call it.
    pub fn name(&self, at: usize) -> String {
        self.traffic.load().workers.get(at).map_or_else(String::new, ToString::to_string)
    }

    /// The other end's thread of a slot as people call it.
    pub fn name_there(&self, slot: Slot) -> String {
        let port = self.plan.ports(other(self.role)).nth(slot.line);
        port.map_or_else(String::new, |port| slot.of(&self.plan, &port.device))
    }

    /// Whether the peer says no more than the plan has room for.
    ///
    /// # Errors
    ///
    /// In words: what there is too much of.
    pub fn check_news(&self, message: &Message, peer: &str) -> Result<(), PeerError> {
        self.plan.check_news(message, other(self.role)).map_err(|reason| PeerError::BeyondPlan {
            peer: peer.to_owned(),
            got: message.kind(),
            reason,
        })
    }

    /// Whether data are written, and the end that has them looks at them.
    pub fn writes(&self) -> bool {
        self.plan.params.op == LoadOp::Write
    }

    /// Whether both ends post.
    pub fn is_bidirectional(&self) -> bool {
        self.plan.params.bidirectional
    }

    /// Whether a thread that failed is opened anew. A counted load would not know what is left to do, and a TCP
    /// connection that breaks is what a functional check is to find. In a striped load a thread has other rails to
    /// drive while one is away.
    pub fn mends(&self) -> bool {
        let params = &self.plan.params;
        params.operations.is_none() && params.transport == Transport::Verbs && params.shape == Shape::PerRail
    }

    /// Why a thread that failed is not opened anew; `None` where it may be, and of a striped load, whose failures say it.
    pub fn not_mended(&self, has_moved: bool) -> Option<&'static str> {
        let params = &self.plan.params;
        if params.operations.is_some() {
            Some("it is not tried again, as nobody would know how much of its count is left")
        } else if params.transport == Transport::Tcp {
            Some("it is not tried again, as that is what a functional check is to find")
        } else if !has_moved {
            Some("it is not tried again, as it never moved anything")
        } else {
            None
        }
    }

    /// A thread failed: what people are told of it, with whether and when `mending` tries it again.
    pub fn failed(&self, mending: &mut Mending, at: usize, why: &str) -> String {
        let has_moved = self.traffic.workers().get(at).is_some_and(|worker| worker.operations > 0);
        if let Some(never) = self.not_mended(has_moved) {
            return format!("{why}; {never}");
        }
        let wait = if self.mends() { mending.failed(at, Instant::now()) } else { None };
        match wait {
            Some(wait) => format!("{why}; it is tried again in {} s", wait.as_secs_f64()),
            None => why.to_owned(),
        }
    }

    /// The thread of this end whose counterpart people call so; `None` when it has no part in the load.
    pub fn at_of_there(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| self.name_there(*slot) == name)
    }

    /// How far this end is.
    pub fn progress(&self, seconds: f64) -> Progress {
        let frames = self.traffic.workers();
        let load = self.traffic.load();
        let (mut failed, mut going) = (Vec::new(), BTreeSet::new());
        for (frame, worker) in frames.iter().zip(&load.workers) {
            if frame.phase == WorkerPhase::Failed {
                failed.push(worker.to_string());
            } else {
                going.insert(&worker.device);
            }
        }
        Progress {
            bytes: frames.iter().map(|w| w.bytes).sum(),
            seconds,
            failed,
            rails: going.len(),
            measured: self.traffic.measured(),
            troubles: self.traffic.failures(),
            back: None,
        }
    }

    /// Ends what still waits for a word of the peer.
    pub fn let_go(&self) {
        for at in 0..self.slots.len() {
            self.traffic.verdict(at, None);
            self.traffic.release(at);
        }
    }

    /// Opens a worker's rail anew.
    pub fn open(&self, chores: &mut JoinSet<Done>, at: usize) {
        let traffic = self.traffic.clone();
        chores
            .spawn_blocking(move || Done::Opened(at, traffic.reopen(at).map_err(|error| error.to_string())));
    }

    /// Connects a worker that was opened anew.
    pub fn connect(&self, chores: &mut JoinSet<Done>, at: usize, ours: Endpoint, theirs: Endpoint) {
        let party = self.clone();
        chores.spawn_blocking(move || Done::Connected(at, party.connected(at, &ours, theirs)));
    }

    /// Opens a worker's rail anew and connects it with the peer's new end.
    pub fn reopen(&self, chores: &mut JoinSet<Done>, at: usize, theirs: Endpoint) {
        let party = self.clone();
        chores.spawn_blocking(move || {
            let ours = party.traffic.reopen(at).map_err(|error| error.to_string());
            Done::Reopened(at, ours.and_then(|ours| party.connected(at, &ours, theirs).map(|()| ours)))
        });
    }

    /// Looks at what the peer wrote.
    pub fn check(&self, chores: &mut JoinSet<Done>, at: usize, operations: Vec<u64>) {
        let traffic = self.traffic.clone();
        chores.spawn_blocking(move || Done::Checked(at, traffic.check(at, &operations)));
    }

    fn connected(&self, at: usize, ours: &Endpoint, theirs: Endpoint) -> Result<(), String> {
        self.plan
            .check_endpoint(&theirs, ours, other(self.role))
            .map_err(|reason| format!("{}: the peer's end: {reason}", self.name(at)))?;
        self.traffic.reconnect(at, theirs).map_err(|error| error.to_string())
    }

    /// The answer to data that were looked at, and what to tell people when they are not what was written by `peer`.
    pub fn checked(&self, at: usize, found: Option<Wrong>, peer: &str) -> (Message, Option<String>) {
        let name = || self.name(at);
        let text = match found {
            None => Some(format!(
                "{}: data not checked: what {peer} wrote into its buffer cannot be read",
                name()
            )),
            Some(found) if found.messages > 0 => Some(format!(
                "{}: DATA_MISMATCH: {}",
                name(),
                found.in_words("its buffer", &format!("what {peer} wrote"))
            )),
            Some(_) => None,
        };
        (Message::Checked { slot: self.slot(at), found }, text)
    }
}
