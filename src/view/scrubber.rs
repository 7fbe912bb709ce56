//! The row that shows the session's whole length: where one is, where findings begin, events, what is not looked at.

use super::units::{exact_position, position};
use crate::app::{App, Mode};
use crate::outline::{Kind, Look, Outline};
use crate::rules::Severity;
use crate::view::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use widgets::{Level, ScrubCell, Scrubber, Tick};

/// Below this height what is live has the row only while its picture is held.
const GOOD_HEIGHT: u16 = 44;

/// Lines it takes on a screen of this height.
pub fn height(app: &App, screen: u16) -> u16 {
    let is_useful = match app.how().mode {
        Mode::Replay => true,
        Mode::Tree | Mode::Live | Mode::Demo | Mode::Load => app.is_paused() || screen >= GOOD_HEIGHT,
    };
    u16::from(is_useful && app.outline().span_ns().is_some())
}

/// Draws it.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let Some(span) = app.outline().span_ns() else { return };
    if area.is_empty() {
        return;
    }
    let theme = app.theme();
    let here_ns = app.shown().local().latest().map(|frame| frame.at_ns);
    let (here, end) = labels(app, span);
    let track = Scrubber::track(area, label_cells(&here, &end));
    let cells = cells(app.outline(), span, track.width, theme);
    let cursor = here_ns.map(|at_ns| cell_of(at_ns, span, track.width));
    let scrubber = Scrubber {
        here: &here,
        end: &end,
        cells: &cells,
        cursor,
        label: theme.plain(),
        at_cursor: theme.sign(),
        symbols: theme.symbols,
    };
    (&scrubber).render(area, frame.buffer_mut());
}

/// The share of the session's length that a cell of the row stands for; `None` beside its track.
pub fn share_at(app: &App, area: Rect, column: u16, row: u16) -> Option<f64> {
    let span = app.outline().span_ns()?;
    let (here, end) = labels(app, span);
    let track = Scrubber::track(area, label_cells(&here, &end));
    let is_on = track.contains((column, row).into()) && area.height > 0;
    // the ends of the track are the ends of the session
    is_on.then(|| f64::from(column - track.x) / f64::from(track.width.max(2) - 1))
}

fn labels(app: &App, span: (u64, u64)) -> (String, String) {
    let here_ns = app.shown().local().latest().map_or(span.0, |frame| frame.at_ns);
    (exact_position(here_ns, app.shown().session().interval_ns), position(span.1))
}

/// The same for every cursor, so that cells stay where they are.
fn label_cells(here: &str, end: &str) -> usize {
    let fraction = here.rsplit_once('.').map_or(0, |(_, digits)| digits.len() + 1);
    (widgets::width(end) + fraction).max(widgets::width(here))
}

/// Which cell a time is in.
fn cell_of(at_ns: u64, (first, last): (u64, u64), width: u16) -> usize {
    let length = last.saturating_sub(first).max(1);
    let since = at_ns.saturating_sub(first).min(length);
    let cells = u64::from(width.saturating_sub(1));
    let cell = u128::from(since) * u128::from(cells) / u128::from(length);
    usize::try_from(cell).unwrap_or(0)
}

fn cells(outline: &Outline, span: (u64, u64), width: u16, theme: Theme) -> Vec<ScrubCell> {
    let (first, last) = span;
    let count = u64::from(width.saturating_sub(1)).max(1);
    let begin = |cell: u64| {
        let since = u128::from(last.saturating_sub(first)) * u128::from(cell) / u128::from(count);
        first.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    };
    let mut ticks = vec![None; usize::from(width)];
    for moment in outline.moments() {
        let tick = match moment.kind {
            Kind::Begins(Severity::Info) => Tick::Note,
            Kind::Begins(Severity::Warning) => Tick::Warning,
            Kind::Begins(Severity::Error) => Tick::Error,
            Kind::Event => Tick::Event,
            Kind::Mark => Tick::Mark,
        };
        if let Some(slot) = ticks.get_mut(cell_of(moment.at_ns, span, width)) {
            *slot = (*slot).max(Some(tick));
        }
    }
    (0..u64::from(width))
        .zip(ticks)
        .map(|(cell, tick)| {
            let look = outline.worst(begin(cell), begin(cell + 1).max(begin(cell) + 1));
            let severity = match look {
                Look::Found(severity) => Some(severity),
                Look::Unseen | Look::Clear => None,
            };
            let level = match look {
                Look::Unseen => Level::Unseen,
                Look::Clear | Look::Found(Severity::Info) => Level::Calm,
                Look::Found(Severity::Warning) => Level::Warning,
                Look::Found(Severity::Error) => Level::Error,
            };
            let style = match (tick, severity, level) {
                (Some(Tick::Mark | Tick::Event), ..) => theme.strong(),
                (Some(Tick::Note), ..) => theme.severity(Severity::Info),
                (_, Some(severity), Level::Warning | Level::Error) => theme.severity(severity),
                (_, _, Level::Unseen) => theme.dim(),
                _ => theme.plain(),
            };
            ScrubCell { level, tick, style }
        })
        .collect()
}
