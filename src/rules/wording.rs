//! How findings put lists and numbers into words.

/// `mlx5_2`, `mlx5_2 and mlx5_3`, `mlx5_2, mlx5_3 and mlx5_4`.
pub(super) fn list(words: impl IntoIterator<Item = impl Into<String>>) -> String {
    let mut words: Vec<String> = words.into_iter().map(Into::into).collect();
    match words.pop() {
        None => String::new(),
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} and {last}", words.join(", ")),
    }
}

/// `node 0`, `nodes 0 and 2`.
pub(super) fn nodes(nodes: &[u32]) -> String {
    let word = if nodes.len() == 1 { "node" } else { "nodes" };
    format!("{word} {}", list(nodes.iter().map(u32::to_string)))
}

/// The verb for a list of this length: `runs` for one, `run` for several.
pub(super) fn verb<'a>(count: usize, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// Three digits are enough for evidence; more is noise that moves from run to run.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A rate for a message; small ones keep their first digits.
pub(super) fn rate(gb_per_s: f64) -> String {
    if gb_per_s >= 0.1 || gb_per_s == 0.0 { format!("{gb_per_s:.1}") } else { format!("{gb_per_s:.4}") }
}

#[cfg(test)]
mod tests {
    use super::{list, nodes};

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(list(["a"]), "a");
        assert_eq!(list(["a", "b", "c"]), "a, b and c");
        assert_eq!(nodes(&[0]), "node 0");
        assert_eq!(nodes(&[0, 2]), "nodes 0 and 2");
    }
}
