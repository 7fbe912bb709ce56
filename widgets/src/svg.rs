//! A screen of cells as a picture (SVG), cell by cell.
//!
//! Bars and lines are drawn as shapes, so that they join whatever the font; text stands where its cell is, also where
//! the reader's font is a little wider.

mod glyph;

use crate::width;
use glyph::Glyph;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::{self, Display, Formatter, Write};

/// Width and height of a cell: that of a font of [`FONT_SIZE`] whose letters are 0.6 of their size wide, as those of
/// most are.
const CELL: (u16, u16) = (9, 18);
const FONT_SIZE: u16 = 15;
/// Where letters stand, from the top of their cell.
const BASELINE: u16 = 14;

/// Red, green and blue.
pub type Rgb = (u8, u8, u8);

/// A picture of a screen.
#[derive(Clone, Copy, Debug)]
pub struct Svg<'a> {
    /// What is on the screen.
    pub screen: &'a Buffer,
    /// Colour of text that has none of its own.
    pub text: Rgb,
    /// Colour of the ground.
    pub ground: Rgb,
    /// What it shows, for who cannot see it.
    pub title: &'a str,
}

impl Display for Svg<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let area = self.screen.area;
        let (wide, high) = (at(area.width, CELL.0), at(area.height, CELL.1));
        writeln!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
             font-family=\"'DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,monospace\" font-size=\"{FONT_SIZE}\">"
        )?;
        writeln!(f, "<title>{}</title>", Escaped(self.title))?;
        writeln!(f, "<rect width=\"{wide}\" height=\"{high}\" fill=\"{}\"/>", Hex(self.ground))?;
        for row in 0..area.height {
            let cells = self.row(row);
            grounds(f, row, &cells, self.ground)?;
            figures(f, row, &cells)?;
        }
        f.write_str("</svg>\n")
    }
}

/// A cell as it is drawn.
struct Drawn<'a> {
    column: u16,
    symbol: &'a str,
    text: Rgb,
    ground: Rgb,
    bold: bool,
    cells: usize,
}

impl Svg<'_> {
    fn row(&self, row: u16) -> Vec<Drawn<'_>> {
        let area = self.screen.area;
        let mut drawn = Vec::with_capacity(usize::from(area.width));
        let mut covered = 0;
        for column in 0..area.width {
            if covered > 0 {
                // the right half of a wide character
                covered -= 1;
                continue;
            }
            let cell = &self.screen[(area.x + column, area.y + row)];
            let cells = width(cell.symbol()).max(1);
            covered = cells - 1;
            let (text, ground) = self.colours(cell);
            let bold = cell.modifier.contains(Modifier::BOLD);
            drawn.push(Drawn { column, symbol: cell.symbol(), text, ground, bold, cells });
        }
        drawn
    }

    fn colours(&self, cell: &Cell) -> (Rgb, Rgb) {
        let mut text = rgb(cell.fg).unwrap_or(self.text);
        let mut ground = rgb(cell.bg).unwrap_or(self.ground);
        if cell.modifier.contains(Modifier::REVERSED) {
            std::mem::swap(&mut text, &mut ground);
        }
        if cell.modifier.contains(Modifier::DIM) {
            let half = |a: u8, b: u8| u8::try_from((u16::from(a) * 3 + u16::from(b) * 2) / 5).unwrap_or(a);
            text = (half(text.0, ground.0), half(text.1, ground.1), half(text.2, ground.2));
        }
        (text, ground)
    }
}

/// The grounds that differ from the picture's own.
fn grounds(f: &mut Formatter<'_>, row: u16, cells: &[Drawn<'_>], own: Rgb) -> fmt::Result {
    for run in cells.chunk_by(|a, b| a.ground == b.ground).filter(|run| run[0].ground != own) {
        let count: usize = run.iter().map(|cell| cell.cells).sum();
        let (x, y) = (at(run[0].column, CELL.0), at(row, CELL.1));
        let (wide, colour) = (count * usize::from(CELL.0), Hex(run[0].ground));
        writeln!(f, "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{}\" fill=\"{colour}\"/>", CELL.1)?;
    }
    Ok(())
}

/// Letters and shapes.
fn figures(f: &mut Formatter<'_>, row: u16, cells: &[Drawn<'_>]) -> fmt::Result {
    let mut rest = cells;
    while let Some(first) = rest.first() {
        let corner = (at(first.column, CELL.0), at(row, CELL.1));
        let char = first.symbol.chars().next().filter(|_| first.symbol.chars().count() == 1);
        if first.symbol.trim().is_empty() {
            rest = &rest[1..];
        } else if let Some(glyph) = char.and_then(Glyph::of) {
            let alike = |other: &Drawn<'_>| other.symbol == first.symbol && other.text == first.text;
            let count = if glyph.joins() { rest.iter().take_while(|cell| alike(cell)).count() } else { 1 };
            glyph.draw(f, corner, (u32::from(CELL.0), u32::from(CELL.1)), count, &Hex(first.text))?;
            rest = &rest[count..];
        } else if first.symbol.is_ascii() {
            let count = words(rest);
            let text: String = rest[..count].iter().map(|cell| cell.symbol).collect();
            letters(f, first, corner, text.trim_end())?;
            rest = &rest[count..];
        } else {
            // another font may draw it, with a width of its own
            let middle = corner.0 + u32::try_from(first.cells).unwrap_or(1) * u32::from(CELL.0) / 2;
            let bold = if first.bold { " font-weight=\"bold\"" } else { "" };
            writeln!(
                f,
                "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\"{bold}>{}</text>",
                corner.1 + u32::from(BASELINE),
                Hex(first.text),
                Escaped(first.symbol)
            )?;
            rest = &rest[1..];
        }
    }
    Ok(())
}

