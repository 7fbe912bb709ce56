//! From questions to entries: each path is walked as [`Root`] walks it, and what is met is kept.

use super::{Capture, Entry};
use crate::processes;
use crate::root::{Asked, ReadError, Root, Step, Want, clean, walk};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The survey of the largest nodes reads a few megabytes; more than this is noise or an attack.
const MOST_BYTES: u64 = 256 << 20;

/// Something that was asked for, is there, and could not be taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotTaken {
    /// Path in the tree.
    pub path: PathBuf,
    /// What stood in the way.
    pub reason: String,
}

/// Whose tree it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    /// The machine itself: `/proc/self` is this process.
    Live,
    /// A copied tree, whoever made it.
    Copied,
}

/// Takes what was asked for.
pub(super) fn collect(root: &Root, asked: &Asked, machine: Machine, capture: &mut Capture) {
    let bytes = capture.size().2;
    let mut walk = Walk { root, machine, capture, bytes, listed: BTreeSet::new(), tried: BTreeSet::new() };
    for (path, want) in asked.notes() {
        walk.take(&path, want);
    }
    walk.keep_names();
    capture.not_taken.sort();
    capture.not_taken.dedup();
}

struct Walk<'a> {
    root: &'a Root,
    machine: Machine,
    capture: &'a mut Capture,
    bytes: u64,
    /// Files in folders that were listed.
    listed: BTreeSet<PathBuf>,
    /// Files that were read, or could not be.
    tried: BTreeSet<PathBuf>,
}

impl Walk<'_> {
    fn take(&mut self, path: &Path, want: Want) {
        // told texts are there already
        if self.machine == Machine::Live && path.starts_with("captured") {
            return;
        }
        if want == Want::Link {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
            if let Some(folder) = self.place(folder) {
                self.link(&folder.join(name));
            }
            return;
        }
        let Some(at) = self.place(path) else { return };
        let Ok(kind) = std::fs::symlink_metadata(self.full(&at)) else { return };
        if kind.is_dir() {
            self.keep(at.clone(), Entry::Folder);
            if want == Want::Names {
                self.names(&at);
            }
        } else if kind.is_file() {
            self.contents(path, &at);
        } else {
            // of a device node only its being there counts
            self.keep(at, Entry::File(Vec::new()));
        }
    }

    /// Links and folders in a folder that was listed; its files are noted.
    fn names(&mut self, folder: &Path) {
        // processes come and go, and those that matter are read by name
        if folder.starts_with("proc") {
            return;
        }
        let entries = match std::fs::read_dir(self.full(folder)) {
            Ok(entries) => entries,
            Err(cause) => return self.refuse(folder, reason_of(folder, cause)),
        };
        for entry in entries.flatten() {
            let at = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => self.link(&at),
                Ok(kind) if kind.is_dir() => self.keep(at, Entry::Folder),
                Ok(_) => {
                    self.listed.insert(at);
                }
                Err(_) => {}
            }
        }
    }

    /// Names that were listed are facts of their own, such as the numbers of interrupts: files that nobody read
    /// are kept empty. Those that could not be read stay away, as they do on the machine.
    fn keep_names(&mut self) {
        for at in std::mem::take(&mut self.listed) {
            if !self.tried.contains(&at) {
                self.keep(at, Entry::File(Vec::new()));
            }
        }
    }

    /// Contents of the file `at`, which was asked for as `path`.
    fn contents(&mut self, path: &Path, at: &Path) {
        self.tried.insert(at.to_owned());
        if self.capture.entries.contains_key(at) {
            return;
        }
        let read = self.root.bytes(at).map(|bytes| processes::only_what_is_read(path, bytes));
        match read {
            Ok(bytes) if self.bytes + bytes.len() as u64 > MOST_BYTES => {
                self.refuse(at, format!("the tree is larger than {} MiB already", MOST_BYTES >> 20));
            }
            Ok(bytes) => {
                self.bytes += bytes.len() as u64;
                self.keep(at.to_owned(), Entry::File(bytes));
            }
            // it vanished meanwhile
            Err(error) if error.is_missing() => {}
            Err(error) => self.refuse(at, reason_of(at, error.cause)),
        }
    }

    fn refuse(&mut self, at: &Path, reason: String) {
        self.capture.not_taken.push(NotTaken { path: at.to_owned(), reason });
    }

    /// Walks to a path and keeps the links and folders on the way; `None` when nothing is there.
    fn place(&mut self, path: &Path) -> Option<PathBuf> {
        let way = walk(path, |next, _| {
            let kind = match std::fs::symlink_metadata(self.full(next)) {
                // whether anything is there, only who may enter the folder can tell
                Err(cause) if cause.kind() == std::io::ErrorKind::PermissionDenied => {
                    let folder = next.parent().unwrap_or(Path::new(""));
                    self.refuse(folder, reason_of(next, std::io::ErrorKind::PermissionDenied.into()));
                    return Err(cause);
                }
                kind => kind?,
            };
            // in the copy it is a folder of its own: the process that wrote it is gone by then
            let is_self = self.machine == Machine::Live && next == Path::new("proc/self");
            if kind.is_symlink() && !is_self {
                self.link(next);
                return Ok(Step::Link(std::fs::read_link(self.full(next))?));
            }
            if kind.is_dir() || is_self {
                self.keep(next.to_owned(), Entry::Folder);
            }
            Ok(Step::On)
        });
        way.ok()
    }

    fn link(&mut self, at: &Path) {
        if let Ok(to) = std::fs::read_link(self.full(at)) {
            self.keep(at.to_owned(), Entry::Link(relative(at, &to)));
        }
    }

    fn keep(&mut self, at: PathBuf, entry: Entry) {
        if at.as_os_str().is_empty() {
            return;
        }
        if let Some(folder) = at.parent() {
            self.keep_folders(folder);
        }
        self.capture.entries.entry(at).or_insert(entry);
    }

    fn keep_folders(&mut self, folder: &Path) {
        for folder in folder.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
            self.capture.entries.entry(folder.to_owned()).or_insert(Entry::Folder);
        }
    }

    fn full(&self, at: &Path) -> PathBuf {
        self.root.base().join(at)
    }
}

