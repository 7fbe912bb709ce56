//! Curves as a picture that carries where they come from.

use super::curve::{log2, scale_top, whole};
use super::headings::headings;
use super::saved::Sweep;
use super::statements::{Curve, curves};
use crate::report::COLOURS;
use crate::settings::Size;
use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Text};
use plotters::series::LineSeries;
use plotters::style::{BLACK, Color, IntoFont, WHITE};
use std::fmt::Display;

const SIZE: (u32, u32) = (960, 600);
/// Characters of a heading that have room in one line.
const LETTERS: usize = 130;

/// The picture as SVG.
///
/// # Errors
///
/// In words: there is no curve of two sizes, or the drawing failed.
pub fn picture(sweep: &Sweep) -> Result<String, String> {
    let curves = curves(sweep);
    let sizes: Vec<u64> = curves.iter().flat_map(|curve| curve.rates.iter().map(|(size, _)| *size)).collect();
    match (sizes.iter().min(), sizes.iter().max()) {
        (Some(least), Some(most)) if least < most => {
            let mut text = String::new();
            draw(&mut text, sweep, &curves, (*least, *most))
                .map_err(|error| format!("no picture: {error}"))?;
            Ok(text)
        }
        _ => Err("no picture: a curve needs two sizes that were measured".to_owned()),
    }
}

fn draw(out: &mut String, sweep: &Sweep, curves: &[Curve], sizes: (u64, u64)) -> Result<(), impl Display> {
    let root = SVGBackend::with_string(out, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let lines = headings(sweep);
    for (at, line) in lines.iter().enumerate() {
        let line: String = line.chars().take(LETTERS).collect();
        let style = ("sans-serif", if at == 0 { 18 } else { 13 }).into_font();
        root.draw(&Text::new(line, (16, 12 + 20 * i32::try_from(at).unwrap_or(0)), style))?;
    }
    let top = u32::try_from(lines.len()).unwrap_or(0) * 20 + 12;
    let (_, below): (_, DrawingArea<_, _>) = root.split_vertically(top);
    let highest = curves.iter().flat_map(|curve| &curve.rates).map(|(_, rate)| *rate).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(&below)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(60)
        .build_cartesian_2d(log2(sizes.0)..log2(sizes.1), 0.0..scale_top(highest))?;
    let label = |x: &f64| Size(whole(2_f64.powf(*x)) as u64).to_string();
    let octaves = whole((log2(sizes.1) - log2(sizes.0)).ceil());
    chart
        .configure_mesh()
        .x_desc("message size")
        .y_desc("Gb/s of payload, all rails")
        .x_labels((octaves + 1).min(24))
        .x_label_formatter(&label)
        .light_line_style(WHITE)
        .draw()?;
    for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        let colour = *colour;
        let points = || curve.rates.iter().map(|(size, rate)| (log2(*size), *rate));
        chart
            .draw_series(LineSeries::new(points(), colour.stroke_width(2)))?
            .label(&curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
        chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()?;
    root.present()
}

#[cfg(test)]
mod tests {
    use super::picture;
    use crate::sweep::grid::Grid;
    use crate::sweep::row::Point;
    use crate::sweep::saved::Sweep;
    use probes::load::Params;

    #[test]
    fn the_picture_carries_host_peer_and_parameters() {
        let grid = Grid::new(&"1K..4K".parse().unwrap(), &[1, 4], &[1]).unwrap();
        let mut sweep = Sweep::new(Params::default(), 15.0, grid);
        assert!(picture(&sweep).unwrap_err().contains("two sizes"));
        sweep.host.hostname = Some("node<7>".to_owned());
        sweep.host.peer = Some("node8".to_owned());
        for (at, spot) in sweep.grid.spots().into_iter().enumerate() {
            let mut point = Point { spot, ..Point::default() };
            point.all.gbit_per_s = Some(10.0 + at as f64);
            sweep.add(point);
        }
        let svg = picture(&sweep).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for part in ["node&lt;7&gt;", "node8", "depth 128", "1 QP", "4 QPs", "message size"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }
}
