//! A small graph of the recent past.

use crate::Symbols;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

/// A small graph, one cell a value, newest at the right.
#[derive(Clone, Copy, Debug)]
pub struct Trend<'a> {
    /// Shares of the scale, oldest first; `None` where there was no value. More than fit: the newest are shown;
    /// fewer: the cells before stay blank.
    pub shares: &'a [Option<f64>],
    /// Style of the graph.
    pub style: Style,
    /// Style of cells without a value.
    pub absent: Style,
    /// Characters to paint with.
    pub symbols: Symbols,
}

impl Widget for &Trend<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let room = usize::from(area.width);
        let shown = &self.shares[self.shares.len().saturating_sub(room)..];
        let lead = u16::try_from(room - shown.len()).unwrap_or(0);
        let begin = area.left() + lead;
        for x in area.left()..begin {
            buffer[(x, area.y)].set_char(' ').set_style(self.absent);
        }
        for (x, share) in (begin..area.right()).zip(shown) {
            let (symbol, style) = match self.symbols.height(*share) {
                Some(height) => (height, self.style),
                None => (self.symbols.absent(), self.absent),
            };
            buffer[(x, area.y)].set_char(symbol).set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Trend;
    use crate::Symbols;
    use ratatui::buffer::{Buffer, Cell};
    use ratatui::layout::Rect;
    use ratatui::style::Style;
    use ratatui::widgets::Widget;

    fn painted(shares: &[Option<f64>], width: u16, symbols: Symbols) -> String {
        let mut buffer = Buffer::filled(Rect::new(0, 0, width, 1), Cell::new("x"));
        let trend = Trend { shares, style: Style::default(), absent: Style::default(), symbols };
        (&trend).render(buffer.area, &mut buffer);
        (0..width).map(|x| buffer[(x, 0)].symbol().to_owned()).collect()
    }

    #[test]
    fn heights_go_from_nothing_to_the_full_scale() {
        let shares: Vec<_> = (0..=8).map(|n| Some(f64::from(n) / 8.0)).collect();
        assert_eq!(painted(&shares, 9, Symbols::Unicode), "▁▂▃▄▅▆▇██");
        assert_eq!(painted(&[Some(0.0), Some(0.5), Some(1.0), Some(9.0)], 4, Symbols::Ascii), "_=##");
    }

    #[test]
    fn no_value_is_not_zero() {
        assert_eq!(painted(&[Some(0.0), None, Some(0.0)], 3, Symbols::Unicode), "▁·▁");
        assert_eq!(painted(&[Some(0.0), None, Some(0.0)], 3, Symbols::Ascii), "_ _");
    }

    #[test]
    fn the_newest_values_stand_at_the_right() {
        assert_eq!(painted(&[Some(1.0)], 3, Symbols::Unicode), "  █");
        assert_eq!(painted(&[Some(0.0), Some(0.0), Some(1.0)], 2, Symbols::Unicode), "▁█");
        assert_eq!(painted(&[], 2, Symbols::Unicode), "  ");
    }
}
