//! A sweep: its curves on a logarithmic axis of sizes, what each amounts to, and the selected point with what bounds it.

mod plot;

use super::hints::{self, Hint};
use super::segments::{Segment, paint};
use super::theme::Theme;
use super::units::{seconds, time_left};
use super::whole::{self, put};
use crate::app::{Action, Keymap, Stage, Sweeping};
use crate::rules::Severity;
use crate::settings::Size;
use crate::sweep::headings;
use crate::sweep::statements::Curve;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use std::time::Instant;
use widgets::{clip, mark, mark_of_several, padded};

/// Lines of the selected point, at most.
const ABOUT_POINT: u16 = 4;
/// Fewest lines of a drawing that tells a shape.
const LEAST_PLOT: u16 = 8;

/// The keys of a sweep.
pub const HINTS: &[Hint] = &[
    Hint { actions: &[Action::Help], foot: Some(("help", 0)), help: "this help" },
    Hint {
        actions: &[Action::Quit],
        foot: Some(("leave", 0)),
        help: "end it, and keep what is measured; leave",
    },
    Hint { actions: &[Action::Back], foot: None, help: "the same" },
    Hint { actions: &[Action::Rails, Action::Findings], foot: Some(("size", 1)), help: "to another size" },
    Hint { actions: &[Action::Up, Action::Down], foot: Some(("curve", 1)), help: "to another curve" },
    Hint { actions: &[Action::PageUp, Action::PageDown], foot: None, help: "ten sizes along the curve" },
    Hint { actions: &[Action::First, Action::Last], foot: None, help: "to the first size, to the last" },
    Hint { actions: &[Action::Units], foot: Some(("units", 2)), help: "GB/s, Gb/s, GiB/s" },
    Hint {
        actions: &[Action::Copy],
        foot: Some(("copy as perftest", 3)),
        help: "copy the point's perftest line",
    },
    Hint { actions: &[Action::Colours], foot: None, help: "next colours" },
];

/// Draws it on the whole screen, as it is at the moment `now`.
pub fn draw(sweeping: &Sweeping, keys: &Keymap, theme: Theme, now: Instant, frame: &mut Frame) {
    whole::draw(keys, theme, frame, |area, frame| parts(sweeping, (keys, theme), now, area, frame));
}

fn parts(sweeping: &Sweeping, (keys, theme): (&Keymap, Theme), now: Instant, area: Rect, frame: &mut Frame) {
    let curves = u16::try_from(sweeping.curves().len()).unwrap_or(u16::MAX);
    let legend =
        curves.saturating_add(u16::from(curves > 1)).min(area.height.saturating_sub(LEAST_PLOT + 8) / 2 + 1);
    let [head, facts, unit, plot, legend, _, about, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(LEAST_PLOT),
        Constraint::Length(legend),
        Constraint::Length(1),
        Constraint::Length(ABOUT_POINT),
        Constraint::Length(1),
    ])
    .areas(area);
    let buffer = frame.buffer_mut();
    heading(sweeping, theme, now, head, buffer);
    let lines = headings(sweeping.sweep());
    let what = [lines.get(1), lines.get(2)].into_iter().flatten().cloned().collect::<Vec<_>>().join("; ");
    put(&what, theme.dim(), theme, facts, buffer);
    let rates =
        format!("{} of payload, all rails together; message size to the right", sweeping.unit().word());
    put(&rates, theme.dim(), theme, unit, buffer);
    if sweeping.curves().is_empty() {
        put("no point is measured yet", theme.dim(), theme, plot, buffer);
    } else {
        plot::draw(sweeping, theme, plot, buffer);
        amounts_to(sweeping, theme, legend, buffer);
        point(sweeping, theme, about, buffer);
    }
    foot_line(sweeping, keys, theme, foot, buffer);
}

/// What it is of, and how far.
fn heading(sweeping: &Sweeping, theme: Theme, now: Instant, area: Rect, buffer: &mut Buffer) {
    let host = &sweeping.sweep().host;
    let sign = match (host.simulated, host.loopback) {
        (true, _) => " SWEEP, SIMULATED ",
        (_, true) => " SWEEP, LOOPBACK ",
        (false, false) => " SWEEP ",
    };
    let title = headings(sweeping.sweep()).into_iter().next().unwrap_or_default();
    let title = title.strip_prefix("sweep of ").unwrap_or(&title).to_owned();
    let left = vec![Segment::new(sign, theme.sign(), 0), Segment::new(theme.text(&title), theme.strong(), 0)];
    let (text, style) = how_far(sweeping, now, theme);
    paint(left, vec![Segment::new(text, style, 0)], area, buffer, theme.symbols);
}

fn how_far(sweeping: &Sweeping, now: Instant, theme: Theme) -> (String, Style) {
    let sweep = sweeping.sweep();
    let (done, all) = (sweep.points.len(), sweep.grid.spots().len());
    let points = format!("{done} of {all} points");
    match sweeping.stage() {
        Stage::Measuring => {
            let left = sweeping.left(now).map_or(String::new(), |left| format!(", {}", time_left(left)));
            (format!("{} {points}{left}", theme.pick("▶", ">")), theme.strong())
        }
        Stage::Ending => (format!("{points}; giving up the one under way"), theme.sign()),
        Stage::Over(Some(_)) => (format!(" {} STOPPED at {points} ", theme.pick("■", "#")), theme.sign()),
        Stage::Over(None) | Stage::Saved if done == all => (format!("all {all} points"), theme.strong()),
        Stage::Over(None) | Stage::Saved => (points, theme.strong()),
    }
}

