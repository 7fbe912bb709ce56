//! Characters that are drawn as shapes: blocks and lines.

use std::fmt::{self, Display, Formatter};

/// A character that is a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Glyph {
    /// A part of the cell from the left, in eighths.
    Left(u8),
    /// A part of the cell from below, in eighths.
    Lower(u8),
    /// The whole cell, in so many quarters of the colour.
    Shade(u8),
    /// A line, by the sides of its cell that it goes to.
    Line(&'static str, Stroke),
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    Light,
    Heavy,
    Double,
    Dashed,
}

impl Glyph {
    pub(super) fn of(char: char) -> Option<Self> {
        let eighths = |from: char| u8::try_from(u32::from(char) - u32::from(from) + 1).unwrap_or(8);
        Some(match char {
            '█' => Self::Left(8),
            '▁'..='▇' => Self::Lower(eighths('▁')),
            // from seven eighths down to one
            '▉'..='▏' => Self::Left(8 - eighths('▉')),
            '░' | '▒' | '▓' => Self::Shade(eighths('░')),
            _ => {
                let (_, sides, stroke) = LINES.iter().find(|(known, ..)| *known == char)?;
                Self::Line(sides, *stroke)
            }
        })
    }

    /// Whether a row of it is one shape.
    pub(super) fn joins(self) -> bool {
        match self {
            Self::Left(eighths) | Self::Lower(eighths) => eighths == 8,
            Self::Shade(_) => true,
            Self::Line(sides, stroke) => sides == "lr" && stroke != Stroke::Dashed,
        }
    }

    /// Draws it over so many cells of this size, the first with its upper left corner here.
    pub(super) fn draw(
        self,
        f: &mut Formatter<'_>,
        (x, y): (u32, u32),
        (wide, high): (u32, u32),
        count: usize,
        colour: &impl Display,
    ) -> fmt::Result {
        let wide = wide * u32::try_from(count).unwrap_or(1);
        match self {
            Self::Left(eighths) => {
                let part = f64::from(wide) * f64::from(eighths) / 8.0;
                writeln!(
                    f,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{part}\" height=\"{high}\" fill=\"{colour}\"/>"
                )
            }
            Self::Lower(eighths) => {
                let part = f64::from(high) * f64::from(eighths) / 8.0;
                let top = f64::from(y + high) - part;
                writeln!(
                    f,
                    "<rect x=\"{x}\" y=\"{top}\" width=\"{wide}\" height=\"{part}\" fill=\"{colour}\"/>"
                )
            }
            Self::Shade(quarters) => {
                let share = f64::from(quarters) / 4.0;
                writeln!(
                    f,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" fill=\"{colour}\" \
                     fill-opacity=\"{share}\"/>"
                )
            }
            Self::Line(sides, stroke) => draw_line(f, (x, y), (wide, high), (sides, stroke), colour),
        }
    }
}

fn draw_line(
    f: &mut Formatter<'_>,
    (x, y): (u32, u32),
    (wide, high): (u32, u32),
    (sides, stroke): (&str, Stroke),
    colour: &impl Display,
) -> fmt::Result {
    let (middle_x, middle_y) = (f64::from(x) + f64::from(wide) / 2.0, f64::from(y) + f64::from(high) / 2.0);
    let goes = |side: char| sides.contains(side);
    let (left, right, up, down) = (goes('l'), goes('r'), goes('u'), goes('d'));
    let mut path: Vec<String> = Vec::new();
    let shifts: &[f64] = if stroke == Stroke::Double { &[-1.5, 1.5] } else { &[0.0] };
    for shift in shifts {
        let (mx, my) = (middle_x + shift, middle_y + shift);
        if left || right {
            let from = if left { f64::from(x) } else { mx };
            let to = if right { f64::from(x + wide) } else { mx };
            path.push(format!("M{from} {my}H{to}"));
        }
        if up || down {
            let from = if up { f64::from(y) } else { my };
            let to = if down { f64::from(y + high) } else { my };
            path.push(format!("M{mx} {from}V{to}"));
        }
    }
    let thick = if stroke == Stroke::Heavy { "2.6" } else { "1.3" };
    let dashes = if stroke == Stroke::Dashed { " stroke-dasharray=\"3 2\"" } else { "" };
    let path = path.concat();
    writeln!(f, "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{thick}\" fill=\"none\"{dashes}/>")
}

/// Sides of its cell that each line goes to: left, right, up, down.
const LINES: &[(char, &str, Stroke)] = &[
    ('─', "lr", Stroke::Light),
    ('│', "ud", Stroke::Light),
    ('┌', "rd", Stroke::Light),
    ('╭', "rd", Stroke::Light),
    ('┐', "ld", Stroke::Light),
    ('╮', "ld", Stroke::Light),
    ('└', "ru", Stroke::Light),
    ('╰', "ru", Stroke::Light),
    ('┘', "lu", Stroke::Light),
    ('╯', "lu", Stroke::Light),
    ('├', "rud", Stroke::Light),
    ('┤', "lud", Stroke::Light),
    ('┬', "lrd", Stroke::Light),
    ('┴', "lru", Stroke::Light),
    ('┼', "lrud", Stroke::Light),
    ('━', "lr", Stroke::Heavy),
    ('┃', "ud", Stroke::Heavy),
    ('═', "lr", Stroke::Double),
    ('┊', "ud", Stroke::Dashed),
    ('┄', "lr", Stroke::Dashed),
];
