//! Where files are read from: `/` in life, a copied tree in tests and tickets.

mod asked;
mod error;
mod finding;
mod live;
mod walk;

pub use asked::{Asked, Want};
pub use error::ReadError;
pub(crate) use walk::{Step, clean, walk};

use finding::{AtOnce, Laid};
use rustix::fs::{Mode, OFlags, openat};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// No file of `/sys` or `/proc` that we read is larger; a larger one is noise or an attack.
const MOST_BYTES: u64 = 16 << 20;

/// An attribute is at most a page long, and pages have 64 KiB at most.
///
/// Source: Documentation/filesystems/sysfs.rst, "Reading/Writing Attribute Data".
const MOST_ATTRIBUTE_BYTES: usize = 64 << 10;

/// The tree that the survey and the counters read.
///
/// Symbolic links are followed inside the tree only, as if it were `/`: a copied tree never leads to
/// files of the machine that looks at it. Texts laid over it (stepped counters) hide the files below.
#[derive(Clone, Debug, Default)]
pub struct Root {
    base: PathBuf,
    live: bool,
    overlay: BTreeMap<PathBuf, Option<Vec<u8>>>,
    laid: Laid,
    /// The folder that stands for `/`, once a file was looked for below it.
    opened: OnceLock<Arc<OwnedFd>>,
    /// Where it is noted what is asked for; `None` unless the tree is being captured.
    asked: Option<Arc<Asked>>,
}

impl Root {
    /// This machine.
    #[must_use]
    pub fn live() -> Self {
        Self { base: PathBuf::from("/"), live: true, ..Self::default() }
    }