/// What stood in the way, without the path.
fn reason_of(at: &Path, cause: std::io::Error) -> String {
    let path = at.display().to_string();
    let text = ReadError { path: path.clone(), cause }.to_string();
    text.strip_prefix(&format!("{path}: ")).unwrap_or(&text).to_owned()
}

/// The link's target as seen from its own folder, and never above the tree's root.
fn relative(at: &Path, to: &Path) -> PathBuf {
    let depth = at.components().count().saturating_sub(1);
    if to.is_absolute() {
        let up: PathBuf = std::iter::repeat_n("..", depth).collect();
        return up.join(clean(to));
    }
    let mut parts = Vec::new();
    let mut below = depth;
    for part in to.components() {
        match part {
            // `..` of the root is the root
            Component::ParentDir if below == 0 => {}
            Component::ParentDir => {
                below -= 1;
                parts.push(OsString::from(".."));
            }
            Component::Normal(name) => {
                below += 1;
                parts.push(name.to_owned());
            }
            _ => {}
        }
    }
    parts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::relative;
    use std::path::Path;

    #[test]
    fn links_are_relative_and_stay_below_the_root() {
        for (at, to, text) in [
            ("sys/class/net/eth0", "../../devices/x/net/eth0", "../../devices/x/net/eth0"),
            ("proc/mounts", "self/mounts", "self/mounts"),
            ("etc/os-release", "/usr/lib/os-release", "../usr/lib/os-release"),
            ("sys/up", "../../../../etc/passwd", "../etc/passwd"),
            ("loop", "loop", "loop"),
        ] {
            assert_eq!(relative(Path::new(at), Path::new(to)), Path::new(text), "{at} -> {to}");
        }
    }
}
