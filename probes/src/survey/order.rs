//! Natural order of names: `mlx5_2` before `mlx5_10`.

use std::cmp::Ordering;

/// Compares two names as people count: runs of digits by their number, everything else by character.
///
/// Names that differ only in leading zeros are told apart by plain order, so the order is total.
#[must_use]
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (a_text, a_digits, a_rest) = split(left);
        let (b_text, b_digits, b_rest) = split(right);
        let here = a_text.cmp(b_text).then_with(|| compare_digits(a_digits, b_digits));
        if here != Ordering::Equal {
            return here;
        }
        if a_rest.is_empty() || b_rest.is_empty() {
            return a_rest.len().cmp(&b_rest.len()).then_with(|| a.cmp(b));
        }
        (left, right) = (a_rest, b_rest);
    }
}

/// Text up to the first digit, the digits, and what follows.
fn split(name: &str) -> (&str, &str, &str) {
    let digit = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (text, rest) = name.split_at(digit);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, rest) = rest.split_at(end);
    (text, digits, rest)
}

/// Compares numbers of any length without parsing them: a longer one is larger.
fn compare_digits(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["mlx5_10", "mlx5_2", "mlx5_bond_1", "bnxt_re0", "mlx5_1", "mlx5_02"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["bnxt_re0", "mlx5_1", "mlx5_02", "mlx5_2", "mlx5_10", "mlx5_bond_1"]);
    }

    #[test]
    fn a_number_too_large_for_a_machine_word_is_ordered_all_the_same() {
        let big = "9".repeat(60);
        assert!(natural(&format!("a{big}"), "a3").is_gt());
        assert!(natural("a", "a").is_eq());
        assert!(natural("", "a1").is_lt());
    }
}