/// Mark, name, peak and trough of each curve.
fn amounts_to(sweeping: &Sweeping, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let curves = sweeping.curves();
    let wide = curves.iter().map(|curve| widgets::width(&curve.name)).max().unwrap_or(0);
    let unit = sweeping.unit();
    for ((at, curve), y) in curves.iter().enumerate().zip(area.top()..area.bottom()) {
        let at_size = |(size, gbit): (u64, f64)| format!("{} at {}", unit.text(gbit / 8.0), Size(size));
        let text = match extremes(curve) {
            Some((peak, trough)) if curve.rates.len() > 1 => {
                let below = 100.0 * (curve.rates[peak].1 - curve.rates[trough].1) / curve.rates[peak].1;
                format!(
                    "peak {}, trough {} ({below:.0} % below)",
                    at_size(curve.rates[peak]),
                    at_size(curve.rates[trough])
                )
            }
            Some((only, _)) => at_size(curve.rates[only]),
            None => String::new(),
        };
        let line = format!("{}  {text}", padded(&curve.name, wide, theme.symbols));
        let style = plot::style(at, theme);
        let sign = mark(at, theme.symbols).to_string();
        let (x, _) = buffer.set_stringn(area.x, y, sign, usize::from(area.width), style);
        let room = usize::from(area.right().saturating_sub(x + 1));
        buffer.set_stringn(x + 1, y, clip(&theme.text(&line), room, theme.symbols), room, style);
    }
    let y = area.y + u16::try_from(curves.len()).unwrap_or(u16::MAX);
    if curves.len() > 1 && y < area.bottom() {
        let several = format!("{} several curves at one place", mark_of_several(theme.symbols));
        put(&several, theme.dim(), theme, Rect { y, height: 1, ..area }, buffer);
    }
}

/// Places of the highest and of the lowest rate of a curve.
fn extremes(curve: &Curve) -> Option<(usize, usize)> {
    let by_rate = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
    let rates = || curve.rates.iter().map(|(_, rate)| *rate).enumerate();
    Some((rates().max_by(by_rate)?.0, rates().min_by(by_rate)?.0))
}

/// The selected point: its figures, and what bounds it.
fn point(sweeping: &Sweeping, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let Some(point) = sweeping.point() else { return };
    let unit = sweeping.unit();
    let row = &point.all;
    let figures = [
        Some(
            row.gb_per_s.map_or("no rate".to_owned(), |rate| format!("{} {}", unit.text(rate), unit.word())),
        ),
        row.mpps.map(|mpps| format!("{mpps:.3} Mpps")),
        row.empty_poll_share.map(|share| format!("{:.0} % of polls empty", 100.0 * share)),
        row.perf.instructions_per_cycle.map(|ipc| format!("IPC {ipc:.2}")),
        row.perf.cycles_per_byte.map(|cycles| format!("{cycles:.3} cycles/B")),
        row.nic.retransmits.filter(|count| *count > 0).map(|count| format!("{count} retransmits")),
        Some(format!("measured {} s", seconds(point.window_s))),
        point.caveat.clone(),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let spot = Segment::new(point.spot.to_string(), theme.strong(), 0);
    let line = Rect { height: area.height.min(1), ..area };
    let figures = Segment::new(theme.text(&figures.join(", ")), theme.plain(), 0);
    paint(vec![spot, figures], Vec::new(), line, buffer, theme.symbols);
    let (text, style) = match &point.left_out {
        Some(why) => (
            format!(
                "LEFT OUT: {why}{}",
                point.failures.first().map_or(String::new(), |line| format!(": {line}"))
            ),
            theme.severity(Severity::Error),
        ),
        None => (format!("bound by {}: {}", point.bound.by, point.bound.because), theme.plain()),
    };
    let rest = Rect { y: area.y + line.height, height: area.height - line.height, ..area };
    put(&text, style, theme, rest, buffer);
}

fn foot_line(sweeping: &Sweeping, keys: &Keymap, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let is_measuring = *sweeping.stage() == Stage::Measuring;
    let hints: Vec<Hint> = HINTS
        .iter()
        .map(|hint| match hint.actions {
            [Action::Quit] if is_measuring => {
                Hint { foot: Some(("end it, keep what is measured", 0)), ..*hint }
            }
            _ => *hint,
        })
        .collect();
    let pieces = hints::foot(keys, &hints, theme);
    let over = match sweeping.stage() {
        Stage::Over(Some(why)) => why.as_str(),
        _ => "",
    };
    let note = theme.text(sweeping.notice().unwrap_or(over));
    paint(pieces, vec![Segment::new(note, theme.strong(), 0)], area, buffer, theme.symbols);
}

#[cfg(test)]
mod tests;
