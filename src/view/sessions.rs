//! The sessions of a folder, a line each, and what was found in the selected one.

use super::findings;
use super::findings::word;
use super::foot::ask;
use super::hints::{self, Hint, piece};
use super::segments::{Segment, paint};
use super::theme::Theme;
use super::units::{day_and_minute, memory, position};
use super::whole::{self, put};
use crate::app::{Action, Entry, Keymap, Sessions, State};
use crate::rules::Severity;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::widgets::Widget;
use widgets::{FindingList, padded, padded_left, width};

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

/// The keys of the list.
pub const HINTS: &[Hint] = &[
    Hint { actions: &[Action::Help], foot: Some(("help", 0)), help: "this help" },
    Hint { actions: &[Action::Quit], foot: Some(("leave", 0)), help: "leave" },
    Hint { actions: &[Action::Open], foot: Some(("open", 0)), help: "look at this session" },
    Hint { actions: &[Action::Down, Action::Up], foot: Some(("select", 1)), help: "one down, one up" },
    Hint { actions: &[Action::Filter], foot: Some(("filter", 2)), help: "only some: file, host, code" },
    Hint { actions: &[Action::Copy], foot: Some(("copy", 3)), help: "copy the line that opens it" },
    Hint { actions: &[Action::Back], foot: None, help: "end the filter; back" },
    Hint { actions: &[Action::PageDown, Action::PageUp], foot: None, help: "ten down, ten up" },
    Hint { actions: &[Action::First, Action::Last], foot: None, help: "to the first, to the last" },
    Hint { actions: &[Action::Colours], foot: Some(("colours", 4)), help: "next colours" },
];

/// Draws the list on the whole screen.
pub fn draw(sessions: &Sessions, keys: &Keymap, theme: Theme, frame: &mut Frame) {
    whole::draw(keys, theme, frame, |area, frame| parts(sessions, keys, theme, area, frame));
}

fn parts(sessions: &Sessions, keys: &Keymap, theme: Theme, area: Rect, frame: &mut Frame) {
    let listed = sessions.listed();
    // one line each, and a third of the screen for what was found
    let list = u16::try_from(listed.len() + 1).unwrap_or(u16::MAX).max(2);
    let [head, _, list, _, about, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(list.min(area.height * 3 / 5)),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(area);
    let buffer = frame.buffer_mut();
    let folder = Segment::new(theme.text(&sessions.folder().display().to_string()), theme.strong(), 0);
    let left = vec![Segment::new(" SESSIONS ", theme.sign(), 0), folder];
    let mut right = vec![Segment::new(counted(sessions), theme.plain(), 0)];
    if !sessions.filter().is_empty() {
        let text = format!(" filter: {}, {} listed ", theme.text(sessions.filter()), listed.len());
        right.insert(0, Segment::new(text, theme.sign(), 0));
    }
    paint(left, right, head, buffer, theme.symbols);
    match (sessions.unreadable(), sessions.entries()) {
        (Some(why), _) => drop(put(why, theme.severity(Severity::Error), theme, list, buffer)),
        (None, None) => drop(put("reading the folder", theme.dim(), theme, list, buffer)),
        (None, Some([])) => drop(put(&nothing(sessions), theme.plain(), theme, list, buffer)),
        (None, Some(_)) if listed.is_empty() => {
            put("Nothing that the filter takes.", theme.plain(), theme, list, buffer);
        }
        (None, Some(_)) => {
            rows(&listed, sessions.selected(), theme, list, buffer);
            if let Some(entry) = sessions.entry() {
                what_is_known(entry, theme, about, buffer);
            }
        }
    }
    match sessions.prompt() {
        Some(prompt) => ask(prompt, theme, foot, frame),
        None => foot_line(sessions, keys, theme, foot, frame.buffer_mut()),
    }
}

/// `12 sessions: 2 with errors, 3 with warnings, 1 cannot be opened; 4 not read yet`.
fn counted(sessions: &Sessions) -> String {
    let Some(entries) = sessions.entries() else { return String::new() };
    let all = if entries.len() == 1 { "1 session".to_owned() } else { format!("{} sessions", entries.len()) };
    let (errors, warnings, damaged) = sessions.counts();
    let parts: Vec<String> = [(errors, "with errors"), (warnings, "with warnings"), (damaged, "damaged")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let known = if parts.is_empty() { all } else { format!("{all}: {}", parts.join(", ")) };
    match sessions.unread() {
        0 => known,
        unread => format!("{known}; {unread} not read yet"),
    }
}

fn nothing(sessions: &Sessions) -> String {
    let others = match sessions.others() {
        0 => "The folder is empty.".to_owned(),
        1 => "One file is there, and it is no session.".to_owned(),
        n => format!("{n} files are there, and none is a session."),
    };
    format!("{others} `railscope record FILE.rsz` and `railscope load PEER --record FILE.rsz` make them.")
}

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

fn rows(listed: &[(usize, &Entry)], selected: usize, theme: Theme, area: Rect, buffer: &mut Buffer) {
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

/// The selected session in full.
fn what_is_known(entry: &Entry, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let summary = match &entry.state {
        State::Unread => return,
        State::Damaged(why) => {
            put(why, theme.severity(Severity::Error), theme, area, buffer);
            return;
        }
        State::Sweep(sweep) => {
            put(&sweep.statements.join("\n"), theme.plain(), theme, area, buffer);
            return;
        }
        State::Read(summary) => summary,
    };
    let with = summary.peer.as_ref().map_or(String::new(), |peer| format!(" with {peer}"));
    let host = format!("{}{with}", summary.host.as_deref().unwrap_or("host unknown"));
    let count = summary.findings.as_ref().map_or(0, Vec::len);
    let found =
        if count == 1 { "1 finding at its end".to_owned() } else { format!("{count} findings at its end") };
    let title = Rect { height: area.height.min(1), ..area };
    let left = vec![
        Segment::new(theme.text(&entry.name()), theme.strong(), 0),
        Segment::new(theme.text(&host), theme.plain(), 1),
        Segment::new(if summary.simulated { "SIMULATED" } else { "" }, theme.plain(), 1),
    ];
    paint(left, vec![Segment::new(found, theme.dim(), 0)], title, buffer, theme.symbols);
    let mut body = Rect { y: area.y + title.height, height: area.height - title.height, ..area };
    if let Some(warning) = &summary.warning {
        let height = put(warning, theme.severity(Severity::Warning), theme, body, buffer);
        body = Rect { y: body.y + height, height: body.height - height, ..body };
    }
    let items: Vec<_> =
        summary.findings.iter().flatten().map(|finding| findings::item(finding, theme)).collect();
    let empty = if summary.findings.is_some() { "Nothing was found." } else { "Its end cannot be judged." };
    let symbols = theme.symbols;
    let list =
        FindingList { items: &items, selected: None, focused: false, empty, advice: theme.plain(), symbols };
    (&list).render(body, buffer);
}

fn foot_line(sessions: &Sessions, keys: &Keymap, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let mut pieces = hints::foot(keys, HINTS, theme);
    let from = sessions.from().and_then(|path| path.file_name());
    let back = from.map(|name| format!("back to {}", theme.text(&name.to_string_lossy())));
    pieces.extend(back.and_then(|back| piece(keys, &[Action::Back], (&back, 1), theme)));
    let note = theme.text(sessions.notice().unwrap_or_default());
    paint(pieces, vec![Segment::new(note, theme.strong(), 0)], area, buffer, theme.symbols);
}

#[cfg(test)]
mod tests;
