//! What is known of a folder with sessions, and of each of its files.

use crate::report::alike::{self, Told};
use crate::rules::Finding;
use std::path::PathBuf;

/// What is known of one file.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing yet.
    Unread,
    /// What the session is.
    Read(Box<Summary>),
    /// It is a sweep, and what that amounts to.
    Sweep(Box<SweepSummary>),
    /// Why it cannot be opened.
    Damaged(String),
}

/// A session in a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Name of the host.
    pub host: Option<String>,
    /// Name of the host at the other end of its load.
    pub peer: Option<String>,
    /// Wall clock at the start, milliseconds since 1970.
    pub started_unix_ms: Option<u64>,
    /// Time of its last frame, nanoseconds since it began; `None` when neither end can be read.
    pub length_ns: Option<u64>,
    /// Rails of this host.
    pub rails: usize,
    /// Whether nothing of it is a measurement.
    pub simulated: bool,
    /// Findings at its end, worst first; `None` when its end cannot be judged.
    pub findings: Option<Vec<Finding>>,
    /// For each of them the place of the first that says the same of another rail; where it has none, each is told.
    pub kinds: Vec<usize>,
    /// What is not as it should be with the file, for people.
    pub warning: Option<String>,
}

/// A sweep in a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepSummary {
    /// Name of the host.
    pub host: Option<String>,
    /// Wall clock at the start, milliseconds since 1970.
    pub started_unix_ms: Option<u64>,
    /// Rails that were driven.
    pub rails: usize,
    /// Whether nothing of it is a measurement.
    pub simulated: bool,
    /// Points that are measured, and all there are.
    pub points: (usize, usize),
    /// What they amount to, in words.
    pub statements: Vec<String>,
}

/// A file of the folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// What is known of it.
    pub state: State,
}

/// What becomes known of the folder.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Its files, in the order of the list; how many others are no sessions.
    Files(Vec<Entry>, usize),
    /// What the file at this place of the list is.
    File(usize, State),
    /// The folder cannot be read.
    Unreadable(String),
}

impl Entry {
    /// A file of which nothing is known but that it is there.
    #[must_use]
    pub fn unread(path: PathBuf, bytes: u64) -> Self {
        Self { path, bytes, state: State::Unread }
    }

    /// Its name without the folder's.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// All that it is found by.
    pub(super) fn words(&self) -> String {
        let mut words = vec![self.name()];
        match &self.state {
            State::Unread => {}
            State::Damaged(_) => words.push("damaged".to_owned()),
            State::Sweep(sweep) => words.extend(sweep.host.clone().into_iter().chain(["sweep".to_owned()])),
            State::Read(session) => {
                words.extend(session.host.clone().into_iter().chain(session.peer.clone()));
                words.extend(session.findings.iter().flatten().map(|finding| finding.code.to_string()));
            }
        }
        words.join(" ")
    }
}

impl Summary {
    /// What was found, that which says the same of several rails told once.
    pub(crate) fn told(&self) -> Vec<Told<'_>> {
        let findings = self.findings.iter().flatten().enumerate();
        alike::once(findings.map(|(at, finding)| (finding, self.kinds.get(at).copied().unwrap_or(at))))
    }

    /// The worst of what was found; what explains it may stand before it, and be no fault.
    #[must_use]
    pub fn worst(&self) -> Option<&Finding> {
        // of equals the first
        self.findings.as_ref()?.iter().rev().max_by_key(|finding| finding.severity)
    }
}
