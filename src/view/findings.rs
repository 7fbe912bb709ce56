//! The findings, worst first, each with what to do.

use super::Theme;
use super::hints::{shortest, together};
use super::segments::{Segment, paint};
use crate::app::{Action, App, Focus, Mode};
use crate::report::alike::Told;
use crate::report::text::facts::kinds_of_gaps;
use crate::rules::{Finding, Severity};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Widget;
use std::ops::Range;
use widgets::{FindingItem, FindingList};

/// Fewest lines that say something: a title and three.
pub const LEAST_HEIGHT: u16 = 4;

/// What is nice to have besides the rails (legs, blank lines) leaves this many lines to the findings.
pub const GOOD_HEIGHT: u16 = 9;

/// A rail may be low because nothing asks more of it.
const NOT_JUDGED: &str = "no load: a low rate alone is no finding";

/// With so many lines, ordinary findings are told in full.
pub const AMPLE_HEIGHT: u16 = 16;

/// The findings that are listed, as the list takes them.
fn items(app: &App) -> Vec<FindingItem> {
    app.told_findings().iter().map(|told| item(told, app.theme())).collect()
}

/// A finding, told once of all rails that it is about, as the list takes it.
pub fn item(told: &Told, theme: Theme) -> FindingItem {
    let finding = told.first;
    let count = told.count_in_words().map(|count| format!(" {count}")).unwrap_or_default();
    let others = told.others_in_words().map(|others| format!("; {others}")).unwrap_or_default();
    FindingItem {
        severity: word(finding.severity).to_owned(),
        style: theme.severity(finding.severity),
        code: format!("{}{count}", finding.code),
        message: theme.text(&format!("{}{others}", finding.message)),
        advice: theme.text(&finding.advice),
    }
}

fn list<'a>(app: &App, items: &'a [FindingItem]) -> FindingList<'a> {
    let theme = app.theme();
    FindingList {
        items,
        selected: in_full(app),
        from: if app.selection().focus == Focus::Findings { app.selection().finding_from } else { 0 },
        focused: app.selection().focus == Focus::Findings,
        empty: nothing(app),
        advice: theme.plain(),
        symbols: theme.symbols,
    }
}

/// The lines of the list, below its title.
fn body(area: Rect) -> Rect {
    let title = area.height.min(1);
    Rect { y: area.y + title, height: area.height - title, ..area }
}

/// The finding that stands at a cell; `None` beside all of them.
pub fn at(app: &App, area: Rect, cell: Position) -> Option<usize> {
    let body = body(area);
    list(app, &items(app)).at(body.width, body.height, cell.y.checked_sub(body.y)?)
}

/// Draws them; tells by how many lines the one that is told in full can be scrolled.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) -> usize {
    let theme = app.theme();
    let listed = app.listed_findings();
    let items = items(app);
    let list = list(app, &items);
    let title = Rect { height: area.height.min(1), ..area };
    let body = body(area);
    let shown = list.shown(body.width, body.height);
    let overflow = list.overflow(body.width, body.height);
    let mut right = Vec::new();
    if let Some(text) = part_in_sight(app, &shown, items.len(), overflow) {
        right.push(Segment::new(text, theme.strong(), 0));
    }
    if let Some(text) = unknown_facts(app) {
        right.insert(0, Segment::new(text, theme.dim(), 2));
    }
    let mut left = vec![Segment::new(heading(&listed, app.findings().len()), theme.strong(), 0)];
    if app.rates().is_unlike_findings() && !items.is_empty() {
        left.push(Segment::new("their rates in GB/s", theme.dim(), 1));
    }
    let host = app.shown().local();
    if host.load().is_none() && host.latest().is_some() && !items.is_empty() {
        left.push(Segment::new(NOT_JUDGED, theme.dim(), 1));
    }
    paint(left, right, title, frame.buffer_mut(), theme.symbols);
    (&list).render(body, frame.buffer_mut());
    overflow
}

