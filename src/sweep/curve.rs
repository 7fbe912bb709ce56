//! Curves in text: rate over the logarithm of the message size, one mark a curve.

use super::statements::Curve;
use crate::settings::Size;
use std::fmt::Write;

/// Lines of the drawing.
const HEIGHT: usize = 13;
/// Columns between two points, at most and at least.
const STEPS: (usize, usize) = (12, 3);
/// Columns of the drawing beside the scale.
const WIDTH: usize = 68;
const MARKS: [char; 8] = ['o', 'x', '+', '*', '#', '@', '%', 'v'];
/// Where several curves meet.
const SEVERAL: char = '=';

/// The curves over one another; nothing where there are not two sizes.
#[must_use]
pub fn draw(curves: &[Curve]) -> String {
    let all = || curves.iter().flat_map(|curve| &curve.rates);
    let Some((least, most)) = all().map(|(size, _)| *size).fold(None, |range: Option<(u64, u64)>, size| {
        Some(range.map_or((size, size), |(least, most)| (least.min(size), most.max(size))))
    }) else {
        return String::new();
    };
    if least == most {
        return String::new();
    }
    let top = scale_top(all().map(|(_, rate)| *rate).fold(0.0, f64::max));
    let octaves = log2(most) - log2(least);
    let step = (WIDTH as f64 / octaves).clamp(STEPS.1 as f64, STEPS.0 as f64);
    let column = |size: u64| whole((log2(size) - log2(least)) * step);
    let width = column(most) + 1;
    let mut cells = vec![vec![' '; width]; HEIGHT];
    for (curve, mark) in curves.iter().zip(MARKS.iter().cycle()) {
        for (size, rate) in &curve.rates {
            let up = whole(rate / top * (HEIGHT - 1) as f64);
            let cell = &mut cells[HEIGHT - 1 - up.min(HEIGHT - 1)][column(*size)];
            *cell = if *cell == ' ' { *mark } else { SEVERAL };
        }
    }
    // two digits of the least step, however low the rates are
    let decimals = whole((2.0 - top.log10().floor()).clamp(1.0, 5.0));
    let mut text = String::from("Gb/s\n");
    for (line, row) in cells.iter().enumerate() {
        let value = top * (HEIGHT - 1 - line) as f64 / (HEIGHT - 1) as f64;
        let scale = if line % 3 == 0 { format!("{value:7.decimals$} |") } else { format!("{:7} |", "") };
        let row: String = row.iter().collect();
        // writing to a String cannot fail
        let _ = writeln!(text, "{}", format!("{scale} {row}").trim_end());
    }
    let _ = writeln!(text, "{:7} +-{}", "", "-".repeat(width));
    let _ = writeln!(text, "{:10}{}", "", ticks(least, most, width, column).trim_end());
    let names = curves.iter().zip(MARKS.iter().cycle()).map(|(curve, mark)| format!("{mark} {}", curve.name));
    let several = if curves.len() > 1 { format!("   {SEVERAL} several") } else { String::new() };
    let _ = writeln!(text, "{:10}{}{several}", "", names.collect::<Vec<_>>().join("   "));
    text
}

/// Sizes below the axis, as many as have room.
fn ticks(least: u64, most: u64, width: usize, column: impl Fn(u64) -> usize) -> String {
    let mut line = vec![' '; width + 6];
    let mut free = 0;
    let sizes =
        std::iter::successors(Some(least), |size| size.checked_mul(2)).take_while(|size| *size <= most);
    for size in sizes {
        let at = column(size);
        let label = Size(size).to_string();
        if at >= free && at + label.len() <= line.len() {
            for (offset, letter) in label.chars().enumerate() {
                line[at + offset] = letter;
            }
            free = at + label.len() + 1;
        }
    }
    line.into_iter().collect()
}

/// A round number above the highest rate.
#[must_use]
pub fn scale_top(highest: f64) -> f64 {
    if highest <= 0.0 || !highest.is_finite() {
        return 1.0;
    }
    let unit = 10_f64.powf(highest.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * unit).find(|top| *top >= highest).unwrap_or(10.0 * unit)
}

/// The nearest whole number; 0 below it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are meant: `as` saturates")]
pub(super) fn whole(value: f64) -> usize {
    value.round() as usize
}

pub(super) fn log2(size: u64) -> f64 {
    (size.max(1) as f64).log2()
}

#[cfg(test)]
mod tests {
    use super::{draw, scale_top};
    use crate::sweep::statements::Curve;

    fn curve(qps: u32, rates: &[f64]) -> Curve {
        let rates = rates.iter().enumerate().map(|(at, rate)| (1024 << (2 * at), *rate)).collect();
        Curve { qps, workers: 1, name: format!("{qps} QPs"), rates }
    }

    #[test]
    fn curves_lie_over_one_another_on_a_logarithmic_axis() {
        let drawn = draw(&[curve(1, &[20.0, 78.0, 50.0]), curve(4, &[52.0, 52.0, 50.0])]);
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn what_is_no_curve_is_not_drawn() {
        assert_eq!(draw(&[]), "");
        assert_eq!(draw(&[curve(1, &[20.0])]), "");
        assert!(!draw(&[curve(1, &[0.0, 0.0])]).is_empty());
    }

    #[test]
    fn the_scale_of_low_rates_keeps_its_steps_apart() {
        let drawn = draw(&[curve(1, &[0.07, 0.11, 0.17])]);
        let labels: Vec<&str> =
            drawn.lines().filter_map(|line| line.split_once(" |")).map(|(scale, _)| scale.trim()).collect();
        let labels: Vec<&str> = labels.into_iter().filter(|scale| !scale.is_empty()).collect();
        assert_eq!(labels, ["0.200", "0.150", "0.100", "0.050", "0.000"]);
    }

    #[test]
    fn the_scale_ends_in_a_round_number() {
        assert_eq!(
            [0.0, 0.7, 52.46, 77.68, 100.0, 392.0].map(scale_top),
            [1.0, 0.8, 60.0, 80.0, 100.0, 400.0]
        );
    }
}
