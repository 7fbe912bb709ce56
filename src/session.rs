//! Where frames come from and where they are kept.

use probes::model::{Frame, Session};
use std::sync::Arc;

/// A session that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file cannot be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// Sampling or the load cannot go on.
    #[error("{0}")]
    Live(String),
}

/// Where frames come from: a live node, a simulation, a file.
///
/// Pause and seek are not here: they are a cursor on the timeline, so a live session can be held too.
pub trait FrameSource: Send {
    /// The header of the session.
    fn session(&self) -> Arc<Session>;

    /// Waits for the next frame; `None` when the session is over.
    ///
    /// # Errors
    ///
    /// The session cannot go on.
    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError>;
}

impl<S: FrameSource + ?Sized> FrameSource for Box<S> {
    fn session(&self) -> Arc<Session> {
        (**self).session()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        (**self).next_frame()
    }
}
