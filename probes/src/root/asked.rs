//! What was asked of a root: what a copy of the tree must hold to answer the same.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What somebody wanted of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Whether it is there, and where its links lead.
    Place,
    /// The text of the link itself, wherever it leads.
    Link,
    /// Names in the folder.
    Names,
    /// Contents of the file.
    Contents,
}

/// Notes of what was asked, each once.
#[derive(Debug, Default)]
pub struct Asked {
    notes: Mutex<BTreeSet<(PathBuf, Want)>>,
}

impl Asked {
    pub(super) fn note(&self, path: PathBuf, want: Want) {
        self.lock().insert((path, want));
    }

    /// The notes so far, by path; paths are as they were asked for, links not followed.
    #[must_use]
    pub fn notes(&self) -> Vec<(PathBuf, Want)> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<(PathBuf, Want)>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, Want};
    use crate::root::Root;
    use std::sync::Arc;

    #[test]
    fn every_question_is_noted_once_whatever_the_answer() {
        let asked = Arc::new(Asked::default());
        let root = Root::at("/nowhere").noting(asked.clone());
        let _ = root.text("/sys/a");
        let _ = root.text("sys/./a");
        let _ = root.names("sys/b");
        let _ = root.link_name("sys/c/driver");
        assert!(!root.exists("sys/d"));
        let expected = [
            ("sys/a", Want::Contents),
            ("sys/b", Want::Names),
            ("sys/c/driver", Want::Link),
            ("sys/d", Want::Place),
        ];
        assert_eq!(asked.notes(), expected.map(|(path, want)| (path.into(), want)));
    }
}
