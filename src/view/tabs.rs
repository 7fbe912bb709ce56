//! The line of views: which there are, by which key, and which one is shown.

use super::segments::{Segment, paint};
use crate::app::{Action, App, View};
use ratatui::Frame;
use ratatui::layout::Rect;

/// Below this height the rails need the line.
const GOOD_HEIGHT: u16 = 20;

/// Lines it takes on a screen of this height.
pub fn height(screen: u16) -> u16 {
    u16::from(screen >= GOOD_HEIGHT)
}

/// Draws it. The view that is shown stands in brackets, so that it is told without colours too.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let pieces = View::ALL.into_iter().map(|view| {
        let key = app.keys().first(Action::Go(view));
        let lead = if key.is_empty() { String::new() } else { format!("{key} ") };
        if view == app.view() {
            Segment::new(format!("[{lead}{}]", view.name()), theme.sign(), 0)
        } else {
            Segment::new(format!(" {lead}{} ", view.name()), theme.dim(), 1)
        }
    });
    paint(pieces.collect(), Vec::new(), area, frame.buffer_mut(), theme.symbols);
}
