//! The lines of a tree that stand before its rows.

use crate::Symbols;

/// What stands before each row of a tree, from how deep each row is: `├ `, `│ `, `└ `, two cells a level below the
/// first. A row is deeper than the one before it by one at most.
#[must_use]
pub fn branches(depths: &[usize], symbols: Symbols) -> Vec<String> {
    let [fork, last, bar] = symbols.branches();
    let goes_on = |row: usize, level: usize| {
        let later = depths[row + 1..].iter().find(|depth| **depth <= level);
        later == Some(&level)
    };
    let before = |(row, depth): (usize, &usize)| {
        let mut text = String::with_capacity(depth * 4);
        for level in 1..=*depth {
            text.push(match (level == *depth, goes_on(row, level)) {
                (true, true) => fork,
                (true, false) => last,
                (false, true) => bar,
                (false, false) => ' ',
            });
            text.push(' ');
        }
        text
    };
    depths.iter().enumerate().map(before).collect()
}

#[cfg(test)]
mod tests {
    use super::branches;
    use crate::Symbols;

    #[test]
    fn a_line_goes_on_as_long_as_a_sibling_follows() {
        let lines = branches(&[0, 1, 2, 2, 1, 0, 1], Symbols::Unicode);
        assert_eq!(lines, ["", "├ ", "│ ├ ", "│ └ ", "└ ", "", "└ "]);
        assert_eq!(branches(&[0, 1, 1], Symbols::Ascii), ["", "| ", "` "]);
        assert_eq!(branches(&[], Symbols::Unicode), Vec::<String>::new());
    }
}
