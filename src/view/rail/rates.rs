//! The rail's rates now, over the last minute, and against each of its limits.

use crate::app::App;
use crate::ceilings::Ceilings;
use crate::rules::Severity;
use crate::view::badges;
use crate::view::figure::{self, Figure, Kind};
use crate::view::segments::{Segment, paint};
use crate::view::units::percent;
use crate::view::{past, scale};
use probes::model::RailId;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use widgets::{Mark, RailBar, Trend};

/// Cells of a bar's words and figures.
const FIGURES: u16 = 26;

/// Draws a line for each direction, and one of the limits.
pub fn draw(app: &App, id: RailId, area: Rect, frame: &mut Frame) {
    let host = app.shown().local();
    let topology = app.shown().topology();
    let theme = app.theme();
    let payload = host.ceilings(id, &topology.rails[id.0]);
    let figure = Figure::of(host, topology, id);
    let own = figure.rate().map(|(kind, _)| kind);
    let ceilings = scale::bounds(payload, &topology.rails[id.0], own);
    let kinds = match figure.rate().map(|(kind, _)| kind) {
        Some(kind @ (Kind::Read | Kind::Write)) => {
            [kind, if kind == Kind::Read { Kind::Tx } else { Kind::Rx }]
        }
        _ => [Kind::Rx, Kind::Tx],
    };
    let seen = kinds.iter().filter_map(|kind| figure::peak(host, id, *kind)).fold(0.0, f64::max);
    let badges = badges::of(id, &topology.rails[id.0], host.latest(), app.findings());
    let worst = badges.iter().map(|badge| badge.severity).max();
    let style = match worst {
        Some(severity @ (Severity::Warning | Severity::Error)) => theme.severity(severity),
        _ => theme.good(),
    };
    let (wire, pcie) = (theme.pick("│", "|"), theme.pick("┊", ":"));
    let trend_cells = (area.width / 3).min(60);
    for (y, kind) in (area.y..area.bottom()).zip(kinds) {
        let row = Rect { y, height: 1, ..area };
        // payload and counted bytes have limits of their own
        let bounds = scale::bounds(payload, &topology.rails[id.0], Some(kind));
        let scale = scale::of_bar(&bounds, seen);
        let mark = |limit: Option<f64>, sign: &str| {
            let at = limit.filter(|_| scale > 0.0)? / scale;
            Some(Mark { at, symbol: sign.chars().next()?, style: theme.mark() })
        };
        let marks: Vec<_> =
            [mark(bounds.line, wire), mark(bounds.pcie, pcie)].into_iter().flatten().collect();
        let past = past::of(app, id, kind, usize::from(trend_cells));
        let rate = figure::rate(host, id, kind)
            .or_else(|| figure.rate().filter(|now| now.0 == kind).map(|now| now.1));
        let absent = match (&figure, rate) {
            (Figure::None(why), _) => format!("no data: {why}"),
            (_, None) => "no data".to_owned(),
            _ => String::new(),
        };
        let text = rate.map(|rate| {
            let of = bounds.lowest().map(|lowest| percent(rate / lowest)).unwrap_or_default();
            let most = past.peak_gb_per_s.map(|peak| app.rates().text(peak)).unwrap_or_default();
            format!("{:>7} {of:>4} peak {most:>6}", app.rates().text(rate))
        });
        let frame = frame.buffer_mut();
        frame.set_string(row.x, row.y, format!("{:<6}", kind.word()), theme.strong());
        let bar = RailBar {
            share: rate.filter(|_| scale > 0.0).map(|rate| rate / scale),
            marks: &marks,
            text: text.as_deref().unwrap_or_default(),
            absent: &absent,
            style,
            track: theme.dim(),
            symbols: theme.symbols,
        };
        let bar_cells = row.width.saturating_sub(6 + trend_cells + 2).max(FIGURES);
        (&bar).render(Rect { x: row.x + 6, width: bar_cells, ..row }, frame);
        let shares: Vec<_> =
            past.trend_gb_per_s.iter().map(|gb| gb.filter(|_| scale > 0.0).map(|gb| gb / scale)).collect();
        let trend = Trend { shares: &shares, style, absent: theme.dim(), symbols: theme.symbols };
        (&trend)
            .render(Rect { x: row.right().saturating_sub(trend_cells), width: trend_cells, ..row }, frame);
    }
    if area.height > 2 {
        limits(app, (ceilings, own), (wire, pcie), Rect { y: area.y + 2, height: 1, ..area }, frame);
    }
}

/// What bounds it, the lowest first to be seen.
fn limits(
    app: &App,
    (ceilings, kind): (Ceilings, Option<Kind>),
    (wire, pcie): (&str, &str),
    area: Rect,
    frame: &mut Frame,
) {
    let theme = app.theme();
    let unit = app.rates();
    let lowest = ceilings.lowest();
    let limit = |name: &str, limit: Option<f64>| {
        let gb_per_s = limit?;
        let is_lowest = Some(gb_per_s) == lowest;
        let text = format!("{name} {}{}", unit.text(gb_per_s), if is_lowest { " = the ceiling" } else { "" });
        Some(Segment::new(text, if is_lowest { theme.strong() } else { theme.plain() }, u8::from(!is_lowest)))
    };
    let mut left: Vec<Segment> = [
        limit(&format!("{wire} wire"), ceilings.line.or(ceilings.line_raw)),
        limit(&format!("{pcie} PCIe"), ceilings.pcie),
        limit("READ window", ceilings.read_window),
    ]
    .into_iter()
    .flatten()
    .collect();
    if left.is_empty() {
        left.push(Segment::new(
            "no ceiling known: neither the wire's rate nor the PCIe path's",
            theme.dim(),
            0,
        ));
    }
    let bytes = match kind {
        Some(kind) if kind.is_payload() => " of payload",
        Some(_) => " as counted",
        None => "",
    };
    let right = vec![Segment::new(format!("{}{bytes}, {}", unit.word(), app.zoom().word()), theme.dim(), 2)];
    paint(left, right, area, frame.buffer_mut(), theme.symbols);
}
