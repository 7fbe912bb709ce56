//! The screen: what [`App`] knows, as cells. Nothing here changes anything, waits or looks at a clock.

mod badges;
mod beside;
mod boxed;
mod columns;
mod experiments;
mod figure;
mod findings;
#[cfg(test)]
pub(crate) mod fixture;
mod foot;
mod groups;
mod header;
mod heat;
mod help;
mod home;
mod load;
mod load_page;
mod order;
mod page;
mod past;
mod picker;
mod placement;
mod rail;
mod rails;
mod scale;
mod scrubber;
mod segments;
mod sessions;
mod spot;
mod sweep;
mod tabs;
mod theme;
mod topology;
mod total;
mod units;
mod users;

pub use beside::Beside;
pub use columns::Column;
pub use groups::{Group, Heading, by_node};
pub use order::sort_value;
pub use scale::largest_gb_per_s;
pub use sessions::draw as draw_sessions;
pub use spot::{Spot, spot_at};
pub use sweep::draw as draw_sweep;
pub use theme::{Colours, Theme};
pub use units::{RateUnit, Rates, position};

use crate::app::{Action, App, Keymap, View};
use probes::model::Topology;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;

/// Below this there is no room for rails and what was found about them.
const LEAST: (u16, u16) = (60, 15);

/// What was drawn, for the keys that move in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// How many places a key can move to in a view with lines of its own.
    pub lines: usize,
    /// Which columns of the rails there were.
    pub columns: [bool; Column::ALL.len()],
    /// How many lines the help can be scrolled to; 0 while it is closed.
    pub help: usize,
}

/// Draws the whole screen.
pub fn draw(app: &App, frame: &mut Frame) -> Seen {
    let area = frame.area();
    let seen = if is_too_small(area) {
        too_small(app.keys(), area, frame);
        Seen::default()
    } else {
        parts_of(app, area, frame)
    };
    if let Some(ground) = app.theme().ground() {
        lay_under(ground, frame.buffer_mut());
    }
    seen
}

fn parts_of(app: &App, area: Rect, frame: &mut Frame) -> Seen {
    let Parts { head, tabs, body, length, foot } = parts(app, area);
    header::draw(app, head, frame);
    tabs::draw(app, tabs, frame);
    let mut columns = Default::default();
    let lines = match app.view() {
        View::Home => {
            columns = home::draw(app, body, frame);
            0
        }
        View::Topology => topology::draw(app, body, frame),
        View::Rail => rail::draw(app, body, frame),
        View::Placement => placement::draw(app, body, frame),
        View::Load => load_page::draw(app, body, frame),
        View::Experiments => experiments::draw(app, body, frame),
    };
    scrubber::draw(app, length, frame);
    foot::draw(app, foot, frame);
    let help = if app.help_is_open() { help::draw(app, area, frame) } else { 0 };
    if let Some(at) = app.picker() {
        picker::draw(app, at, columns, area, frame);
    }
    Seen { lines, columns, help }
}

/// Gives every cell that has none the colours of the theme's text and ground.
fn lay_under((text, ground): (Color, Color), buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.fg == Color::Reset {
            cell.fg = text;
        }
        if cell.bg == Color::Reset {
            cell.bg = ground;
        }
    }
}

/// The position on the screen of the first rail of this device.
#[must_use]
pub fn position_of(topology: &Topology, device: &str) -> Option<usize> {
    groups::position(topology, topology.rail(device)?.0)
}

/// The command beside what is selected, to be copied; `None` where there is none.
#[must_use]
pub fn command_beside(app: &App) -> Option<Beside> {
    if app.view() == View::Load
        && let Some(command) = load_page::command(app)
    {
        return Some(Beside { command, is_open: false });
    }
    let advice = match app.view() {
        View::Placement => placement::advice(app)?,
        View::Home | View::Topology | View::Rail | View::Load | View::Experiments => findings::advice(app)?,
    };
    beside::of(&advice)
}

/// Whether there is no room for what has to be seen.
fn is_too_small(screen: Rect) -> bool {
    screen.width < LEAST.0 || screen.height < LEAST.1
}

/// What stands where, from the top.
struct Parts {
    head: Rect,
    tabs: Rect,
    body: Rect,
    /// The session's length.
    length: Rect,
    foot: Rect,
}

fn parts(app: &App, area: Rect) -> Parts {
    let [head, tabs, body, length, foot] = Layout::vertical([
        Constraint::Length(header::HEIGHT),
        Constraint::Length(tabs::height(area.height)),
        Constraint::Min(0),
        Constraint::Length(scrubber::height(app, area.height)),
        Constraint::Length(1),
    ])
    .areas(area);
    Parts { head, tabs, body, length, foot }
}

fn too_small(keys: &Keymap, area: Rect, frame: &mut Frame) {
    let (width, height) = LEAST;
    let text = format!(
        "railscope needs {width}x{height} cells, this terminal has {}x{}; {} leaves",
        area.width,
        area.height,
        keys.first(Action::Quit)
    );
    let lines = widgets::wrap(&text, usize::from(area.width));
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        frame.buffer_mut().set_string(area.x, y, line, ratatui::style::Style::new());
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod views;
