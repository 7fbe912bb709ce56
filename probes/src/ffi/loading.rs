//! Libraries that are opened at first use and never linked, so that the program starts without them.

use libloading::os::unix::Library;
use std::error::Error as _;
use std::ffi::{OsStr, OsString};

/// Why a library cannot be used.
#[derive(Clone, Debug)]
pub(super) struct NotLoaded {
    /// File or soname asked for.
    pub(super) path: String,
    /// What the loader said.
    pub(super) reason: String,
}

/// Opens the library called `soname`, or the file that the environment variable `instead` names, takes from it what
/// `resolve` wants, and keeps it for the life of the program. The variable is for tests, and is not looked at in a
/// set-uid or otherwise privileged process.
///
/// # Errors
///
/// It is not installed, or lacks what is wanted.
pub(super) fn load<T>(
    instead: &str,
    soname: &str,
    resolve: impl FnOnce(&Library) -> Result<T, libloading::Error>,
) -> Result<T, NotLoaded> {
    let path = path(instead, soname);
    open(&path, resolve).map_err(|error| {
        let path = path.to_string_lossy().into_owned();
        let reason = reason(&error);
        // the loader names the file itself
        let reason = reason.strip_prefix(&format!("{path}: ")).map(str::to_owned).unwrap_or(reason);
        NotLoaded { path, reason }
    })
}

fn path(instead: &str, soname: &str) -> OsString {
    // SAFETY: - getauxval has no obligations; an entry that is absent gives 0
    let privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let named = if privileged { None } else { std::env::var_os(instead) };
    named.filter(|path| !path.is_empty()).unwrap_or_else(|| soname.into())
}

fn open<T>(
    path: &OsStr,
    resolve: impl FnOnce(&Library) -> Result<T, libloading::Error>,
) -> Result<T, libloading::Error> {
    // SAFETY: - the initialisers of the libraries that are opened here have no precondition
    //         - it is never closed (`forget`), so no function outlives its code
    let library = unsafe { Library::open(Some(path), libc::RTLD_NOW | libc::RTLD_LOCAL)? };
    let resolved = resolve(&library);
    std::mem::forget(library);
    resolved
}

/// What the loader said; libloading's own text is only "dlopen failed".
fn reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
