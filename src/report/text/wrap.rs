//! Words into lines.

use super::COLUMNS;
use std::fmt::{self, Display, Formatter};

/// Text in lines of at most 80 columns, each with this lead (or as many spaces).
///
/// What stands between backticks is a command to paste, and is never broken.
pub(crate) struct Wrapped<'a> {
    /// Before the first line.
    pub lead: &'a str,
    /// The text.
    pub text: &'a str,
}

impl Display for Wrapped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let indent = self.lead.chars().count();
        let mut line = String::new();
        let mut lead = self.lead.to_owned();
        for word in words(self.text) {
            let wide = line.chars().count() + usize::from(!line.is_empty()) + word.chars().count();
            if !line.is_empty() && indent + wide > COLUMNS {
                writeln!(f, "{lead}{line}")?;
                lead = " ".repeat(indent);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if line.is_empty() { Ok(()) } else { writeln!(f, "{lead}{line}") }
    }
}

/// Words between spaces; a space between backticks parts nothing.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '`';
        c == ' ' && !quoted
    })
    .filter(|word| !word.is_empty())
}

/// The text, or its end behind an ellipsis: names differ at their ends.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    let long = text.chars().count();
    if long <= columns {
        return text.to_owned();
    }
    let end: String = text.chars().skip(long - columns.saturating_sub(1)).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::{Wrapped, clip};

    #[test]
    fn a_long_text_breaks_between_words_and_never_inside_a_command() {
        let text = format!(
            "{} `numactl --cpunodebind=4 --membind=4 ib_read_bw ...` again",
            "word ".repeat(12).trim()
        );
        let printed = Wrapped { lead: "  > ", text: &text }.to_string();
        assert_eq!(
            printed.lines().collect::<Vec<_>>(),
            [
                "  > word word word word word word word word word word word word",
                "    `numactl --cpunodebind=4 --membind=4 ib_read_bw ...` again",
            ]
        );
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(clip("mlx5_bond_1", 11), "mlx5_bond_1");
        assert_eq!(clip("mlx5_bond_12", 6), "…nd_12");
    }
}
