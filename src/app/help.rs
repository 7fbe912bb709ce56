//! Whether the help lies over the screen, and where in it one is.

use super::{Action, selection};

/// The help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Help {
    /// It is not seen.
    #[default]
    Closed,
    /// It lies over the screen.
    Open {
        /// Its first line that is seen, from 0.
        line: usize,
    },
}

impl Help {
    /// Opened at its first line, or closed.
    pub fn toggled(self) -> Self {
        if self.is_open() { Self::Closed } else { Self::Open { line: 0 } }
    }

    /// Scrolled as `action` says, among so many places.
    pub fn moved(self, action: Action, places: usize) -> Self {
        match self {
            Self::Closed => Self::Closed,
            Self::Open { line } => {
                let last = places.saturating_sub(1);
                Self::Open { line: selection::moved(Some(line), action, last).min(last) }
            }
        }
    }

    /// Whether it lies over the screen.
    pub fn is_open(self) -> bool {
        self != Self::Closed
    }

    /// Its first line that is seen; 0 while it is closed.
    pub fn line(self) -> usize {
        match self {
            Self::Closed => 0,
            Self::Open { line } => line,
        }
    }
}
