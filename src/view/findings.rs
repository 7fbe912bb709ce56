//! The findings, worst first, each with what to do.

use super::groups;
use super::segments::{Segment, paint};
use crate::app::{App, Focus};
use crate::rules::Severity;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use widgets::{FindingItem, FindingList};

/// Fewest lines that say something: a title and three.
pub const LEAST_HEIGHT: u16 = 4;

/// What is nice to have besides the rails (legs, blank lines) leaves this many lines to the findings.
pub const GOOD_HEIGHT: u16 = 9;

/// With so many lines, ordinary findings are told in full.
pub const AMPLE_HEIGHT: u16 = 16;

/// Draws them.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let items: Vec<_> = app
        .findings()
        .iter()
        .map(|finding| FindingItem {
            severity: word(finding.severity).to_owned(),
            style: theme.severity(finding.severity),
            code: finding.code.clone().into_owned(),
            message: theme.text(&finding.message),
            advice: theme.text(&finding.advice),
        })
        .collect();
    let list = FindingList {
        items: &items,
        selected: in_full(app),
        focused: app.selection().focus == Focus::Findings,
        empty: nothing(app),
        advice: theme.plain(),
        symbols: theme.symbols,
    };
    let title = Rect { height: area.height.min(1), ..area };
    let body = Rect { y: area.y + title.height, height: area.height - title.height, ..area };
    let shown = list.shown(body.width, body.height);
    let mut right = Vec::new();
    if !shown.is_empty() && shown.len() < items.len() {
        let text =
            format!("{}-{} of {} {}", shown.start + 1, shown.end, items.len(), theme.pick("↕", "(l, j/k)"));
        right.push(Segment::new(text, theme.strong(), 0));
    }
    let gaps = app.shown().topology().gaps.len();
    if gaps > 0 {
        let facts = if gaps == 1 { "1 fact".to_owned() } else { format!("{gaps} facts") };
        right.insert(0, Segment::new(format!("{facts} unknown: railscope probe"), theme.dim(), 2));
    }
    paint(
        vec![Segment::new(heading(app), theme.strong(), 0)],
        right,
        title,
        frame.buffer_mut(),
        theme.symbols,
    );
    (&list).render(body, frame.buffer_mut());
}

/// What to do about the finding that is shown in full.
pub fn advice(app: &App) -> Option<String> {
    let finding = app.findings().get(in_full(app).unwrap_or(0))?;
    (!finding.advice.is_empty()).then(|| finding.advice.clone())
}

/// The finding that is shown in full whatever the room: the one that keys have moved to, or the worst about the rail
/// that they have.
fn in_full(app: &App) -> Option<usize> {
    let selection = app.selection();
    let topology = app.shown().topology();
    let of_rail = || {
        let id = groups::at(topology, selection.rail?)?;
        let device = &topology.rails[id.0].device;
        app.findings().iter().position(|finding| finding.devices.contains(device))
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

fn heading(app: &App) -> String {
    let count = |severity| app.findings().iter().filter(|finding| finding.severity == severity).count();
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
    if parts.is_empty() { "Findings".to_owned() } else { format!("Findings: {}", parts.join(", ")) }
}

/// Nothing found is no proof: a rail's level is judged only while something tries to fill it.
fn nothing(app: &App) -> &'static str {
    if app.shown().local().latest().is_none() {
        "waiting for the first sample"
    } else if app.shown().local().load().is_none() {
        "Nothing found. Without a load, low rates are not judged: an idle rail looks like a slow one."
    } else {
        "Nothing found so far."
    }
}
