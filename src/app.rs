//! What the screen knows, and what a message changes about it.
//!
//! Messages come in, a [`Command`] goes out: [`App::update`] performs nothing itself, so every behaviour of the
//! screen can be tested without a terminal, a thread or a clock.

mod how;
mod keys;
mod selection;

pub use how::{How, Mode};
pub use keys::{Action, BINDINGS, Binding, action};
pub use selection::{Focus, Selection};

use crate::rules::{self, Finding};
use crate::timeline::Timeline;
use crate::view::{RateUnit, Theme};
use crossterm::event::KeyEvent;
use probes::model::{Frame, Session};
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
}

/// What is to be done about a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Nothing.
    None,
    /// Draw, when the screen is due.
    Draw,
    /// Draw at once, because a person waits for it.
    DrawNow,
    /// Let the replay go on at this many times its own pace; `None` holds it.
    Pace(Option<f64>),
    /// Leave.
    Quit,
}

/// How the session came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Why it could not go on; `None` when it was simply over.
    pub reason: Option<String>,
}

/// Replays go no slower and no faster than this.
const SPEEDS: std::ops::RangeInclusive<f64> = 1.0 / 16.0..=64.0;

/// What the screen knows.
#[derive(Clone, Debug)]
pub struct App {
    how: How,
    theme: Theme,
    timeline: Timeline,
    /// The timeline as it was when the picture was paused.
    paused: Option<Box<Timeline>>,
    findings: Vec<Finding>,
    /// Whether `findings` are those of what is shown.
    judged: bool,
    selection: Selection,
    help_open: bool,
    unit: RateUnit,
    speed: f64,
    ending: Option<Ending>,
    /// What the recording could not keep, as it was asked last.
    recording_trouble: Option<String>,
}

impl App {
    /// A screen on this session, before its first frame.
    #[must_use]
    pub fn new(session: Arc<Session>, how: How, theme: Theme) -> Self {
        Self {
            how,
            theme,
            timeline: Timeline::new(session),
            paused: None,
            findings: Vec::new(),
            judged: false,
            selection: Selection::default(),
            help_open: false,
            unit: RateUnit::default(),
            speed: 1.0,
            ending: None,
            recording_trouble: None,
        }
    }

    /// Takes one message.
    pub fn update(&mut self, msg: Msg) -> Command {
        match msg {
            Msg::Key(key) => action(key).map_or(Command::None, |action| self.act(action)),
            Msg::Frame(frame) => {
                self.timeline.push(frame);
                if self.paused.is_none() {
                    self.judged = false;
                }
                Command::Draw
            }
            Msg::Ended(reason) => {
                self.ending = Some(Ending { reason });
                if self.how.mode.is_past() { Command::Draw } else { Command::Quit }
            }
            Msg::Resized => Command::DrawNow,
        }
    }

    fn act(&mut self, action: Action) -> Command {
        match action {
            Action::Quit => return Command::Quit,
            Action::Back if !self.help_open => return Command::Quit,
            Action::Back => self.help_open = false,
            Action::Help => self.help_open = !self.help_open,
            Action::Pause => return self.pause(),
            Action::Units => self.unit = self.unit.next(),
            Action::Faster => return self.change_speed(2.0),
            Action::Slower => return self.change_speed(0.5),
            _ => {
                let rails = self.shown().topology().rails.len();
                self.selection.act(action, rails, self.findings.len());
            }
        }
        Command::DrawNow
    }

    fn pause(&mut self) -> Command {
        self.paused = match self.paused {
            Some(_) => None,
            None => Some(Box::new(self.timeline.clone())),
        };
        self.judged = false;
        if self.how.mode.is_past() { Command::Pace(self.pace()) } else { Command::DrawNow }
    }

    fn change_speed(&mut self, factor: f64) -> Command {
        if !self.how.mode.is_past() {
            return Command::None;
        }
        self.speed = (self.speed * factor).clamp(*SPEEDS.start(), *SPEEDS.end());
        Command::Pace(self.pace())
    }

    fn pace(&self) -> Option<f64> {
        self.paused.is_none().then_some(self.speed)
    }

    /// Makes ready for drawing: judges what is shown, if it was not judged since it changed, and asks how the
    /// recording fares.
    pub fn prepare(&mut self) {
        self.recording_trouble = self.how.recording.as_ref().and_then(|status| status.trouble());
        self.judge();
    }

    fn judge(&mut self) {
        if self.judged {
            return;
        }
        let shown = self.paused.as_deref().unwrap_or(&self.timeline);
        let mut findings = rules::diagnose(shown.topology(), shown, &self.how.limits);
        findings.retain(|finding| !self.how.ignore.iter().any(|code| *code == finding.code));
        self.replace_findings(findings);
        self.judged = true;
    }

    /// Takes new findings; the selected one stays selected where it is still there.
    fn replace_findings(&mut self, findings: Vec<Finding>) {
        let same = |a: &Finding, b: &Finding| a.code == b.code && a.devices == b.devices;
        self.selection.finding = self.selection.finding.and_then(|at| {
            let old = self.findings.get(at)?;
            findings.iter().position(|new| same(new, old)).or_else(|| findings.len().checked_sub(1))
        });
        self.findings = findings;
    }

    /// Ends the screen's work and hands the session over.
    #[must_use]
    pub fn into_timeline(self) -> Timeline {
        self.timeline
    }

    /// What is on the screen: the newest, or what was paused.
    #[must_use]
    pub fn shown(&self) -> &Timeline {
        self.paused.as_deref().unwrap_or(&self.timeline)
    }

    /// The newest, even while the picture is paused.
    #[must_use]
    pub fn newest(&self) -> &Timeline {
        &self.timeline
    }

    /// Whether the picture is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// How the session is looked at.
    #[must_use]
    pub fn how(&self) -> &How {
        &self.how
    }

    /// Colours and characters.
    #[must_use]
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Findings on what is shown, worst first.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What is selected.
    #[must_use]
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// Whether the help lies over the screen.
    #[must_use]
    pub fn help_is_open(&self) -> bool {
        self.help_open
    }

    /// Unit of rates.
    #[must_use]
    pub fn unit(&self) -> RateUnit {
        self.unit
    }

    /// How many times its own pace a replay goes.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// How the session ended; `None` while it goes on.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// What the recording could not keep, and why; `None` while all is well.
    #[must_use]
    pub fn recording_trouble(&self) -> Option<&str> {
        self.recording_trouble.as_deref()
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
        self.judged = true;
    }
}

#[cfg(test)]
mod tests;
