//! The screen: what [`App`] knows, as cells. Nothing here changes anything, waits or looks at a clock.

mod badges;
mod columns;
mod figure;
mod findings;
#[cfg(test)]
mod fixture;
mod groups;
mod header;
mod help;
mod load;
mod rails;
mod segments;
mod theme;
mod total;
mod units;

pub use theme::{Colours, Theme};
pub use units::RateUnit;

use crate::app::App;
use rails::Rails;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

/// Below this there is no room for rails and what was found about them.
const LEAST: (u16, u16) = (60, 15);

/// Draws the whole screen.
pub fn draw(app: &App, frame: &mut Frame) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(area, frame);
        return;
    }
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(header::HEIGHT), Constraint::Min(0), Constraint::Length(1)])
            .areas(area);
    header::draw(app, head, frame);
    home(app, body, frame);
    help::foot(app, foot, frame);
    if app.help_is_open() {
        help::draw(app, area, frame);
    }
}

/// The rails, their total, what our load did, and the findings in what is left.
fn home(app: &App, area: Rect, frame: &mut Frame) {
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

fn too_small(area: Rect, frame: &mut Frame) {
    let (width, height) = LEAST;
    let text = format!(
        "railscope needs {width}x{height} cells, this terminal has {}x{}; q leaves",
        area.width, area.height
    );
    let lines = widgets::wrap(&text, usize::from(area.width));
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        frame.buffer_mut().set_string(area.x, y, line, ratatui::style::Style::new());
    }
}

#[cfg(test)]
mod tests;
