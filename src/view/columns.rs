//! How the width of the screen is shared out on a rail's line.

use serde::Deserialize;

/// A column of a rail's line that can be left out; its name and its bar always stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Column {
    /// NUMA node.
    Node,
    /// Netdev.
    Netdev,
    /// Port state.
    State,
    /// The other direction.
    Other,
    /// The rail's ceiling.
    Ceiling,
    /// Highest rate of the last minute.
    Peak,
    /// Trend.
    Trend,
    /// Badges.
    Badges,
}

impl Column {
    /// Every one, from the left.
    pub const ALL: [Self; 8] = [
        Self::Node,
        Self::Netdev,
        Self::State,
        Self::Other,
        Self::Ceiling,
        Self::Peak,
        Self::Trend,
        Self::Badges,
    ];

    /// As the config file names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Netdev => "netdev",
            Self::State => "state",
            Self::Other => "other",
            Self::Ceiling => "ceiling",
            Self::Peak => "peak",
            Self::Trend => "trend",
            Self::Badges => "badges",
        }
    }

    /// What stands in it.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::Node => "NUMA node",
            Self::Netdev => "network interface",
            Self::State => "state of the port",
            Self::Other => "rate of the other direction",
            Self::Ceiling => "lowest limit, and which it is",
            Self::Peak => "highest rate of the last minute",
            Self::Trend => "rate over the last minutes",
            Self::Badges => "what was found, in a sign and a word",
        }
    }
}

/// What the columns are laid out for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants<'a> {
    /// Cells of the longest name.
    pub name: usize,
    /// Cells of the longest netdev.
    pub netdev: usize,
    /// Whether rails of all nodes stand under one heading.
    pub is_flat: bool,
    /// What a person chose; `None` leaves it to the width.
    pub chosen: Option<&'a [Column]>,
}

/// Cells of each column; 0 leaves it out. One cell stands between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Sign of the selected rail.
    pub cursor: u16,
    /// Device name.
    pub name: u16,
    /// NUMA node.
    pub node: u16,
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
    /// The columns for a screen of this width. Of chosen ones those that have no room are left out.
    #[must_use]
    pub fn of(width: u16, wants: &Wants) -> Self {
        let most = |cells: usize, most: u16| u16::try_from(cells).unwrap_or(u16::MAX).min(most);
        let wide = width >= 110;
        let widest = width >= 160;
        let all = Self {
            cursor: 1,
            name: most(wants.name, if wide { 24 } else { 14 }),
            node: 3,
            netdev: most(wants.netdev, 15).max(1),
            state: if wide { 6 } else { 4 },
            bar: 0,
            other: 9,
            ceiling: 10,
            peak: 6,
            trend: if widest { width / 5 } else { width / 8 }.min(60),
            badges: if widest { width / 5 } else { width * 3 / 20 },
        };
        let is_wanted = |column: Column| match (wants.chosen, column) {
            (Some(chosen), _) => chosen.contains(&column),
            (None, Column::Node) => wants.is_flat,
            (None, Column::Netdev | Column::Peak) => widest,
            (None, Column::Other) => width >= 130,
            (None, Column::Ceiling) => wide,
            (None, Column::State | Column::Trend | Column::Badges) => true,
        };
        let mut columns = all;
        for column in Column::ALL.into_iter().filter(|column| !is_wanted(*column)) {
            *columns.cells(column) = 0;
        }
        // those that say least give way first
        let yielding = [
            Column::Trend,
            Column::Peak,
            Column::Other,
            Column::Netdev,
            Column::Ceiling,
            Column::Badges,
            Column::Node,
        ];
        for column in yielding {
            if columns.rest(width) < SHORTEST_BAR + 1 + FIGURE {
                *columns.cells(column) = 0;
            }
        }
        columns.bar = columns.rest(width);
        columns
    }

    /// Which of [`Column::ALL`] there are.
    #[must_use]
    pub fn shown(mut self) -> [bool; Column::ALL.len()] {
        Column::ALL.map(|column| *self.cells(column) > 0)
    }

    fn cells(&mut self, column: Column) -> &mut u16 {
        match column {
            Column::Node => &mut self.node,
            Column::Netdev => &mut self.netdev,
            Column::State => &mut self.state,
            Column::Other => &mut self.other,
            Column::Ceiling => &mut self.ceiling,
            Column::Peak => &mut self.peak,
            Column::Trend => &mut self.trend,
            Column::Badges => &mut self.badges,
        }
    }

    fn rest(&self, width: u16) -> u16 {
        let others = [
            self.name,
            self.node,
            self.netdev,
            self.state,
            self.other,
            self.ceiling,
            self.peak,
            self.trend,
            self.badges,
        ];
        let taken: u16 = others.iter().filter(|cells| **cells > 0).map(|cells| cells + 1).sum();
        // the bar has its blank before the next column, or the screen's edge, behind it
        width.saturating_sub(self.cursor + taken)
    }

    /// Where each column begins, from the left edge: cursor, name, node, netdev, state, bar, other, ceiling, peak, trend,
    /// badges.
    #[must_use]
    pub fn starts(&self) -> [u16; 11] {
        let mut x = self.cursor;
        let mut starts = [0; 11];
        let cells = [
            self.name,
            self.node,
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
    use super::{Column, Columns, FIGURE, SHORTEST_BAR, Wants};

    #[test]
    fn the_columns_fill_the_line_and_no_more() {
        for width in 60..300 {
            for name in [6, 11, 40] {
                for chosen in [None, Some(&Column::ALL[..]), Some(&[Column::Badges][..])] {
                    let wants = Wants { name, netdev: 5, is_flat: true, chosen };
                    let columns = Columns::of(width, &wants);
                    let last = columns.starts()[10] + columns.badges;
                    let end = if columns.badges > 0 { last } else { last - 1 };
                    assert_eq!(end, width, "{columns:?}");
                    assert!(columns.bar >= SHORTEST_BAR + FIGURE, "{width} {columns:?}");
                }
            }
        }
    }

    #[test]
    fn what_was_chosen_stands_there_where_it_has_room() {
        let chosen = [Column::Netdev, Column::Peak];
        let wants = Wants { name: 8, netdev: 9, chosen: Some(&chosen), ..Wants::default() };
        let columns = Columns::of(100, &wants);
        assert_eq!((columns.netdev, columns.peak, columns.trend, columns.state), (9, 6, 0, 0));
        assert_eq!(columns.shown(), Column::ALL.map(|column| chosen.contains(&column)));
    }
}
