//! Where one is in a length of time, and where in it something happened.

use crate::{Symbols, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

/// How bad a stretch of time is; the worse is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nobody has looked.
    #[default]
    Unseen,
    /// Nothing bad.
    Calm,
    /// Something to look after.
    Warning,
    /// Something is broken.
    Error,
}

/// What happened in a stretch of time; of several the greatest is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tick {
    /// A note begins.
    Note,
    /// Something changed.
    Event,
    /// A warning begins.
    Warning,
    /// An error begins.
    Error,
    /// A person set a mark.
    Mark,
}

/// A stretch of time, one cell wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCell {
    /// How bad it is.
    pub level: Level,
    /// What happened in it.
    pub tick: Option<Tick>,
    /// Style of the cell.
    pub style: Style,
}

/// A length of time in one row: `0:12 ──!━━━━▾━┃━✗══···· 10:00`.
#[derive(Clone, Copy, Debug)]
pub struct Scrubber<'a> {
    /// Time of the cursor, at the left.
    pub here: &'a str,
    /// Length, at the right.
    pub end: &'a str,
    /// The cells between, as many as [`Scrubber::track`] has.
    pub cells: &'a [ScrubCell],
    /// Which of them the cursor is in; `None` paints none.
    pub cursor: Option<usize>,
    /// Style of the labels.
    pub label: Style,
    /// Style of the cursor.
    pub at_cursor: Style,
    /// Characters to paint with.
    pub symbols: Symbols,
}

impl Scrubber<'_> {
    /// Where the cells go, in an area of one row, beside labels of so many cells each.
    #[must_use]
    pub fn track(area: Rect, label: usize) -> Rect {
        let label = u16::try_from(label).unwrap_or(u16::MAX).saturating_add(1);
        let taken = label.saturating_mul(2).min(area.width);
        Rect {
            x: area.x.saturating_add(label.min(area.width)),
            width: area.width - taken,
            height: area.height.min(1),
            ..area
        }
    }
}

impl Widget for &Scrubber<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        for x in area.left()..area.right() {
            buffer[(x, area.y)].reset();
        }
        let label = width(self.here).max(width(self.end));
        let track = Scrubber::track(area, label);
        let room = usize::from(area.width);
        buffer.set_stringn(area.x, area.y, self.here, room, self.label);
        if usize::from(area.width) > 2 * label {
            let x = area.right() - u16::try_from(width(self.end)).unwrap_or(0);
            buffer.set_stringn(x, area.y, self.end, room, self.label);
        }
        for ((x, cell), at) in (track.left()..track.right()).zip(self.cells).zip(0..) {
            let (symbol, style) = if self.cursor == Some(at) {
                (self.symbols.cursor(), self.at_cursor)
            } else {
                (self.symbol(*cell), cell.style)
            };
            buffer[(x, area.y)].set_char(symbol).set_style(style);
        }
    }
}

impl Scrubber<'_> {
    fn symbol(&self, cell: ScrubCell) -> char {
        let [unseen, calm, warned, broken] = self.symbols.levels();
        let [note, warning, error, event, mark] = self.symbols.ticks();
        match (cell.tick, cell.level) {
            (Some(Tick::Mark), _) => mark,
            (Some(Tick::Error), _) => error,
            (Some(Tick::Warning), _) => warning,
            (Some(Tick::Event), _) => event,
            (Some(Tick::Note), _) => note,
            (None, Level::Unseen) => unseen,
            (None, Level::Calm) => calm,
            (None, Level::Warning) => warned,
            (None, Level::Error) => broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, ScrubCell, Scrubber, Tick};
    use crate::Symbols;
    use ratatui::buffer::{Buffer, Cell};
    use ratatui::layout::Rect;
    use ratatui::style::Style;
    use ratatui::widgets::Widget;

    fn painted(width: u16, cells: &[ScrubCell], cursor: Option<usize>, symbols: Symbols) -> String {
        let mut buffer = Buffer::filled(Rect::new(0, 0, width, 1), Cell::new("x"));
        let style = Style::default();
        let scrubber =
            Scrubber { here: "0:42", end: "10:00", cells, cursor, label: style, at_cursor: style, symbols };
        (&scrubber).render(buffer.area, &mut buffer);
        (0..width).map(|x| buffer[(x, 0)].symbol().to_owned()).collect()
    }

    fn all_kinds() -> Vec<ScrubCell> {
        let cell = |level, tick| ScrubCell { level, tick, style: Style::default() };
        vec![
            cell(Level::Calm, Some(Tick::Note)),
            cell(Level::Calm, None),
            cell(Level::Warning, Some(Tick::Warning)),
            cell(Level::Warning, None),
            cell(Level::Warning, Some(Tick::Event)),
            cell(Level::Error, Some(Tick::Error)),
            cell(Level::Error, None),
            cell(Level::Calm, Some(Tick::Mark)),
            cell(Level::Calm, None),
            cell(Level::Unseen, None),
        ]
    }

    #[test]
    fn every_kind_has_a_character_of_its_own() {
        let cells = all_kinds();
        assert_eq!(painted(22, &cells, None, Symbols::Unicode), "0:42  i─!━▾✗═◆─· 10:00");
        assert_eq!(painted(22, &cells, Some(8), Symbols::Unicode), "0:42  i─!━▾✗═◆┃· 10:00");
        assert_eq!(painted(22, &cells, Some(8), Symbols::Ascii), "0:42  i-!=vX#M|. 10:00");
    }

    #[test]
    fn there_is_no_width_at_which_it_panics() {
        let cells = all_kinds();
        let widths = [1, 4, 5, 9, 10, 11, 12, 13];
        let rows = widths.map(|width| painted(width, &cells, Some(0), Symbols::Unicode));
        assert_eq!(
            rows,
            ["0", "0:42", "0:42 ", "0:42     ", "0:42      ", "0:42  10:00", "0:42   10:00", "0:42  ┃ 10:00"]
        );
    }

    #[test]
    fn the_track_is_between_the_labels() {
        assert_eq!(Scrubber::track(Rect::new(2, 5, 30, 1), 5), Rect::new(8, 5, 18, 1));
        assert_eq!(Scrubber::track(Rect::new(0, 0, 8, 1), 5).width, 0);
    }
}
