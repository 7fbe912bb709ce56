//! The curves of a sweep on their two scales.

use super::extremes;
use crate::app::Sweeping;
use crate::rules::Severity;
use crate::settings::Size;
use crate::sweep::scale_top;
use crate::view::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use widgets::{Curve, Curves, Note};

/// Lines between two figures of the scale of rates, at least.
const LINES_A_FIGURE: u16 = 3;

/// A curve whose lowest rate is no lower than this share of its highest is flat.
const FLAT: f64 = 0.95;

/// Draws them over one another, on the whole axis of sizes from the first point on.
pub fn draw(sweeping: &Sweeping, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let unit = sweeping.unit();
    let sizes = &sweeping.sweep().grid.sizes_bytes;
    let (Some(least), Some(most)) = (sizes.first(), sizes.last()) else { return };
    let octaves = log2(*most) - log2(*least);
    // a single size stands in the middle
    let across = |size: u64| if octaves > 0.0 { (log2(size) - log2(*least)) / octaves } else { 0.5 };
    let rate = |gbit_per_s: f64| unit.number(gbit_per_s / 8.0);
    let all = sweeping.curves().iter().flat_map(|curve| &curve.rates);
    let top = scale_top(all.map(|(_, gbit)| rate(*gbit)).fold(0.0, f64::max));
    let curves: Vec<Curve> = sweeping
        .curves()
        .iter()
        .enumerate()
        .map(|(at, curve)| Curve {
            points: curve.rates.iter().map(|(size, gbit)| (across(*size), rate(*gbit) / top)).collect(),
            style: style(at, theme),
        })
        .collect();
    let selected = sweeping.point().and_then(|point| {
        let is_its = |(qps, workers)| (qps, workers) == (point.spot.qps, point.spot.workers);
        let at = sweeping.curves().iter().position(|curve| is_its((curve.qps, curve.workers)))?;
        let of_size = |(size, _): &(u64, f64)| *size == point.spot.size_bytes;
        Some((at, sweeping.curves()[at].rates.iter().position(of_size)?))
    });
    let drawn = Curves {
        curves: &curves,
        across: &sizes.iter().map(|size| (across(*size), Size(*size).to_string())).collect::<Vec<_>>(),
        up: &figures(top, area.height),
        notes: &notes(sweeping),
        selected,
        now: sweeping.now().map(|spot| across(spot.size_bytes)),
        faint: theme.dim(),
        symbols: theme.symbols,
    };
    (&drawn).render(area, buffer);
}

/// Style of the curve at this place; the mark tells it apart where colours repeat or are none.
pub fn style(at: usize, theme: Theme) -> Style {
    let styles = [
        theme.good(),
        theme.severity(Severity::Warning),
        theme.severity(Severity::Info),
        theme.mark(),
        theme.severity(Severity::Error),
    ];
    styles[at % styles.len()]
}

/// `peak` and `low` beside the points of each curve that has a shape.
fn notes(sweeping: &Sweeping) -> Vec<Note> {
    let of = |(at, curve): (usize, &crate::sweep::statements::Curve)| {
        let (peak, trough) = extremes(curve).filter(|_| curve.rates.len() > 2)?;
        // a plateau has neither
        if curve.rates[trough].1 > FLAT * curve.rates[peak].1 {
            return None;
        }
        let note = |point, text: &str, above| Note { at: (at, point), text: text.to_owned(), above };
        Some([note(peak, "peak", true), note(trough, "low", false)])
    };
    sweeping.curves().iter().enumerate().filter_map(of).flatten().collect()
}

/// Figures of the scale of rates, as many as have room.
fn figures(top: f64, height: u16) -> Vec<(f64, String)> {
    let field = height.saturating_sub(2);
    let count = [8_u16, 4, 2, 1].into_iter().find(|count| field / count >= LINES_A_FIGURE).unwrap_or(1);
    let decimals = if top < 1.0 {
        3
    } else if top < 20.0 {
        1
    } else {
        usize::from(top / f64::from(count) < 5.0)
    };
    let figure = |at: u16| {
        let share = f64::from(at) / f64::from(count);
        (share, format!("{:.decimals$}", top * share))
    };
    (0..=count).map(figure).collect()
}

fn log2(size: u64) -> f64 {
    (size.max(1) as f64).log2()
}
