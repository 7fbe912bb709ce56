//! Short ways that only this machine's own `/sys` and `/proc` allow: the kernel is asked once where a tree is walked.

use rustix::fs::{Mode, OFlags};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Where a path ends, from the kernel in three calls instead of two a part; `None` where it ends nowhere, or without
/// `/proc`.
pub(super) fn place_of(path: &Path) -> Option<PathBuf> {
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// The rest of a file of sysfs: one call where a page is not full, for an attribute comes in pages.
///
/// Source: fs/kernfs/file.c, `kernfs_fop_read_iter`: a text comes whole, a binary attribute in pages.
pub(super) fn attribute(file: &mut std::fs::File) -> std::io::Result<Vec<u8>> {
    const PAGE: usize = 4096;
    let mut bytes = vec![0; PAGE];
    let read = read(file, &mut bytes)?;
    bytes.truncate(read);
    if read == PAGE {
        file.take(super::MOST_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// One read, of whatever comes.
pub(super) fn read(file: &mut std::fs::File, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match file.read(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
