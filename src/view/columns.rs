//! How the width of the screen is shared out on a rail's line.

/// Cells of each column; 0 leaves it out. One cell stands between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Sign of the selected rail.
    pub cursor: u16,
    /// Device name.
    pub name: u16,
    /// Netdev.
    pub netdev: u16,
    /// Port state.
    pub state: u16,
    /// Bar, and the figure at its end.
    pub bar: u16,
    /// The other direction.
    pub other: u16,
    /// The rail's ceiling.
    pub ceiling: u16,
    /// Highest rate of the last minute.
    pub peak: u16,
    /// Trend of the last minute.
    pub trend: u16,
    /// Badges.
    pub badges: u16,
}

/// Cells of the figure at the end of a bar: `READ   48.7  99%`.
pub const FIGURE: u16 = 5 + 1 + 6 + 1 + 4;
/// A bar shorter than this says too little.
const SHORTEST_BAR: u16 = 8;

impl Columns {
    /// The columns for a screen of this width and names of this length.
    #[must_use]
    pub fn of(width: u16, longest_name: usize, longest_netdev: usize) -> Self {
        let most = |cells: usize, most: u16| u16::try_from(cells).unwrap_or(u16::MAX).min(most);
        let wide = width >= 110;
        let widest = width >= 160;
        let mut columns = Self {
            cursor: 1,
            name: most(longest_name, if wide { 24 } else { 14 }),
            netdev: if widest { most(longest_netdev, 15) } else { 0 },
            state: if wide { 6 } else { 4 },
            bar: 0,
            other: if width >= 130 { 8 } else { 0 },
            ceiling: if wide { 10 } else { 0 },
            peak: if widest { 6 } else { 0 },
            trend: if widest { width / 5 } else { width / 8 }.min(60),
            badges: if widest { width / 5 } else { width * 3 / 20 },
        };
        if columns.rest(width) < SHORTEST_BAR + 1 + FIGURE {
            columns.trend = 0;
        }
        columns.bar = columns.rest(width);
        columns
    }

    fn rest(&self, width: u16) -> u16 {
        let others = [
            self.name,
            self.netdev,
            self.state,
            self.other,
            self.ceiling,
            self.peak,
            self.trend,
            self.badges,
        ];
        let taken: u16 = others.iter().filter(|cells| **cells > 0).map(|cells| cells + 1).sum();
        width.saturating_sub(self.cursor + taken)
    }

    /// Where each column begins, from the left edge: cursor, name, netdev, state, bar, other, ceiling, peak, trend,
    /// badges.
    #[must_use]
    pub fn starts(&self) -> [u16; 10] {
        let mut x = self.cursor;
        let mut starts = [0; 10];
        let cells = [
            self.name,
            self.netdev,
            self.state,
            self.bar,
            self.other,
            self.ceiling,
            self.peak,
            self.trend,
            self.badges,
        ];
        for (start, cells) in starts[1..].iter_mut().zip(cells) {
            *start = x;
            x += if cells > 0 { cells + 1 } else { 0 };
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::{Columns, FIGURE, SHORTEST_BAR};

    #[test]
    fn the_columns_fill_the_line_and_no_more() {
        for width in 60..300 {
            for name in [6, 11, 40] {
                let columns = Columns::of(width, name, 5);
                let badges = columns.starts()[9];
                assert_eq!(badges + columns.badges, width, "{columns:?}");
                assert!(columns.bar >= SHORTEST_BAR + FIGURE, "{columns:?}");
            }
        }
    }
}
