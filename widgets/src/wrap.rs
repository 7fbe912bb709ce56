//! Texts in cells: how wide, cut to fit, broken into lines.

use crate::Symbols;
use ratatui::text::Span;

/// Cells that a text takes on one line.
#[must_use]
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// The text, cut to so many cells; a text that was cut ends in a sign for it.
#[must_use]
pub fn clip(text: &str, cells: usize, symbols: Symbols) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let sign = symbols.cut();
    let Some(room) = cells.checked_sub(width(sign)) else {
        return String::new();
    };
    let (head, _) = split(text, room);
    format!("{head}{sign}")
}

/// The text, cut or filled with blanks to so many cells.
#[must_use]
pub fn padded(text: &str, cells: usize, symbols: Symbols) -> String {
    let text = clip(text, cells, symbols);
    let blanks = cells.saturating_sub(width(&text));
    text + &" ".repeat(blanks)
}

/// The same, with the blanks before it: for figures.
#[must_use]
pub fn padded_left(text: &str, cells: usize, symbols: Symbols) -> String {
    let text = clip(text, cells, symbols);
    " ".repeat(cells.saturating_sub(width(&text))) + &text
}

/// The text in lines of at most so many cells, broken at blanks, and within a word only where it alone is longer.
#[must_use]
pub fn wrap(text: &str, cells: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if cells == 0 {
        return lines;
    }
    let mut line = String::new();
    for word in text.split_whitespace() {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= cells {
            line.extend(std::iter::repeat_n(' ', gap));
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = word;
        while width(rest) > cells {
            let (head, tail) = split(rest, cells);
            if head.is_empty() {
                break; // one character wider than the line: nothing can be done
            }
            lines.push(head.to_owned());
            rest = tail;
        }
        rest.clone_into(&mut line);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The longest start of `text` within so many cells, and what is left.
fn split(text: &str, cells: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, char) in text.char_indices() {
        used += width(char.encode_utf8(&mut [0; 4]));
        if used > cells {
            return text.split_at(at);
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::{clip, padded, padded_left, width, wrap};
    use crate::Symbols;

    #[test]
    fn a_text_breaks_at_blanks() {
        assert_eq!(wrap("check the cable of leg 2", 10), ["check the", "cable of", "leg 2"]);
        assert_eq!(wrap("", 10), Vec::<String>::new());
    }

    #[test]
    fn only_a_word_longer_than_the_line_is_broken() {
        assert_eq!(wrap("see 0000:41:00.0 there", 6), ["see", "0000:4", "1:00.0", "there"]);
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!(clip("0-95,192-287", 12, Symbols::Unicode), "0-95,192-287");
        assert_eq!(clip("0-95,192-287", 8, Symbols::Unicode), "0-95,19…");
        assert_eq!(clip("0-95,192-287", 8, Symbols::Ascii), "0-95,19~");
        assert_eq!(clip("0-95,192-287", 0, Symbols::Ascii), "");
    }

    #[test]
    fn a_column_is_as_wide_as_it_is_meant_to_be_whatever_stands_in_it() {
        assert_eq!(
            (padded("rx", 4, Symbols::Ascii), padded_left("rx", 4, Symbols::Ascii)),
            ("rx  ".into(), "  rx".into())
        );
        for text in ["", "x", "mlx5_bond_1", "日本語の名前", "日"] {
            for cells in 0..9 {
                assert_eq!(width(&padded(text, cells, Symbols::Unicode)), cells, "{text} {cells}");
                assert_eq!(width(&padded_left(text, cells, Symbols::Unicode)), cells, "{text} {cells}");
            }
        }
    }

    #[test]
    fn no_width_makes_it_hang() {
        for cells in 0..4 {
            let _ = wrap("日本 x", cells);
            let _ = clip("日本 x", cells, Symbols::Unicode);
        }
    }
}