/// How many facts are unknown, counted as the report lists them, and what lists them of such a session.
fn unknown_facts(app: &App) -> Option<String> {
    let count = kinds_of_gaps(&app.shown().topology().gaps);
    let facts = match count {
        0 => return None,
        1 => "1 fact unknown".to_owned(),
        count => format!("{count} facts unknown"),
    };
    Some(match app.how().mode {
        Mode::Live | Mode::Load | Mode::Diagnosis => format!("{facts}: railscope probe"),
        Mode::Replay => format!("{facts}: railscope report FILE"),
        Mode::Tree => format!("{facts}: railscope probe --root DIR"),
        // there is no such node to probe
        Mode::Demo => facts,
    })
}

/// Which findings are in sight of so many, where there are more, or more of one; and the keys that go to the others.
fn part_in_sight(app: &App, shown: &Range<usize>, all: usize, overflow: usize) -> Option<String> {
    if shown.is_empty() || (shown.len() == all && overflow == 0) {
        return None;
    }
    let (theme, keys) = (app.theme(), app.keys());
    let part = match (shown.start + 1, shown.end) {
        (first, last) if first == last => format!("{first} of {all}"),
        (first, last) => format!("{first}-{last} of {all}"),
    };
    let to_them = match app.selection().focus {
        Focus::Findings => String::new(),
        Focus::Rails => shortest(keys, Action::Findings) + " ",
    };
    let moves = together(keys, &[Action::Down, Action::Up]);
    Some(format!("{part}{} {to_them}{moves}", theme.pick(" ↕", ", more:")))
}

/// What to do about the finding that is shown in full.
pub fn advice(app: &App) -> Option<String> {
    let told = app.told_findings();
    let finding = told.get(in_full(app).unwrap_or(0))?.first;
    (!finding.advice.is_empty()).then(|| finding.advice.clone())
}

/// What to do about the rail that is shown in full, by each finding about it, the worst first.
pub fn advice_of_rail(app: &App) -> Vec<String> {
    let Some(id) = app.rail_at(app.selection().rail.unwrap_or(0)) else { return Vec::new() };
    let rail = &app.shown().topology().rails[id.0];
    let told = app.told_findings();
    let about_it = told.iter().filter(|told| told.is_about(rail));
    about_it.map(|told| told.first.advice.clone()).collect()
}

/// The finding that is shown in full whatever the room: the one that keys have moved to, or the worst about the rail
/// that they have.
fn in_full(app: &App) -> Option<usize> {
    let selection = app.selection();
    let topology = app.shown().topology();
    let of_rail = || {
        let id = app.rail_at(selection.rail?)?;
        let rail = &topology.rails[id.0];
        app.told_findings().iter().position(|told| told.is_about(rail))
    };
    match selection.focus {
        Focus::Findings => selection.finding,
        Focus::Rails => of_rail().or(selection.finding),
    }
}

/// How bad it is, in a word.
pub fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "WARN",
        Severity::Error => "ERROR",
    }
}

fn heading(listed: &[&Finding], all: usize) -> String {
    let count = |severity| listed.iter().filter(|finding| finding.severity == severity).count();
    let part = |severity, one: &str, many: &str| match count(severity) {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let parts: Vec<_> = [
        part(Severity::Error, "error", "errors"),
        part(Severity::Warning, "warning", "warnings"),
        part(Severity::Info, "note", "notes"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let more = if listed.len() < all { format!(" ({all} without the filter)") } else { String::new() };
    if parts.is_empty() { format!("Findings{more}") } else { format!("Findings: {}{more}", parts.join(", ")) }
}

/// Nothing found is no proof: a rail's level is judged only while something tries to fill it.
fn nothing(app: &App) -> &'static str {
    if !app.findings().is_empty() {
        "Nothing that the filter takes."
    } else if app.shown().local().latest().is_none() {
        "waiting for the first sample"
    } else if app.shown().local().load().is_none() {
        "Nothing found. Without a load, low rates are not judged: an idle rail looks like a slow one."
    } else {
        "Nothing found so far."
    }
}
