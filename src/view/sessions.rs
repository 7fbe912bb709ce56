//! The sessions of a folder, a line each, and what was found in the selected one.

use super::findings;
use super::findings::word;
use super::foot::shortest;
use super::segments::{Segment, paint};
use super::theme::Theme;
use super::units::{day_and_minute, memory, position};
use crate::app::{Action, Entry, Keymap, Sessions, State};
use crate::rules::Severity;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::widgets::Widget;
use widgets::{FindingList, clip, width, wrap};

/// Cells of the columns after the name; the size goes first where there is no room, then the host.
const HOST: usize = 12;
const BEGUN: usize = 16;
const LENGTH: usize = 8;
const SIZE: usize = 8;
const RAILS: usize = 5;
/// From these widths of the screen on, they are there.
const WITH_HOST: u16 = 80;
const WITH_SIZE: u16 = 100;
/// Cells of a name, at most.
const LONGEST_NAME: usize = 36;
/// Cells of a name, at least.
const SHORTEST_NAME: usize = 14;

/// Draws the list on the whole screen.
pub fn draw(sessions: &Sessions, keys: &Keymap, theme: Theme, frame: &mut Frame) {
    let area = frame.area();
    if super::is_too_small(area) {
        super::too_small(keys, area, frame);
    } else {
        parts(sessions, keys, theme, frame);
    }
    if let Some(ground) = theme.ground() {
        super::lay_under(ground, frame.buffer_mut());
    }
}

fn parts(sessions: &Sessions, keys: &Keymap, theme: Theme, frame: &mut Frame) {
    let area = frame.area();
    let count = sessions.entries().map_or(0, <[Entry]>::len);
    // one line each, and a third of the screen for what was found
    let list = u16::try_from(count + 1).unwrap_or(u16::MAX).max(2);
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
    paint(left, vec![Segment::new(counted(sessions), theme.plain(), 0)], head, buffer, theme.symbols);
    match (sessions.unreadable(), sessions.entries()) {
        (Some(why), _) => text(why, theme.severity(Severity::Error), list, buffer),
        (None, None) => text("reading the folder", theme.dim(), list, buffer),
        (None, Some([])) => text(&nothing(sessions), theme.plain(), list, buffer),
        (None, Some(entries)) => {
            rows(entries, sessions.selected(), theme, list, buffer);
            if let Some(entry) = sessions.entry() {
                what_is_known(entry, theme, about, buffer);
            }
        }
    }
    foot_line(sessions, keys, theme, foot, buffer);
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

/// What fits of the columns: the name's cells, whether there is a host, and whether there is a size.
fn columns(entries: &[Entry], area: Rect) -> (usize, bool, bool) {
    let (host, size) = (area.width >= WITH_HOST, area.width >= WITH_SIZE);
    let longest = entries.iter().map(|entry| width(&entry.name())).max().unwrap_or(0);
    let room = if area.width >= 2 * WITH_HOST { LONGEST_NAME } else { usize::from(area.width) / 4 };
    (longest.min(room.min(LONGEST_NAME)).max(SHORTEST_NAME), host, size)
}

fn rows(entries: &[Entry], selected: usize, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let (name, with_host, with_size) = columns(entries, area);
    let line = |lead: &str, cells: [&str; 6]| {
        let [file, host, begun, length, size, rails] = cells;
        let parts = [
            Some(format!("{lead} {} ", padded(file, name, theme))),
            with_host.then(|| format!(" {} ", padded(host, HOST, theme))),
            Some(format!(" {} {length:>LENGTH$} ", padded(begun, BEGUN, theme))),
            with_size.then(|| format!(" {size:>SIZE$} ")),
            Some(format!(" {rails:>RAILS$}  ")),
        ];
        parts.into_iter().flatten().collect::<String>()
    };
    let head = line(" ", ["file", "host", "begun (UTC)", "length", "size", "rails"]) + "worst finding";
    buffer.set_stringn(area.x, area.y, head, usize::from(area.width), theme.dim());
    let room = usize::from(area.height.saturating_sub(1));
    // the selected one is in the middle, where the list goes on both ways
    let first = selected.saturating_sub(room / 2).min(entries.len().saturating_sub(room));
    for ((at, entry), y) in entries.iter().enumerate().skip(first).take(room).zip(area.y + 1..) {
        let is_selected = at == selected;
        let lead = if is_selected { theme.pick("▶", ">") } else { " " };
        let row = Row::of(&entry.state);
        // blank before it is known, and a question mark where the file does not tell
        let cell = |value: Option<&String>| match (&row, value) {
            (None, _) => String::new(),
            (Some(_), value) => value.map_or("?".to_owned(), String::clone),
        };
        let text = line(
            lead,
            [
                &entry.name(),
                &cell(row.as_ref().and_then(|row| row.host.as_ref())),
                &cell(row.as_ref().and_then(|row| row.begun.as_ref())),
                &cell(row.as_ref().and_then(|row| row.length.as_ref())),
                &memory(entry.bytes),
                &row.as_ref().map_or(String::new(), |row| row.rails.to_string()),
            ],
        );
        let style = if is_selected { theme.strong() } else { theme.plain() };
        let (x, _) = buffer.set_stringn(area.x, y, text, usize::from(area.width), style);
        let left = usize::from(area.right().saturating_sub(x));
        let (verdict, style) = verdict(&entry.state, theme);
        buffer.set_stringn(x, y, clip(&theme.text(&verdict), left, theme.symbols), left, style);
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
            let simulated = if sweep.simulated { "simulated; " } else { "" };
            return (format!("{simulated}sweep: {first}"), theme.plain());
        }
        State::Read(summary) => summary,
    };
    let (mut text, style) = match (&summary.findings, summary.worst()) {
        (None, _) => ("its end cannot be judged".to_owned(), theme.severity(Severity::Warning)),
        (_, None) => ("nothing found".to_owned(), theme.dim()),
        (_, Some(finding)) => (
            format!("{} {}: {}", word(finding.severity), finding.code, finding.message),
            theme.severity(finding.severity),
        ),
    };
    if summary.warning.is_some() {
        text = format!("not whole; {text}");
    }
    if summary.simulated {
        text = format!("simulated; {text}");
    }
    (text, style)
}

