//! Going from view to view, and moving in them.

use super::popups::Popup;
use super::{Action, App, Command, Mode, Taken, View, Zoom, picker, selection};
use crate::session::Now;
use crate::view::{self as screen, Seen};

impl App {
    pub(super) fn zoom_to(&mut self, zoom: Zoom) -> Command {
        self.zoom = Some(zoom);
        self.say(&format!("trends and strips: {}", zoom.word()))
    }

    pub(super) fn go(&mut self, view: View) {
        self.opened = None;
        self.view = view;
    }

    /// Where one came from: less is left out, then the view before, then what this screen was opened from.
    pub(super) fn back(&mut self) -> Command {
        if !self.filter().is_empty() {
            self.set_filter("");
        } else if self.view == View::Experiments && self.is_away_from_load() {
            return self.leave_diagnosis();
        } else if self.view == View::Experiments && matches!(self.goes_on(), Some(Now::Refused(_))) {
            // one could not be begun: what to do stands beside the load
            self.go(View::Load);
        } else if self.view != View::Home {
            let from = self.opened.take().map(|opened| opened.from);
            self.go(from.unwrap_or_default());
        } else if self.heat_open {
            self.heat_open = false;
        } else if self.how.mode == Mode::Replay {
            // to the list that it was opened from, or out: nothing is lost by it
            return Command::Quit;
        } else {
            // what goes on would end, by one Esc too many
            let (back, leave) = (self.keys().first(Action::Back), self.keys().first(Action::Quit));
            return self.say(&format!("{back} goes back, and nothing is before Home; {leave} leaves"));
        }
        Command::DrawNow
    }

    /// Gives a key to what lies over the screen.
    pub(super) fn take_over(&mut self, action: Action) -> Taken {
        let lines = self.seen.help;
        self.popups.take(action, |popup| match popup {
            Popup::Help(_) => lines,
            Popup::Columns(_) => picker::ENTRIES,
        })
    }

    /// Moves in the view as `action` says.
    pub(super) fn move_about(&mut self, action: Action) {
        let rails = self.listed_rails();
        let is_sideways = matches!(action, Action::Rails | Action::Findings);
        match self.view {
            View::Home => {
                let findings = self.told_findings().len();
                self.selection.act(action, rails, findings, self.seen.finding);
            }
            View::Topology => self.selection.act_on_rails(action, rails),
            View::Rail if is_sideways => {
                let step = if action == Action::Rails { Action::Up } else { Action::Down };
                self.next_rail(step);
            }
            View::Rail | View::Placement | View::Load | View::Experiments => {
                let line = &mut self.lines[self.view.place()];
                let last = self.seen.lines.saturating_sub(1);
                *line = selection::moved(Some(*line), action, last).min(last);
            }
        }
    }

    /// Takes what was drawn, which keys that move then keep to.
    pub fn drawn(&mut self, seen: Seen) {
        self.seen = seen;
    }

    /// Copies the command beside what is selected.
    pub(super) fn copy(&mut self) -> Command {
        match screen::command_beside(self) {
            None => self.say("there is no command here to copy"),
            Some(beside) => {
                let open = if beside.is_open { ", which wants its arguments" } else { "" };
                self.say(&format!("copied{open}: {}", beside.command));
                Command::Copy(beside.command)
            }
        }
    }
}
