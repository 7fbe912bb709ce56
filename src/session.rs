//! Where frames come from and where they are kept.

mod anew;
mod base;
mod both;
mod chained;
mod container;
mod decode;
mod drawn;
mod encode;
mod every;
mod format;
mod gentle;
mod import;
mod live;
mod marks;
mod masked;
mod only;
mod open;
mod part;
mod reader;
mod recorded;
mod replay;
mod second_look;
mod seek;
mod stepped;
mod stop;
#[cfg(test)]
mod tests;
mod throttle;
mod until;
mod writer;

pub use anew::{Anew, Asked, Now, Wish};
pub use both::{Both, Inbox};
pub use chained::{Chained, Link, Next};
pub(crate) use container::begins_as_recording;
pub use drawn::Drawn;
pub use every::Every;
pub use gentle::Gentle;
pub use live::Live;
pub use marks::{Marked, Marks};
pub use masked::{MaskedCopy, masked_copy, masked_copy_below};
pub use only::{Only, only};
pub use open::{DEFAULT_EVERY, look, node, open, open_changeable, open_stoppable, tree};
pub use part::Part;
pub use recorded::{Recorded, RecordingStatus};
pub use replay::{Condition, Replay, Sought};
pub use seek::Seekable;
pub use stepped::Stepped;
pub use stop::Stop;
pub(crate) use throttle::AsItIs;
pub use throttle::{Rate, Throttle};
pub use until::Until;

use probes::model::{Frame, Session};
use std::io;
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

/// Time of a frame on the clock of the session's first host, nanoseconds.
pub(crate) fn on_first_clock(session: &Session, frame: &Frame) -> u64 {
    session.on_first_clock(frame.host, frame.at_ns)
}

/// Why a file cannot be written, and what to do.
pub(crate) fn cannot_write(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    let what_to_do = match error.kind() {
        Kind::AlreadyExists => return "exists already; choose another name, or remove it first".into(),
        Kind::NotFound => return "its folder does not exist; make it first".into(),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => "choose a folder that you may write to",
        Kind::StorageFull | Kind::QuotaExceeded => "make room",
        _ => return format!("cannot be written: {error}"),
    };
    format!("cannot be written: {error}; {what_to_do}")
}

/// Why a file cannot be read.
fn cannot_read(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::IsADirectory => "is a folder, not a recording".into(),
        _ => format!("cannot be read: {error}"),
    }
}
