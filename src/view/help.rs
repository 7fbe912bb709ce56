//! The help that lies over the screen, and the line of keys at its foot.

use super::badges::LEGEND;
use super::segments::{Segment, paint};
use crate::app::{Action, App, BINDINGS};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph};
use widgets::Symbols;

/// Draws the keys at the foot of the screen.
pub fn foot(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let pieces = BINDINGS
        .iter()
        .filter_map(|binding| {
            let text = match (binding.action, app.is_paused()) {
                (Action::Pause, true) => "space go on",
                _ => binding.foot?,
            };
            // help and quit stay to the last
            let rank = u8::from(!matches!(binding.action, Action::Help | Action::Quit));
            Some(Segment::new(text, theme.dim(), rank))
        })
        .collect();
    let note = if app.ending().is_some() { "there is no more; q leaves" } else { "" };
    let right = vec![Segment::new(note, theme.strong(), 0)];
    paint(pieces, right, area, frame.buffer_mut(), theme.symbols);
}

/// Draws the help over the middle of `area`.
pub fn draw(app: &App, area: Rect, frame: &mut Frame) {
    let theme = app.theme();
    let entry = |key: String, text: &str, cells: usize| {
        Line::from(vec![Span::styled(format!(" {key:<cells$} "), theme.strong()), Span::raw(text.to_owned())])
    };
    let mut lines: Vec<Line> = BINDINGS.iter().map(|key| entry(key.shown.to_owned(), key.help, 9)).collect();
    let legend = LEGEND.iter().map(|(unicode, ascii, text)| (theme.pick(unicode, ascii), *text));
    let marks = [
        (theme.pick("│", "|"), "most that the wire carries"),
        (theme.pick("┊", ":"), "most that PCIe carries"),
        (theme.pick("▶", ">"), "beyond the scale"),
        ("", "rx, tx: counted by the NIC"),
        ("", "READ, WRITE: our load's payload"),
        ("", "figures are means of a second"),
    ];
    let column: Vec<_> = legend.chain(marks).map(|(sign, text)| entry(sign.to_owned(), text, 2)).collect();
    let inner = usize::from(area.width.saturating_sub(4));
    let widest = |lines: &[Line]| lines.iter().map(Line::width).max().unwrap_or(0);
    let beside = widest(&lines) + 2 + widest(&column) <= inner;
    if beside {
        let cells = widest(&lines) + 2;
        for (at, extra) in column.into_iter().enumerate() {
            if at >= lines.len() {
                lines.push(Line::default());
            }
            let line = &mut lines[at];
            let pad = cells - line.width();
            line.push_span(Span::raw(" ".repeat(pad)));
            line.extend(extra.spans);
        }
    } else {
        // one column: the legend where the screen has room for it
        lines.extend(column.into_iter().take(usize::from(area.height).saturating_sub(lines.len() + 2)));
    }
    let cells = u16::try_from(widest(&lines) + 3).unwrap_or(area.width).min(area.width);
    let rows = u16::try_from(lines.len() + 2).unwrap_or(area.height).min(area.height);
    let over = Rect {
        x: area.x + (area.width - cells) / 2,
        y: area.y + (area.height - rows) / 2,
        width: cells,
        height: rows,
    };
    let block = Block::bordered().title(" railscope: keys and signs ").title_bottom(" ? or Esc closes ");
    let block = match theme.symbols {
        Symbols::Unicode => block.border_type(BorderType::Plain),
        Symbols::Ascii => block.border_set(ASCII_BORDER),
    };
    frame.render_widget(Clear, over);
    frame.render_widget(Paragraph::new(lines).block(block), over);
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
