//! What was found, worst first, each with what to do.

use crate::{Symbols, clip, width, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;
use std::ops::Range;

/// One finding, in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindingItem {
    /// How bad it is, in a word of at most five letters; colour alone would not reach everyone.
    pub severity: String,
    /// Style of that word.
    pub style: Style,
    /// Its short name.
    pub code: String,
    /// What was found.
    pub message: String,
    /// What to do; empty when there is nothing to do.
    pub advice: String,
}

/// Findings, worst first. Where not all fit in full, the selected one does, and of the others those there is room
/// for; the rest get one line each.
#[derive(Clone, Copy, Debug)]
pub struct FindingList<'a> {
    /// The findings, in the order they are shown.
    pub items: &'a [FindingItem],
    /// The one in view; `None` begins at the top.
    pub selected: Option<usize>,
    /// Lines of the selected one that have been scrolled away, where it alone has more than there is room for.
    pub from: usize,
    /// Whether the selected one is marked, because keys move it.
    pub focused: bool,
    /// What is shown when there are none.
    pub empty: &'a str,
    /// Style of the advice.
    pub advice: Style,
    /// Characters to paint with.
    pub symbols: Symbols,
}

/// One painted line.
struct Row {
    lead: String,
    lead_style: Style,
    text: String,
    text_style: Style,
}

const SEVERITY_CELLS: usize = 5;

impl Widget for &FindingList<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        if self.items.is_empty() {
            for (line, y) in wrap(self.empty, usize::from(area.width)).iter().zip(area.top()..area.bottom()) {
                buffer.set_string(area.x, y, line, Style::default());
            }
            return;
        }
        let (cells, height) = (usize::from(area.width), usize::from(area.height));
        let (blocks, shown) = self.fit(cells, height);
        let ends: Vec<usize> = blocks[shown.start..]
            .iter()
            .scan(0, |end, block| {
                *end += block.len();
                Some(*end)
            })
            .collect();
        let from = self.scrolled(cells, height);
        let rows = blocks.iter().skip(shown.start).flatten().skip(from).zip(area.top()..area.bottom());
        for (at, (row, y)) in (from + 1..).zip(rows) {
            let room = usize::from(area.width);
            let (x, _) = buffer.set_stringn(area.x, y, &row.lead, room, row.lead_style);
            // what has no room is not left off in silence, above or below
            let sign = self.symbols.cut();
            if from > 0 && at == from + 1 && x > area.x + 1 {
                buffer.set_string(x - 2, y, sign, Style::default());
            }
            let room = usize::from(area.right().saturating_sub(x));
            let is_cut = y + 1 == area.bottom() && !ends.contains(&at);
            let text = if is_cut {
                clip(&format!("{} {sign}", row.text), room, self.symbols)
            } else {
                row.text.clone()
            };
            buffer.set_stringn(x, y, text, room, row.text_style);
        }
    }
}

