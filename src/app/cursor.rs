//! Going about in time: hold, step, jump.
//!
//! A session file goes to any moment at once: the screen asks for it ([`Command::Seek`]) and goes on when it is there
//! ([`super::Msg::Sought`]). Whatever comes live, or from a copied tree, can be stepped back through as far as its
//! [`History`](super::History) reaches, and while it is recorded to its beginning ([`Command::Recall`]); it goes on behind
//! the picture that is held.

use super::jump::{self, Here};
use super::prompt::{Prompt, Question};
use super::recalled::Wanted;
use super::{Action, App, Command, Seek};
use crate::outline::{Kind, Towards};
use crate::view::position;

/// What is said where there is nothing to step to.
pub(super) const LAST: &str = "this is the last frame";

/// While a replay goes on, "the one before" is not the one that was just gone to.
const JUST_GONE_TO_NS: u64 = 1_500_000_000;

/// How long a word stands at the foot of the screen while frames come.
const READ_IN_NS: u64 = 8_000_000_000;

impl App {
    /// A key that goes about in time.
    pub(super) fn travel(&mut self, action: Action) -> Command {
        match action {
            Action::Pause => self.pause(),
            Action::StepBack => self.step_back(),
            Action::StepOn => self.step_on(),
            Action::Jump => {
                self.prompt = Some(Prompt::new(Question::Time));
                Command::DrawNow
            }
            Action::Start => self.go_to(0),
            Action::End => self.end(),
            Action::NextFinding => self.go_to_moment(Towards::Later, What::Finding),
            Action::PreviousFinding => self.go_to_moment(Towards::Earlier, What::Finding),
            Action::NextEvent => self.go_to_moment(Towards::Later, What::Event),
            Action::PreviousEvent => self.go_to_moment(Towards::Earlier, What::Event),
            Action::Faster => self.change_speed(2.0),
            Action::Slower => self.change_speed(0.5),
            _ => Command::None,
        }
    }

    /// What is to be done before the first key: a session that was left for the list beside it is gone on with where that
    /// was, held there.
    pub fn begin(&mut self) -> Option<Command> {
        let at_ns = self.how.at_ns.take()?;
        self.is_paused = true;
        Some(self.seek(at_ns))
    }

    /// Time of what is on the screen, nanoseconds; 0 before the first frame.
    #[must_use]
    pub fn here_ns(&self) -> u64 {
        self.shown().local().latest().map_or(0, |frame| frame.at_ns)
    }

    /// Whether what is seen is older than what came last.
    pub(super) fn is_behind(&self) -> bool {
        self.held.is_some() && self.history.newest_ns().is_some_and(|newest_ns| newest_ns > self.here_ns())
    }

    fn pause(&mut self) -> Command {
        if self.ending.is_some() && self.held.is_none() {
            return self.say("this is the end; Home goes to the start");
        }
        let behind = self.held.as_ref().map(|_| self.here_ns());
        self.is_paused = !self.is_paused;
        match (self.how.mode.is_past(), behind) {
            // from where one has stepped back to
            (true, Some(at_ns)) if self.how.mode.is_seekable() => self.seek(at_ns),
            (true, _) => {
                self.show(None);
                Command::Pace(self.pace())
            }
            (false, _) => {
                let newest = self.is_paused.then(|| Box::new(self.history.newest().clone()));
                self.show(newest);
                Command::DrawNow
            }
        }
    }

    fn change_speed(&mut self, factor: f64) -> Command {
        if !self.how.mode.is_past() {
            return self.say("what is live has one speed; a load's rate is changed in the Load view");
        }
        self.speed = (self.speed * factor).clamp(*super::SPEEDS.start(), *super::SPEEDS.end());
        Command::Pace(self.pace())
    }

    fn pace(&self) -> Option<f64> {
        (!self.is_paused).then_some(self.speed)
    }

    fn step_back(&mut self) -> Command {
        let here_ns = self.here_ns();
        if let Some(command) = self.step_back_recalled(here_ns) {
            return command;
        }
        let Some(before_ns) = self.history.before_ns(here_ns) else {
            if self.has_recording() {
                return self.recall_before(here_ns);
            }
            if self.how.mode.is_seekable() && here_ns > self.first_ns() {
                self.is_paused = true;
                return self.seek(here_ns.saturating_sub(1));
            }
            return self.say(if self.how.mode.is_past() {
                "this is the first frame"
            } else {
                "what lies before is not kept; --record FILE keeps it"
            });
        };
        self.hold_at(before_ns)
    }

    fn step_on(&mut self) -> Command {
        let is_past = self.how.mode.is_past();
        if self.held.is_some() {
            if let Some(command) = self.step_on_recalled(self.here_ns()) {
                return command;
            }
            if let Some(after_ns) = self.history.after_ns(self.here_ns()) {
                return self.hold_at(after_ns);
            }
            return if is_past { self.step_source() } else { self.say("this is the newest frame") };
        }
        if is_past { self.step_source() } else { self.say("this is the newest frame") }
    }

    /// One frame more from the source, which stands still then.
    fn step_source(&mut self) -> Command {
        if self.ending.is_some() {
            return self.say(LAST);
        }
        self.is_paused = true;
        self.is_stepping = true;
        self.show(None);
        Command::Step
    }

