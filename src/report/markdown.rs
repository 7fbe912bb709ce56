//! Markdown that GitHub and Jira render alike: headings, lists, tables, code; no HTML.

use std::fmt::{self, Formatter};

/// A row of a table.
pub(crate) fn row(f: &mut Formatter<'_>, lead: &str, cells: &[&str]) -> fmt::Result {
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    writeln!(f, "{lead}| {} |", cells.join(" | "))
}

/// The line below the headings of a table.
pub(crate) fn rule(f: &mut Formatter<'_>, columns: usize) -> fmt::Result {
    writeln!(f, "|{}", "---|".repeat(columns))
}

/// Text that stays in its cell, whatever it holds, and is no markup.
pub(crate) fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '<' | '>' | '[' | ']' => safe.extend(['\\', c]),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// A sentence of ours: what stands between backticks is a command and stays as it is, the rest is no markup.
pub(crate) fn prose(text: &str) -> String {
    let is_even = text.matches('`').count().is_multiple_of(2);
    if !is_even {
        return cell(text);
    }
    let piece = |(at, piece): (usize, &str)| {
        if at.is_multiple_of(2) {
            return cell(piece);
        }
        let inside: String = piece.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("`{inside}`")
    };
    text.split('`').enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::{cell, prose};

    #[test]
    fn a_command_stays_as_it_is_typed_and_the_rest_is_no_markup() {
        assert_eq!(prose("try `a | b <c>` on <n1>*"), "try `a | b <c>` on \\<n1\\>\\*");
        assert_eq!(prose("one ` alone"), "one \\` alone");
        assert_eq!(cell("a\nb|c"), "a b\\|c");
    }
}
