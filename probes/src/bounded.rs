//! Files that people name on the command line: whatever they are, they do not fill the memory.

use std::io::Read;
use std::path::Path;

/// Contents of a file or pipe of at most `most_bytes`.
///
/// # Errors
///
/// It cannot be read, or is larger; devices such as `/dev/zero` have no end.
pub fn read(path: &Path, most_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(std::io::Error::other(format!("is larger than {most_bytes} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::path::Path;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = read(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(error.to_string(), "is larger than 1000 bytes");
    }

    #[test]
    fn a_file_of_just_the_size_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert!(read(&file, 4).is_err());
    }
}
