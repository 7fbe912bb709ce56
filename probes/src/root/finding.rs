//! Where in the tree a file is: in few steps where that goes, else link by link.

use super::{Root, Step, clean, walk};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known of the texts that are laid over a tree, so that not every file asks the disk for its place.
#[derive(Clone, Debug, Default)]
pub(super) struct Laid {
    /// Where they lie, by the path they were given.
    pub(super) places: HashMap<PathBuf, PathBuf>,
    /// Names of the files they lie over.
    names: HashSet<OsString>,
    /// Whether something is hidden.
    hides: bool,
}

impl Laid {
    pub(super) fn note(&mut self, path: &Path, at: &Path, text: Option<&str>) {
        self.hides |= text.is_none();
        if !self.places.contains_key(path) {
            self.places.insert(path.to_owned(), at.to_owned());
            self.names.extend(at.file_name().map(ToOwned::to_owned));
        }
    }
}

/// A file that was found in few steps.
pub(super) enum AtOnce<'a> {
    /// The file itself.
    Opened(std::fs::File),
    /// The text that is laid over it.
    Laid(&'a [u8]),
}

impl Root {
    /// Finds a file in few steps, which a survey of thousands of files feels, and counters that are stepped ten times a second
    /// do; `None` where only [`Root::resolve`] can tell: where something is hidden, where a text may be laid over the file
    /// under another name, on kernels before 5.6, and for the words of errors.
    ///
    /// Source: openat2(2), `RESOLVE_IN_ROOT`.
    pub(super) fn at_once(&self, path: &Path) -> Option<std::io::Result<AtOnce<'_>>> {
        if let Some(at) = self.as_it_is(path) {
            return Some(std::fs::File::open(at).map(AtOnce::Opened));
        }
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        if !self.overlay.is_empty() {
            if self.laid.hides {
                return None;
            }
            if let Some(Some(text)) = self.laid.places.get(path).and_then(|at| self.overlay.get(at)) {
                return Some(Ok(AtOnce::Laid(text)));
            }
            if path.file_name().is_none_or(|name| self.laid.names.contains(name)) {
                return None;
            }
            // a link as the last part would lead to a file of another name
            flags |= OFlags::NOFOLLOW;
        }
        match openat2(self.opened()?, clean(path), flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            Ok(file) => Some(Ok(AtOnce::Opened(file.into()))),
            Err(cause) if cause == Errno::NOENT => Some(Err(cause.into())),
            Err(_) => None,
        }
    }

    /// The folder that stands for `/`, opened when it is first there and kept: it is asked for every file of every sample.
    fn opened(&self) -> Option<&OwnedFd> {
        if let Some(base) = self.opened.get() {
            return Some(base);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let base = rustix::fs::open(&self.base, flags, Mode::empty()).ok()?;
        Some(self.opened.get_or_init(|| Arc::new(base)))
    }

    /// The path for the kernel to follow, links and all, in life and with nothing laid over; else `None`.
    pub(super) fn as_it_is(&self, path: &Path) -> Option<PathBuf> {
        (self.live && self.overlay.is_empty()).then(|| self.base.join(clean(path)))
    }

    /// Where a file is, or would be: links of those folders that exist are followed.
    pub(super) fn resolve_new(&self, path: &Path) -> PathBuf {
        self.resolve(path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => self.resolve_new(folder).join(name),
            _ => clean(path),
        })
    }

    /// Whether a text is laid over something in this folder, which need not exist in the tree then.
    pub(super) fn is_laid_below(&self, folder: &Path) -> bool {
        // paths are ordered by their parts: what is below a folder follows it directly
        let below = self.overlay.range(folder.to_owned()..).take_while(|(laid, _)| laid.starts_with(folder));
        below.into_iter().any(|(_, text)| text.is_some())
    }

    /// Follows links inside the tree; parts that only exist because something is laid over them are there,
    /// and nothing is below a hidden one.
    pub(super) fn resolve(&self, path: &Path) -> std::io::Result<PathBuf> {
        walk(path, |next, is_last| {
            match self.overlay.get(next) {
                Some(None) if !is_last => return Err(std::io::ErrorKind::NotFound.into()),
                Some(_) => return Ok(Step::On),
                None => {}
            }
            let full = self.base.join(next);
            match std::fs::symlink_metadata(&full) {
                Ok(kind) if kind.is_symlink() => Ok(Step::Link(std::fs::read_link(&full)?)),
                Ok(_) => Ok(Step::On),
                Err(_) if self.is_laid_below(next) => Ok(Step::On),
                Err(cause) => Err(cause),
            }
        })
    }
}
