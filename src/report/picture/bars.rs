//! A bar for each rail on one scale, with a mark for every limit that is known.

use super::{Area, BLACK, Drawn, Figure, GREY, MARGIN, WIDTH, placed, write};
use crate::ceilings::Bytes;
use crate::report::text::{table, wrap::clip};
use crate::report::{RailRow, Report};
use crate::rules::Severity;
use plotters::element::{PathElement, Rectangle};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

/// Height of a rail's row.
const ROW: i32 = 24;
const BAR: i32 = 14;
const LEGEND: i32 = 24;
/// Where bars begin and end; names stand before, figures behind.
const FROM: i32 = 200;
const TO: i32 = 690;

const FINE: RGBColor = RGBColor(0, 114, 178);
const SUSPECT: RGBColor = RGBColor(213, 94, 0);
const ROOM: RGBColor = RGBColor(228, 228, 228);

/// Height of all bars.
pub(super) fn height(report: &Report) -> i32 {
    LEGEND + ROW * i32::try_from(report.rails.len()).unwrap_or(0) + ROW / 2
}

/// The kinds of limit.
const LIMITS: [Limit; 3] = [Limit::Line, Limit::Pcie, Limit::Window];

#[derive(Clone, Copy)]
enum Limit {
    Line,
    Pcie,
    Window,
}

impl Limit {
    /// What it is called, by the bytes it bounds.
    fn name(self, bytes: Bytes) -> &'static str {
        match (self, bytes) {
            (Self::Line, Bytes::Payload) => "wire, headers taken off",
            (Self::Line, Bytes::Counted) => "wire, as NICs count it",
            (Self::Pcie, Bytes::Payload) => "PCIe, headers taken off",
            (Self::Pcie, Bytes::Counted) => "PCIe, as NICs count it",
            (Self::Window, _) => "READs outstanding over a round trip",
        }
    }

    /// Its bound on these bytes of the rail, GB/s.
    fn of(self, rail: &RailRow, bytes: Bytes) -> Option<f64> {
        let ceilings = rail.ceilings_gb_per_s.of_bytes(bytes);
        match self {
            Self::Line => ceilings.line.or(ceilings.line_raw),
            Self::Pcie => ceilings.pcie,
            Self::Window => ceilings.read_window,
        }
    }

    /// A whole stroke, one of two dashes, one of four: told apart without colours too.
    fn draw(self, area: &Area, x: i32, middle: i32) -> Drawn {
        let (colour, dashes) = match self {
            Self::Line => (BLACK, 1),
            Self::Pcie => (RGBColor(150, 0, 110), 2),
            Self::Window => (RGBColor(0, 120, 80), 4),
        };
        let (top, whole) = (middle - BAR / 2 - 3, BAR + 6);
        for dash in 0..dashes {
            let from = top + dash * whole / dashes;
            let to = if dashes == 1 { from + whole } else { from + whole / dashes - 2 };
            area.draw(&PathElement::new(vec![(x, from), (x, to)], colour.stroke_width(3)))?;
        }
        Ok(())
    }
}

/// Draws all of it below `top`.
pub(super) fn draw(area: &Area, report: &Report, figure: Figure, top: i32) -> Drawn {
    let bytes = figure.bytes();
    let highest = |rail: &RailRow| {
        let limits = LIMITS.iter().filter_map(|limit| limit.of(rail, bytes));
        let lowest = limits.clone().reduce(f64::min);
        // a limit far above the lowest would only make the bars short
        let near = limits.filter(|limit| lowest.is_some_and(|lowest| *limit <= 2.0 * lowest));
        near.chain(figure.of_rail(rail)).fold(0.0, f64::max)
    };
    let scale = report.rails.iter().map(highest).fold(0.0, f64::max) * 1.02;
    let scale = if scale > 0.0 { scale } else { 1.0 };
    legend(area, report, bytes, top)?;
    for (at, rail) in report.rails.iter().enumerate() {
        let middle = top + LEGEND + ROW * i32::try_from(at).unwrap_or(0) + ROW / 2;
        row(area, report, rail, figure, (scale, middle))?;
    }
    Ok(())
}

fn row(area: &Area, report: &Report, rail: &RailRow, figure: Figure, (scale, middle): (f64, i32)) -> Drawn {
    let x = |rate: f64| FROM + whole(f64::from(TO - FROM) * (rate / scale).clamp(0.0, 1.0));
    let (upper, lower) = (middle - BAR / 2, middle + BAR / 2);
    let node = rail.numa_node.map_or("?".to_owned(), |node| node.to_string());
    let name = format!("{}  node {node}", clip(&table::name(rail), 18));
    placed(area, &name, (FROM - 8, middle), (13, BLACK), HPos::Right, VPos::Center)?;
    let bytes = figure.bytes();
    let lowest = rail.ceilings_gb_per_s.lowest_of(bytes).map(|(lowest, _)| lowest);
    if let Some(lowest) = lowest {
        area.draw(&Rectangle::new([(FROM, upper), (x(lowest), lower)], ROOM.filled()))?;
    }
    let mut codes: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info && finding.is_about_port(&rail.device, rail.port))
        .map(|finding| &*finding.code)
        .collect();
    // that it is slower than others is seen; why it is stands first
    codes.sort_by_key(|code| matches!(*code, "rail-imbalance" | "slow-unexplained"));
    let rate = figure.of_rail(rail);
    if let Some(rate) = rate {
        let colour = if codes.is_empty() { FINE } else { SUSPECT };
        area.draw(&Rectangle::new([(FROM, upper), (x(rate), lower)], colour.filled()))?;
    }
    for limit in LIMITS {
        if let Some(bound) = limit.of(rail, bytes).filter(|bound| *bound <= scale) {
            limit.draw(area, x(bound), middle)?;
        }
    }
    let figures = match (rate, lowest) {
        (None, _) => "no data".to_owned(),
        (Some(rate), None) => format!("{} GB/s", table::short(rate)),
        (Some(rate), Some(bound)) => {
            format!("{} of {} GB/s", table::short(rate), table::short(bound))
        }
    };
    write(area, &figures, (TO + 12, middle - 7), 13, BLACK)?;
    let more = codes.len().checked_sub(1).filter(|more| *more > 0);
    let more = more.map_or(String::new(), |more| format!(" +{more}"));
    match codes.first() {
        Some(code) => write(area, &format!("{code}{more}"), (TO + 138, middle - 6), 12, RGBColor(170, 60, 0)),
        None => Ok(()),
    }
}

/// What the marks mean, those that some rail has.
fn legend(area: &Area, report: &Report, bytes: Bytes, top: i32) -> Drawn {
    let mut x = FROM;
    let middle = top + LEGEND / 2 - 2;
    for limit in LIMITS {
        if report.rails.iter().all(|rail| limit.of(rail, bytes).is_none()) {
            continue;
        }
        let name = limit.name(bytes);
        limit.draw(area, x + 2, middle)?;
        placed(area, name, (x + 10, middle), (12, BLACK), HPos::Left, VPos::Center)?;
        x += 34 + 7 * i32::try_from(name.len()).unwrap_or(0);
    }
    area.draw(&PathElement::new(
        vec![(MARGIN, top - 8), (i32::try_from(WIDTH).unwrap_or(0) - MARGIN, top - 8)],
        GREY.stroke_width(1),
    ))
}

#[expect(clippy::cast_possible_truncation, reason = "pixels of a picture")]
fn whole(pixels: f64) -> i32 {
    pixels.round() as i32
}
