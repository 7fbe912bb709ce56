//! The line of views: which there are, by which key, and which one is shown.

use super::segments::{GAP, Segment, paint};
use crate::app::{Action, App, View};
use ratatui::Frame;
use ratatui::layout::Rect;
use widgets::width;

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
        let (style, rank) = if view == app.view() { (theme.sign(), 0) } else { (theme.dim(), 1) };
        Segment::new(word(app, view), style, rank)
    });
    paint(pieces.collect(), Vec::new(), area, frame.buffer_mut(), theme.symbols);
}

fn word(app: &App, view: View) -> String {
    let key = app.keys().first(Action::Go(view));
    let lead = if key.is_empty() { String::new() } else { format!("{key} ") };
    if view == app.view() { format!("[{lead}{}]", view.name()) } else { format!(" {lead}{} ", view.name()) }
}

/// The view whose tab stands in this column; `None` between tabs, and where they have no room side by side.
pub fn at(app: &App, area: Rect, column: u16) -> Option<View> {
    let mut x = usize::from(area.x);
    let spans: Vec<_> = View::ALL
        .into_iter()
        .map(|view| {
            let begin = x;
            x += width(&word(app, view)) + GAP;
            (view, begin..x - GAP)
        })
        .collect();
    let fits = x - GAP <= usize::from(area.right());
    spans.into_iter().find(|(_, span)| fits && span.contains(&usize::from(column))).map(|(view, _)| view)
}
