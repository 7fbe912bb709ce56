//! Frames around a part of the screen, line by line, so that what is in them can scroll.

use crate::{Symbols, clip, width};

/// One line of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge<'a> {
    /// Its upper edge, with a title.
    Top(&'a str),
    /// What is in it, between its sides.
    Sides,
    /// Its lower edge.
    Bottom,
}

impl Edge<'_> {
    /// The line in so many cells, blank where something goes between the sides.
    #[must_use]
    pub fn line(self, cells: usize, symbols: Symbols) -> String {
        let [side, across, corners @ ..] = symbols.frame();
        let Some(inner) = cells.checked_sub(2) else { return String::new() };
        let [top_left, top_right, bottom_left, bottom_right] = corners;
        match self {
            Self::Top(title) => {
                let title = clip(title, inner.saturating_sub(3), symbols);
                let blank = if title.is_empty() { "" } else { " " };
                let taken = 1 + width(&title) + 2 * blank.len();
                let rest = std::iter::repeat_n(across, inner.saturating_sub(taken)).collect::<String>();
                format!("{top_left}{across}{blank}{title}{blank}{rest}{top_right}")
            }
            Self::Sides => format!("{side}{}{side}", " ".repeat(inner)),
            Self::Bottom => {
                format!(
                    "{bottom_left}{}{bottom_right}",
                    std::iter::repeat_n(across, inner).collect::<String>()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Edge;
    use crate::{Symbols, width};

    #[test]
    fn every_line_of_a_frame_is_as_wide_as_it() {
        for cells in 8..40 {
            for edge in [Edge::Top("NUMA 0  768 GiB"), Edge::Top(""), Edge::Sides, Edge::Bottom] {
                for symbols in [Symbols::Unicode, Symbols::Ascii] {
                    assert_eq!(width(&edge.line(cells, symbols)), cells, "{edge:?} {cells}");
                }
            }
        }
        assert_eq!(Edge::Top("NUMA 0").line(14, Symbols::Unicode), "┌─ NUMA 0 ───┐");
        assert_eq!(Edge::Bottom.line(6, Symbols::Ascii), "+----+");
        assert_eq!(Edge::Sides.line(1, Symbols::Ascii), "");
    }
}
