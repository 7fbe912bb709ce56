//! A screen on a recording or on a timeline, for tests: what it shows, and keys pressed on it.

use super::{Theme, draw};
use crate::app::{App, Command, How, Mode, Msg, View};
use crate::outline::Outline;
use crate::session::{FrameSource, Replay};
use crate::timeline::Timeline;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::path::Path;
use std::sync::Arc;

/// A shipped recording at its end.
pub fn recorded(name: &str, view: View) -> App {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(name);
    let mut replay = Replay::open(&path).unwrap();
    let how = How { title: name.to_owned(), mode: Mode::Replay, ..How::default() };
    let mut app = App::new(replay.session(), how, Theme::default());
    let (first, last) = replay.span_ns().unwrap();
    let mut outline = Outline::of_span(first, last);
    while let Some(frame) = replay.next_frame().unwrap() {
        outline.frame(&frame);
        let is_due = frame.at_ns % 1_000_000_000 == 0;
        app.update(Msg::Frame(Arc::new(frame)));
        if is_due {
            outline.look(app.newest(), &app.how().judge(app.newest()));
        }
    }
    outline.end();
    app.update(Msg::Outlined(Arc::new(outline)));
    app.prepare();
    app.at_view(view)
}

/// A live session that consists of these frames.
pub fn of_timeline(timeline: &Timeline, view: View) -> App {
    let mut app = App::new(Arc::new(timeline.session().clone()), How::default(), Theme::default());
    for frame in timeline.local().frames() {
        app.update(Msg::Frame(Arc::new(frame.clone())));
    }
    app.prepare();
    app.at_view(view)
}

/// A terminal that shows it.
pub fn terminal(app: &mut App, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut seen = super::Seen::default();
    terminal.draw(|frame| seen = draw(app, frame)).unwrap();
    app.drawn(seen);
    terminal
}

/// What it shows at this size.
pub fn screen(app: &mut App, (width, height): (u16, u16)) -> String {
    terminal(app, width, height).backend().to_string()
}

/// Presses a key.
pub fn press(app: &mut App, code: KeyCode) -> Command {
    app.update(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}
