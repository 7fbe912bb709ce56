//! The sessions of a folder, a line each, and what was found in the selected one.

mod about;
mod table;

use super::foot::ask;
use super::hints::{self, Hint, piece};
use super::segments::{self, Segment, paint};
use super::theme::Theme;
use super::whole::{self, put};
use crate::app::{Action, Keymap, Sessions};
use crate::rules::Severity;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use widgets::{clip_start, width};

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
    head_line(sessions, listed.len(), theme, head, buffer);
    match (sessions.unreadable(), sessions.entries()) {
        (Some(why), _) => drop(put(why, theme.severity(Severity::Error), theme, list, buffer)),
        (None, None) => drop(put("reading the folder", theme.dim(), theme, list, buffer)),
        (None, Some([])) => drop(put(&nothing(sessions), theme.plain(), theme, list, buffer)),
        (None, Some(_)) if listed.is_empty() => {
            put("Nothing that the filter takes.", theme.plain(), theme, list, buffer);
        }
        (None, Some(_)) => {
            table::draw(&listed, sessions.selected(), theme, list, buffer);
            if let Some(entry) = sessions.entry() {
                about::draw(entry, theme, about, buffer);
            }
        }
    }
    match sessions.prompt() {
        Some(prompt) => ask(prompt, theme, foot, frame),
        None => foot_line(sessions, keys, theme, foot, frame.buffer_mut()),
    }
}

/// The folder, of whose name the end says most, and how many sessions are of which kind, as far as that leaves room.
fn head_line(sessions: &Sessions, listed: usize, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let mut right = counted(sessions, theme);
    if !sessions.filter().is_empty() {
        let text = format!(" filter: {}, {listed} listed ", theme.text(sessions.filter()));
        right.insert(0, Segment::new(text, theme.sign(), 0));
    }
    let sign = " SESSIONS ";
    // all but what stays when there is no room: the filter, and how many there are
    let stays = right.iter().filter(|piece| piece.rank() < 2).map(|piece| segments::GAP + piece.cells());
    let taken = width(sign) + segments::GAP + stays.sum::<usize>();
    let room = usize::from(area.width).saturating_sub(taken);
    let name = theme.text(&sessions.folder().display().to_string());
    let folder = Segment::new(clip_start(&name, room, theme.symbols), theme.strong(), 0);
    paint(vec![Segment::new(sign, theme.sign(), 0), folder], right, area, buffer, theme.symbols);
}

/// `12 sessions`, `2 with errors`, `3 with warnings`, `1 damaged`, `4 not read yet`, of which the last give way first.
fn counted(sessions: &Sessions, theme: Theme) -> Vec<Segment> {
    let Some(entries) = sessions.entries() else { return Vec::new() };
    let all = if entries.len() == 1 { "1 session".to_owned() } else { format!("{} sessions", entries.len()) };
    let (errors, warnings, damaged) = sessions.counts();
    let counts = [
        (errors, "with errors", 3),
        (warnings, "with warnings", 4),
        (damaged, "damaged", 5),
        (sessions.unread(), "not read yet", 2),
    ];
    let counts = counts.into_iter().filter(|(count, _, _)| *count > 0);
    let counts =
        counts.map(|(count, what, rank)| Segment::new(format!("{count} {what}"), theme.plain(), rank));
    [Segment::new(all, theme.plain(), 1)].into_iter().chain(counts).collect()
}

fn nothing(sessions: &Sessions) -> String {
    let others = match sessions.others() {
        0 => "The folder is empty.".to_owned(),
        1 => "One file is there, and it is no session.".to_owned(),
        n => format!("{n} files are there, and none is a session."),
    };
    format!("{others} `railscope record FILE.rsz` and `railscope load PEER --record FILE.rsz` make them.")
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
