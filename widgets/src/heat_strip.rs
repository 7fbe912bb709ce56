//! A row of cells that tell how full something was, one cell a stretch of time.

use crate::Symbols;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

/// One stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeatCell {
    /// How full, 0 to 1; `None` where it is not known.
    pub share: Option<f64>,
    /// Its style.
    pub style: Style,
}

/// A row of them. How full a cell is shows by its height too, so that it needs no colour.
#[derive(Clone, Copy, Debug)]
pub struct HeatStrip<'a> {
    /// The cells, from the left; what has no room is left out.
    pub cells: &'a [HeatCell],
    /// Style of a cell that is not known.
    pub absent: Style,
    /// Characters to paint with.
    pub symbols: Symbols,
}

impl Widget for &HeatStrip<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        for (x, cell) in (area.left()..area.right()).zip(self.cells) {
            let (symbol, style) = match self.symbols.height(cell.share) {
                Some(height) => (height, cell.style),
                None => (self.symbols.absent(), self.absent),
            };
            buffer[(x, area.y)].set_char(symbol).set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HeatCell, HeatStrip};
    use crate::Symbols;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;
    use ratatui::widgets::Widget;

    #[test]
    fn a_sag_shows_without_colours_and_the_unknown_is_not_zero() {
        let cells =
            [Some(1.0), Some(0.5), None, Some(0.0)].map(|share| HeatCell { share, ..HeatCell::default() });
        let painted = |symbols| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 5, 1));
            let strip = HeatStrip { cells: &cells, absent: Style::default(), symbols };
            (&strip).render(buffer.area, &mut buffer);
            (0..5).map(|x| buffer[(x, 0)].symbol().to_owned()).collect::<String>()
        };
        assert_eq!([painted(Symbols::Unicode), painted(Symbols::Ascii)], ["█▅·▁ ", "#= _ "]);
    }
}
