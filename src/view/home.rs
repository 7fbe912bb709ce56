//! The first view: every rail, their total, what our load did, and what was found.

use super::rails::Rails;
use super::{findings, load, total};
use crate::app::App;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

/// The rails, their total, what our load did, and the findings in what is left.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let of_load = load::height(app, area);
    let sums = 1 + of_load;
    let most = area.height.saturating_sub(sums + findings::LEAST_HEIGHT);
    let rails = Rails::new(app, area.width, area.height.saturating_sub(sums + findings::GOOD_HEIGHT));
    let height = rails.height().min(most);
    let [rails_area, total_area, load_area, findings_area] = Layout::vertical([
        Constraint::Length(height),
        Constraint::Length(1),
        Constraint::Length(of_load),
        Constraint::Min(0),
    ])
    .areas(area);
    let shown = rails.draw(rails_area, frame);
    total::draw(app, &shown, total_area, frame);
    load::draw(app, load_area, frame);
    findings::draw(app, findings_area, frame);
}
