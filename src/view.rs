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
mod scrubber;
mod segments;
mod theme;
mod total;
mod units;

pub use theme::{Colours, Theme};
pub use units::{RateUnit, position};

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
    let Parts { head, body, length, foot } = parts(app, area);
    header::draw(app, head, frame);
    home(app, body, frame);
    scrubber::draw(app, length, frame);
    help::foot(app, foot, frame);
    if app.help_is_open() {
        help::draw(app, area, frame);
    }
}

/// The share of the session's length that a cell of the screen stands for; `None` where it stands for none.
#[must_use]
pub fn share_at(app: &App, screen: Rect, column: u16, row: u16) -> Option<f64> {
    let is_seen = screen.width >= LEAST.0 && screen.height >= LEAST.1 && !app.help_is_open();
    let area = parts(app, screen).length;
    is_seen.then(|| scrubber::share_at(app, area, column, row)).flatten()
}

/// What stands where, from the top.
struct Parts {
    head: Rect,
    body: Rect,
    /// The session's length.
    length: Rect,
    foot: Rect,
}

fn parts(app: &App, area: Rect) -> Parts {
    let [head, body, length, foot] = Layout::vertical([
        Constraint::Length(header::HEIGHT),
        Constraint::Min(0),
        Constraint::Length(scrubber::height(app, area.height)),
        Constraint::Length(1),
    ])
    .areas(area);
    Parts { head, body, length, foot }
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
