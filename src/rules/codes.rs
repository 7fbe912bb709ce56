//! The words that findings carry, and what was meant by a word that is none.

/// Codes that no rule finds, since only an experiment shows them.
const OF_EXPERIMENTS: [&str; 2] = ["cpu-bound", "memory-bound"];

/// Every code that a finding, or the verdict of an experiment, may carry.
pub fn codes() -> impl Iterator<Item = &'static str> {
    super::ALL.iter().flat_map(|rule| rule.codes.iter().copied()).chain(OF_EXPERIMENTS)
}

/// A word that is no finding code.
#[derive(Debug, thiserror::Error)]
#[error("`{word}` is no finding code; did you mean `{nearest}`? Known codes: {}", known())]
pub struct UnknownCode {
    word: String,
    nearest: &'static str,
}

/// Holds words of `--ignore` against the codes there are.
///
/// # Errors
///
/// One of them is none.
pub fn all_known(words: &[String]) -> Result<(), UnknownCode> {
    for word in words {
        if codes().all(|code| code != word) {
            return Err(UnknownCode { word: word.clone(), nearest: nearest(word) });
        }
    }
    Ok(())
}

/// The code that is spelt most like this word.
#[must_use]
pub fn nearest(word: &str) -> &'static str {
    codes().min_by_key(|code| distance(code, word)).unwrap_or("")
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
    use super::{all_known, codes, distance};
    use std::collections::BTreeSet;

    #[test]
    fn a_misspelt_code_is_answered_with_the_nearest_one() {
        let says = all_known(&["cross-numma".to_owned()]).unwrap_err().to_string();
        assert!(says.starts_with("`cross-numma` is no finding code; did you mean `cross-numa`?"), "{says}");
        all_known(&["cross-numa".to_owned(), "memlock".to_owned()]).unwrap();
        assert_eq!((distance("abc", "abc"), distance("abc", "ac"), distance("", "ab")), (0, 1, 2));
    }

    #[test]
    fn no_code_is_listed_twice() {
        assert_eq!(codes().count(), codes().collect::<BTreeSet<_>>().len());
    }
}
