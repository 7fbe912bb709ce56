//! A node as a tree of files that [`Root::at`] reads elsewhere.
//!
//! What to take is not listed anywhere: the survey and the counters are run over a root that notes every path
//! they ask for, and exactly those are taken; of files that hold a user's secrets, what is read of them. So a capture cannot miss what a look at the tree will want.
//!
//! What sysfs does not hold is asked of the live machine and kept as text under `captured/`, under the names
//! that the survey itself asks for there.

mod archive;
mod collect;
mod mask;
mod told;

pub use collect::NotTaken;
pub use mask::{Masked, Masker};

use crate::counters::Sampler;
use crate::load::described;
use crate::processes::{Watcher, registered};
use crate::root::{Asked, Root, Want};
use crate::survey::survey;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One entry of a captured tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A folder, possibly empty.
    Folder,
    /// A file with its contents.
    File(Vec<u8>),
    /// A symbolic link with its relative target.
    Link(PathBuf),
}

/// A captured tree, in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Entries by their path from the tree's root; folders come before what is in them.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// What was asked for and could not be taken, by path.
    pub not_taken: Vec<NotTaken>,
}

/// Captures this machine.
///
/// Reads as a look at the copied tree will, then asks system calls and libraries for what sysfs lacks.
#[must_use]
pub fn live() -> Capture {
    let mut root = Root::at("/");
    let asked = look(&root);
    let mut capture = Capture::default();
    for (path, want) in &asked.notes() {
        if *want == Want::Contents && path.starts_with("captured") && !capture.entries.contains_key(path) {
            match told::text(path, &root) {
                Some(Ok(text)) => {
                    root.lay_over(path, Some(&text));
                    capture.entries.insert(path.clone(), Entry::File(text.into_bytes()));
                }
                Some(Err(reason)) => {
                    capture.not_taken.push(NotTaken { path: path.clone(), reason });
                }
                None => {}
            }
        }
    }
    // the second look sees what was told, such as the processes that have queue pairs
    let asked = look(&root);
    collect::collect(&root, &asked, collect::Machine::Live, &mut capture);
    capture
}

/// Captures a copied tree: of it, what a look at it wants.
#[must_use]
pub fn tree(base: &Path) -> Capture {
    let root = Root::at(base);
    let asked = look(&root);
    let mut capture = Capture::default();
    collect::collect(&root, &asked, collect::Machine::Copied, &mut capture);
    capture
}

/// Looks at the tree as a session over it does, and says what was asked for.
fn look(root: &Root) -> Arc<Asked> {
    let asked = Arc::new(Asked::default());
    let root = root.clone().noting(asked.clone());
    let mut topology = survey(&root);
    let mut sampler = Sampler::open(&root, &mut topology);
    let mut watcher = Watcher::open(&root, &mut topology);
    let mut rails = sampler.bytes(&root, |_| true);
    sampler.further(&root, &mut rails);
    let _ = watcher.look(&root, 0);
    let _ = registered(&root);
    let _ = described(&root);
    asked
}

impl Capture {
    /// Number of files, of links, and bytes in the files.
    #[must_use]
    pub fn size(&self) -> (usize, usize, u64) {
        self.entries.values().fold((0, 0, 0), |(files, links, bytes), entry| match entry {
            Entry::File(contents) => (files + 1, links, bytes + contents.len() as u64),
            Entry::Link(_) => (files, links + 1, bytes),
            Entry::Folder => (files, links, bytes),
        })
    }

    /// Names of the files under `captured/`.
    pub fn told(&self) -> impl Iterator<Item = String> + '_ {
        let files = self.entries.iter().filter(|(_, entry)| matches!(entry, Entry::File(_)));
        files.filter_map(|(path, _)| Some(path.strip_prefix("captured").ok()?.display().to_string()))
    }
}

#[cfg(test)]
mod tests;