/// The selected session in full.
fn what_is_known(entry: &Entry, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let summary = match &entry.state {
        State::Unread => return,
        State::Damaged(why) => return text(why, theme.severity(Severity::Error), area, buffer),
        State::Sweep(sweep) => {
            let statements = theme.text(&sweep.statements.join("\n"));
            return text(&statements, theme.plain(), area, buffer);
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
    ];
    paint(left, vec![Segment::new(found, theme.dim(), 0)], title, buffer, theme.symbols);
    let mut body = Rect { y: area.y + title.height, height: area.height - title.height, ..area };
    if let Some(warning) = &summary.warning {
        let lines = wrap(&theme.text(warning), usize::from(area.width).max(1));
        let height = u16::try_from(lines.len()).unwrap_or(body.height).min(body.height);
        text(warning, theme.severity(Severity::Warning), Rect { height, ..body }, buffer);
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
    let words = [
        (Action::Open, "open", 0),
        (Action::Down, "select", 1),
        (Action::Copy, "copy the command", 2),
        (Action::Colours, "colours", 3),
        (Action::Quit, "leave", 0),
    ];
    let pieces = words.map(|(action, what, rank)| {
        let key = match action {
            Action::Down => [Action::Down, Action::Up].map(|action| shortest(keys, action)).join("/"),
            action => shortest(keys, action),
        };
        let text = if key.is_empty() { String::new() } else { format!("{key} {what}") };
        Segment::new(text, theme.dim(), rank)
    });
    let note = theme.text(sessions.notice().unwrap_or_default());
    paint(pieces.into(), vec![Segment::new(note, theme.strong(), 0)], area, buffer, theme.symbols);
}

/// Text in as many lines as it takes, and have room.
fn text(text: &str, style: Style, area: Rect, buffer: &mut Buffer) {
    let lines = text.lines().flat_map(|line| wrap(line, usize::from(area.width).max(1)));
    for (line, y) in lines.zip(area.top()..area.bottom()) {
        buffer.set_stringn(area.x, y, line, usize::from(area.width), style);
    }
}

/// Cut or filled to so many cells.
fn padded(text: &str, cells: usize, theme: Theme) -> String {
    let text = clip(&theme.text(text), cells, theme.symbols);
    let blanks = " ".repeat(cells.saturating_sub(width(&text)));
    text + &blanks
}

#[cfg(test)]
mod tests;
