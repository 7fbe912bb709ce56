//! A rail's rate over the stretch of the past that is zoomed to.

use super::figure::{self, Kind, Past};
use crate::app::{App, Zoom};
use crate::timeline::WINDOW_NS;
use probes::model::RailId;

/// The rail's rate over the stretch that is zoomed to, in so many equal pieces, and its peak in the last minute.
///
/// The last minute is made of every interval. What is older is known as means of longer stretches, of the busier direction
/// alone: a kind that is not the rail's figure then has none.
pub fn of(app: &App, rail: RailId, kind: Kind, pieces: usize) -> Past {
    let host = app.shown().local();
    match app.zoom().length_ns() {
        Some(length_ns) if length_ns <= WINDOW_NS => figure::past(host, rail, kind, length_ns, pieces),
        length_ns => Past {
            trend_gb_per_s: longer(app, rail, kind, length_ns, pieces),
            peak_gb_per_s: figure::peak(host, rail, kind),
        },
    }
}

/// The same of a stretch beyond the window; `None` is the whole session.
fn longer(app: &App, rail: RailId, kind: Kind, length_ns: Option<u64>, pieces: usize) -> Vec<Option<f64>> {
    let Some((from_ns, to_ns)) = span_ns(app, app.zoom()) else { return Vec::new() };
    let figure = figure::Figure::of(app.shown().local(), app.shown().topology(), rail);
    if figure.rate().is_some_and(|(own, _)| own.is_inward() != kind.is_inward()) {
        return vec![None; pieces];
    }
    let whole = length_ns.unwrap_or(to_ns - from_ns).max(1);
    let share = (to_ns - from_ns) as f64 / whole as f64;
    let parts = (0..pieces).filter(|piece| *piece as f64 + 0.5 < share * pieces as f64).count();
    app.outline().heat().rates(rail, (from_ns, to_ns), parts)
}

/// The stretch of the session that this zoom shows, nanoseconds; `None` before the first frame.
pub fn span_ns(app: &App, zoom: Zoom) -> Option<(u64, u64)> {
    let to_ns = app.shown().local().latest()?.at_ns;
    let first_ns = app.outline().span_ns().map_or(to_ns, |(first_ns, _)| first_ns.min(to_ns));
    let from_ns =
        zoom.length_ns().map_or(first_ns, |length_ns| to_ns.saturating_sub(length_ns).max(first_ns));
    Some((from_ns, to_ns))
}