/// How many cells from here on are words of one style, single blanks between them.
fn words(cells: &[Drawn<'_>]) -> usize {
    let first = &cells[0];
    let mut count = 0;
    let mut blanks = 0;
    for cell in cells {
        let is_blank = cell.symbol == " ";
        let is_alike = cell.text == first.text && cell.bold == first.bold;
        if !cell.symbol.is_ascii() || !is_alike && !is_blank || is_blank && blanks > 0 {
            break;
        }
        blanks = if is_blank { blanks + 1 } else { 0 };
        count += 1;
    }
    count
}

fn letters(f: &mut Formatter<'_>, first: &Drawn<'_>, (x, y): (u32, u32), text: &str) -> fmt::Result {
    let bold = if first.bold { " font-weight=\"bold\"" } else { "" };
    let length = text.len() * usize::from(CELL.0);
    writeln!(
        f,
        "<text x=\"{x}\" y=\"{}\" textLength=\"{length}\" fill=\"{}\"{bold}>{}</text>",
        y + u32::from(BASELINE),
        Hex(first.text),
        Escaped(text)
    )
}

fn at(cells: u16, size: u16) -> u32 {
    u32::from(cells) * u32::from(size)
}

/// The colour itself; `None` where the terminal would choose. The sixteen are those of xterm, a little lighter.
fn rgb(colour: Color) -> Option<Rgb> {
    Some(match colour {
        Color::Rgb(red, green, blue) => (red, green, blue),
        Color::Black => (0, 0, 0),
        Color::Red => (224, 64, 64),
        Color::Green => (64, 190, 96),
        Color::Yellow => (214, 178, 48),
        Color::Blue => (80, 130, 230),
        Color::Magenta => (200, 100, 200),
        Color::Cyan => (64, 190, 200),
        Color::Gray => (200, 200, 200),
        Color::DarkGray => (110, 110, 110),
        Color::White => (240, 240, 240),
        _ => return None,
    })
}

struct Hex(Rgb);

impl Display for Hex {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0.0, self.0.1, self.0.2)
    }
}

struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                char if char.is_control() => f.write_char('?')?,
                char => f.write_char(char)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Svg;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Modifier, Style};

    fn svg(screen: &Buffer) -> String {
        Svg { screen, text: (0, 0, 0), ground: (255, 255, 255), title: "a <b>" }.to_string()
    }

    #[test]
    fn words_stand_at_their_cells_and_are_no_markup() {
        let screen = Buffer::with_lines(["rx <b> & 1  48.0"]);
        let picture = svg(&screen);
        for part in [
            "width=\"144\" height=\"18\"",
            "<title>a &lt;b&gt;</title>",
            "<text x=\"0\" y=\"14\" textLength=\"90\" fill=\"#000000\">rx &lt;b&gt; &amp; 1</text>",
            "<text x=\"108\" y=\"14\" textLength=\"36\" fill=\"#000000\">48.0</text>",
        ] {
            assert!(picture.contains(part), "{part}\n{picture}");
        }
    }

    #[test]
    fn bars_are_shapes_as_long_as_their_cells() {
        let picture = svg(&Buffer::with_lines(["███▌"]));
        assert!(
            picture.contains("<rect x=\"0\" y=\"0\" width=\"27\" height=\"18\" fill=\"#000000\"/>"),
            "{picture}"
        );
        assert!(picture.contains("<rect x=\"27\" y=\"0\" width=\"4.5\""), "{picture}");
    }

    #[test]
    fn what_stands_behind_a_wide_character_is_at_its_cell() {
        let mut screen = Buffer::empty(Rect::new(0, 0, 6, 1));
        screen.set_string(0, 0, "日本x", Style::default());
        let picture = svg(&screen);
        assert!(picture.contains("<text x=\"27\" y=\"14\" text-anchor=\"middle\""), "{picture}");
        assert!(picture.contains("<text x=\"36\" y=\"14\" textLength=\"9\""), "{picture}");
    }

    #[test]
    fn reversed_text_has_a_ground() {
        let mut screen = Buffer::empty(Rect::new(0, 0, 4, 1));
        let style = Style::new().fg(Color::Rgb(1, 2, 3)).add_modifier(Modifier::REVERSED | Modifier::BOLD);
        screen.set_string(1, 0, "ab", style);
        let picture = svg(&screen);
        assert!(
            picture.contains("<rect x=\"9\" y=\"0\" width=\"18\" height=\"18\" fill=\"#010203\"/>"),
            "{picture}"
        );
        assert!(picture.contains("fill=\"#ffffff\" font-weight=\"bold\">ab</text>"), "{picture}");
    }
}
