//! Names that have no room, cut so that they can still be told apart.

use crate::{Symbols, clip, width};

/// The name in so many cells, cut so that it differs from the others `among` which it stands, where that can be.
///
/// Names of one machine begin alike and differ at the end (`mlx5_bond_1`) or in the middle (`rocep1s0f0`): of the cuts in the
/// middle that keep most of the end, the first that tells all of them apart is taken, and the same for all of them.
#[must_use]
pub fn shorten(name: &str, among: &[&str], cells: usize, symbols: Symbols) -> String {
    if width(name) <= cells {
        return name.to_owned();
    }
    let sign = symbols.cut();
    let Some(room) = cells.checked_sub(width(sign)).filter(|room| *room > 0) else {
        return clip(name, cells, symbols);
    };
    let cut = |name: &str, head: usize| {
        if width(name) <= cells {
            return name.to_owned();
        }
        format!("{}{sign}{}", start(name, head), end(name, room - head))
    };
    let is_apart = |head: usize| {
        let mut cuts: Vec<String> = among.iter().map(|name| cut(name, head)).collect();
        cuts.sort();
        cuts.windows(2).all(|two| two[0] != two[1])
    };
    // a third of the beginning tells what it is, the rest which one
    let usual = room / 3;
    let heads = std::iter::once(usual).chain(0..=room);
    let head = heads.into_iter().find(|head| is_apart(*head)).unwrap_or(usual);
    cut(name, head)
}

/// The end of the text in so many cells, behind a sign where it was cut: of a path, the end says most.
#[must_use]
pub fn clip_start(text: &str, cells: usize, symbols: Symbols) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let sign = symbols.cut();
    cells.checked_sub(width(sign)).map_or_else(String::new, |room| format!("{sign}{}", end(text, room)))
}

/// The longest start of the text within so many cells.
fn start(text: &str, cells: usize) -> &str {
    let mut used = 0;
    for (at, char) in text.char_indices() {
        used += width(char.encode_utf8(&mut [0; 4]));
        if used > cells {
            return &text[..at];
        }
    }
    text
}

/// The longest end of the text within so many cells.
fn end(text: &str, cells: usize) -> &str {
    let mut used = 0;
    for (at, char) in text.char_indices().rev() {
        used += width(char.encode_utf8(&mut [0; 4]));
        if used > cells {
            return &text[at + char.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::shorten;
    use crate::{Symbols, width};

    fn all(names: &[&str], cells: usize) -> Vec<String> {
        names.iter().map(|name| shorten(name, names, cells, Symbols::Unicode)).collect()
    }

    #[test]
    fn names_that_begin_alike_keep_their_ends() {
        assert_eq!(all(&["mlx5_bond_1", "mlx5_bond_12", "mlx5_0"], 8), ["ml…ond_1", "ml…nd_12", "mlx5_0"]);
        assert_eq!(all(&["mlx5_bond_1", "mlx5_bond_2"], 4), ["m…_1", "m…_2"]);
    }

    #[test]
    fn names_that_end_alike_keep_what_tells_them_apart() {
        assert_eq!(all(&["rocep1s0f0np0", "rocep2s0f0np0"], 9), ["…1s0f0np0", "…2s0f0np0"]);
    }

    #[test]
    fn nothing_is_wider_than_its_room() {
        for cells in 0..9 {
            for name in all(&["日本語の名前", "日本の名前です", "mlx5_bond_10"], cells) {
                assert!(width(&name) <= cells, "{name} {cells}");
            }
        }
    }
}
