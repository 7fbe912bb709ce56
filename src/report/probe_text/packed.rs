//! Short facts side by side.

use crate::report::text::COLUMNS;
use std::fmt::{self, Display, Formatter};

/// Parts between bars, in lines of at most 80 columns that break between parts; further lines stand two
/// columns further in. A part that is longer than a line, such as a list of every second CPU, breaks behind a
/// comma.
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
            while let Some(at) = break_of(&line) {
                let rest = format!("{indent}{}", &line[at..]);
                writeln!(f, "{}", line[..at].trim_end())?;
                line = rest;
            }
            first = false;
        }
        writeln!(f, "{line}")
    }
}

/// Where a line that is too long goes on below: behind the last comma that fits.
fn break_of(line: &str) -> Option<usize> {
    let (end, _) = line.char_indices().nth(COLUMNS)?;
    let comma = line[..end].rfind(',')? + 1;
    let next = comma + line[comma..].find(|c: char| c != ' ')?;
    // what is left must get shorter, or there would be no end
    (comma > COLUMNS / 2).then_some(next)
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

    #[test]
    fn a_list_longer_than_a_line_breaks_behind_a_comma() {
        let every_second: Vec<String> = (0..120).step_by(2).map(|cpu| cpu.to_string()).collect();
        let list = every_second.join(",");
        let text = Packed { lead: "", parts: &["node 0".to_owned(), format!("CPUs {list}")] }.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let joined: String = text.lines().map(str::trim_start).collect();
        assert_eq!(joined, format!("node 0CPUs {list}"));
        let endless = Packed { lead: "", parts: &["x".repeat(300)] }.to_string();
        assert_eq!(endless.lines().count(), 1);
    }
}
