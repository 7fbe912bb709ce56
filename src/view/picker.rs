//! The list of columns that lies over the screen, to choose from.

use super::boxed;
use super::columns::Column;
use crate::app::App;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Draws it; `shown` tells which of the columns there are now.
pub fn draw(app: &App, at: usize, shown: [bool; Column::ALL.len()], area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let row = |entry: usize, text: String| {
        let (sign, style) =
            if entry == at { (theme.pick("▸", ">"), theme.strong()) } else { (" ", theme.plain()) };
        Line::from(Span::styled(format!("{sign}{text} "), style))
    };
    let mut lines: Vec<Line> = Column::ALL
        .into_iter()
        .zip(shown)
        .enumerate()
        .map(|(entry, (column, is_shown))| {
            let is_chosen = app.columns().map_or(is_shown, |chosen| chosen.contains(&column));
            let room = if is_chosen && !is_shown { " (no room)" } else { "" };
            let sign = if is_chosen { "[x]" } else { "[ ]" };
            row(entry, format!("{sign} {:<8} {}{room}", column.name(), column.help()))
        })
        .collect();
    let sign = if app.columns().is_none() { "[x]" } else { "[ ]" };
    lines.push(row(Column::ALL.len(), format!("{sign} as they fit the width")));
    boxed::draw(theme, lines, (" columns of the rails ", " space changes, Esc closes "), area, frame);
}
