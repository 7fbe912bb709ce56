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
mod hints;
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
mod signs;
mod spot;
mod sweep;
mod tabs;
mod theme;
mod topology;
mod total;
mod units;
mod users;
mod whole;

pub use beside::Beside;
pub use columns::Column;
pub use groups::{Group, Heading, by_node};
pub use help::draw_of as draw_help_of;
pub use hints::Hint;
pub use order::sort_value;
pub use scale::largest_gb_per_s;
pub use sessions::{HINTS as HINTS_OF_SESSIONS, draw as draw_sessions};
pub use signs::{OF_SESSIONS as SIGNS_OF_SESSIONS, OF_SWEEP as SIGNS_OF_SWEEP, Sign};
pub use spot::{Spot, spot_at};
pub use sweep::{HINTS as HINTS_OF_SWEEP, draw as draw_sweep};
pub use theme::{Colours, Theme};
pub use units::{RateUnit, Rates, position, time_in_words, time_left};

use crate::app::{App, View};
use probes::model::Topology;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

/// What was drawn, for the keys that move in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// How many places a key can move to in a view with lines of its own.
    pub lines: usize,
    /// Which columns of the rails there were.
    pub columns: [bool; Column::ALL.len()],
    /// How many lines the selected finding can be scrolled by; 0 where all of it has room.
    pub finding: usize,
    /// How many lines the help can be scrolled to; 0 while it is closed.
    pub help: usize,
}

/// Draws the whole screen.
pub fn draw(app: &App, frame: &mut Frame) -> Seen {
    whole::draw(app.keys(), app.theme(), frame, |area, frame| parts_of(app, area, frame))
}

fn parts_of(app: &App, area: Rect, frame: &mut Frame) -> Seen {
    let Parts { head, tabs, body, length, foot } = parts(app, area);
    header::draw(app, head, frame);
    tabs::draw(app, tabs, frame);
    let (mut columns, mut finding) = Default::default();
    let lines = match app.view() {
        View::Home => {
            (columns, finding) = home::draw(app, body, frame);
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
    if let Some(at) = app.popups().columns() {
        picker::draw(app, at, columns, area, frame);
    }
    let help = app.popups().help().map_or(0, |line| help::draw(app, line, area, frame));
    Seen { lines, columns, finding, help }
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
    if app.view() == View::Rail {
        return findings::advice_of_rail(app).iter().find_map(|advice| beside::of(advice));
    }
    let advice = match app.view() {
        View::Placement => placement::advice(app)?,
        View::Home | View::Topology | View::Rail | View::Load | View::Experiments => findings::advice(app)?,
    };
    beside::of(&advice)
}

/// The device of the selected row of the placement; `None` where nobody uses a rail.
#[must_use]
pub fn device_beside(app: &App) -> Option<String> {
    placement::device(app)
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

#[cfg(test)]
mod in_sight;
#[cfg(test)]
mod mouse;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod strange_names;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod views;
