//! Reading facts about one subject: what cannot be learnt becomes a gap.

use crate::model::Gap;
use crate::root::{ReadError, Root};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Looks into one folder for facts about one subject.
pub(super) struct Look<'a> {
    root: &'a Root,
    probe: &'static str,
    subject: String,
    folder: PathBuf,
    gaps: &'a mut Vec<Gap>,
}

impl<'a> Look<'a> {
    /// Looks into `folder`, and notes gaps under `subject`.
    pub(super) fn into(
        root: &'a Root,
        probe: &'static str,
        subject: impl Into<String>,
        folder: impl AsRef<Path>,
        gaps: &'a mut Vec<Gap>,
    ) -> Self {
        // each file is then reached over its shortest path
        let folder = root.canonical(&folder).unwrap_or_else(|_| folder.as_ref().to_owned());
        Self { root, probe, subject: subject.into(), folder, gaps }
    }

    /// The folder, links followed.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes a fact that could not be learnt.
    pub(super) fn gap(&mut self, reason: impl Into<String>) {
        self.gaps.push(Gap {
            probe: self.probe.to_owned(),
            subject: self.subject.clone(),
            reason: reason.into(),
        });
    }

    /// Text of a file; a gap when it cannot be read or is empty.
    pub(super) fn text(&mut self, file: &str) -> Option<String> {
        match self.root.text(self.folder.join(file)) {
            Ok(text) if text.is_empty() => {
                self.gap(format!("{file}: empty"));
                None
            }
            Ok(text) => Some(text),
            Err(error) => {
                self.gap(format!("{file}: {}", cause(&error)));
                None
            }
        }
    }

    /// Text of a file that need not be there.
    pub(super) fn maybe(&self, file: &str) -> Option<String> {
        self.root.text(self.folder.join(file)).ok().filter(|text| !text.is_empty())
    }

    /// Text of a file that need not be there and for which being empty means something.
    pub(super) fn maybe_empty(&self, file: &str) -> Option<String> {
        self.root.text(self.folder.join(file)).ok()
    }

    /// A value parsed from a file; a gap when it cannot be read or is something else.
    pub(super) fn parsed<T: FromStr>(&mut self, file: &str) -> Option<T> {
        let text = self.text(file)?;
        let value = text.parse().ok();
        if value.is_none() {
            self.gap(format!("{file}: says {}", quoted(&text)));
        }
        value
    }

    /// The word behind the number in `4: ACTIVE`; a gap when the file cannot be read or has no word.
    pub(super) fn word(&mut self, file: &str) -> Option<String> {
        let text = self.text(file)?;
        let word = text.split_once(':').map_or(text.as_str(), |(_, word)| word.trim());
        if word.is_empty() {
            self.gap(format!("{file}: says {}", quoted(&text)));
            return None;
        }
        Some(word.to_owned())
    }
}

/// What stood in the way, in the words people know from their shell.
pub(super) fn cause(error: &ReadError) -> String {
    use std::io::ErrorKind;
    match error.cause.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::InvalidInput => "invalid argument (the driver does not tell)".to_owned(),
        _ => error.cause.to_string(),
    }
}

/// A short piece of what a file says, safe to print.
pub(super) fn quoted(text: &str) -> String {
    let line: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("`{line}`")
}

#[cfg(test)]
mod tests {
    use super::Look;
    use crate::survey::testing::Tree;

    #[test]
    fn what_cannot_be_read_or_parsed_leaves_a_gap_that_names_the_file() {
        let tree = Tree::new();
        tree.file("sys/x/numa_node", "-1\n").file("sys/x/empty", "\n").file("sys/x/state", "4: ACTIVE\n");
        let mut gaps = Vec::new();
        let root = tree.root();
        let mut look = Look::into(&root, "rails", "mlx5_0", "sys/x", &mut gaps);
        assert_eq!(look.parsed::<u32>("numa_node"), None);
        assert_eq!(look.text("empty"), None);
        assert_eq!(look.text("missing"), None);
        assert_eq!(look.word("state").as_deref(), Some("ACTIVE"));
        assert_eq!(look.maybe("missing"), None);
        let reasons: Vec<&str> = gaps.iter().map(|g| g.reason.as_str()).collect();
        assert_eq!(reasons, ["numa_node: says `-1`", "empty: empty", "missing: no such file"]);
    }
}
