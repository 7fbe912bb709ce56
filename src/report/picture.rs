//! A report as a picture (SVG): a bar for each rail with its limits, and the rates over time.
//!
//! It carries host, load and span, so that it says what it shows wherever it is pasted.

mod bars;
mod curves;

use super::text::{facts, wrap::clip};
use super::{MeanRow, Report};
use crate::ceilings::Bytes;
use crate::printable::Printable;
use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::Text;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, TextStyle, WHITE};

const WIDTH: u32 = 1000;
const MARGIN: i32 = 16;
/// Height of a line of text.
const LINE: i32 = 20;
/// Characters of a line of text that have room beside each other.
const LETTERS: usize = 138;
/// Colours that people who see no red or no green tell apart (Okabe and Ito), dark enough on white.
pub(crate) const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(86, 180, 233),
    RGBColor(180, 120, 0),
    RGBColor(90, 60, 130),
];
const GREY: RGBColor = RGBColor(150, 150, 150);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// What is drawn of a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    /// Payload of our own load.
    Load,
    /// What the NIC received.
    Received,
    /// What the NIC sent.
    Sent,
}

/// The picture as SVG; `load` are the parameters of the load in a line.
///
/// # Errors
///
/// In words: there is no rail to draw, or the drawing failed.
pub fn picture(report: &Report, means: &[MeanRow], load: Option<&str>) -> Result<String, String> {
    if report.rails.is_empty() {
        return Err("no picture: the session has no rails".to_owned());
    }
    let mut svg = String::new();
    draw(&mut svg, report, means, load).map_err(|error| format!("no picture: {error}"))?;
    Ok(svg)
}

fn draw(svg: &mut String, report: &Report, means: &[MeanRow], load: Option<&str>) -> Drawn {
    let figure = Figure::of(report);
    let heading = heading(report, load, figure);
    let foot = foot(report);
    let lines = |count: usize| i32::try_from(count).unwrap_or(0) * LINE;
    let bars_top = MARGIN + lines(heading.len()) + LINE;
    let curves_top = bars_top + bars::height(report);
    let foot_top = curves_top + curves::height(means);
    let height = foot_top + lines(foot.len()) + MARGIN;
    let root = SVGBackend::with_string(svg, (WIDTH, height.unsigned_abs())).into_drawing_area();
    root.fill(&WHITE)?;
    for (at, line) in heading.iter().enumerate() {
        let is_warning = report.simulated.is_some() && at == 1;
        let colour = if is_warning { RGBColor(170, 60, 0) } else { BLACK };
        let (size, lower) = if at == 0 { (20, 0) } else { (14, 6) };
        write(&root, line, (MARGIN, MARGIN + lines(at) + lower), size, colour)?;
    }
    bars::draw(&root, report, figure, bars_top)?;
    curves::draw(&root, report, means, figure, (curves_top, foot_top))?;
    for (at, line) in foot.iter().enumerate() {
        write(&root, line, (MARGIN, foot_top + lines(at)), 12, RGBColor(70, 70, 70))?;
    }
    root.present()
}

/// Whose session it is, with what load, and the verdict.
fn heading(report: &Report, load: Option<&str>, figure: Figure) -> Vec<String> {
    let host = report.host.hostname.as_deref().unwrap_or("unknown host");
    let (verdict, _) = report.verdict_words();
    let mut lines = vec![format!("{}: {verdict}", clip(host, 30))];
    lines.extend(report.simulated.as_ref().map(|simulation| {
        format!(
            "SIMULATED: scenario {}, seed {}. Nothing here is a measurement.",
            simulation.scenario, simulation.seed
        )
    }));
    lines.push(match load {
        Some(load) => load.to_owned(),
        None => "No load ran: these are other programs' bytes, and a low rate proves nothing.".to_owned(),
    });
    lines.push(format!("{}, mean of {}", figure.name(), report.seen()));
    lines
}

