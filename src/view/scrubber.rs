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
        Mode::Tree | Mode::Live | Mode::Demo | Mode::Load | Mode::Diagnosis => {
            app.is_paused() || screen >= GOOD_HEIGHT
        }
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

#[cfg(test)]
mod tests {
    use crate::app::{App, How, Mode, Msg};
    use crate::outline::Outline;
    use crate::rules::{Finding, Severity};
    use crate::view::fixture::two_slow_bonds;
    use crate::view::{Colours, Spot, Theme, draw, spot_at};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use probes::model::Frame;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::layout::Rect;
    use ratatui::style::Color;
    use std::sync::Arc;
    use widgets::Symbols;

    const SECOND: u64 = 1_000_000_000;

    /// A replay of a minute at its twelfth second, looked through up to the fortieth.
    fn replay(theme: Theme) -> App {
        let timeline = two_slow_bonds();
        let how = How { mode: Mode::Replay, ..How::default() };
        let mut app = App::new(Arc::new(timeline.session().clone()), how, theme);
        for frame in timeline.local().frames() {
            app.update(Msg::Frame(Arc::new(frame.clone())));
        }
        let mut outline = Outline::of_span(0, 60 * SECOND);
        let mut played = timeline.clone();
        let finding = |code, severity| Finding::new(code, severity, ["mlx5_bond_3"], "");
        for second in 13..=40 {
            let marks = if second == 20 { vec!["cable".to_owned()] } else { Vec::new() };
            let load = timeline.local().latest().and_then(|frame| frame.load.clone());
            let load = load.filter(|_| second < 36);
            let frame = Frame { seq: second * 10, at_ns: second * SECOND, marks, load, ..Frame::default() };
            outline.frame(&frame);
            played.push(frame);
            let found = match second {
                13..=15 => vec![],
                16..=25 => vec![finding("bond-leg-imbalance", Severity::Warning)],
                26..=30 => vec![finding("gid-none", Severity::Error)],
                _ => vec![finding("mtu", Severity::Info)],
            };
            outline.look(&played, &found);
        }
        app.update(Msg::Outlined(Arc::new(outline)));
        app
    }

    fn row(app: &App, width: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, 24)).unwrap();
        terminal.draw(|frame| _ = draw(app, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        (0..width).map(|x| buffer[(x, 22)].symbol()).collect()
    }

    #[test]
    fn the_length_of_a_session_shows_what_was_found_where() {
        let unicode = replay(Theme::default());
        let ascii = replay(Theme { colours: Colours::None, symbols: Symbols::Ascii });
        let rows = [row(&unicode, 60), row(&unicode, 80), row(&unicode, 120), row(&ascii, 80)];
        insta::assert_snapshot!(rows.join("\n"));
    }

    #[test]
    fn without_colours_there_are_none_on_it() {
        let app = replay(Theme { colours: Colours::None, symbols: Symbols::Unicode });
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| _ = draw(&app, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        assert!((0..80).all(|x| buffer[(x, 22)].fg == Color::Reset));
    }

    #[test]
    fn the_ends_of_the_row_are_the_ends_of_the_session() {
        let app = replay(Theme::default());
        let screen = Rect::new(0, 0, 80, 24);
        let share = |column, row| match spot_at(&app, screen, (column, row)) {
            Some(Spot::Share(share)) => Some(share),
            _ => None,
        };
        let first = (0..80).find(|column| share(*column, 22).is_some()).unwrap();
        let last = (0..80).rfind(|column| share(*column, 22).is_some()).unwrap();
        assert_eq!((share(first, 22), share(last, 22)), (Some(0.0), Some(1.0)));
        assert_eq!(share(40, 21), None);
    }

    #[test]
    fn what_is_held_says_how_far_behind_it_is() {
        let timeline = two_slow_bonds();
        let how = How { mode: Mode::Load, ..How::default() };
        let mut app = App::new(Arc::new(timeline.session().clone()), how, Theme::default());
        for frame in timeline.local().frames() {
            app.update(Msg::Frame(Arc::new(frame.clone())));
        }
        for char in ['g', '-', '7'] {
            app.update(Msg::Key(KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE)));
        }
        app.update(Msg::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| _ = draw(&app, frame)).unwrap();
        let screen = terminal.backend().to_string();
        assert!(screen.contains("PAUSED at 0:05.0, 0:07 behind"), "{screen}");
        assert!(screen.contains("space to live"), "{screen}");
    }
}
