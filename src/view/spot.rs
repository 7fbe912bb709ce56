//! What a cell of the screen stands for, for whoever points at it.

use super::{home, parts, scrubber, tabs, whole};
use crate::app::{App, SortBy, View};
use ratatui::layout::{Position, Rect};

/// What a cell of the screen stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spot {
    /// A share of the session's length.
    Share(f64),
    /// A view, by its tab.
    Tab(View),
    /// The heading of a column to sort by.
    Heading(SortBy),
    /// The rail at this position of the list.
    Rail(usize),
    /// The finding at this position of the list; `None` beside all of them.
    Finding(Option<usize>),
    /// Rates of the past.
    Past,
}

/// What a cell stands for; `None` where it stands for nothing.
#[must_use]
pub fn spot_at(app: &App, screen: Rect, (column, row): (u16, u16)) -> Option<Spot> {
    let is_covered = app.popups().is_open();
    if whole::is_too_small(screen) || is_covered {
        return None;
    }
    let cell = Position { x: column, y: row };
    let areas = parts(app, screen);
    if areas.tabs.contains(cell) {
        return tabs::at(app, areas.tabs, column).map(Spot::Tab);
    }
    if areas.length.contains(cell) {
        return scrubber::share_at(app, areas.length, column, row).map(Spot::Share);
    }
    let is_on_home = areas.body.contains(cell) && app.view() == View::Home;
    is_on_home.then(|| home::spot_at(app, areas.body, cell)).flatten()
}
