//! Blocks of lines beside each other, where the terminal is wide enough.

use crate::report::text::COLUMNS;
use std::fmt::{self, Formatter, Write};

/// Cells between two blocks.
const BETWEEN: usize = 2;

/// Writes blocks of lines of at most 80 columns, as many side by side as `columns` has room for, row by row.
pub(super) fn write(f: &mut Formatter<'_>, blocks: &[String], columns: usize) -> fmt::Result {
    let across = ((columns + BETWEEN) / (COLUMNS + BETWEEN)).max(1);
    for row in blocks.chunks(across) {
        let row: Vec<Vec<&str>> = row.iter().map(|block| block.lines().collect()).collect();
        let height = row.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let mut text = String::new();
            for (at, block) in row.iter().enumerate() {
                let start = at * (COLUMNS + BETWEEN);
                let gap = start.saturating_sub(text.chars().count());
                write!(text, "{:gap$}{}", "", block.get(line).unwrap_or(&""))?;
            }
            writeln!(f, "{}", text.trim_end())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::{self, Display, Formatter};

    struct Beside(usize);

    impl Display for Beside {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            let blocks = ["a\nb\n", "c\n", "d\ne\n"].map(str::to_owned);
            super::write(f, &blocks, self.0)
        }
    }

    #[test]
    fn as_many_blocks_as_fit_stand_beside_each_other() {
        let wide = " ".repeat(81);
        assert_eq!(Beside(80).to_string(), "a\nb\nc\nd\ne\n");
        assert_eq!(Beside(161).to_string(), Beside(80).to_string());
        assert_eq!(Beside(162).to_string(), format!("a{wide}c\nb\nd\ne\n"));
        assert_eq!(Beside(0).to_string(), Beside(80).to_string());
    }
}
