//! The way to a path inside a tree: links are followed as if the tree were `/`.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many symbolic links as the kernel follows, see `path_resolution(7)`.
const MOST_LINKS: u32 = 40;

/// What stands at a place on the way.
pub(crate) enum Step {
    /// A file or folder: the way goes on below it.
    On,
    /// A link to this: the way goes on there.
    Link(PathBuf),
}

/// Where `path` ends. `look` is asked what stands at each place on the way, and whether it is the last one.
///
/// # Errors
///
/// What `look` says, and more links than the kernel follows.
pub(crate) fn walk(
    path: &Path,
    mut look: impl FnMut(&Path, bool) -> io::Result<Step>,
) -> io::Result<PathBuf> {
    let mut done = PathBuf::new();
    let mut left = parts(path);
    left.reverse();
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        match look(&next, left.is_empty())? {
            Step::On => done = next,
            Step::Link(to) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other("too many levels of symbolic links"));
                }
                if to.is_absolute() {
                    done = PathBuf::new();
                }
                left.extend(parts(&to).into_iter().rev());
            }
        }
    }
    Ok(done)
}

/// The path without a leading `/` and without `.`, as overlays are keyed.
pub(crate) fn clean(path: &Path) -> PathBuf {
    parts(path).into_iter().collect()
}

fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .filter_map(|c| match c {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect()
}
