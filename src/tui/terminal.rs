//! The terminal: taken over, and given back whatever happens.

use crate::printable::{hold, release};
use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use ratatui::{Frame, Terminal};
use std::io::{self, Stdout, Write, stdout};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Whose the mouse is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mouse {
    /// The terminal's, so that a command can be copied off the screen.
    Terminals,
    /// Ours: clicks are told. Most terminals select text all the same while Shift is held.
    Ours,
}

/// What `TERM` says of terminals that cannot place text (terminfo(5), "generic" and "dumb" entries).
const PLACE_NOTHING: [&str; 6] = ["dialup", "dumb", "network", "plugboard", "printer", "unknown"];

/// Refuses a terminal on which nothing can be placed.
///
/// # Errors
///
/// `TERM` is not set, or names such a terminal; the error says what to do.
pub(super) fn can_place_text(term: Option<&str>) -> anyhow::Result<()> {
    let what = match term.unwrap_or_default() {
        "" => "TERM is not set, so it is not known how text is placed on this terminal".to_owned(),
        term if PLACE_NOTHING.contains(&term) => {
            format!("TERM={term}: no text can be placed on such a terminal")
        }
        _ => return Ok(()),
    };
    anyhow::bail!("{what}; --headless needs no screen, and TERM=xterm fits nearly every terminal there is")
}

/// The terminal while it is ours; dropping it gives it back.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Whether it may show something else than what was drawn last.
    is_stale: bool,
}

impl Screen {
    /// Takes it over.
    pub fn open(mouse: Mouse) -> io::Result<Self> {
        enable_raw_mode()?;
        // bracketed, so that pasted text is not taken for keys
        let entered = execute!(stdout(), EnterAlternateScreen, cursor::Hide, EnableBracketedPaste)
            .and_then(|()| if mouse == Mouse::Ours { take_mouse() } else { Ok(()) });
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match terminal {
            Ok(terminal) => {
                hold();
                Ok(Self { terminal, is_stale: false })
            }
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Its size in cells.
    pub fn area(&self) -> io::Result<Rect> {
        self.terminal.size().map(|size| Rect::from((Position::ORIGIN, size)))
    }

    /// Puts a text into the clipboard of the terminal, where it takes that (OSC 52 of xterm's control sequences); it never
    /// tells whether it did.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Takes note that its size has changed: what it cut off is gone, also where it is as large as before by now.
    pub fn resized(&mut self) {
        self.is_stale = true;
    }

    /// Draws one picture.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Frame)) -> io::Result<()> {
        if std::mem::take(&mut self.is_stale) {
            // not `clear`, which asks the terminal for its cursor and would wait among the keys for the answer
            let area = self.area()?;
            self.terminal.resize(area)?;
        }
        self.terminal.draw(paint).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // a panic has given it back already, and its text must stay on the main screen
        if !std::thread::panicking() {
            restore();
        }
    }
}

/// Has buttons and dragging told, in the form that knows wide terminals, and not every movement, as crossterm's own
/// command would. Source: xterm's control sequences, "Mouse Tracking".
fn take_mouse() -> io::Result<()> {
    let mut terminal = stdout();
    terminal.write_all(b"\x1b[?1000h\x1b[?1002h\x1b[?1006h")?;
    terminal.flush()
}

/// Gives the terminal back. It may be gone, so nothing is made of errors.
fn restore() {
    let _ = execute!(
        stdout(),
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        // tmux, resized meanwhile, would else pull lines of the picture back onto the main screen
        Clear(ClearType::All),
        cursor::MoveTo(0, 0),
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
    release();
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send + 'static>;

/// While it lives, a panic of this thread gives the terminal back before it is printed, and a panic of any other
/// thread is a message to this one instead of a text across the picture.
pub(super) struct Panics {
    before: Arc<Hook>,
}

impl Panics {
    pub fn watch() -> (Self, UnboundedReceiver<String>) {
        let before: Arc<Hook> = Arc::new(take_hook());
        let (send, receive) = unbounded_channel();
        let screen_thread = std::thread::current().id();
        let then = before.clone();
        set_hook(Box::new(move |info| {
            let thread = std::thread::current();
            if thread.id() == screen_thread {
                restore();
                then(info);
            } else {
                let text = format!("thread `{}` {info}", thread.name().unwrap_or("unnamed"));
                // nobody listens when the screen is just being left
                let _ = send.send(text.replace('\n', " "));
            }
        }));
        (Self { before }, receive)
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return; // a hook cannot be changed then
        }
        let before = self.before.clone();
        set_hook(Box::new(move |info| before(info)));
    }
}

#[cfg(test)]
mod tests {
    use super::can_place_text;

    #[test]
    fn a_terminal_that_cannot_place_text_is_refused_in_a_sentence() {
        for term in ["xterm-256color", "screen", "linux", "vt100", "tmux-256color", "foot"] {
            assert!(can_place_text(Some(term)).is_ok(), "{term}");
        }
        let refused = |term| can_place_text(term).unwrap_err().to_string();
        assert!(refused(Some("dumb")).starts_with("TERM=dumb: no text can be placed"));
        assert!(refused(Some("")).starts_with("TERM is not set") && refused(None).ends_with("there is"));
    }
}
