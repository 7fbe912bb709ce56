//! Curves over one another, each with a mark of its own.

use crate::{Symbols, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;

/// One curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Its points from left to right, as shares of the width and of the height.
    pub points: Vec<(f64, f64)>,
    /// Style of its marks.
    pub style: Style,
}

/// A word beside a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Which curve, and which of its points.
    pub at: (usize, usize),
    /// The word.
    pub text: String,
    /// Whether it stands above the point rather than below it; where that side is taken, on the other.
    pub above: bool,
}

/// Curves over one another on two scales. A mark tells the curve, not its colour alone.
#[derive(Clone, Copy, Debug)]
pub struct Curves<'a> {
    /// The curves.
    pub curves: &'a [Curve],
    /// Places on the scale below, as shares of the width, and what stands there; left out where there is no room.
    pub across: &'a [(f64, String)],
    /// The same on the scale at the left, as shares of the height.
    pub up: &'a [(f64, String)],
    /// Words beside points.
    pub notes: &'a [Note],
    /// The point that keys have moved to: which curve, which point.
    pub selected: Option<(usize, usize)>,
    /// Share of the width at which something is being done now.
    pub now: Option<f64>,
    /// Style of scales and of the lines between points.
    pub faint: Style,
    /// Characters to paint with.
    pub symbols: Symbols,
}

/// The mark of the curve at this place among the others; after eight they begin anew.
#[must_use]
pub fn mark(curve: usize, symbols: Symbols) -> char {
    const UNICODE: [char; 8] = ['●', '■', '▲', '◆', '○', '□', '△', '◇'];
    const ASCII: [char; 8] = ['o', 'x', '+', '*', '#', '@', '%', 'v'];
    match symbols {
        Symbols::Unicode => UNICODE[curve % UNICODE.len()],
        Symbols::Ascii => ASCII[curve % ASCII.len()],
    }
}

/// The mark where several curves meet.
#[must_use]
pub fn mark_of_several(symbols: Symbols) -> char {
    match symbols {
        Symbols::Unicode => '≡',
        Symbols::Ascii => '=',
    }
}

impl Widget for &Curves<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        let gutter = self.up.iter().map(|(_, label)| width(label)).max().unwrap_or(0) + 2;
        let gutter = u16::try_from(gutter).unwrap_or(u16::MAX);
        if area.width <= gutter || area.height < 3 {
            return;
        }
        let field =
            Rect { x: area.x + gutter, y: area.y, width: area.width - gutter, height: area.height - 2 };
        self.scales(field, gutter, buffer);
        let cells: Vec<Vec<(u16, u16)>> = self
            .curves
            .iter()
            .map(|curve| curve.points.iter().map(|point| cell(field, *point)).collect())
            .collect();
        for between in cells.iter().flat_map(|cells| cells.windows(2)) {
            self.join(between[0], between[1], buffer);
        }
        let mut taken: Vec<(u16, u16)> = Vec::new();
        for (at, (curve, cells)) in self.curves.iter().zip(&cells).enumerate() {
            for place in cells {
                let is_taken = taken.contains(place);
                let symbol = if is_taken { mark_of_several(self.symbols) } else { mark(at, self.symbols) };
                buffer[*place].set_char(symbol).set_style(curve.style);
                taken.push(*place);
            }
        }
        let place = |(curve, point): (usize, usize)| cells.get(curve)?.get(point).copied();
        if let Some(place) = self.selected.and_then(place) {
            buffer[place].modifier |= Modifier::REVERSED | Modifier::BOLD;
        }
        for note in self.notes {
            let Some((x, y)) = place(note.at).and_then(|at| place_of(note, at, field, &taken)) else {
                continue;
            };
            let (end, _) = buffer.set_stringn(x, y, &note.text, usize::MAX, self.curves[note.at.0].style);
            taken.extend((x..end).map(|x| (x, y)));
        }
    }
}

impl Curves<'_> {
    fn scales(&self, field: Rect, gutter: u16, buffer: &mut Buffer) {
        let [side, along, corner] = match self.symbols {
            Symbols::Unicode => ['│', '─', '└'],
            Symbols::Ascii => ['|', '-', '+'],
        };
        for y in field.top()..field.bottom() {
            buffer[(field.x - 1, y)].set_char(side).set_style(self.faint);
        }
        for (share, label) in self.up {
            let (_, y) = cell(field, (0.0, *share));
            let blanks = usize::from(gutter).saturating_sub(2 + width(label));
            let x = field.x - gutter + u16::try_from(blanks).unwrap_or(0);
            buffer.set_string(x, y, label, self.faint);
        }
        let axis = field.bottom();
        buffer[(field.x - 1, axis)].set_char(corner).set_style(self.faint);
        for x in field.left()..field.right() {
            buffer[(x, axis)].set_char(along).set_style(self.faint);
        }
        if let Some(now) = self.now {
            let (x, _) = cell(field, (now, 0.0));
            let sign = match self.symbols {
                Symbols::Unicode => '▲',
                Symbols::Ascii => '^',
            };
            buffer[(x, axis)].set_char(sign).set_style(Style::new().add_modifier(Modifier::BOLD));
        }
        let mut free = field.left();
        for (share, label) in self.across {
            let cells = u16::try_from(width(label)).unwrap_or(u16::MAX);
            let (x, _) = cell(field, (*share, 0.0));
            let x = x.min(field.right().saturating_sub(cells));
            if x >= free {
                buffer.set_string(x, axis + 1, label, self.faint);
                free = x.saturating_add(cells + 1);
            }
        }
    }

    /// A faint line between two points, its ends left out.
    fn join(&self, from: (u16, u16), to: (u16, u16), buffer: &mut Buffer) {
        let dot = self.symbols.track();
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1));
        for step in 1..steps {
            let share = f64::from(step) / f64::from(steps);
            let between = |a: u16, b: u16| whole(f64::from(a) + (f64::from(b) - f64::from(a)) * share);
            let place = &mut buffer[(between(from.0, to.0), between(from.1, to.1))];
            if place.symbol() == " " {
                place.set_char(dot).set_style(self.faint);
            }
        }
    }
}

