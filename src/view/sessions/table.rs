//! The list of sessions as a table: what fits of its columns, and what stands in them.

use crate::app::{Entry, State};
use crate::rules::Severity;
use crate::view::Theme;
use crate::view::findings::word;
use crate::view::units::{day_and_minute, memory, position};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use widgets::{padded, padded_left, width};

/// Cells of the columns after the name.
const HOST: usize = 12;
const BEGUN: usize = 16;
const LENGTH: usize = 8;
const SIZE: usize = 8;
const RAILS: usize = 5;
/// Cells of a name, at most.
const LONGEST_NAME: usize = 36;
/// Cells of a name, at least.
const SHORTEST_NAME: usize = 14;
/// Cells of the worst finding that other columns leave to it: a word and a code.
const VERDICT: usize = 26;

/// Cells of the columns that may give way: host, beginning, size and rails.
const OPTIONAL: [usize; 4] = [HOST, BEGUN, SIZE, RAILS];
/// Which of them gives way first, because it says least.
const YIELDING: [usize; 4] = [2, 3, 0, 1];

/// What fits of the columns: the worst finding has room, and what says least gives way to it first.
struct Columns {
    name: usize,
    /// Which of [`OPTIONAL`] there are.
    shown: [bool; 4],
}

impl Columns {
    fn of(listed: &[(usize, &Entry)], cells: u16) -> Self {
        let cells = usize::from(cells);
        let longest = listed.iter().map(|(_, entry)| width(&entry.name())).max().unwrap_or(0);
        let name = longest.min((cells / 4).min(LONGEST_NAME)).max(SHORTEST_NAME);
        let mut columns = Self { name, shown: [true; 4] };
        for at in YIELDING {
            if columns.taken() + VERDICT > cells {
                columns.shown[at] = false;
            }
        }
        columns
    }

    /// Cells before the worst finding.
    fn taken(&self) -> usize {
        let optional = OPTIONAL.iter().zip(self.shown).filter(|(_, is_there)| *is_there);
        2 + self.name + 2 + LENGTH + 2 + optional.map(|(cells, _)| cells + 2).sum::<usize>()
    }

    fn line(&self, lead: &str, cells: [&str; 6], theme: Theme) -> String {
        let [file, host, begun, length, size, rails] = cells;
        let left = |text: &str, cells| padded(&theme.text(text), cells, theme.symbols);
        let right = |text: &str, cells| padded_left(&theme.text(text), cells, theme.symbols);
        let [with_host, with_begun, with_size, with_rails] = self.shown;
        let parts = [
            Some(format!("{lead} {}", left(file, self.name))),
            with_host.then(|| left(host, HOST)),
            with_begun.then(|| left(begun, BEGUN)),
            Some(right(length, LENGTH)),
            with_size.then(|| right(size, SIZE)),
            with_rails.then(|| right(rails, RAILS)),
            Some(String::new()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
    }
}

/// Draws the heads of the columns and as many sessions as there is room for, the selected one among them.
pub(super) fn draw(
    listed: &[(usize, &Entry)],
    selected: usize,
    theme: Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let columns = Columns::of(listed, area.width);
    let heads = ["file", "host", "begun (UTC)", "length", "size", "rails"];
    let head = columns.line(" ", heads, theme) + "worst finding";
    buffer.set_stringn(area.x, area.y, head, usize::from(area.width), theme.dim());
    let room = usize::from(area.height.saturating_sub(1));
    let at = listed.iter().position(|(place, _)| *place == selected).unwrap_or(0);
    // the selected one is in the middle, where the list goes on both ways
    let first = at.saturating_sub(room / 2).min(listed.len().saturating_sub(room));
    for ((place, entry), y) in listed.iter().skip(first).take(room).zip(area.y + 1..) {
        let is_selected = *place == selected;
        let lead = if is_selected { theme.pick("▶", ">") } else { " " };
        let row = Row::of(&entry.state);
        // blank before it is known, and a question mark where the file does not tell
        let cell = |value: Option<&String>| match (&row, value) {
            (None, _) => String::new(),
            (Some(_), value) => value.map_or("?".to_owned(), String::clone),
        };
        let cells = [
            &*entry.name(),
            &*cell(row.as_ref().and_then(|row| row.host.as_ref())),
            &*cell(row.as_ref().and_then(|row| row.begun.as_ref())),
            &*cell(row.as_ref().and_then(|row| row.length.as_ref())),
            &*memory(entry.bytes),
            &*row.as_ref().map_or(String::new(), |row| row.rails.to_string()),
        ];
        let text = columns.line(lead, cells, theme);
        let style = if is_selected { theme.strong() } else { theme.plain() };
        let (x, _) = buffer.set_stringn(area.x, y, text, usize::from(area.width), style);
        let left = usize::from(area.right().saturating_sub(x));
        let (verdict, style) = verdict(&entry.state, theme);
        buffer.set_stringn(x, y, widgets::clip(&theme.text(&verdict), left, theme.symbols), left, style);
    }
}

/// What stands in the columns; `None` where it is not known.
struct Row {
    host: Option<String>,
    begun: Option<String>,
    length: Option<String>,
    rails: usize,
}

impl Row {
    fn of(state: &State) -> Option<Self> {
        let row = |host: &Option<String>, begun: Option<u64>, length, rails| {
            Some(Self { host: host.clone(), begun: begun.map(day_and_minute), length, rails })
        };
        match state {
            State::Unread | State::Damaged(_) => None,
            State::Read(session) => {
                row(&session.host, session.started_unix_ms, session.length_ns.map(position), session.rails)
            }
            State::Sweep(sweep) => {
                let points = format!("{}/{} pt", sweep.points.0, sweep.points.1);
                row(&sweep.host, sweep.started_unix_ms, Some(points), sweep.rails)
            }
        }
    }
}

/// What stands under `worst finding`.
fn verdict(state: &State, theme: Theme) -> (String, Style) {
    let summary = match state {
        State::Unread => return ("not read yet".to_owned(), theme.dim()),
        State::Damaged(why) => {
            return (format!("damaged: {why}"), theme.severity(Severity::Error));
        }
        State::Sweep(sweep) => {
            let first = sweep.statements.first().map_or("no point is measured", String::as_str);
            let simulated = if sweep.simulated { ", simulated" } else { "" };
            return (format!("sweep{simulated}: {first}"), theme.plain());
        }
        State::Read(summary) => summary,
    };
    // what one looks for comes first, what holds of the whole file behind it
    let labels = [(summary.simulated, ", simulated"), (summary.warning.is_some(), ", not whole")];
    let labels: String = labels.iter().filter(|(is, _)| *is).map(|(_, label)| *label).collect();
    match (&summary.findings, summary.worst()) {
        (None, _) => (format!("its end cannot be judged{labels}"), theme.severity(Severity::Warning)),
        (_, None) => (format!("nothing found{labels}"), theme.dim()),
        (_, Some(finding)) => (
            format!("{} {}{labels}: {}", word(finding.severity), finding.code, finding.message),
            theme.severity(finding.severity),
        ),
    }
}
