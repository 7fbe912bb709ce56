//! Pages of text under headings, which scroll.

use super::Theme;
use super::segments::{Segment, paint};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use widgets::{clip, padded, width, wrap};

/// Cells of a label before its text.
const LABEL: usize = 9;
/// From this width on, two columns.
const WIDE: u16 = 150;
/// Cells between columns.
const GAP: u16 = 3;

/// Lines of text, all of one width.
#[derive(Clone, Debug)]
pub struct Page {
    cells: usize,
    theme: Theme,
    lines: Vec<Line<'static>>,
}

/// How many columns a page of this area has, and how wide they are.
pub fn columns(area: Rect) -> (usize, u16) {
    if area.width >= WIDE { (2, (area.width - GAP) / 2) } else { (1, area.width) }
}

impl Page {
    /// An empty page of so many cells.
    pub fn new(cells: u16, theme: Theme) -> Self {
        Self { cells: usize::from(cells), theme, lines: Vec::new() }
    }

    /// A heading, after a blank line where something stands before it, and what is said beside it.
    pub fn heading(&mut self, text: &str, beside: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        let text = clip(&self.theme.text(text), self.cells, self.theme.symbols);
        let beside = self.theme.text(beside);
        let room = self.cells.saturating_sub(width(&text) + 2);
        let dim = self.theme.dim();
        let mut line = vec![Span::styled(text, self.theme.strong())];
        // what has no room beside it goes below
        if width(&beside) <= room {
            line.extend([Span::raw("  "), Span::styled(beside, dim)]);
            self.lines.push(Line::from(line));
        } else {
            self.lines.push(Line::from(line));
            self.lines.extend(wrap(&beside, self.cells).into_iter().map(|line| Line::styled(line, dim)));
        }
    }

    /// A text after a label, in as many lines as it takes.
    pub fn row(&mut self, label: &str, text: &str, style: Style) {
        let label = padded(&self.theme.text(label), LABEL - 1, self.theme.symbols);
        let room = self.cells.saturating_sub(LABEL).max(1);
        for (at, text) in wrap(&self.theme.text(text), room).into_iter().enumerate() {
            let lead = if at == 0 { format!("{label} ") } else { " ".repeat(LABEL) };
            self.lines
                .push(Line::from(vec![Span::styled(lead, self.theme.dim()), Span::styled(text, style)]));
        }
    }

    /// A line as it is, cut to the page's width.
    pub fn line(&mut self, spans: Vec<Span<'static>>) {
        let mut left = self.cells;
        let mut kept = Vec::with_capacity(spans.len());
        for span in spans {
            let text = clip(&self.theme.text(&span.content), left, self.theme.symbols);
            left -= width(&text).min(left);
            kept.push(Span::styled(text, span.style));
        }
        self.lines.push(Line::from(kept));
    }

    /// Its colours and characters.
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Its width.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Its lines.
    pub fn into_lines(self) -> Vec<Line<'static>> {
        self.lines
    }
}

/// Draws columns from the line that keys have moved to, and tells how many places they can move to.
///
/// The last line says which part is seen, where not all has room.
pub fn draw(
    columns: Vec<Vec<Line<'static>>>,
    line: usize,
    area: Rect,
    frame: &mut Frame,
    theme: Theme,
) -> usize {
    let height = usize::from(area.height);
    let longest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let is_cut = longest > height;
    let room = if is_cut { height.saturating_sub(1) } else { height };
    let most = longest.saturating_sub(room);
    let from = line.min(most);
    let count = u16::try_from(columns.len()).unwrap_or(1).max(1);
    let cells = (area.width - GAP * (count - 1)) / count;
    let mut x = area.x;
    for lines in columns {
        let shown: Vec<Line> = lines.into_iter().skip(from).take(room).collect();
        let part = Rect { x, width: cells, height: u16::try_from(room).unwrap_or(area.height), ..area };
        frame.render_widget(Paragraph::new(shown), part);
        x += cells + GAP;
    }
    if is_cut && area.height > 0 {
        let foot = Rect { y: area.bottom() - 1, height: 1, ..area };
        let text = format!("lines {}-{} of {longest} {}", from + 1, from + room, theme.pick("↕", "(j/k)"));
        let right = vec![Segment::new(text, theme.strong(), 0)];
        paint(Vec::new(), right, foot, frame.buffer_mut(), theme.symbols);
    }
    most + 1
}
