//! Every sign that the screen draws, and what it stands for.

use super::badges::LEGEND;
use super::theme::Theme;

/// A sign, in the characters of a terminal that has them and in seven bits, and what it stands for.
pub type Sign = (&'static str, &'static str, &'static str);

/// Signs on bars and in lines.
const IN_VIEWS: &[Sign] = &[
    ("│", "|", "most that the wire carries"),
    ("┊", ":", "most that PCIe carries"),
    ("◆", "*", "what shared links leave it"),
    ("▶", ">", "at a bar: beyond the scale"),
    ("·", ".", "nothing; in a trend: not known"),
    ("◀", "<", "limits its rail"),
    ("▸ ▶", ">", "selected, or to be used"),
    ("→", "->", "what to do about it"),
    ("↕", "j/k", "more lines above or below"),
    ("…", "~", "cut: no room for all of it"),
    ("● REC", "* REC", "recorded; ✗: not whole"),
    ("▶ ⏸ ■", "> = #", "goes on, paused, over"),
    ("rx tx", "rx tx", "counted by the NIC"),
    ("READ", "READ", "our load's payload; WRITE too"),
    ("48.7", "48.7", "figures are means of a second"),
];

/// Signs of the row of the session's length.
const OF_LENGTH: &[Sign] = &[
    ("┃", "|", "what is on the screen"),
    ("✗ ! i", "X ! i", "an error, warning, note begins"),
    ("═ ━", "# =", "an error, a warning lasts"),
    ("─", "-", "nothing bad"),
    ("·", ".", "not looked at yet"),
    ("▾", "v", "an event: link, address, reset"),
    ("◆", "M", "a mark that a person set"),
];

/// Signs of a sweep.
pub const OF_SWEEP: &[Sign] = &[
    ("● ■ ▲ ◆", "o x + *", "a point, one sign a curve"),
    ("○ □ △ ◇", "# @ % v", "the same, of further curves"),
    ("≡", "=", "several curves at one place"),
    ("▶ ■", "> #", "goes on, over"),
    ("…", "~", "cut: no room for all of it"),
];

/// Signs of a list of sessions.
pub const OF_SESSIONS: &[Sign] = &[
    ("▶", ">", "selected"),
    ("→", "->", "what to do about it"),
    ("?", "?", "the file does not tell"),
    ("…", "~", "cut: no room for all of it"),
];

/// Those of the views, and those of the row of the session's length.
pub fn of_session() -> [(&'static str, Vec<Sign>); 2] {
    [("Signs", LEGEND.iter().chain(IN_VIEWS).copied().collect()), ("Row of the length", OF_LENGTH.to_vec())]
}

/// As this terminal shows it.
pub fn shown((unicode, ascii, _): Sign, theme: Theme) -> &'static str {
    theme.pick(unicode, ascii)
}

#[cfg(test)]
mod tests {
    use super::{OF_SESSIONS, OF_SWEEP, of_session};
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// The pictures of screens that tests compare with, of this folder and below.
    fn pictures(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pictures(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "snap") {
                found.push(path);
            }
        }
    }

    /// Letters, what frames and trees are drawn with, and the fill of bars, trends and strips say nothing by themselves.
    fn is_sign(char: char) -> bool {
        let is_fill = ('\u{2580}'..='\u{259f}').contains(&char);
        !char.is_ascii() && !char.is_alphabetic() && !is_fill && !"┌┐└┘├×".contains(char)
    }

    #[test]
    fn every_sign_on_a_screen_is_in_the_help() {
        let of_session = of_session();
        let all = of_session.iter().flat_map(|(_, signs)| signs).chain(OF_SWEEP).chain(OF_SESSIONS);
        let known: BTreeSet<char> = all.flat_map(|(sign, _, _)| sign.chars()).collect();
        let mut files = Vec::new();
        pictures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/view"), &mut files);
        assert!(files.len() > 30, "{files:?}");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let missing: BTreeSet<char> =
                text.chars().filter(|char| is_sign(*char) && !known.contains(char)).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", file.display());
        }
    }
}
