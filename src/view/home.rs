//! The first view: every rail, their total, what our load did, who uses the rails, and what was found.

use super::columns::Column;
use super::rails::Rails;
use super::spot::Spot;
use super::{findings, heat, load, total, users};
use crate::app::App;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};

/// What stands where.
struct Areas {
    rails: Rect,
    total: Rect,
    load: Rect,
    users: Rect,
    heat: Rect,
    findings: Rect,
}

fn areas(app: &App, area: Rect) -> (Rails<'_>, Areas) {
    let of_load = load::height(app, area);
    let of_users = users::height(app);
    let sums = 1 + of_load + of_users;
    let most = area.height.saturating_sub(sums + findings::LEAST_HEIGHT);
    let laid = Rails::new(app, area.width, area.height.saturating_sub(sums + findings::GOOD_HEIGHT));
    let height = laid.height().min(most);
    let [rails, total, load, users, heat, findings] = Layout::vertical([
        Constraint::Length(height),
        Constraint::Length(1),
        Constraint::Length(of_load),
        Constraint::Length(of_users),
        Constraint::Length(heat_height(app, area.height.saturating_sub(height + sums))),
        Constraint::Min(0),
    ])
    .areas(area);
    (laid, Areas { rails, total, load, users, heat, findings })
}

/// Draws the rails, their total, what our load did, who uses the rails, and the findings in what is left; tells which columns
/// of the rails there were, and by how many lines the selected finding can be scrolled.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) -> ([bool; Column::ALL.len()], usize) {
    let (rails, areas) = areas(app, area);
    let shown = rails.draw(areas.rails, frame);
    total::draw(app, &shown, areas.total, frame);
    load::draw(app, areas.load, frame);
    users::draw(app, areas.users, frame);
    heat::draw(app, areas.heat, frame);
    let overflow = findings::draw(app, areas.findings, frame);
    (rails.shown_columns(), overflow)
}

/// What a cell of this view stands for.
pub fn spot_at(app: &App, area: Rect, cell: Position) -> Option<Spot> {
    let (rails, areas) = areas(app, area);
    if areas.rails.contains(cell) {
        rails.spot_at(areas.rails, cell)
    } else if areas.heat.contains(cell) {
        Some(Spot::Past)
    } else if areas.findings.contains(cell) {
        Some(Spot::Finding(findings::at(app, areas.findings, cell)))
    } else {
        None
    }
}

/// Lines of the rates over the session, of so many for them and the findings: all where findings keep theirs, or as far
/// as their heading allows where a key asked for them.
fn heat_height(app: &App, left: u16) -> u16 {
    let whole = heat::height(app);
    match app.outline().span_ns() {
        Some((first, last)) if first < last => {}
        _ => return 0,
    }
    if app.heat_is_open() {
        whole.min(left.saturating_sub(1))
    } else if left >= whole + findings::AMPLE_HEIGHT {
        whole
    } else {
        0
    }
}
