//! A screen of cells as plain text, for what has no pictures: a ticket, a mail, a test.

use crate::width;
use ratatui::buffer::Buffer;
use std::fmt::{self, Display, Formatter, Write};

/// The text of a screen, line by line, without colours and without blanks at the ends of lines.
#[derive(Clone, Copy, Debug)]
pub struct PlainText<'a>(pub &'a Buffer);

impl Display for PlainText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let area = self.0.area;
        for row in area.rows() {
            let mut line = String::with_capacity(usize::from(area.width));
            let mut covered = 0;
            for at in row.columns() {
                if covered > 0 {
                    // the right half of a wide character
                    covered -= 1;
                    continue;
                }
                let symbol = self.0[(at.x, at.y)].symbol();
                covered = width(symbol).saturating_sub(1);
                line.push_str(symbol);
            }
            f.write_str(line.trim_end())?;
            f.write_char('\n')?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::PlainText;
    use ratatui::buffer::Buffer;

    #[test]
    fn lines_end_where_their_text_does_and_wide_characters_stand_once() {
        let buffer = Buffer::with_lines(["rail  網 up   ", "     ", " ½"]);
        assert_eq!(PlainText(&buffer).to_string(), "rail  網 up\n\n ½\n");
    }
}
