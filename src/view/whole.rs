//! What every screen has: a least size, the ground of its theme, and texts in as many lines as they take.

use super::theme::Theme;
use crate::app::{Action, Keymap};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use widgets::{clip, wrap};

/// Below this there is no room for rails and what was found about them.
pub const LEAST: (u16, u16) = (60, 15);

/// Whether there is no room for what has to be seen.
pub fn is_too_small(screen: Rect) -> bool {
    screen.width < LEAST.0 || screen.height < LEAST.1
}

/// Draws a whole screen: what `parts` draws, or that there is no room for it; and the theme's ground under that.
pub fn draw<T: Default>(
    keys: &Keymap,
    theme: Theme,
    frame: &mut Frame,
    parts: impl FnOnce(Rect, &mut Frame) -> T,
) -> T {
    let area = frame.area();
    let drawn = if is_too_small(area) {
        too_small(keys, area, frame);
        T::default()
    } else {
        parts(area, frame)
    };
    if let Some(ground) = theme.ground() {
        lay_under(ground, frame.buffer_mut());
    }
    drawn
}

/// Gives every cell that has none the colours of the theme's text and ground.
fn lay_under((text, ground): (Color, Color), buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.fg == Color::Reset {
            cell.fg = text;
        }
        if cell.bg == Color::Reset {
            cell.bg = ground;
        }
    }
}

fn too_small(keys: &Keymap, area: Rect, frame: &mut Frame) {
    let (width, height) = LEAST;
    let text = format!(
        "railscope needs {width}x{height} cells, this terminal has {}x{}; {} leaves",
        area.width,
        area.height,
        keys.first(Action::Quit)
    );
    let lines = wrap(&text, usize::from(area.width));
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        frame.buffer_mut().set_string(area.x, y, line, Style::new());
    }
}

/// A text in as many lines as it takes, and have room; the last is cut. Tells how many it took.
pub fn put(text: &str, style: Style, theme: Theme, area: Rect, buffer: &mut Buffer) -> u16 {
    let room = usize::from(area.width).max(1);
    let lines: Vec<String> = theme.text(text).lines().flat_map(|line| wrap(line, room)).collect();
    let count = lines.len();
    let mut taken = 0;
    for ((at, line), y) in lines.into_iter().enumerate().zip(area.top()..area.bottom()) {
        let is_cut = y + 1 == area.bottom() && at + 1 < count;
        let line = if is_cut { clip(&format!("{line} ..."), room, theme.symbols) } else { line };
        buffer.set_stringn(area.x, y, line, room, style);
        taken += 1;
    }
    taken
}
