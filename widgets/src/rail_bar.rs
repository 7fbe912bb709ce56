//! One bar on a scale of its own.

use crate::{Symbols, clip, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

/// A place on the scale of a bar, such as a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Where on the scale, 0 to 1; elsewhere it is not painted.
    pub at: f64,
    /// The character it is painted as.
    pub symbol: char,
    /// Its style.
    pub style: Style,
}

/// One bar on a scale of its own, with marks, and a text at its end.
#[derive(Clone, Copy, Debug)]
pub struct RailBar<'a> {
    /// Length as a share of the scale; `None` when there is no value: then `absent` is shown instead.
    pub share: Option<f64>,
    /// Limits on the scale; later ones are painted over earlier ones.
    pub marks: &'a [Mark],
    /// What stands at the end, flush right; the bar gets the room that is left.
    pub text: &'a str,
    /// What is shown in place of a bar without a value.
    pub absent: &'a str,
    /// Style of the filled part.
    pub style: Style,
    /// Style of the unfilled part, and of `absent`.
    pub track: Style,
    /// Characters to paint with.
    pub symbols: Symbols,
}

/// A bar this much longer than its scale says so; below that it is just full.
const BEYOND: f64 = 1.02;

impl Widget for &RailBar<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let text = u16::try_from(width(self.text)).unwrap_or(u16::MAX);
        let taken = if text == 0 { 0 } else { text.saturating_add(1) };
        let bar = Rect { width: area.width.saturating_sub(taken), ..area };
        if text > 0 {
            let at = area.right().saturating_sub(text).max(area.x);
            let room = usize::from(area.right() - at);
            buffer.set_stringn(at, area.y, self.text, room, Style::default());
        }
        match self.share {
            Some(share) if share.is_finite() => self.bar(share, bar, buffer),
            _ => {
                let absent = clip(self.absent, usize::from(bar.width), self.symbols);
                buffer.set_stringn(bar.x, bar.y, absent, usize::from(bar.width), self.track);
            }
        }
    }
}

impl RailBar<'_> {
    fn bar(&self, share: f64, area: Rect, buffer: &mut Buffer) {
        let (full, parts) = self.symbols.bar();
        let steps_per_cell = parts.len() + 1;
        let steps = cells(share, usize::from(area.width) * steps_per_cell);
        for (at, x) in (area.left()..area.right()).enumerate() {
            let filled = steps.saturating_sub(at * steps_per_cell).min(steps_per_cell);
            let (symbol, style) = match filled {
                0 => (self.symbols.track(), self.track),
                n if n == steps_per_cell => (full, self.style),
                n => (parts[n - 1], self.style),
            };
            buffer[(x, area.y)].set_char(symbol).set_style(style);
        }
        for mark in self.marks.iter().filter(|mark| (0.0..=1.0).contains(&mark.at)) {
            let Some(last) = area.width.checked_sub(1) else { continue };
            let offset = u16::try_from(cells(mark.at, usize::from(area.width))).unwrap_or(last).min(last);
            let cell = &mut buffer[(area.x + offset, area.y)];
            // nothing of the bar beneath shines through
            cell.reset();
            cell.set_char(mark.symbol).set_style(mark.style);
        }
        if share > BEYOND && area.width > 0 {
            buffer[(area.right() - 1, area.y)].set_char(self.symbols.beyond()).set_style(self.style);
        }
    }
}

/// `share` of so many cells, to the nearest; anything above zero is at least one.
fn cells(share: f64, of: usize) -> usize {
    let exact = share.clamp(0.0, 1.0) * of as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0..=of just above"
    )]
    let rounded = exact.round() as usize;
    if share > 0.0 { rounded.max(1) } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::{Mark, RailBar};
    use crate::Symbols;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Style};
    use ratatui::widgets::Widget;

    fn bar(share: impl Into<Option<f64>>) -> RailBar<'static> {
        RailBar {
            share: share.into(),
            marks: &[],
            text: "",
            absent: "no data",
            style: Style::default(),
            track: Style::default(),
            symbols: Symbols::Unicode,
        }
    }

    /// Paints into a buffer full of `x`, so that untouched cells show.
    fn painted(bar: &RailBar, width: u16) -> String {
        let mut buffer = Buffer::filled(Rect::new(0, 0, width, 1), ratatui::buffer::Cell::new("x"));
        bar.render(Rect::new(0, 0, width, 1), &mut buffer);
        (0..width).map(|x| buffer[(x, 0)].symbol().to_owned()).collect()
    }

    #[test]
    fn a_bar_grows_by_eighths_of_a_cell() {
        for (share, cells) in [
            (0.0, "····"),
            (0.5, "██··"),
            (0.53125, "██▏·"),
            (0.75, "███·"),
            (0.96875, "███▉"),
            (1.0, "████"),
            (1.01, "████"),
        ] {
            assert_eq!(painted(&bar(share), 4), cells, "{share}");
        }
    }

    #[test]
    fn the_least_traffic_shows() {
        assert_eq!(painted(&bar(0.000_001), 4), "▏···");
    }

    #[test]
    fn a_bar_beyond_its_scale_says_so() {
        assert_eq!(painted(&bar(1.8), 4), "███▶");
    }

    #[test]
    fn no_value_is_no_bar() {
        assert_eq!(painted(&bar(None), 10), "no dataxxx");
        assert_eq!(painted(&bar(f64::NAN), 4), "no …");
    }

    #[test]
    fn marks_stand_where_the_limit_is() {
        let mark = |at, symbol| Mark { at, symbol, style: Style::default() };
        let marks = [mark(0.5, '┊'), mark(1.0, '│'), mark(1.2, '!')];
        assert_eq!(painted(&RailBar { marks: &marks, ..bar(0.25) }, 8), "██··┊··│");
    }

    #[test]
    fn the_text_keeps_its_room_at_the_end() {
        assert_eq!(painted(&RailBar { text: "24.5", ..bar(0.5) }, 11), "███···x24.5");
        assert_eq!(painted(&RailBar { text: "24.5", ..bar(0.5) }, 3), "24.");
    }

    #[test]
    fn ascii_needs_no_block_characters() {
        let ascii = RailBar { symbols: Symbols::Ascii, ..bar(0.6) };
        assert_eq!(painted(&ascii, 8), "#####...");
        assert_eq!(painted(&RailBar { share: Some(0.55), ..ascii }, 8), "####-...");
    }

    #[test]
    fn filled_and_unfilled_cells_have_their_styles() {
        let red = Style::new().fg(Color::Red);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        (&RailBar { style: red, ..bar(0.5) }).render(buffer.area, &mut buffer);
        let mut expected = Buffer::with_lines(["██··"]);
        expected.set_style(Rect::new(0, 0, 2, 1), red);
        assert_eq!(buffer, expected);
    }

    #[test]
    fn an_area_outside_the_buffer_is_left_alone() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        (&bar(1.0)).render(Rect::new(2, 0, 40, 3), &mut buffer);
        (&bar(1.0)).render(Rect::new(9, 9, 4, 1), &mut buffer);
        assert_eq!(buffer, Buffer::with_lines(["  ██"]));
    }
}
