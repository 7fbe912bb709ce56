//! Short facts side by side.

use crate::report::text::COLUMNS;
use std::fmt::{self, Display, Formatter};

/// Parts between bars, in lines of at most 80 columns that break between parts; further lines stand two
/// columns further in.
pub(super) struct Packed<'a> {
    /// Before the first line.
    pub lead: &'a str,
    /// The parts.
    pub parts: &'a [String],
}

impl Display for Packed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut line = self.lead.to_owned();
        let indent = " ".repeat(self.lead.chars().count() + 2);
        let mut first = true;
        for part in self.parts {
            let wide = line.chars().count() + 3 + part.chars().count();
            if first {
                line.push_str(part);
            } else if wide > COLUMNS {
                writeln!(f, "{line}")?;
                line = format!("{indent}{part}");
            } else {
                line.push_str(" | ");
                line.push_str(part);
            }
            first = false;
        }
        writeln!(f, "{line}")
    }
}

#[cfg(test)]
mod tests {
    use super::Packed;

    #[test]
    fn a_line_breaks_between_parts() {
        let parts = ["a".repeat(40), "b c".to_owned(), "d".repeat(40)];
        assert_eq!(
            Packed { lead: "  ", parts: &parts }.to_string(),
            format!("  {} | b c\n    {}\n", parts[0], parts[2])
        );
    }
}
