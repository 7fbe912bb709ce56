//! What comes in to the screen, and what goes out of it.

use super::{History, Wheel};
use crate::outline::Outline;
use crate::view::Spot;
use crossterm::event::KeyEvent;
use probes::model::Frame;
use std::sync::Arc;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// The session went on.
    Frame(Arc<Frame>),
    /// The session is over; why, if it could not go on.
    Ended(Option<String>),
    /// The terminal has another size.
    Resized,
    /// A text was pasted.
    Pasted(String),
    /// A person clicks on this.
    Clicked(Spot),
    /// A person turns the wheel over this.
    Turned(Wheel, Option<Spot>),
    /// The place that was asked for.
    Sought(Box<Sought>),
    /// The part of the recording that was asked for with [`Command::Recall`].
    Recalled(Box<Sought>),
    /// What is known by now of the whole session.
    Outlined(Arc<Outline>),
}

/// A place in a session file that was asked for with [`Command::Seek`].
#[derive(Clone, Debug)]
pub struct Sought {
    /// That of the [`Seek`].
    pub number: u64,
    /// The minute up to the place; an error says why it cannot be read.
    pub place: Result<History, String>,
}

/// A place in a session file that is to be gone to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seek {
    /// Counts up; frames that come before its answer are of another place.
    pub number: u64,
    /// Time of the place, nanoseconds since the session began; the end, where that is earlier.
    pub to_ns: u64,
    /// As [`Command::Pace`], from there on.
    pub pace: Option<f64>,
}

/// What is to be done about a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Nothing.
    None,
    /// Draw, when the screen is due.
    Draw,
    /// Draw at once, because a person waits for it.
    DrawNow,
    /// Let the replay go on at this many times its own pace; `None` holds it.
    Pace(Option<f64>),
    /// Let one frame more come, and hold the replay there.
    Step,
    /// Go to another place of the session file.
    Seek(Seek),
    /// Read the minute up to this place back from the file that the session is being written into, and answer.
    Recall(Seek),
    /// Put this into the clipboard of the terminal, and draw.
    Copy(String),
    /// Leave, for the list of the sessions beside this one.
    Browse,
    /// Leave.
    Quit,
}

/// How the session came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Why it could not go on; `None` when it was simply over.
    pub reason: Option<String>,
}
