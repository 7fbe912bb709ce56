//! Further back in a session that goes on than memory reaches: its recording has the rest.

use super::judging::Judged;
use super::{App, Command, History, Seek, Sought};
use crate::timeline::WINDOW_NS;

/// A part of the session that was read back.
#[derive(Clone, Debug, Default)]
pub(super) struct Recalled {
    /// Number of the last part that was asked for.
    asked: u64,
    wanted: Wanted,
    /// What the picture is held in; `None` where that is in memory.
    part: Option<History>,
}

/// What of a part is to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Its newest frame.
    #[default]
    Newest,
    /// The frame after the one of this time, nanoseconds.
    After(u64),
}

impl App {
    /// Whether what is no longer in memory can be read back.
    pub(super) fn has_recording(&self) -> bool {
        !self.how.mode.is_past() && self.how.recording.is_some()
    }

    /// Asks for the minute up to this time.
    pub(super) fn recall(&mut self, to_ns: u64, wanted: Wanted) -> Command {
        self.recalled.asked += 1;
        self.recalled.wanted = wanted;
        Command::Recall(Seek { number: self.recalled.asked, to_ns, pace: None })
    }

    /// A part that was asked for has come.
    pub(super) fn recalled(&mut self, sought: Sought) -> Command {
        if sought.number != self.recalled.asked {
            // of a place that was left
            return Command::None;
        }
        let part = match sought.place {
            Ok(part) => part,
            Err(why) => return self.say(&format!("the recording cannot be read back: {why}")),
        };
        let at_ns = match self.recalled.wanted {
            Wanted::Newest => part.newest_ns(),
            Wanted::After(here_ns) => part.after_ns(here_ns),
        };
        match (at_ns, self.history.oldest_ns()) {
            (Some(at_ns), _) => {
                self.recalled.part = Some(part);
                self.hold_recalled(at_ns)
            }
            // what the recording lacks there
            (None, Some(oldest_ns)) => self.hold_at(oldest_ns),
            (None, None) => Command::None,
        }
    }

    /// What is shown comes from elsewhere, and what was asked for is no longer wanted.
    pub(super) fn leave_recalled(&mut self) {
        self.recalled.asked += 1;
        self.recalled.part = None;
    }

    /// One frame back in the part that the picture is held in; `None` where it is held in none.
    pub(super) fn step_back_recalled(&mut self, here_ns: u64) -> Option<Command> {
        let before_ns = self.recalled.part.as_ref()?.before_ns(here_ns);
        Some(match before_ns {
            Some(before_ns) => self.hold_recalled(before_ns),
            None => self.recall_before(here_ns),
        })
    }

    /// To the frame before all that is at hand.
    pub(super) fn recall_before(&mut self, here_ns: u64) -> Command {
        if here_ns <= self.first_ns() {
            return self.say("this is the first frame");
        }
        self.recall(here_ns.saturating_sub(1), Wanted::Newest)
    }

    /// One frame on, likewise.
    pub(super) fn step_on_recalled(&mut self, here_ns: u64) -> Option<Command> {
        let after_ns = self.recalled.part.as_ref()?.after_ns(here_ns);
        if let Some(after_ns) = after_ns {
            return Some(self.hold_recalled(after_ns));
        }
        let oldest_ns = self.history.oldest_ns()?;
        if let Some(after_ns) = self.history.after_ns(here_ns).filter(|_| oldest_ns <= here_ns) {
            return Some(self.hold_at(after_ns));
        }
        let to_ns = here_ns.saturating_add(WINDOW_NS / 2).min(oldest_ns);
        Some(self.recall(to_ns, Wanted::After(here_ns)))
    }

    fn hold_recalled(&mut self, at_ns: u64) -> Command {
        self.held = self.recalled.part.as_ref().and_then(|part| part.at(at_ns)).map(Box::new);
        self.is_paused = true;
        self.judged = Judged::Never;
        Command::DrawNow
    }
}