    /// Holds the picture at a frame of the history.
    pub(super) fn hold_at(&mut self, at_ns: u64) -> Command {
        let is_newest = self.history.newest_ns() == Some(at_ns);
        let is_past = self.how.mode.is_past();
        self.is_paused = true;
        let held = if is_newest && is_past { None } else { self.history.at(at_ns).map(Box::new) };
        self.show(held);
        if is_past { Command::Pace(None) } else { Command::DrawNow }
    }

    /// To the newest frame: the end of a file; of what goes on, back to how it is now.
    fn end(&mut self) -> Command {
        if self.how.mode.is_seekable() {
            return self.seek(u64::MAX);
        }
        if !self.how.mode.is_past() {
            self.is_paused = false;
        }
        self.show(None);
        Command::DrawNow
    }

    /// To the newest frame that is no later than this.
    fn go_to(&mut self, at_ns: u64) -> Command {
        if self.how.mode.is_seekable() {
            return self.seek(at_ns);
        }
        let (Some(oldest_ns), Some(newest_ns)) = (self.history.oldest_ns(), self.history.newest_ns()) else {
            return self.say("there is no frame yet");
        };
        if at_ns > newest_ns {
            return self.say(&format!("{} has not come yet", position(at_ns)));
        }
        if at_ns < oldest_ns && self.has_recording() {
            return self.recall(at_ns, Wanted::Newest);
        }
        if at_ns < oldest_ns && at_ns > 0 {
            self.say(&format!("{} is no longer kept; this is the oldest frame that is", position(at_ns)));
        }
        self.hold_at(at_ns.max(oldest_ns))
    }

    /// To this share of the session's length.
    pub(super) fn go_to_share(&mut self, share: f64) -> Command {
        match self.outline.span_ns() {
            Some((first_ns, last_ns)) => self.go_to(jump::at_share(share, first_ns, last_ns)),
            None => Command::None,
        }
    }

    /// To the time that was typed.
    pub(super) fn go_to_typed(&mut self, text: &str) -> Result<Command, String> {
        let at_ns = self.here_ns();
        let here = Here {
            at_ns,
            span_ns: self.outline.span_ns().unwrap_or((0, at_ns)),
            started_unix_ms: self.shown().session().started_unix_ms,
        };
        let target_ns = jump::target_ns(text, here)?;
        let command = self.go_to(target_ns);
        if let (true, Some((_, last_ns))) = (self.how.mode.is_seekable(), self.outline.span_ns())
            && target_ns > last_ns
        {
            self.say(&format!("the session ends at {}", position(last_ns)));
        }
        Ok(command)
    }

    fn go_to_moment(&mut self, towards: Towards, what: What) -> Command {
        let here_ns = self.here_ns();
        let from_ns = match towards {
            Towards::Earlier if !self.is_paused && self.how.mode.is_seekable() => {
                here_ns.saturating_sub(JUST_GONE_TO_NS)
            }
            _ => here_ns,
        };
        let is_meant = |kind| matches!(kind, Kind::Begins(_)) == (what == What::Finding);
        let Some(moment) = self.outline.nearest(from_ns, towards, is_meant).cloned() else {
            let text = self.no_moment(towards, what);
            return self.say(&text);
        };
        let is_kept = self.history.oldest_ns().is_some_and(|oldest_ns| moment.at_ns >= oldest_ns);
        let text = format!("{}: {}", position(moment.at_ns), moment.text);
        if !self.how.mode.is_seekable() && !is_kept && !self.has_recording() {
            return self.say(&format!("{text}; no longer kept"));
        }
        let command = self.go_to(moment.at_ns);
        self.say(&text);
        command
    }

    fn no_moment(&self, towards: Towards, what: What) -> String {
        let thing = match what {
            What::Finding => "finding begins",
            What::Event => "event",
        };
        match towards {
            Towards::Earlier => format!("no {thing} before this"),
            Towards::Later => match self.outline.looked_to_ns() {
                Some(to_ns) if self.how.mode.is_seekable() && !self.outline.is_whole() => {
                    format!("no further {thing} up to {}; still looking", position(to_ns))
                }
                _ => format!("no further {thing}"),
            },
        }
    }

    fn seek(&mut self, to_ns: u64) -> Command {
        self.asked += 1;
        Command::Seek(Seek { number: self.asked, to_ns, pace: self.pace() })
    }

    pub(super) fn first_ns(&self) -> u64 {
        self.outline.span_ns().map_or(0, |(first_ns, _)| first_ns)
    }

    /// Shows a word at the foot of the screen until the next key, or for as long as it takes to be read.
    pub(super) fn say(&mut self, text: &str) -> Command {
        self.notice = Some(text.to_owned());
        self.noticed_ns = self.history.newest_ns().unwrap_or(0);
        Command::DrawNow
    }

    /// Makes room for the keys where a word has stood for long.
    pub(super) fn fade(&mut self) {
        let age_ns = self.history.newest_ns().unwrap_or(0).saturating_sub(self.noticed_ns);
        if age_ns >= READ_IN_NS {
            self.notice = None;
        }
    }
}

/// What can be gone to by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Finding,
    Event,
}
