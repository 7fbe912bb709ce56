//! Texts in cells: how wide, cut to fit, broken into lines.

use crate::Symbols;
use ratatui::text::Span;

/// Cells that a text takes on one line. Control characters take none: a buffer leaves them out.
#[must_use]
pub fn width(text: &str) -> usize {
    if !text.contains(char::is_control) {
        return Span::raw(text).width();
    }
    text.split(char::is_control).map(|part| Span::raw(part).width()).sum()
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
///
/// A figure and its unit stay on one line, and so do a thing and its number.
#[must_use]
pub fn wrap(text: &str, cells: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if cells == 0 {
        return lines;
    }
    let mut line = String::new();
    for word in &words(text) {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= cells {
            line.extend(std::iter::repeat_n(' ', gap));
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = word.as_str();
        while width(rest) > cells {
            let (head, tail) = split(rest, cells);
            if head.is_empty() {
                break; // one character wider than the line: nothing can be done
            }
            lines.push(head.trim_end().to_owned());
            rest = tail.trim_start();
        }
        rest.clone_into(&mut line);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Words between blanks; a figure is one with the unit after it, and a number with the thing it counts before it.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut().filter(|last| belong_together(last, word)) {
            Some(figure) => {
                figure.push(' ');
                figure.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

fn belong_together(word: &str, next: &str) -> bool {
    let thing = word.trim_start_matches('(');
    is_figure(word) && is_unit(next)
        || NUMBERED.contains(&thing) && next.starts_with(|c: char| c.is_ascii_digit())
}

/// Things that have numbers.
const NUMBERED: [&str; 6] = ["node", "NUMA", "leg", "PID", "rank", "index"];

/// Whether it is a figure, which may stand behind a sign or a parenthesis: `(48.2`, `+3`.
fn is_figure(word: &str) -> bool {
    let figure = word.trim_start_matches(['(', '+', '-', '<', '>', '~', '`', '±']);
    figure.ends_with(|c: char| c.is_ascii_digit()) && figure.parse::<f64>().is_ok()
}

/// Units that stand behind a blank.
const UNITS: [&str; 24] = [
    "%", "GB/s", "Gb/s", "GiB/s", "MB/s", "B", "bytes", "KB", "MB", "GB", "KiB", "MiB", "GiB", "TiB", "GT/s",
    "s", "ms", "µs", "us", "ns", "min", "h", "GHz", "Mpps",
];

/// Whether it is a unit, which a sentence may go on after.
fn is_unit(word: &str) -> bool {
    UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')', '`']))
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
    fn a_figure_and_its_unit_stay_on_one_line() {
        let text = "receives 24.5 of 24.5 GB/s, 100 % (limit 80 %) in 3 ways (node 0)";
        for cells in 10..60 {
            let lines = wrap(text, cells);
            assert_eq!(lines.join(" "), text);
            for whole in ["24.5 GB/s,", "100 %", "80 %)", "(node 0)"] {
                assert!(lines.iter().any(|line| line.contains(whole)), "{cells}: {lines:?}");
            }
        }
        assert_eq!(wrap("100 % of", 3), ["100", "%", "of"], "where there is no room for both");
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
        for text in ["", "x", "mlx5_bond_1", "日本語の名前", "日", "\u{1b}[31m\u{7}rail\t"] {
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
