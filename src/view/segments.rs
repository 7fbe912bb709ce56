//! One line made of pieces, of which the less important ones give way when it is too long.

use super::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use widgets::{Symbols, clip, width};

/// A piece of a line.
#[derive(Clone, Debug)]
pub struct Segment {
    text: String,
    style: Style,
    /// 0 stays as long as anything can be seen; the highest goes first.
    rank: u8,
}

impl Segment {
    /// A piece; rank 0 stays to the last, the highest goes first.
    #[must_use]
    pub fn new(text: impl Into<String>, style: Style, rank: u8) -> Self {
        Self { text: text.into(), style, rank }
    }

    /// How soon it gives way.
    #[must_use]
    pub fn rank(&self) -> u8 {
        self.rank
    }

    /// Cells it takes.
    #[must_use]
    pub fn cells(&self) -> usize {
        width(&self.text)
    }
}

/// Cells between pieces.
pub const GAP: usize = 2;

/// Paints `left` flush left and `right` flush right, two cells between pieces.
pub fn paint(
    mut left: Vec<Segment>,
    mut right: Vec<Segment>,
    area: Rect,
    buffer: &mut Buffer,
    symbols: Symbols,
) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let theme = Theme { symbols, ..Theme::default() };
    left.iter_mut().chain(&mut right).for_each(|piece| piece.text = theme.text(&piece.text));
    left.retain(|piece| !piece.text.is_empty());
    right.retain(|piece| !piece.text.is_empty());
    let room = usize::from(area.width);
    while length(&left) + length(&right) + GAP > room {
        let highest = left.iter().chain(&right).map(|piece| piece.rank).max().unwrap_or(0);
        if highest == 0 {
            break;
        }
        let side = if right.iter().any(|piece| piece.rank == highest) { &mut right } else { &mut left };
        if let Some(at) = side.iter().rposition(|piece| piece.rank == highest) {
            side.remove(at);
        }
    }
    let right_length = length(&right).min(room);
    let mut x = area.x;
    let end = area.right() - u16::try_from(right_length).unwrap_or(area.width);
    for piece in &left {
        let room = usize::from(end.saturating_sub(x)).saturating_sub(usize::from(right_length > 0));
        let text = clip(&piece.text, room, symbols);
        let (after, _) = buffer.set_stringn(x, area.y, text, room, piece.style);
        x = after.saturating_add(2);
    }
    let mut x = end;
    for piece in &right {
        let room = usize::from(area.right().saturating_sub(x));
        let text = clip(&piece.text, room, symbols);
        let (after, _) = buffer.set_stringn(x, area.y, text, room, piece.style);
        x = after.saturating_add(2);
    }
}

fn length(pieces: &[Segment]) -> usize {
    pieces.iter().map(|piece| width(&piece.text)).sum::<usize>() + GAP * pieces.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::{Segment, paint};
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;
    use widgets::Symbols;

    fn painted(width: u16) -> String {
        let piece = |text: &str, rank| Segment::new(text, Style::new(), rank);
        let left = vec![piece("REAL", 0), piece("node17", 0), piece("6.1.0", 2)];
        let right = vec![piece("03:04:05 UTC", 1), piece("0:42", 0)];
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        paint(left, right, buffer.area, &mut buffer, Symbols::Unicode);
        (0..width).map(|x| buffer[(x, 0)].symbol().to_owned()).collect()
    }

    #[test]
    fn what_matters_least_gives_way_first() {
        assert_eq!(painted(42), "REAL  node17  6.1.0     03:04:05 UTC  0:42");
        assert_eq!(painted(34), "REAL  node17    03:04:05 UTC  0:42");
        assert_eq!(painted(20), "REAL  node17    0:42");
        assert_eq!(painted(12), "REAL  … 0:42");
    }
}
