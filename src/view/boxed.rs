//! A box over the middle of the screen.

use super::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Clear, Paragraph};
use widgets::{Symbols, width};

/// Draws these lines in a box with a title above and a word below.
pub fn draw(
    theme: Theme,
    lines: Vec<Line<'static>>,
    (title, foot): (&str, &str),
    area: Rect,
    frame: &mut Frame,
) {
    let widest = lines.iter().map(Line::width).chain([width(title), width(foot)]).max().unwrap_or(0);
    let over = middle(area, (widest + 2, lines.len() + 2));
    let block = Block::bordered().title(theme.text(title)).title_bottom(theme.text(foot));
    let block = match theme.symbols {
        Symbols::Unicode => block.border_type(BorderType::Plain),
        Symbols::Ascii => block.border_set(ASCII_BORDER),
    };
    frame.render_widget(Clear, over);
    frame.render_widget(Paragraph::new(lines).block(block), over);
}

/// So many cells in the middle of an area, as far as it has them.
fn middle(area: Rect, (cells, rows): (usize, usize)) -> Rect {
    let least = |cells: usize, most: u16| u16::try_from(cells).unwrap_or(most).min(most);
    let (width, height) = (least(cells, area.width), least(rows, area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

const ASCII_BORDER: ratatui::symbols::border::Set = ratatui::symbols::border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};
