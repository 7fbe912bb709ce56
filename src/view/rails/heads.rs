//! The line above rails: what they have in common, and, at the top, what stands in the columns.

use super::{Line, Rails};
use crate::app::SortBy;
use crate::rules::Severity;
use crate::view::columns::FIGURE;
use crate::view::groups::{Group, Heading};
use crate::view::spot::Spot;
use crate::view::units::memory;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use widgets::{clip, width};

/// Cells of the share at the end of a figure, with the blank before it.
const SHARE: u16 = 5;
/// Cells of a word that is cut, at least.
const LEAST_WORD: usize = 12;

impl Rails<'_> {
    pub(super) fn node(&self, group: &Group, with_heads: bool, row: Rect, buffer: &mut Buffer) {
        let theme = self.app.theme();
        let [_, _, _, _, _, bar, other, ceiling, peak, trend, badges] = self.columns.starts();
        let figures = bar + self.columns.bar - FIGURE;
        let mut x = row.x;
        let end = row.x + if with_heads { figures } else { row.width };
        let mut put = |text: String, style: Style| {
            // a few letters of it would tell nothing
            if x > row.x && usize::from(end.saturating_sub(x)) < width(&text).min(LEAST_WORD) {
                return;
            }
            let text = clip(&text, usize::from(end.saturating_sub(x)), theme.symbols);
            x = buffer.set_stringn(x, row.y, text, usize::MAX, style).0.saturating_add(2);
        };
        match group.heading {
            Heading::Sorted(order) => put(format!("Rails {order}"), theme.strong()),
            Heading::Node(None) => put("NUMA node unknown".into(), theme.strong()),
            Heading::Node(Some(number)) => {
                put(format!("NUMA {number}"), theme.strong());
                let node = self.topology.node(number);
                match node.and_then(|node| node.memory_bytes) {
                    Some(0) => put("no memory".into(), theme.severity(Severity::Warning)),
                    Some(bytes) => put(memory(bytes), theme.dim()),
                    None => {}
                }
                if let Some(cpus) = node.and_then(|node| node.cpus.as_ref()) {
                    put(if cpus.is_empty() { "no CPUs".into() } else { format!("CPUs {cpus}") }, theme.dim());
                }
            }
        }
        if !with_heads {
            return;
        }
        let mut head = |start: u16, cells: u16, text: &str| {
            let text = clip(text, usize::from(cells), theme.symbols);
            buffer.set_string(row.x + start, row.y, text, theme.dim());
        };
        head(figures, FIGURE, &format!("{:>12} ceil", self.app.rates().word()));
        head(other, self.columns.other, "    other");
        head(ceiling, self.columns.ceiling, "   ceiling");
        head(peak, self.columns.peak, "  peak");
        let length = self.app.zoom().word();
        let short = length.trim_start_matches("last ");
        let fits = width(length) <= usize::from(self.columns.trend);
        head(trend, self.columns.trend, if fits { length } else { short });
        head(badges, self.columns.badges, "found");
    }

    /// What a cell of these lines stands for.
    pub fn spot_at(&self, area: Rect, cell: Position) -> Option<Spot> {
        let line = self.shown(area.height).get(usize::from(cell.y.checked_sub(area.y)?)).copied()?;
        let [_, name, _, _, _, bar, _, _, _, trend, badges] =
            self.columns.starts().map(|start| area.x + start);
        let is_on_trend = self.columns.trend > 0 && (trend..badges).contains(&cell.x);
        match line {
            _ if is_on_trend => Some(Spot::Past),
            Line::Rail { position, .. } => Some(Spot::Rail(position)),
            Line::Node { .. } if cell.y == area.y => {
                let figure_end = bar + self.columns.bar;
                let share = figure_end - SHARE..figure_end;
                let rate = figure_end - FIGURE..figure_end - SHARE;
                match cell.x {
                    x if share.contains(&x) => Some(Spot::Heading(SortBy::Share)),
                    x if rate.contains(&x) => Some(Spot::Heading(SortBy::Rate)),
                    x if x >= badges && self.columns.badges > 0 => Some(Spot::Heading(SortBy::Errors)),
                    x if (name..name + self.columns.name).contains(&x) => Some(Spot::Heading(SortBy::Name)),
                    _ => None,
                }
            }
            Line::Node { .. } | Line::Blank | Line::Leg { .. } => None,
        }
    }
}
