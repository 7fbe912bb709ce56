//! The rates of all rails over time.

use super::{Area, BLACK, COLOURS, Drawn, Figure, GREY, MARGIN, WIDTH, write};
use crate::report::text::{table, wrap::clip};
use crate::report::{MeanRow, Report};
use crate::sweep::scale_top;
use plotters::chart::ChartBuilder;
use plotters::element::PathElement;
use plotters::series::LineSeries;
use plotters::style::{Color, RGBColor, WHITE};
use std::cmp::Ordering;

/// Height of the panel.
const HEIGHT: i32 = 340;
/// Width of the names at its side.
const NAMES: i32 = 190;
/// Rails with a colour of their own; of more, these are the slowest.
const MOST_NAMED: usize = COLOURS.len();

/// Two points make a line.
fn has_curves(means: &[MeanRow]) -> bool {
    let (first, last) = (means.first(), means.last());
    matches!((first, last), (Some(first), Some(last)) if last.until_s > first.until_s)
}

/// Height of the panel; nothing where there is no time to draw over.
pub(super) fn height(means: &[MeanRow]) -> i32 {
    if has_curves(means) { HEIGHT } else { 0 }
}

/// A rail's curve in pieces: where nothing is known there is a gap and no line.
fn pieces(means: &[MeanRow], rail: usize, figure: Figure) -> Vec<Vec<(f64, f64)>> {
    let mut pieces = vec![Vec::new()];
    for row in means.iter().filter(|row| row.host == 0 && row.rail == rail) {
        match figure.of_row(row) {
            Some(rate) => pieces.last_mut().expect("there is a piece").push((row.until_s, rate)),
            None => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Rails in the order of their rates, the slowest first; those without a rate have no curve.
fn slowest_first(report: &Report, figure: Figure) -> Vec<usize> {
    let rate = |at: &usize| figure.of_rail(&report.rails[*at]).unwrap_or(f64::MAX);
    let mut order: Vec<usize> = (0..report.rails.len()).collect();
    order.sort_by(|a, b| rate(a).partial_cmp(&rate(b)).unwrap_or(Ordering::Equal).then(a.cmp(b)));
    order
}

/// Draws the panel between these heights.
pub(super) fn draw(
    root: &Area,
    report: &Report,
    means: &[MeanRow],
    figure: Figure,
    (top, bottom): (i32, i32),
) -> Drawn {
    if !has_curves(means) {
        return Ok(());
    }
    let own = means.iter().filter(|row| row.host == 0);
    let times = own.clone().map(|row| row.until_s);
    let (first, last) = (times.clone().fold(f64::MAX, f64::min), times.fold(0.0, f64::max));
    let highest = own.filter_map(|row| figure.of_row(row)).fold(0.0, f64::max);
    let right = i32::try_from(WIDTH).unwrap_or(0);
    let panel = root.clone().shrink((MARGIN, top), (right - NAMES - 2 * MARGIN, bottom - top - 8));
    let mut chart = ChartBuilder::on(&panel)
        .margin_top(12)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d(first..last, 0.0..scale_top(highest.max(1e-6)))?;
    let clock = |seconds: &f64| clock(*seconds);
    chart
        .configure_mesh()
        .x_desc("time since the session began (min:s)")
        .y_desc("GB/s")
        .label_style(("sans-serif", 13))
        .x_labels(10)
        .x_label_formatter(&clock)
        .light_line_style(WHITE)
        .draw()?;
    let order = slowest_first(report, figure);
    let named = &order[..order.len().min(MOST_NAMED)];
    let others = &order[named.len()..];
    for rail in others {
        for piece in pieces(means, *rail, figure) {
            chart.draw_series(LineSeries::new(piece, GREY.stroke_width(1)))?;
        }
    }
    // the slowest last, so that it lies on top
    for (rail, colour) in named.iter().zip(COLOURS).rev() {
        for piece in pieces(means, *rail, figure) {
            chart.draw_series(LineSeries::new(piece, colour.stroke_width(2)))?;
        }
    }
    let mut y = top + 20;
    let mut name = |text: &str, colour: RGBColor, width: u32| -> Drawn {
        let x = right - NAMES;
        root.draw(&PathElement::new(vec![(x, y + 7), (x + 24, y + 7)], colour.stroke_width(width)))?;
        write(root, text, (x + 32, y), 13, BLACK)?;
        y += 22;
        Ok(())
    };
    for (rail, colour) in named.iter().zip(COLOURS) {
        name(&clip(&table::name(&report.rails[*rail]), 20), colour, 3)?;
    }
    match others.len() {
        0 => Ok(()),
        1 => name(&clip(&table::name(&report.rails[others[0]]), 20), GREY, 2),
        more => name(&format!("{more} faster rails"), GREY, 2),
    }
}

/// `1:30`, and of long sessions `1:02:03`.
fn clock(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a session")]
    let whole = seconds.max(0.0) as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    let tenths = ((seconds - seconds.floor()) * 10.0).round();
    let tenths = if tenths > 0.0 && tenths < 10.0 { format!(".{tenths}") } else { String::new() };
    if hours > 0 { format!("{hours}:{minutes:02}:{rest:02}") } else { format!("{minutes}:{rest:02}{tenths}") }
}

#[cfg(test)]
mod tests {
    use super::{clock, pieces};
    use crate::report::MeanRow;
    use crate::report::picture::Figure;

    #[test]
    fn a_second_without_a_rate_is_a_gap_in_the_curve() {
        let row = |until_s, rx_gb_per_s| MeanRow { until_s, rx_gb_per_s, ..MeanRow::default() };
        let means = [row(1.0, Some(5.0)), row(2.0, None), row(3.0, Some(6.0)), row(4.0, Some(7.0))];
        assert_eq!(pieces(&means, 0, Figure::Received), [vec![(1.0, 5.0)], vec![(3.0, 6.0), (4.0, 7.0)]]);
        assert!(pieces(&means, 0, Figure::Sent).is_empty());
    }

    #[test]
    fn times_are_read_as_a_player_shows_them() {
        assert_eq!(
            [clock(0.0), clock(90.0), clock(2.5), clock(3723.0)],
            ["0:00", "1:30", "0:02.5", "1:02:03"]
        );
    }
}
