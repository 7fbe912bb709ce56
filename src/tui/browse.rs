//! The sessions of a folder on the screen. A thread looks into them one by one, so that a large folder never blocks.

mod looking;

use super::sheet::{self, Left, Sheet, Turn};
use crate::app::{Action, Choice, How, Known, Sessions};
use crate::session::Stop;
use crate::view::{self, Hint, Sign, Theme};
use anyhow::Context;
use crossterm::event::KeyEvent;
pub use looking::known_of;
use looking::look_into;
use ratatui::Frame;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// What a person chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// To look at this session.
    File(PathBuf),
    /// To go back to the session that the list was opened from.
    Back,
    /// To leave the list.
    Nothing,
}

/// The sessions of a folder, and what looks into them; dropping this ends it.
pub struct Browser {
    sessions: Sessions,
    how: How,
    theme: Theme,
    chosen: Option<Chosen>,
    news: Option<UnboundedReceiver<Known>>,
    reader: Option<JoinHandle<()>>,
    stop: Stop,
}

impl Browser {
    /// The sessions of this folder, judged as `how` says; `from` is the session that the list is opened from.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn open(folder: PathBuf, from: Option<PathBuf>, how: How) -> anyhow::Result<Self> {
        let (send, news) = unbounded_channel();
        let stop = Stop::new();
        let (of, judge, told) = (folder.clone(), how.clone(), stop.clone());
        let reader = std::thread::Builder::new()
            .name("sessions".into())
            .spawn(move || look_into(&of, &judge, &told, &send))
            .context("the thread that looks into the sessions could not start")?;
        let theme = super::theme(&how);
        let sessions = Sessions::new(folder, from);
        Ok(Self { sessions, how, theme, chosen: None, news: Some(news), reader: Some(reader), stop })
    }

    /// Shows the list until a session is chosen or the list is left.
    ///
    /// # Errors
    ///
    /// As the screen of a session.
    pub fn choose(&mut self) -> anyhow::Result<Chosen> {
        let mut news = self.news.take().context("a list is shown once at a time")?;
        let keys = self.how.screen.keys.clone();
        self.chosen = None;
        let left = sheet::show(self, &mut news, &keys);
        self.news = Some(news);
        Ok(match (left?, self.chosen.take()) {
            (Left::Screen, Some(chosen)) => chosen,
            (Left::Screen | Left::ForSessions(_) | Left::Program, _) => Chosen::Nothing,
        })
    }

    /// Says in the list why what was chosen could not be opened.
    pub fn refuse(&mut self, why: String) {
        self.sessions.refuse(why);
    }
}

impl Browser {
    fn turn(&mut self, choice: Choice) -> Turn {
        match choice {
            Choice::None => return Turn::Nothing,
            Choice::Draw => return Turn::Draw,
            Choice::Copy(command) => return Turn::Copy(command),
            Choice::Leave => {}
            Choice::Back => self.chosen = Some(Chosen::Back),
            Choice::Open(file) => self.chosen = Some(Chosen::File(file)),
        }
        Turn::Leave
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(reader) = self.reader.take() {
            // a panic of it has been told by the screen
            let _ = reader.join();
        }
    }
}

impl Sheet for Browser {
    type News = Known;

    fn theme(&mut self) -> &mut Theme {
        &mut self.theme
    }

    fn told(&self) -> (&'static str, &'static [Hint], &'static [Sign]) {
        ("Sessions", view::HINTS_OF_SESSIONS, view::SIGNS_OF_SESSIONS)
    }

    fn act(&mut self, action: Action) -> Turn {
        let choice = self.sessions.act(action);
        self.turn(choice)
    }

    fn types(&mut self, key: KeyEvent) -> Option<Turn> {
        let choice = self.sessions.types(key)?;
        Some(self.turn(choice))
    }

    fn pasted(&mut self, text: &str) -> Turn {
        let choice = self.sessions.pasted(text);
        self.turn(choice)
    }

    fn say(&mut self, text: String) {
        self.sessions.say(text);
    }

    fn learn(&mut self, known: Known) {
        self.sessions.learn(known);
    }

    fn draw(&mut self, _: Instant, frame: &mut Frame) {
        view::draw_sessions(&self.sessions, &self.how.screen.keys, self.theme, frame);
    }

    fn is_running(&self) -> bool {
        false
    }
}
