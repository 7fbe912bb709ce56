//! A small file that is read again and again.

use crate::root::Root;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Longer than any counter or state word.
const MOST_BYTES: usize = 128;

/// A file with one number or word, read at every sample.
///
/// On the live machine it stays open: sysfs makes its text anew for every read at offset 0
/// (Documentation/filesystems/sysfs.rst). After an error it is opened again, so a device that came back is
/// read again. In a copied tree it is looked up each time, since other texts may be laid over it.
#[derive(Debug)]
pub(super) struct CountFile {
    path: String,
    open: Option<File>,
}

impl CountFile {
    pub(super) fn new(path: String) -> Self {
        Self { path, open: None }
    }

    /// The text without white space at its ends.
    pub(super) fn text(&mut self, root: &Root) -> std::io::Result<String> {
        if !root.is_live() {
            return root.text(&self.path).map_err(|error| error.cause);
        }
        let read = self.read_open_file(root);
        if read.is_err() {
            self.open = None;
        }
        read
    }

    /// The number; `None` when the file is not readable or holds no number (`N/A (no PMA)`).
    pub(super) fn number(&mut self, root: &Root) -> Option<u64> {
        self.text(root).ok()?.parse().ok()
    }

    fn read_open_file(&mut self, root: &Root) -> std::io::Result<String> {
        let file = match &mut self.open {
            Some(file) => file,
            None => self.open.insert(File::open(root.base().join(&self.path))?),
        };
        let mut text = [0; MOST_BYTES];
        let length = file.read_at(&mut text, 0)?;
        Ok(String::from_utf8_lossy(&text[..length]).trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::CountFile;
    use crate::root::Root;

    #[test]
    fn an_open_file_is_read_anew_each_time_and_opened_anew_after_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("count");
        std::fs::write(&path, "1\n").unwrap();
        let root = Root::live();
        let mut file = CountFile::new(path.strip_prefix("/").unwrap().display().to_string());
        assert_eq!(file.number(&root), Some(1));
        std::fs::write(&path, "22\n").unwrap();
        assert_eq!(file.number(&root), Some(22));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.number(&root), Some(22), "the file that is open is still there");

        let mut gone = CountFile::new("proc/none/count".into());
        assert_eq!(gone.number(&root), None);
        gone.path.clone_from(&file.path);
        std::fs::write(&path, "3\n").unwrap();
        assert_eq!(gone.number(&root), Some(3));
    }
}
