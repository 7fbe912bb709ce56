//! What a cell of the screen stands for, for whoever points at it.

use super::{home, parts, placement, scrubber, tabs, topology, whole};
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
    /// The row of a table, from the top.
    Row(usize),
    /// Rates of the past.
    Past,
    /// Whatever is covered by what lies over the screen.
    Over,
}

/// What a cell stands for; `None` where it stands for nothing.
#[must_use]
pub fn spot_at(app: &App, screen: Rect, (column, row): (u16, u16)) -> Option<Spot> {
    if whole::is_too_small(screen) {
        return None;
    }
    if app.popups().is_open() {
        return Some(Spot::Over);
    }
    let cell = Position { x: column, y: row };
    let areas = parts(app, screen);
    if areas.tabs.contains(cell) {
        return tabs::at(app, areas.tabs, column).map(Spot::Tab);
    }
    if areas.length.contains(cell) {
        return scrubber::share_at(app, areas.length, column, row).map(Spot::Share);
    }
    if !areas.body.contains(cell) {
        return None;
    }
    match app.view() {
        View::Home => home::spot_at(app, areas.body, cell),
        View::Topology => topology::rail_at(app, areas.body, cell).map(Spot::Rail),
        View::Placement => placement::row_at(app, areas.body, cell).map(Spot::Row),
        View::Rail | View::Load | View::Experiments => None,
    }
}
