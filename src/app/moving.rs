//! Going from view to view, and moving in them.

use super::popups::Popup;
use super::{Action, App, Command, Focus, Mode, Taken, View, Zoom, picker, selection};
use crate::view::{self as screen, Seen};

impl App {
    pub(super) fn zoom_to(&mut self, zoom: Zoom) -> Command {
        self.zoom = Some(zoom);
        self.say(&format!("trends and strips: {}", zoom.word()))
    }

    pub(super) fn go(&mut self, view: View) {
        self.opened_from = None;
        self.view = view;
    }

    /// Where one came from: less is left out, then the view before, then what this screen was opened from.
    pub(super) fn back(&mut self) -> Command {
        if !self.filter().is_empty() {
            self.set_filter("");
        } else if self.view != View::Home {
            let from = self.opened_from.take().unwrap_or_default();
            self.go(from);
        } else if self.how.mode == Mode::Diagnosis && self.how.diagnose.is_some() {
            // to the screen that it was begun from
            return self.diagnose();
        } else {
            return Command::Quit;
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

    /// Goes to the rail that is selected, or that the selected finding is about.
    pub(super) fn open(&mut self) {
        if self.view == View::Home && self.selection.focus == Focus::Findings {
            let at = self.selection.finding.unwrap_or_default();
            let device = self.listed_findings().get(at).and_then(|finding| finding.devices.first().cloned());
            let rails = &self.shown().topology().rails;
            let mut listed = self.groups().into_iter().flat_map(|group| group.rails);
            let place = listed.position(|id| Some(&rails[id.0].device) == device.as_ref());
            self.selection.rail = place.or(self.selection.rail);
        }
        let from = self.view;
        self.go(View::Rail);
        self.opened_from = Some(from);
    }

    /// Moves in the view as `action` says.
    pub(super) fn move_about(&mut self, action: Action) {
        let rails = self.listed_rails();
        let is_sideways = matches!(action, Action::Rails | Action::Findings);
        match self.view {
            View::Home => self.selection.act(action, rails, self.listed_findings().len()),
            View::Topology => self.selection.act_on_rails(action, rails),
            View::Rail if is_sideways => {
                let step = if action == Action::Rails { Action::Up } else { Action::Down };
                // the first rail is shown before a key chose one
                self.selection.rail = self.selection.rail.or(Some(0));
                self.selection.act_on_rails(step, rails);
                self.lines[self.view.place()] = 0;
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
