//! The words that findings carry, and what was meant by a word that is none.

/// Codes that no rule finds, since only an experiment shows them.
const OF_EXPERIMENTS: [&str; 2] = ["cpu-bound", "memory-bound"];

/// Every code that a finding, or the verdict of an experiment, may carry.
pub fn codes() -> impl Iterator<Item = &'static str> {
    super::ALL.iter().flat_map(|rule| rule.codes.iter().copied()).chain(OF_EXPERIMENTS)
}

/// A word that is no finding code.
#[derive(Debug, thiserror::Error)]
#[error("`{word}` is no finding code{} Known codes: {}", did_you_mean(word), known())]
pub struct UnknownCode {
    word: String,
}

/// Holds words of `--ignore` against the codes there are.
///
/// # Errors
///
/// One of them is none.
pub fn all_known(words: &[String]) -> Result<(), UnknownCode> {
    for word in words {
        if codes().all(|code| code != word) {
            return Err(UnknownCode { word: word.clone() });
        }
    }
    Ok(())
}

/// The code that is spelt most like this word, in whatever case; `None` where none is like it.
///
/// Like it is one of which at most a third of the letters differ, or one that has the word in it.
fn nearest(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let near = codes().map(|code| (distance(code, &word), code)).min()?;
    let is_like = near.0 * 3 <= near.1.len().max(word.chars().count());
    let part =
        || codes().filter(|code| word.len() >= 3 && code.contains(&word)).min_by_key(|code| code.len());
    is_like.then_some(near.1).or_else(part)
}

/// `; did you mean ...?` with the code that the word is like; a full stop where it is like none.
#[must_use]
pub fn did_you_mean(word: &str) -> String {
    nearest(word).map_or_else(|| ".".to_owned(), |code| format!("; did you mean `{code}`?"))
}

fn known() -> String {
    let mut codes: Vec<&str> = codes().collect();
    codes.sort_unstable();
    codes.join(", ")
}

/// Letters to change, put in or take out to make one word the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{all_known, codes, did_you_mean, distance};
    use std::collections::BTreeSet;

    #[test]
    fn a_misspelt_code_is_answered_with_the_nearest_one() {
        let says = all_known(&["cross-numma".to_owned()]).unwrap_err().to_string();
        assert!(
            says.starts_with("`cross-numma` is no finding code; did you mean `cross-numa`? Known codes: "),
            "{says}"
        );
        all_known(&["cross-numa".to_owned(), "memlock".to_owned()]).unwrap();
        assert_eq!((distance("abc", "abc"), distance("abc", "ac"), distance("", "ab")), (0, 1, 2));
    }

    #[test]
    fn a_part_of_a_code_leads_to_it_and_a_word_like_none_to_nothing() {
        assert_eq!(did_you_mean("Imbalance"), "; did you mean `rail-imbalance`?");
        assert_eq!(did_you_mean("RETRANSMITS"), "; did you mean `retransmit`?");
        assert_eq!(did_you_mean("xyzzy"), ".");
        assert_eq!(did_you_mean("ö"), ".");
    }

    #[test]
    fn no_code_is_listed_twice() {
        assert_eq!(codes().count(), codes().collect::<BTreeSet<_>>().len());
    }
}
