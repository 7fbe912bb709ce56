//! How the loads of a session came to their ends, and what is told of them after it.

use super::super::diagnose::Begun;
use crate::peer::client::Connected;
use crate::peer::{Ended, Sight};
use crate::printable::tell;
use anyhow::bail;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// What goes on in a session, and what became of everything before; copies mean the same session.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Book>>);

#[derive(Default)]
pub(super) struct Book {
    /// The load that goes on.
    pub(super) now: Option<Ran>,
    /// Why the load that was asked for last could not be had; `None` once one began.
    pub(super) refused: Option<String>,
    /// Diagnoses that were begun.
    pub(super) diagnoses: Vec<Begun>,
    outcome: Outcome,
    /// What is to be told after the session.
    lines: Vec<String>,
}

impl Ledger {
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Ends the load that goes on, on both hosts; in words why it ended, where that was before its time.
    pub(super) fn end(&mut self, told: &Told) -> Option<String> {
        let ran = self.now.take()?;
        let (outcome, why) = ran.end(told, &mut self.lines);
        self.outcome.then(outcome);
        why
    }

    /// Tells what is left to be told, and takes what became of all loads.
    pub(super) fn close(&mut self) -> Outcome {
        self.lines.drain(..).for_each(tell);
        Outcome { refused: self.refused.take(), ..std::mem::take(&mut self.outcome) }
    }
}

/// A load, with all that is known of it beside its frames.
pub(super) struct Ran {
    pub(super) connected: Connected,
    /// The other host, where it is seen.
    pub(super) sight: Option<Arc<Sight>>,
    /// Why `--gentle` ended it, once it did.
    pub(super) strained: Arc<OnceLock<String>>,
}

impl Ran {
    /// Ends the load, and keeps what is to be told of it.
    fn end(self, told: &Told, lines: &mut Vec<String>) -> (Outcome, Option<String>) {
        let Self { connected, sight, strained } = self;
        let sums = connected.sums();
        let (mut outcome, why) = Outcome::of(connected, told);
        outcome.is_strained = strained.get().is_some();
        lines.extend(sums.line());
        if let Some(why) = sight.and_then(|sight| sight.misfit()) {
            lines.push(format!("a sample of the peer's host was left out: {why}"));
        }
        lines.extend(strained.get().cloned());
        (outcome, why)
    }
}

/// How the loads came to their ends, and what became of their rails.
pub(super) struct Outcome {
    /// Of the last one.
    ended: Ended,
    some_failed: bool,
    /// Of the last one.
    all_failed: bool,
    is_strained: bool,
    /// Why the load that was asked for last could not be had.
    refused: Option<String>,
}

impl Default for Outcome {
    fn default() -> Self {
        Self { ended: Ended::Here, some_failed: false, all_failed: false, is_strained: false, refused: None }
    }
}

impl Outcome {
    /// Ends the load and tells what failed; in words why it ended, where that was before its time.
    fn of(connected: Connected, told: &Told) -> (Self, Option<String>) {
        let failures = connected.failures();
        told.end(&failures);
        let some_failed = !failures.is_empty() || !connected.agreed.left_out.is_empty();
        let all_failed = connected.all_failed();
        let has_measured = connected.has_measured();
        let ended = connected.finish();
        let why = match &ended {
            Ended::There(reason) => Some(format!("by the peer: {reason}")),
            Ended::Lost(error) => Some(error.to_string()),
            Ended::Here if has_measured || some_failed => None,
            Ended::Here => Some("stopped before anything was measured".to_owned()),
        };
        (Self { ended, some_failed, all_failed, ..Self::default() }, why)
    }

    /// Takes what became of the load after it.
    fn then(&mut self, later: Self) {
        self.some_failed |= later.some_failed;
        self.is_strained |= later.is_strained;
        (self.ended, self.all_failed) = (later.ended, later.all_failed);
    }

    /// Whether a rail failed, or a load was ended because the fabric suffered.
    pub(super) fn is_amiss(&self) -> bool {
        self.some_failed || self.is_strained
    }

    /// The exit code of the report, unless the load itself is the error.
    pub(super) fn or(self, code: ExitCode) -> anyhow::Result<ExitCode> {
        if let Some(why) = self.refused {
            bail!("the load was not started anew: {why}");
        }
        match self.ended {
            Ended::Here if self.all_failed => bail!("every rail failed, for the reasons above"),
            Ended::Here => Ok(code),
            Ended::There(reason) => {
                tell(format_args!("ended by the peer: {reason}"));
                Ok(code)
            }
            Ended::Lost(error) => Err(anyhow::Error::new(error).context("the load was cut short")),
        }
    }
}

/// What happened to rails while the load ran: told at once where there is no screen, else after it.
pub(super) struct Told {
    with_screen: bool,
    since: Instant,
    lines: Mutex<Vec<String>>,
}

impl Told {
    pub(super) fn new(with_screen: bool) -> Self {
        Self { with_screen, since: Instant::now(), lines: Mutex::default() }
    }

    pub(super) fn say(&self, line: &str) {
        let line = format!("{:.1} s: {line}", self.since.elapsed().as_secs_f64());
        if !self.with_screen {
            tell(&line);
        }
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Takes of `failures` those that nobody has heard of.
    fn end(&self, failures: &[String]) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        // that it came back was told, too
        let cause = |failure: &str| failure.split(" (it came back").next().unwrap_or_default().to_owned();
        let unheard = |failure: &&String| !lines.iter().any(|line| line.contains(&cause(failure)));
        let unheard: Vec<String> = failures.iter().filter(unheard).cloned().collect();
        if !self.with_screen {
            unheard.iter().for_each(tell);
        }
        lines.extend(unheard);
    }

    /// Tells what was kept for the end.
    pub(super) fn close(&self) {
        let lines = std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner));
        lines.iter().filter(|_| self.with_screen).for_each(tell);
    }
}
