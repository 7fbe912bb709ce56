//! Why a file of the tree could not be read.

use super::clean;
use std::path::Path;

/// A file that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {}", reason(cause))]
pub struct ReadError {
    /// Path inside the root.
    pub path: String,
    /// What the system said.
    pub cause: std::io::Error,
}

/// What the system said, for people: without the number that only the C library needs.
fn reason(cause: &std::io::Error) -> String {
    match cause.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => {
            let text = cause.to_string();
            text.split(" (os error ").next().unwrap_or_default().to_owned()
        }
    }
}

impl ReadError {
    /// The error of a file at this path, which is told inside the root.
    pub(super) fn at(path: &Path, cause: std::io::Error) -> Self {
        Self { path: clean(path).display().to_string(), cause }
    }

    /// Whether the file is simply not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.cause.kind() == std::io::ErrorKind::NotFound
    }
}