    /// A copied tree.
    #[must_use]
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), ..Self::default() }
    }

    /// The same tree; every path that is asked of it is noted in `asked` from now on.
    #[must_use]
    pub fn noting(self, asked: Arc<Asked>) -> Self {
        Self { asked: Some(asked), ..self }
    }

    fn note(&self, path: &Path, want: Want) {
        if let Some(asked) = &self.asked {
            asked.note(clean(path), want);
        }
    }

    /// Whether this is the machine itself, where system calls and libraries tell more than files.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The folder that stands for `/`.
    #[must_use]
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Lays a text over the file `path`; `None` hides it.
    ///
    /// `path` may lead through links (`sys/class/...`); what it leads to is hidden under every name.
    pub fn lay_over(&mut self, path: impl AsRef<Path>, text: Option<&str>) {
        let path = path.as_ref();
        let at = self.laid.places.get(path).cloned().unwrap_or_else(|| self.resolve_new(path));
        self.laid.note(path, &at, text);
        self.overlay.insert(at, text.map(|t| t.as_bytes().to_vec()));
    }

    /// Contents of a file.
    pub fn bytes(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, ReadError> {
        let path = path.as_ref();
        self.note(path, Want::Contents);
        self.bytes_at(path).map_err(|cause| ReadError::at(path, cause))
    }

    /// Text of a file, without white space at its ends; bytes that are no UTF-8 become `\u{fffd}`.
    pub fn text(&self, path: impl AsRef<Path>) -> Result<String, ReadError> {
        let path = path.as_ref();
        let bytes = self.bytes(path)?;
        if bytes.len() > MOST_ATTRIBUTE_BYTES && clean(path).starts_with("sys") {
            let cause =
                std::io::Error::other(format!("{} bytes; no attribute of sysfs is so long", bytes.len()));
            return Err(ReadError::at(path, cause));
        }
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Names and texts of the files in a folder, sorted by name; what cannot be read is left out.
    ///
    /// For folders of hundreds of small files, such as GID tables: the way to the folder is gone once.
    pub fn texts(&self, folder: impl AsRef<Path>) -> Result<Vec<(String, String)>, ReadError> {
        let folder = folder.as_ref();
        let names = self.names(folder)?;
        let at = match self.as_it_is(folder) {
            None if self.overlay.is_empty() => self.canonical(folder).ok().map(|at| self.base.join(at)),
            at => at,
        };
        let open = at.and_then(|at| std::fs::File::open(at).ok());
        let text = |name: &String| {
            self.note(&folder.join(name), Want::Contents);
            // a link is left to the slower way, which keeps it inside the tree
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
            let file = open.as_ref().and_then(|folder| openat(folder, name, flags, Mode::empty()).ok());
            match file {
                Some(file) => {
                    Some(String::from_utf8_lossy(&self.rest_of(&mut file.into()).ok()?).trim().to_owned())
                }
                None => self.text(folder.join(name)).ok(),
            }
        };
        Ok(names.into_iter().filter_map(|name| text(&name).map(|text| (name, text))).collect())
    }

    /// Names in a folder, sorted.
    pub fn names(&self, path: impl AsRef<Path>) -> Result<Vec<String>, ReadError> {
        let path = path.as_ref();
        self.note(path, Want::Names);
        self.names_at(path).map_err(|cause| ReadError::at(path, cause))
    }

    /// Path inside the root that a link (or a chain of them) ends at; the file itself when it is no link.
    pub fn canonical(&self, path: impl AsRef<Path>) -> Result<PathBuf, ReadError> {
        let path = path.as_ref();
        self.note(path, Want::Place);
        let place = match self.as_it_is(path).and_then(|at| live::place_of(&at)) {
            Some(at) => Ok(clean(&at)),
            None => self.resolve(path),
        };
        place.map_err(|cause| ReadError::at(path, cause))
    }

    /// Last part of what a link points to: the driver's name for `.../driver`.
    pub fn link_name(&self, path: impl AsRef<Path>) -> Result<String, ReadError> {
        let path = path.as_ref();
        self.note(path, Want::Link);
        let read = || {
            let at = match self.as_it_is(path) {
                Some(at) => at,
                None => self
                    .base
                    .join(self.resolve(path.parent().unwrap_or(Path::new("")))?)
                    .join(path.file_name().unwrap_or_default()),
            };
            let link = std::fs::read_link(at)?;
            Ok(link.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default())
        };
        read().map_err(|cause| ReadError::at(path, cause))
    }

    /// Whether something of this name is there.
    #[must_use]
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.note(path.as_ref(), Want::Place);
        if let Some(at) = self.as_it_is(path.as_ref()) {
            return at.exists();
        }
        self.resolve(path.as_ref()).is_ok_and(|at| match self.overlay.get(&at) {
            Some(text) => text.is_some(),
            None => self.is_laid_below(&at) || self.base.join(at).exists(),
        })
    }

    fn bytes_at(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let mut file = match self.at_once(path) {
            Some(Ok(AtOnce::Opened(file))) => file,
            Some(Ok(AtOnce::Laid(text))) => return Ok(text.to_owned()),
            Some(Err(cause)) => return Err(cause),
            None => {
                let at = self.resolve(path)?;
                match self.overlay.get(&at) {
                    Some(Some(text)) => return Ok(text.clone()),
                    Some(None) => return Err(std::io::ErrorKind::NotFound.into()),
                    None => {}
                }
                // a pipe or a terminal in a hostile tree would block the survey for ever
                let flags = OFlags::NONBLOCK.bits().cast_signed();
                std::fs::OpenOptions::new().read(true).custom_flags(flags).open(self.base.join(at))?
            }
        };
        if self.live && clean(path).starts_with("sys") {
            return live::attribute(&mut file);
        }
        self.rest_of(&mut file)
    }

    fn rest_of(&self, file: &mut std::fs::File) -> std::io::Result<Vec<u8>> {
        // most files of /sys and /proc fit
        let mut bytes = vec![0; 512];
        let mut length = None;
        if !self.live {
            let kind = file.metadata()?;
            if !kind.is_file() {
                return Err(std::io::Error::other("not a regular file"));
            }
            length = Some(kind.len());
        }
        let read = live::read(file, &mut bytes)?;
        bytes.truncate(read);
        // as long as it was said to be: its end need not be found by one call more
        if read > 0 && length != Some(read as u64) {
            file.take(MOST_BYTES + 1 - read as u64).read_to_end(&mut bytes)?;
        }
        if bytes.len() as u64 > MOST_BYTES {
            return Err(std::io::Error::other(format!("larger than {MOST_BYTES} bytes")));
        }
        Ok(bytes)
    }

    fn names_at(&self, path: &Path) -> std::io::Result<Vec<String>> {
        let at = if self.as_it_is(path).is_some() { clean(path) } else { self.resolve(path)? };
        let mut names = Vec::new();
        let entries = match std::fs::read_dir(self.base.join(&at)) {
            Ok(entries) => Some(entries),
            Err(_) if self.is_laid_below(&at) => None,
            Err(cause) => return Err(cause),
        };
        for entry in entries.into_iter().flatten() {
            let name = entry?.file_name();
            if !matches!(self.overlay.get(&at.join(&name)), Some(None)) {
                names.push(name.to_string_lossy().into_owned());
            }
        }
        for (laid, text) in &self.overlay {
            if text.is_some()
                && let Ok(below) = laid.strip_prefix(&at)
            {
                names.extend(below.iter().next().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

#[cfg(test)]
mod tests;
