//! What a code or a word means, as text of at most 80 columns.

use super::text::wrap::Wrapped;
use crate::rules::Limits;
use crate::rules::explain::{Explanation, FAMILIES, TERMS, Term, with_limits};
use std::fmt::{self, Display, Formatter};

/// One code for people, with the limits in force.
pub struct Explained<'a> {
    /// The code.
    pub code: &'a Explanation,
    /// Limits that its text quotes.
    pub limits: &'a Limits,
}

impl Display for Explained<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Explanation { code, severity, means, fires, silent, mend, source } = *self.code;
        writeln!(f, "{code}: {severity}")?;
        for (lead, text) in [
            ("  ", means),
            ("  fires    ", fires),
            ("  silent   ", silent),
            ("  to do    ", mend),
            ("  sources  ", source),
        ] {
            writeln!(f)?;
            write!(f, "{}", Wrapped { lead, text: &with_limits(text, self.limits) })?;
        }
        Ok(())
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.words.join(", "))?;
        write!(f, "{}", Wrapped { lead: "  ", text: self.means })
    }
}

/// All codes by family, and all words.
pub struct Contents;

impl Display for Contents {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "Finding codes (`railscope explain CODE` says more)")?;
        for family in FAMILIES {
            writeln!(f, "\n{}", family.name)?;
            for known in family.codes {
                let text = with_limits(first_sentence(known.means), &Limits::default());
                write!(f, "{}", Wrapped { lead: &format!("  {:<19} ", known.code), text: &text })?;
            }
        }
        let words: Vec<String> = TERMS.iter().map(|term| term.words.join(" = ")).collect();
        writeln!(f, "\nWords")?;
        write!(f, "{}", Wrapped { lead: "  ", text: &words.join(" · ") })
    }
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::{Contents, Explained};
    use crate::rules::Limits;
    use crate::rules::explain::{FAMILIES, TERMS};

    #[test]
    fn what_is_explained_fits_eighty_columns_but_for_commands_to_paste() {
        let limits = Limits::default();
        let codes = FAMILIES.iter().flat_map(|family| family.codes);
        let texts = codes.map(|code| Explained { code, limits: &limits }.to_string());
        let texts = texts.chain(TERMS.iter().map(ToString::to_string)).chain([Contents.to_string()]);
        for line in texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()) {
            assert!(line.chars().count() <= 80 || line.contains('`'), "{line}");
        }
    }

    #[test]
    fn every_code_is_in_the_contents() {
        let contents = Contents.to_string();
        for known in FAMILIES.iter().flat_map(|family| family.codes) {
            assert!(contents.contains(&format!("  {} ", known.code)), "{}", known.code);
        }
    }
}
