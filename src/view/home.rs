//! The first view: every rail, their total, what our load did, who uses the rails, and what was found.

use super::rails::Rails;
use super::{findings, heat, load, total, users};
use crate::app::App;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

/// The rails, their total, what our load did, who uses the rails, and the findings in what is left.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let of_load = load::height(app, area);
    let of_users = users::height(app);
    let sums = 1 + of_load + of_users;
    let most = area.height.saturating_sub(sums + findings::LEAST_HEIGHT);
    let rails = Rails::new(app, area.width, area.height.saturating_sub(sums + findings::GOOD_HEIGHT));
    let height = rails.height().min(most);
    let [rails_area, total_area, load_area, users_area, heat_area, findings_area] = Layout::vertical([
        Constraint::Length(height),
        Constraint::Length(1),
        Constraint::Length(of_load),
        Constraint::Length(of_users),
        Constraint::Length(heat_height(app, area.height.saturating_sub(height + sums))),
        Constraint::Min(0),
    ])
    .areas(area);
    let shown = rails.draw(rails_area, frame);
    total::draw(app, &shown, total_area, frame);
    load::draw(app, load_area, frame);
    users::draw(app, users_area, frame);
    heat::draw(app, heat_area, frame);
    findings::draw(app, findings_area, frame);
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
