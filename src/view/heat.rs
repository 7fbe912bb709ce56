//! Rail by time over the whole session: which rail sagged, and when.

use super::groups::devices;
use super::past;
use super::segments::{Segment, paint};
use super::units::position;
use crate::app::App;
use probes::model::RailId;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use widgets::{HeatCell, HeatStrip, shorten};

/// A stretch with less than this share of the rail's own median sagged; by default a rail with less than this share of its like is slow, too.
const SAGS: f64 = 0.85;
/// Cells of `  24.1 at 1:02:03`.
const LOW: u16 = 18;
/// Cells of a rail's name.
const NAME: u16 = 14;

/// A rail's row.
struct Strip {
    rail: RailId,
    rates: Vec<Option<f64>>,
    median: Option<f64>,
    lowest: Option<(usize, f64)>,
    /// What the rail could do, GB/s; else the most that it did.
    scale: f64,
}

impl Strip {
    /// Its lowest stretch as a share of what it could do; 1 where there is none.
    fn fullness(&self) -> f64 {
        self.lowest.filter(|_| self.scale > 0.0).map_or(1.0, |(_, lowest)| lowest / self.scale)
    }

    /// Its lowest stretch as a share of its median; 1 where there is none.
    fn depth(&self) -> f64 {
        match (self.median, self.lowest) {
            (Some(median), Some((_, lowest))) if median > 0.0 => lowest / median,
            _ => 1.0,
        }
    }
}

/// Lines it takes to show every rail.
pub fn height(app: &App) -> u16 {
    u16::try_from(app.listed_rails() + 1).unwrap_or(u16::MAX)
}

fn heading(app: &App) -> String {
    app.zoom_of_strips().map_or("Rates over the session".to_owned(), |zoom| format!("Rates, {}", zoom.word()))
}

/// Draws as many rails as have room; where not all have, those that were lowest on their scale.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let span = match app.zoom_of_strips() {
        None => app.outline().span_ns(),
        Some(zoom) => past::span_ns(app, zoom),
    };
    let Some(span) = span.filter(|_| area.height > 1) else { return };
    let cells = area.width.saturating_sub(NAME + 1 + LOW);
    let order = app.groups().into_iter().flat_map(|group| group.rails);
    let mut strips: Vec<Strip> = order.map(|rail| strip(app, rail, span, usize::from(cells))).collect();
    let room = usize::from(area.height - 1);
    let count = strips.len();
    if count > room {
        strips.sort_by(|a, b| a.fullness().total_cmp(&b.fullness()));
        strips.truncate(room);
    }
    let mut left = vec![
        Segment::new(heading(app), theme.strong(), 0),
        Segment::new(format!("{} to {}", position(span.0), position(span.1)), theme.plain(), 2),
        Segment::new("on the scale of each ceiling", theme.dim(), 4),
    ];
    if count > room {
        left.insert(1, Segment::new(format!("{room} of {count}: the lowest"), theme.plain(), 1));
    }
    if app.how().mode.is_seekable() && !app.outline().is_whole() {
        left.push(Segment::new("still looking", theme.dim(), 3));
    }
    let right = vec![Segment::new(format!("lowest, {}", app.rates().word()), theme.dim(), 3)];
    paint(left, right, Rect { height: 1, ..area }, frame.buffer_mut(), theme.symbols);
    for (y, strip) in (area.y + 1..area.bottom()).zip(&strips) {
        row(app, strip, span, Rect { y, height: 1, ..area }, frame);
    }
}

fn strip(app: &App, rail: RailId, span: (u64, u64), cells: usize) -> Strip {
    let rates = app.outline().heat().rates(rail, span, cells);
    let median = crate::timeline::median(rates.iter().flatten().copied());
    let stretches = rates.iter().enumerate().filter_map(|(at, rate)| Some((at, (*rate)?)));
    let lowest = stretches.min_by(|a, b| a.1.total_cmp(&b.1));
    let most = rates.iter().flatten().copied().fold(0.0, f64::max);
    let known = &app.shown().topology().rails[rail.0];
    let scale = app.shown().local().ceilings(rail, known).lowest().unwrap_or(most);
    Strip { rail, rates, median, lowest, scale }
}

fn row(app: &App, strip: &Strip, span: (u64, u64), area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let rail = &app.shown().topology().rails[strip.rail.0];
    let scale = strip.scale;
    let cells: Vec<HeatCell> = strip
        .rates
        .iter()
        .map(|rate| {
            let sags = rate.zip(strip.median).is_some_and(|(rate, median)| rate < SAGS * median);
            let style = if sags { theme.severity(crate::rules::Severity::Warning) } else { theme.good() };
            HeatCell { share: rate.filter(|_| scale > 0.0).map(|rate| rate / scale), style }
        })
        .collect();
    let buffer = frame.buffer_mut();
    let name = theme.text(&rail.device);
    let name = shorten(&name, &devices(app.shown().topology()), usize::from(NAME), theme.symbols);
    buffer.set_string(area.x, area.y, name, theme.plain());
    let at = Rect { x: area.x + NAME + 1, width: area.width.saturating_sub(NAME + 1 + LOW), ..area };
    (&HeatStrip { cells: &cells, absent: theme.dim(), symbols: theme.symbols }).render(at, buffer);
    let Some((cell, lowest)) = strip.lowest else { return };
    let when = (span.1 - span.0) as f64 * (cell as f64 + 0.5) / strip.rates.len().max(1) as f64;
    let when = std::time::Duration::try_from_secs_f64(when / 1e9).map_or(0, |when| when.as_nanos());
    let when = span.0.saturating_add(u64::try_from(when).unwrap_or(0));
    let sags = strip.depth() < SAGS;
    let text = if sags {
        format!(" {} {} at {}", theme.pick("▼", "v"), app.rates().text(lowest), position(when))
    } else {
        format!("   {}", app.rates().text(lowest))
    };
    let style = if sags { theme.severity(crate::rules::Severity::Warning) } else { theme.dim() };
    buffer.set_stringn(at.right(), area.y, text, usize::from(LOW), style);
}
