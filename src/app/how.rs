//! How a session is looked at.

use crate::rules::Limits;

/// What kind of session is on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The rails of this node, as they are.
    #[default]
    Live,
    /// A simulation.
    Demo,
    /// The rails of this node, with our load on them.
    Load,
    /// A session file, at the pace of its own times.
    Replay,
}

/// How a session is looked at.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// What is looked at, in a word or two: the file of a replay, the peer of a load. May be empty.
    pub title: String,
    /// What kind of session it is.
    pub mode: Mode,
    /// Limits of the rules.
    pub limits: Limits,
    /// Findings of these codes are left out.
    pub ignore: Vec<String>,
    /// File the session is being written into.
    pub recording: Option<std::path::PathBuf>,
}