impl FindingList<'_> {
    /// Which findings are at least partly in view in an area of this size.
    #[must_use]
    pub fn shown(&self, width: u16, height: u16) -> Range<usize> {
        if self.items.is_empty() || width == 0 || height == 0 {
            return 0..0;
        }
        self.fit(usize::from(width), usize::from(height)).1
    }

    /// Lines that the selected one can be scrolled by in an area of this size; 0 where all of it has room.
    #[must_use]
    pub fn overflow(&self, width: u16, height: u16) -> usize {
        if self.items.is_empty() || width == 0 || height == 0 {
            return 0;
        }
        let selected = self.selected.unwrap_or(0).min(self.items.len() - 1);
        self.full(selected, usize::from(width)).len().saturating_sub(usize::from(height))
    }

    /// Lines of the selected one that are above the area.
    fn scrolled(&self, cells: usize, lines: usize) -> usize {
        let size = |cells| u16::try_from(cells).unwrap_or(u16::MAX);
        self.from.min(self.overflow(size(cells), size(lines)))
    }

    /// The finding that line `row` of an area of this size belongs to; `None` below all of them.
    #[must_use]
    pub fn at(&self, width: u16, height: u16, row: u16) -> Option<usize> {
        if self.items.is_empty() || row >= height || width == 0 {
            return None;
        }
        let (blocks, shown) = self.fit(usize::from(width), usize::from(height));
        let mut left = usize::from(row) + self.scrolled(usize::from(width), usize::from(height));
        for (at, block) in blocks.iter().enumerate().skip(shown.start) {
            match left.checked_sub(block.len()) {
                Some(rest) => left = rest,
                None => return Some(at),
            }
        }
        None
    }

    /// The lines of every finding, and which findings are in view.
    fn fit(&self, cells: usize, lines: usize) -> (Vec<Vec<Row>>, Range<usize>) {
        let full: Vec<_> = (0..self.items.len()).map(|at| self.full(at, cells)).collect();
        let selected = self.selected.unwrap_or(0).min(self.items.len() - 1);
        // everyone has one line, the selected one all of its; what room is left goes to the worst first
        let mut spare = (lines + 1).saturating_sub(self.items.len() + full[selected].len());
        let blocks: Vec<_> = full
            .into_iter()
            .enumerate()
            .map(|(at, block)| {
                let more = block.len() - 1;
                if at == selected {
                    block
                } else if more <= spare {
                    spare -= more;
                    block
                } else {
                    vec![self.short(at, cells)]
                }
            })
            .collect();
        // from the top, unless the selected one would not be in view to its last line
        let mut begin = 0;
        while begin < selected && blocks[begin..=selected].iter().map(Vec::len).sum::<usize>() > lines {
            begin += 1;
        }
        let mut end = begin;
        let mut used = 0;
        while end < blocks.len() && used < lines {
            used += blocks[end].len();
            end += 1;
        }
        (blocks, begin..end)
    }

    fn lead(&self, at: usize) -> String {
        let cursor = if self.focused && self.selected == Some(at) { '>' } else { ' ' };
        format!("{cursor}{:<SEVERITY_CELLS$} ", self.items[at].severity)
    }

    fn lead_style(&self, at: usize) -> Style {
        let style = self.items[at].style;
        if self.focused && self.selected == Some(at) { style.add_modifier(Modifier::REVERSED) } else { style }
    }

    fn full(&self, at: usize, cells: usize) -> Vec<Row> {
        let item = &self.items[at];
        let lead = self.lead(at);
        let indent = width(&lead);
        let room = cells.saturating_sub(indent).max(1);
        let message = wrap(&format!("{} {}", item.code, item.message), room);
        let sign = self.symbols.advice();
        let advice = wrap(&item.advice, room.saturating_sub(width(sign)).max(1));
        let blank = " ".repeat(indent);
        let message = message.into_iter().enumerate().map(|(line, text)| Row {
            lead: if line == 0 { lead.clone() } else { blank.clone() },
            lead_style: if line == 0 { self.lead_style(at) } else { Style::default() },
            text,
            text_style: Style::default(),
        });
        let advice = advice.into_iter().enumerate().map(|(line, text)| Row {
            lead: blank.clone(),
            lead_style: Style::default(),
            text: format!("{}{text}", if line == 0 { sign.to_owned() } else { " ".repeat(width(sign)) }),
            text_style: self.advice,
        });
        message.chain(advice).collect()
    }

    fn short(&self, at: usize, cells: usize) -> Row {
        let item = &self.items[at];
        let lead = self.lead(at);
        let room = cells.saturating_sub(width(&lead));
        Row {
            text: clip(&format!("{} {}", item.code, item.message), room, self.symbols),
            lead_style: self.lead_style(at),
            lead,
            text_style: Style::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FindingItem, FindingList};
    use crate::Symbols;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;
    use ratatui::widgets::Widget;

    fn item(severity: &str, code: &str, message: &str, advice: &str) -> FindingItem {
        FindingItem {
            severity: severity.into(),
            style: Style::default(),
            code: code.into(),
            message: message.into(),
            advice: advice.into(),
        }
    }

    fn two() -> [FindingItem; 2] {
        [
            item("ERROR", "gid-none", "mlx5_1 has no usable GID", "give bond1 an address"),
            item("WARN", "mtu-differs", "mlx5_2: 1024, others 4096", "ip link set bond2 mtu 4200"),
        ]
    }

    fn list(items: &[FindingItem]) -> FindingList<'_> {
        FindingList {
            items,
            selected: None,
            from: 0,
            focused: false,
            empty: "nothing found",
            advice: Style::default(),
            symbols: Symbols::Unicode,
        }
    }

    fn painted(list: &FindingList, width: u16, height: u16) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        list.render(buffer.area, &mut buffer);
        buffer
    }

    #[test]
    fn with_room_each_finding_has_its_message_and_its_advice() {
        assert_eq!(
            painted(&list(&two()), 34, 7),
            Buffer::with_lines([
                " ERROR gid-none mlx5_1 has no     ",
                "       usable GID                 ",
                "       → give bond1 an address    ",
                " WARN  mtu-differs mlx5_2: 1024,  ",
                "       others 4096                ",
                "       → ip link set bond2 mtu    ",
                "         4200                     ",
            ]),
        );
    }

    #[test]
    fn without_room_only_the_selected_one_is_in_full() {
        let items = two();
        let mut list = list(&items);
        assert_eq!(
            painted(&list, 34, 4),
            Buffer::with_lines([
                " ERROR gid-none mlx5_1 has no     ",
                "       usable GID                 ",
                "       → give bond1 an address    ",
                " WARN  mtu-differs mlx5_2: 1024, …",
            ]),
        );
        list.selected = Some(1);
        assert_eq!(
            painted(&list, 44, 3),
            Buffer::with_lines([
                " ERROR gid-none mlx5_1 has no usable GID    ",
                " WARN  mtu-differs mlx5_2: 1024, others 4096",
                "       → ip link set bond2 mtu 4200         ",
            ]),
        );
        assert_eq!(list.shown(44, 2), 1..2);
    }

    #[test]
    fn one_that_has_no_room_says_so_and_scrolls_to_its_last_line() {
        let items = two();
        let mut list = list(&items);
        assert_eq!(
            painted(&list, 34, 2),
            Buffer::with_lines([
                "\u{20}ERROR gid-none mlx5_1 has no     ",
                "       usable GID …               "
            ]),
        );
        assert_eq!((list.overflow(34, 2), list.overflow(34, 3), list.overflow(0, 0)), (1, 0, 0));
        list.from = 9;
        assert_eq!(
            painted(&list, 34, 2),
            Buffer::with_lines(["     … usable GID                 ", "       → give bond1 an address    "]),
        );
        assert_eq!(list.at(34, 2, 1), Some(0));
    }

    #[test]
    fn the_selected_one_is_marked_by_a_sign_too() {
        let items = two();
        let list = FindingList { selected: Some(1), focused: true, ..list(&items) };
        let buffer = painted(&list, 60, 4);
        assert_eq!(buffer[(0, 0)].symbol(), " ");
        assert_eq!(buffer[(0, 2)].symbol(), ">");
    }

    #[test]
    fn a_line_belongs_to_its_finding() {
        let items = two();
        let at = |row| list(&items).at(34, 9, row);
        assert_eq!([0, 2, 3, 6, 7].map(at), [Some(0), Some(0), Some(1), Some(1), None]);
        assert_eq!(list(&[]).at(34, 9, 0), None);
    }

    #[test]
    fn nothing_found_is_said() {
        assert_eq!(painted(&list(&[]), 15, 1), Buffer::with_lines(["nothing found  "]));
    }

    #[test]
    fn no_size_makes_it_panic() {
        let items = two();
        for width in 0..20 {
            for height in 0..6 {
                painted(&FindingList { selected: Some(7), ..list(&items) }, width, height);
            }
        }
    }
}
