//! The server's own direction of a load of both: a thread of it that failed alone is opened anew.
//!
//! Both directions of a rail have the same queue pairs, so that ours cannot come back without the client's end. The
//! client's goes on until our rail opens again; only then, named in our `Progress`, it is opened anew with ours.

use super::link::Timing;
use super::mending::Mending;
use super::message::Slot;
use super::party::{Done, Party};
use probes::load::Endpoint;
use std::collections::BTreeMap;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Threads of the server that failed.
#[derive(Debug)]
pub(super) struct Returning {
    mending: Mending,
    /// Ends of the client that came while ours was still being opened.
    early: BTreeMap<usize, Endpoint>,
}

impl Returning {
    /// Nothing failed yet of a load that begins at `start`.
    pub fn new(party: &Party, timing: Timing, start: Instant) -> Self {
        Self { mending: Mending::of(&party.plan.params, timing, start), early: BTreeMap::new() }
    }

    /// The load comes to its end: nothing is tried any more.
    pub fn close(&mut self) {
        self.mending.close(Instant::now());
    }

    /// A thread failed: what people are told of it.
    pub fn failed(&mut self, party: &Party, at: usize, why: &str) -> String {
        party.failed(&mut self.mending, at, why)
    }

    /// Whether a thread failed and has not come back.
    pub fn is_away(&self, at: usize) -> bool {
        self.mending.is_away(at)
    }

    /// Opens those whose time to be tried again has come.
    pub fn try_due(&mut self, party: &Party, chores: &mut JoinSet<Done>) {
        for at in self.mending.due(Instant::now()) {
            party.open(chores, at);
        }
    }

    /// A thread was opened anew, or not: what people are told of it.
    pub fn opened(
        &mut self,
        party: &Party,
        chores: &mut JoinSet<Done>,
        at: usize,
        end: Result<Endpoint, String>,
    ) -> Option<String> {
        if let Some(theirs) = self.early.remove(&at) {
            self.connect(party, chores, at, theirs);
            return None;
        }
        match end {
            Ok(ours) => self.mending.asked(at, ours, Instant::now()),
            Err(reason) => return self.refused(at, &reason),
        }
        None
    }

    /// The client opened its end of a thread and waits for ours; one that is being opened now is not disturbed.
    pub fn wanted(&mut self, party: &Party, chores: &mut JoinSet<Done>, at: usize, theirs: Endpoint) {
        if self.mending.is_opening(at) {
            self.early.insert(at, theirs);
        } else {
            self.connect(party, chores, at, theirs);
        }
    }

    fn connect(&mut self, party: &Party, chores: &mut JoinSet<Done>, at: usize, theirs: Endpoint) {
        self.mending.connects(at);
        party.reopen(chores, at, theirs);
    }

    /// A thread could not be opened or connected: what people are told of it. `None` of one that had not failed here.
    pub fn refused(&mut self, at: usize, reason: &str) -> Option<String> {
        self.is_away(at).then(|| self.mending.refusal(at, Instant::now(), reason))
    }

    /// A thread goes on: what people are told of it. `None` of one that had not failed here.
    pub fn resumed(&mut self, party: &Party, at: usize) -> Option<String> {
        self.is_away(at).then(|| {
            let away = self.mending.back(at, Instant::now());
            format!("{}: back after {:.1} s", party.name(at), away.as_secs_f64())
        })
    }

    /// Threads that wait for the client; `None` where none is opened anew.
    pub fn back(&self, party: &Party) -> Option<Vec<Slot>> {
        party.mends().then(|| self.mending.open_here().into_iter().map(|at| party.slot(at)).collect())
    }
}