/// The host, and who drew it.
fn foot(report: &Report) -> Vec<String> {
    let host = facts::of_host(&report.host, report.numa.len());
    let mut lines: Vec<String> = Vec::new();
    // at commas: a long line of the host goes on in the next
    for part in host.split(", ") {
        match lines.last_mut() {
            Some(line) if line.len() + part.len() < LETTERS => {
                line.push_str(", ");
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines.push(format!("{}; 1 GB is 1 000 000 000 bytes", report.generated_by));
    lines
}

impl Figure {
    /// Payload where a load of ours tells it, else the direction in which more was counted.
    fn of(report: &Report) -> Self {
        let total =
            |rate: fn(&super::RailRow) -> Option<f64>| -> f64 { report.rails.iter().filter_map(rate).sum() };
        if report.rails.iter().any(|rail| rail.load_gb_per_s.is_some()) {
            Self::Load
        } else if total(|rail| rail.tx_gb_per_s) > total(|rail| rail.rx_gb_per_s) {
            Self::Sent
        } else {
            Self::Received
        }
    }

    /// Which bytes its rates count.
    fn bytes(self) -> Bytes {
        match self {
            Self::Load => Bytes::Payload,
            Self::Received | Self::Sent => Bytes::Counted,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Load => "payload of the load",
            Self::Received => "received, as the NICs count",
            Self::Sent => "sent, as the NICs count",
        }
    }

    fn of_row(self, row: &MeanRow) -> Option<f64> {
        match self {
            Self::Load => row.load_gb_per_s,
            Self::Received => row.rx_gb_per_s,
            Self::Sent => row.tx_gb_per_s,
        }
    }

    fn of_rail(self, rail: &super::RailRow) -> Option<f64> {
        match self {
            Self::Load => rail.load_gb_per_s,
            Self::Received => rail.rx_gb_per_s,
            Self::Sent => rail.tx_gb_per_s,
        }
    }
}

/// A line of text with its upper left corner here.
fn write(area: &Area, text: &str, at: (i32, i32), size: i32, colour: RGBColor) -> Drawn {
    placed(area, text, at, (size, colour), HPos::Left, VPos::Top)
}

fn placed(
    area: &Area,
    text: &str,
    at: (i32, i32),
    (size, colour): (i32, RGBColor),
    horizontally: HPos,
    vertically: VPos,
) -> Drawn {
    let text: String = Printable(text).to_string().chars().take(LETTERS).collect();
    let style: TextStyle = ("sans-serif", size).into_font().color(&colour.to_rgba());
    area.draw(&Text::new(text, at, style.pos(Pos::new(horizontally, vertically))))
}

#[cfg(test)]
mod tests {
    use super::picture;
    use crate::report::{Means, build, load_in_short};
    use crate::rules::Limits;
    use crate::rules::testing::{Traffic, bonded, rail, timeline, two_sockets};
    use crate::session::FrameSource;
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use std::time::Duration;

    #[test]
    fn a_picture_carries_host_load_span_limits_and_that_it_is_simulated() {
        let (every, end) = (Duration::from_millis(100), Duration::from_secs(5));
        let mut source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let mut timeline = Timeline::new(source.session());
        let (mut means, mut rows) = (Means::of(1_000_000_000), Vec::new());
        while let Some(frame) = source.next_frame().unwrap() {
            timeline.push(frame);
            rows.extend(means.take(&timeline));
        }
        rows.extend(means.end(&timeline));
        let report = build(&timeline, &Limits::default(), &[]);
        let svg = picture(&report, &rows, load_in_short(&timeline).as_deref()).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for part in [
            "simulated: 3 warnings",
            "SIMULATED: scenario mixed, seed 1",
            "READ 64K x 4 QPs, simulated",
            "5.0 s, 51 samples",
            "mlx5_bond_4",
            "pcie-downgraded",
            "AMD EPYC 9654",
            "wire, headers taken off",
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
    }

    #[test]
    fn names_of_a_hostile_file_are_no_markup_and_a_session_without_rates_has_a_picture() {
        let mut topology = two_sockets(vec![bonded("mlx5_<b>"), rail("mlx5_1")]);
        topology.host.hostname = Some("n1\u{1b}[2J</text>".into());
        let timeline = timeline(topology, &Traffic::default());
        let report = build(&timeline, &Limits::default(), &[]);
        let svg = picture(&report, &[], None).unwrap();
        assert!(
            svg.contains("mlx5_&lt;b&gt;") && !svg.contains('\u{1b}') && !svg.contains("2J</text>"),
            "{svg}"
        );
        assert!(svg.contains("no data"));
    }
}
