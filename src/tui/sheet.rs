//! The event loop of a screen that is not of a session: keys, news from a thread, drawing.

use super::terminal::{Mouse, Screen};
use super::{Opened, REDRAW, Signals};
use crate::app::{Action, Keymap, Popup, Popups, Taken, nothing_by};
use crate::view::{self, Hint, Sign, Theme};
use anyhow::Context;
use crossterm::event::{Event, EventStream, KeyEvent, KeyEventKind};
use futures_util::StreamExt;
use ratatui::Frame;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval};

/// A screen that is not of a session.
pub(super) trait Sheet {
    /// What its thread tells.
    type News;
    /// What it is drawn with.
    fn theme(&mut self) -> &mut Theme;
    /// What it is, its keys and its signs, for the help.
    fn told(&self) -> (&'static str, &'static [Hint], &'static [Sign]);
    /// Takes a key, but those that every screen takes.
    fn act(&mut self, action: Action) -> Turn;
    /// Takes a key as text; `None` while none is typed.
    fn types(&mut self, _: KeyEvent) -> Option<Turn> {
        None
    }
    /// Takes a text that was pasted.
    fn pasted(&mut self, _: &str) -> Turn {
        Turn::Nothing
    }
    /// Says this until the next key.
    fn say(&mut self, text: String);
    /// Takes what its thread tells.
    fn learn(&mut self, news: Self::News);
    /// Draws it as it is now.
    fn draw(&mut self, now: Instant, frame: &mut Frame);
    /// Whether it changes with the clock alone.
    fn is_running(&self) -> bool;
}

/// What is to be done about a key or news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing.
    Nothing,
    /// Draw.
    Draw,
    /// Put this into the clipboard of the terminal, and draw.
    Copy(String),
    /// Leave.
    Leave,
}

/// What made a person leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A key that leaves this screen: what it was opened from may go on.
    Screen,
    /// A key that lists the sessions beside this one, at this time of it, nanoseconds.
    ForSessions(u64),
    /// Ctrl-C or a signal: the program is to end.
    Program,
}

/// Shows it until a key or a signal. Once nobody can tell it anything more, only keys change it.
///
/// # Errors
///
/// The terminal is none, or gone; a thread panicked. The terminal is restored in every case.
pub(super) fn show<S: Sheet>(
    sheet: &mut S,
    news: &mut UnboundedReceiver<S::News>,
    keys: &Keymap,
) -> anyhow::Result<Left> {
    let Opened { runtime, panics, mut panicked, mut screen, mut signals } = Opened::with(Mouse::Terminals)?;
    let left = runtime.block_on(watch(sheet, &mut screen, news, &mut panicked, &mut signals, keys));
    drop(screen);
    drop(panics);
    left
}

async fn watch<S: Sheet>(
    sheet: &mut S,
    screen: &mut Screen,
    news: &mut UnboundedReceiver<S::News>,
    panicked: &mut UnboundedReceiver<String>,
    signals: &mut Signals,
    keys: &Keymap,
) -> anyhow::Result<Left> {
    let mut events = EventStream::new();
    let mut redraw = interval(REDRAW);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut dirty = true;
    let mut over = Over::default();
    loop {
        let turn = tokio::select! { biased;
            event = events.next() => match event {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    if super::is_control_c(key) && keys.action(key) == Some(Action::Quit) {
                        // ends what goes on, and only then leaves
                        match sheet.act(Action::Quit) {
                            Turn::Leave => return Ok(Left::Program),
                            turn => turn,
                        }
                    } else {
                        over.key(sheet, key, keys)
                    }
                }
                Some(Ok(Event::Paste(text))) => sheet.pasted(&text),
                Some(Ok(Event::Resize(..))) => {
                    screen.resized();
                    Turn::Draw
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(error).context("the terminal cannot be read"),
                None => anyhow::bail!("the terminal is gone"),
            },
            () = signals.any() => return Ok(Left::Program),
            Some(panic) = panicked.recv() => anyhow::bail!("a fault in railscope itself: {panic}"),
            _ = redraw.tick(), if dirty || sheet.is_running() => {
                over.draw(sheet, screen, keys)?;
                dirty = false;
                continue;
            }
            Some(known) = news.recv() => {
                // what many files tell is drawn at once
                sheet.learn(known);
                dirty = true;
                continue;
            }
        };
        match turn {
            Turn::Nothing => continue,
            Turn::Leave => return Ok(Left::Screen),
            Turn::Copy(text) => screen.copy(&text).context("the terminal cannot be written to")?,
            Turn::Draw => {}
        }
        over.draw(sheet, screen, keys)?;
        dirty = false;
    }
}

/// What lies over it.
#[derive(Default)]
struct Over {
    popups: Popups,
    /// How many lines the help can be scrolled to, as it was drawn last.
    lines: usize,
}

impl Over {
    /// Gives a key to whom it is for.
    fn key<S: Sheet>(&mut self, sheet: &mut S, key: KeyEvent, keys: &Keymap) -> Turn {
        if let Some(turn) = sheet.types(key) {
            return turn;
        }
        let Some(action) = keys.action(key) else {
            if !self.popups.is_open() {
                sheet.say(nothing_by(keys, key));
            }
            return Turn::Draw;
        };
        let lines = self.lines;
        if self.popups.take(action, |_| lines) != Taken::NotOpen {
            return Turn::Draw;
        }
        match action {
            Action::Help => self.popups.open(Popup::Help(0)),
            Action::Colours => {
                let theme = sheet.theme();
                theme.colours = theme.colours.next();
            }
            action => match sheet.act(action) {
                Turn::Nothing => sheet.say(nothing_by(keys, key)),
                turn => return turn,
            },
        }
        Turn::Draw
    }

    fn draw<S: Sheet>(&mut self, sheet: &mut S, screen: &mut Screen, keys: &Keymap) -> anyhow::Result<()> {
        let theme = *sheet.theme();
        let (help, told) = (self.popups.help(), sheet.told());
        let mut lines = 0;
        let paint = |frame: &mut Frame| {
            sheet.draw(Instant::now(), frame);
            if let Some(line) = help {
                lines = view::draw_help_of(told, (keys, theme), line, frame);
            }
        };
        screen.draw(paint).context("the terminal cannot be drawn on")?;
        self.lines = lines;
        Ok(())
    }
}
