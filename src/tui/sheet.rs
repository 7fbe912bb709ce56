//! The event loop of a screen that is not of a session: keys, news from a thread, drawing.

use super::terminal::{Mouse, Screen};
use super::{Opened, REDRAW, Signals};
use crate::app::{Action, Keymap};
use crate::view::Theme;
use anyhow::Context;
use crossterm::event::{Event, EventStream, KeyEventKind};
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
    /// Takes a key, but those that every screen takes.
    fn act(&mut self, action: Action) -> Turn;
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
    /// A key that lists the sessions beside this one.
    ForSessions,
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
    loop {
        let (turn, is_control_c) = tokio::select! { biased;
            event = events.next() => match event {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    let Some(action) = keys.action(key) else { continue };
                    let turn = if action == Action::Colours { next_colours(sheet) } else { sheet.act(action) };
                    (turn, super::is_control_c(key))
                }
                Some(Ok(Event::Resize(..))) => (Turn::Draw, false),
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(error).context("the terminal cannot be read"),
                None => anyhow::bail!("the terminal is gone"),
            },
            () = signals.any() => return Ok(Left::Program),
            Some(panic) = panicked.recv() => anyhow::bail!("a fault in railscope itself: {panic}"),
            _ = redraw.tick(), if dirty || sheet.is_running() => {
                screen.draw(|frame| sheet.draw(Instant::now(), frame)).context(NOT_DRAWN)?;
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
            Turn::Leave if is_control_c => return Ok(Left::Program),
            Turn::Leave => return Ok(Left::Screen),
            Turn::Copy(text) => screen.copy(&text).context("the terminal cannot be written to")?,
            Turn::Draw => {}
        }
        screen.draw(|frame| sheet.draw(Instant::now(), frame)).context(NOT_DRAWN)?;
        dirty = false;
    }
}

fn next_colours(sheet: &mut impl Sheet) -> Turn {
    let theme = sheet.theme();
    theme.colours = theme.colours.next();
    Turn::Draw
}

const NOT_DRAWN: &str = "the terminal cannot be drawn on";
