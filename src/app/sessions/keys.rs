//! Keys in the list of sessions.

use super::{Sessions, State};
use crate::app::prompt::{Prompt, Question, Typed};
use crate::app::{Action, selection};
use crossterm::event::KeyEvent;
use std::path::PathBuf;

/// What a key does to a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nothing.
    None,
    /// It is to be drawn anew.
    Draw,
    /// This file is to be opened.
    Open(PathBuf),
    /// Put this into the clipboard of the terminal, and draw.
    Copy(String),
    /// Go back to the session that the list was opened from.
    Back,
    /// Leave.
    Leave,
}

impl Sessions {
    /// Takes a key as text; `None` while none is typed.
    pub fn types(&mut self, key: KeyEvent) -> Option<Choice> {
        let prompt = self.prompt.as_mut()?;
        match prompt.key(key) {
            Typed::On => {
                let text = prompt.text.clone();
                self.set_filter(&text);
            }
            Typed::Done => self.prompt = None,
            Typed::GivenUp => {
                self.prompt = None;
                self.set_filter("");
            }
        }
        Some(Choice::Draw)
    }

    /// Takes a text that was pasted.
    pub fn pasted(&mut self, text: &str) -> Choice {
        let Some(prompt) = &mut self.prompt else { return Choice::None };
        prompt.put(text);
        let text = prompt.text.clone();
        self.set_filter(&text);
        Choice::Draw
    }

    /// Takes a key.
    pub fn act(&mut self, action: Action) -> Choice {
        self.notice = None;
        let to = match action {
            Action::Back if !self.filter().is_empty() => {
                self.set_filter("");
                return Choice::Draw;
            }
            Action::Back if self.from.is_some() => return Choice::Back,
            Action::Quit | Action::Back => return Choice::Leave,
            Action::Open => return self.open(),
            Action::Copy => return self.copy(),
            Action::Filter => {
                let text = self.filter().to_owned();
                self.prompt = Some(Prompt { text, ..Prompt::new(Question::Sessions) });
                return Choice::Draw;
            }
            Action::Start => Action::First,
            Action::End => Action::Last,
            Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::First | Action::Last => {
                action
            }
            _ => return Choice::None,
        };
        let last = self.listed.len().saturating_sub(1);
        let to = selection::moved(self.place_in_list().or(Some(0)), to, last).min(last);
        self.selected = self.listed.get(to).copied().unwrap_or(self.selected);
        Choice::Draw
    }

    fn open(&mut self) -> Choice {
        match self.entry().map(|entry| (&entry.state, &entry.path)) {
            Some((State::Damaged(_), _)) => {
                self.notice = Some("it cannot be opened, for the reason below".to_owned());
                Choice::Draw
            }
            Some((_, path)) => Choice::Open(path.clone()),
            None => Choice::None,
        }
    }

    fn copy(&mut self) -> Choice {
        let Some(entry) = self.entry() else { return Choice::None };
        let command =
            format!("railscope replay {}", crate::printable::for_shell(&entry.path.to_string_lossy()));
        self.notice = Some(format!("copied: {command}"));
        Choice::Copy(command)
    }
}
