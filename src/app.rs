//! What the screen knows, and what a message changes about it.
//!
//! Messages come in, a [`Command`] goes out: [`App::update`] performs nothing itself, so every behaviour of the
//! screen can be tested without a terminal, a thread or a clock.

mod acting;
mod anew;
mod answer;
mod cursor;
mod diagnosed;
mod filter;
mod history;
mod how;
mod judging;
mod jump;
mod keymap;
mod keys;
mod listing;
mod moving;
mod msg;
mod opened;
mod picker;
mod places;
mod pointing;
mod popups;
mod prompt;
mod recalled;
mod sampling;
mod selection;
mod sessions;
mod shown;
mod steering;
mod sweeping;
mod view;
mod zoom;

pub use anew::FORMS_OF_CHANGES;
pub use history::{History, Keep};
pub use how::{How, Mode};
pub use jump::FORMS as FORMS_OF_TIME;
pub use keymap::{Keymap, KeymapError, shown};
pub use keys::{Action, BINDINGS, Binding, Key};
pub use listing::SortBy;
pub use msg::{Command, Ending, Msg, Seek, Sought};
pub use places::nothing_by;
pub use pointing::Wheel;
pub use popups::{Popup, Popups, Taken};
pub use prompt::{Prompt, Question};
pub use selection::{Focus, Selection};
pub use sessions::{Choice, Entry, Known, Sessions, State, Summary, SweepSummary};
pub use steering::FORMS_OF_RATE;
pub use sweeping::{Progressed, Stage, Sweeping, Wish};
pub use view::View;
pub use zoom::Zoom;

use crate::experiments::told::Table;
use crate::outline::Outline;
use crate::rules::Finding;
use crate::timeline::Timeline;
use crate::view::{Column, RateUnit, Seen, Theme};
use judging::Judged;
use listing::Listing;
use probes::model::{Frame, Session};
use recalled::Recalled;
use std::sync::Arc;

/// Replays go no slower and no faster than this.
const SPEEDS: std::ops::RangeInclusive<f64> = 1.0 / 16.0..=64.0;

/// How often what goes on is judged, for the screen and for the outline, nanoseconds of its own time.
pub const JUDGE_EVERY_NS: u64 = 1_000_000_000;

/// What the screen knows.
#[derive(Clone, Debug)]
pub struct App {
    how: How,
    theme: Theme,
    history: History,
    /// Whether the picture is held.
    is_paused: bool,
    /// What is shown instead of the newest.
    held: Option<Box<Timeline>>,
    /// What of the past was read back from the recording.
    recalled: Recalled,
    outline: Arc<Outline>,
    /// Number of the last place that was asked for.
    asked: u64,
    /// Number of the last place that was gone to.
    sought: u64,
    prompt: Option<Prompt>,
    /// What the last key has to say.
    notice: Option<String>,
    /// Where the session was when that was said.
    noticed_ns: u64,
    findings: Vec<Finding>,
    /// For each of them the place of the first that says the same of another rail.
    kinds: Vec<usize>,
    /// Whether `findings` are those of what is shown.
    judged: Judged,
    selection: Selection,
    listing: Listing,
    view: View,
    /// What the rail in sight was opened from, which the key of back goes to.
    opened: Option<opened::Opened>,
    /// The table of a diagnosis, while its view is shown.
    diagnosed: Option<Table>,
    /// What that is of: the time shown, and how many frames of planned loads there were.
    diagnosed_of: Option<(u64, usize)>,
    /// Where keys have moved to in each view that has lines of its own.
    lines: [usize; View::ALL.len()],
    /// What was drawn last.
    seen: Seen,
    popups: Popups,
    heat_open: bool,
    /// What of the past is shown; `None` is as each part of the screen has it.
    zoom: Option<Zoom>,
    /// Columns that were chosen; `None` leaves them to the width.
    columns: Option<Vec<Column>>,
    unit: RateUnit,
    /// The largest rate or ceiling that was on the screen, GB/s; it never shrinks, so that the unit does not jump.
    largest_gb_per_s: f64,
    speed: f64,
    ending: Option<Ending>,
    /// Whether one frame more was asked of the source and has not come yet.
    is_stepping: bool,
    /// What the recording could not keep, as it was asked last.
    recording_trouble: Option<String>,
    steering: steering::Steering,
    /// Changes with which a load was asked for last.
    asked_anew: String,
    /// The session as it was when its load ended, until another one begins.
    last_loaded: Option<Box<Timeline>>,
}

