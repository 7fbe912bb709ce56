//! What keys do.

use super::prompt::{Prompt, Question, Typed};
use super::{Action, App, Command, Popup, Taken, View, nothing_by};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

impl App {
    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Command {
        let is_control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        if let Some(prompt) = self.prompt.as_mut().filter(|_| !is_control_c) {
            match prompt.key(key) {
                Typed::On => self.typed(),
                Typed::GivenUp => self.give_up(),
                Typed::Done => return self.answer(),
            }
            return Command::DrawNow;
        }
        let told = self.notice.take().is_some();
        let Some(action) = self.how.screen.keys.action(key) else {
            if self.popups.is_open() {
                return if told { Command::DrawNow } else { Command::None };
            }
            let text = nothing_by(self.keys(), key);
            return self.say(&text);
        };
        if is_control_c && action == Action::Quit {
            return Command::Quit;
        }
        match self.take_over(action) {
            Taken::NotOpen => {}
            Taken::Done => return Command::DrawNow,
            Taken::Chosen(at) => {
                self.toggle(at);
                return Command::DrawNow;
            }
        }
        match self.act(action) {
            Command::None if told => Command::DrawNow,
            command => command,
        }
    }

    /// Does what a key stands for.
    pub(super) fn act(&mut self, action: Action) -> Command {
        match action {
            action if !action.is_of(self.view) => return self.say_where(action),
            Action::Back => return self.back(),
            Action::Quit => return Command::Quit,
            Action::Go(view) => self.go_with_selection(view),
            Action::NextView => self.go_with_selection(self.view.next()),
            Action::PreviousView => self.go_with_selection(self.view.previous()),
            Action::Open => return self.open(),
            Action::Copy => return self.copy(),
            Action::Columns => return self.open_picker(),
            Action::ZoomIn => return self.zoom_to(self.zoom.unwrap_or_default().narrower()),
            Action::ZoomOut => return self.zoom_to(self.zoom.unwrap_or_default().wider()),
            Action::SampleMore => return self.sample(false),
            Action::SampleLess => return self.sample(true),
            Action::Filter => self.ask_filter(),
            Action::Sort => return self.sort_next(),
            Action::Reverse => return self.sort_reversed(),
            Action::Diagnose => return self.diagnose(),
            Action::Sessions if self.how.mode.is_seekable() => return Command::Browse,
            Action::Sessions => return self.say("`railscope replay FOLDER` lists the sessions of a folder"),
            Action::Help => self.popups.open(Popup::Help(0)),
            Action::Units => self.unit = self.unit.next(),
            Action::Heat => self.heat_open = !self.heat_open,
            Action::Colours => {
                self.theme.colours = self.theme.colours.next();
                return self.say(&format!("colours: {}", self.theme.colours.word()));
            }
            Action::Mark if self.how.mode.is_past() => {
                return self.say("no mark: what was recorded or copied is not changed");
            }
            Action::Mark if self.is_behind() => {
                return self.say(
                    "no mark: it would not belong to what is seen here, but to now; first End, to live",
                );
            }
            Action::Mark => self.prompt = Some(Prompt::new(Question::Mark)),
            Action::StartAnew => return self.ask_anew(),
            Action::HoldLoad | Action::Rate => return self.steer(action),
            Action::Faster | Action::Slower if self.view == View::Load && !self.how.mode.is_past() => {
                return self.steer(action);
            }
            Action::Pause
            | Action::StepBack
            | Action::StepOn
            | Action::Jump
            | Action::Start
            | Action::End
            | Action::NextFinding
            | Action::PreviousFinding
            | Action::NextEvent
            | Action::PreviousEvent
            | Action::Faster
            | Action::Slower => return self.travel(action),
            Action::Up
            | Action::Down
            | Action::PageUp
            | Action::PageDown
            | Action::First
            | Action::Last
            | Action::Rails
            | Action::Findings
            | Action::Other => self.move_about(action),
        }
        Command::DrawNow
    }
}