/// Where a word above or below a point begins, where no mark and no other word stands in its way.
fn place_of(note: &Note, (x, y): (u16, u16), field: Rect, taken: &[(u16, u16)]) -> Option<(u16, u16)> {
    let cells = u16::try_from(width(&note.text)).ok().filter(|cells| *cells <= field.width)?;
    let x = x.saturating_sub(cells / 2).clamp(field.left(), field.right() - cells);
    let (above, below) = (y.checked_sub(1).filter(|y| *y >= field.top()), Some(y + 1));
    let sides = if note.above { [above, below] } else { [below, above] };
    let is_free = |y: &u16| *y < field.bottom() && (x..x + cells).all(|x| !taken.contains(&(x, *y)));
    Some((x, sides.into_iter().flatten().find(is_free)?))
}

/// The cell of a point given as shares of the width and of the height.
fn cell(field: Rect, (across, up): (f64, f64)) -> (u16, u16) {
    let share = |share: f64, cells: u16| whole(share.clamp(0.0, 1.0) * f64::from(cells.saturating_sub(1)));
    (field.x + share(across, field.width), field.bottom() - 1 - share(up, field.height))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cell of the screen: `as` saturates"
)]
fn whole(value: f64) -> u16 {
    value.round() as u16
}

#[cfg(test)]
mod tests {
    use super::{Curve, Curves, Note};
    use crate::Symbols;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::{Modifier, Style};
    use ratatui::widgets::Widget;

    fn curve(points: &[(f64, f64)]) -> Curve {
        Curve { points: points.to_vec(), style: Style::new() }
    }

    fn painted(curves: &[Curve], notes: &[Note], selected: Option<(usize, usize)>) -> Buffer {
        let across = [(0.0, "1K".to_owned()), (0.5, "2K".to_owned()), (1.0, "4K".to_owned())];
        let up = [(0.0, "0".to_owned()), (1.0, "80".to_owned())];
        let faint = Style::new();
        let symbols = Symbols::Ascii;
        let drawn =
            Curves { curves, across: &across, up: &up, notes, selected, now: Some(0.5), faint, symbols };
        let mut buffer = Buffer::empty(Rect::new(0, 0, 25, 9));
        (&drawn).render(buffer.area, &mut buffer);
        buffer
    }

    fn text(buffer: &Buffer) -> Vec<String> {
        let line = |y| (0..25).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..9).map(line).collect()
    }

    #[test]
    fn each_curve_has_a_mark_of_its_own_and_where_they_meet_another() {
        let one = curve(&[(0.0, 0.2), (0.5, 0.5), (1.0, 1.0)]);
        let two = curve(&[(0.0, 0.8), (0.5, 0.5), (1.0, 0.5)]);
        let peak = Note { at: (0, 2), text: "peak".into(), above: true };
        assert_eq!(
            text(&painted(&[one, two], &[peak], None)),
            [
                "80 |                   .o",
                "   |x..             .peak",
                "   |   .....    ....",
                "   |        ..=.........x",
                "   |   .....",
                "   |o..",
                " 0 |",
                "   +----------^----------",
                "    1K        2K       4K",
            ]
            .map(str::to_owned)
        );
    }

    #[test]
    fn the_selected_point_is_marked() {
        let buffer = painted(&[curve(&[(0.0, 0.0), (1.0, 1.0)])], &[], Some((0, 1)));
        assert!(buffer[(24, 0)].modifier.contains(Modifier::REVERSED));
        assert!(!buffer[(5, 6)].modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn no_area_is_too_small() {
        let curves = [curve(&[(0.0, 0.0), (1.0, 1.0)])];
        let up = [(0.0, "0".to_owned())];
        for (width, height) in [(0, 0), (1, 1), (3, 9), (4, 3), (25, 2), (25, 3)] {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
            let notes = [Note { at: (0, 1), text: "a long word".into(), above: true }];
            let faint = Style::new();
            let symbols = Symbols::Unicode;
            let drawn = Curves {
                curves: &curves,
                across: &[],
                up: &up,
                notes: &notes,
                selected: None,
                now: None,
                faint,
                symbols,
            };
            (&drawn).render(buffer.area, &mut buffer);
        }
    }
}