impl App {
    /// A screen on this session, before its first frame.
    #[must_use]
    pub fn new(session: Arc<Session>, how: How, theme: Theme) -> Self {
        let unit = how.screen.unit.unwrap_or_default();
        let columns = how.screen.columns.clone();
        let how_view = how.view;
        Self {
            how,
            theme,
            history: History::new(session),
            is_paused: false,
            held: None,
            recalled: Recalled::default(),
            outline: Arc::default(),
            asked: 0,
            sought: 0,
            prompt: None,
            notice: None,
            noticed_ns: 0,
            findings: Vec::new(),
            kinds: Vec::new(),
            judged: Judged::Never,
            selection: Selection::default(),
            listing: Listing::default(),
            view: how_view,
            opened: None,
            diagnosed: None,
            diagnosed_of: None,
            lines: [0; View::ALL.len()],
            seen: Seen::default(),
            popups: Popups::default(),
            heat_open: false,
            zoom: None,
            columns,
            unit,
            largest_gb_per_s: 0.0,
            speed: 1.0,
            ending: None,
            is_stepping: false,
            recording_trouble: None,
            steering: steering::Steering::default(),
            asked_anew: String::new(),
            last_loaded: None,
        }
    }

    /// Takes one message.
    pub fn update(&mut self, msg: Msg) -> Command {
        match msg {
            Msg::Key(key) => self.key(key),
            Msg::Frame(frame) => self.frame(&frame),
            Msg::Ended(reason) => {
                self.ending = Some(Ending { reason });
                // the step went out before it was known that there is nothing to step to
                if std::mem::take(&mut self.is_stepping) {
                    return self.say(cursor::LAST);
                }
                if self.how.mode.stays() { Command::Draw } else { Command::Quit }
            }
            Msg::Resized => Command::DrawNow,
            Msg::Pasted(text) => match &mut self.prompt {
                Some(prompt) => {
                    prompt.put(&text);
                    self.typed();
                    Command::DrawNow
                }
                None => Command::None,
            },
            Msg::Clicked(spot) => self.click(spot),
            Msg::Turned(wheel, spot) => self.turn(wheel, spot),
            Msg::Sought(sought) => self.arrive(*sought),
            Msg::Recalled(sought) => self.recalled(*sought),
            Msg::Outlined(outline) => {
                self.outline = outline;
                Command::Draw
            }
        }
    }

    fn frame(&mut self, frame: &Arc<Frame>) -> Command {
        if self.sought != self.asked {
            // of a place that was left
            return Command::None;
        }
        self.is_stepping = false;
        if frame.host == 0 {
            self.keep_loaded(frame.load.is_some() && frame.experiment.is_none());
            self.notice_its_end(frame.experiment.is_some());
        }
        self.history.push(frame.clone(), if self.held.is_some() { Keep::Held } else { Keep::Minute });
        if !self.how.mode.is_seekable() {
            let outline = Arc::make_mut(&mut self.outline);
            outline.frame(frame);
            outline.note_events(self.history.newest());
        }
        if self.held.is_none() {
            self.judged = self.judged.and_a_frame();
        }
        self.fade();
        Command::Draw
    }

    fn arrive(&mut self, sought: Sought) -> Command {
        self.sought = sought.number;
        match sought.place {
            Ok(history) => {
                self.history = history;
                self.ending = None;
                self.show(None);
            }
            Err(why) => {
                self.say(&why);
            }
        }
        Command::DrawNow
    }

    /// Shows this instead of the newest; `None` shows the newest.
    fn show(&mut self, held: Option<Box<Timeline>>) {
        self.leave_recalled();
        self.held = held;
        self.judged = Judged::Never;
    }

    /// Shows what a terminal like this can show.
    #[cfg(test)]
    pub(crate) fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Shows these findings, whatever the rules say.
    #[cfg(test)]
    pub(crate) fn show_findings(&mut self, findings: Vec<Finding>) {
        self.replace_findings(findings);
        self.judged = Judged::Now(0);
        self.largest_gb_per_s = crate::view::largest_gb_per_s(self.shown(), self.largest_gb_per_s);
    }
}

#[cfg(test)]
mod tests;
