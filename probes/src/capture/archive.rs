//! A captured tree as a `.tar.gz`.

use super::{Capture, Entry};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use tar::{Builder, EntryType, Header};

impl Capture {
    /// Writes the tree as a gzipped tar archive; equal trees give equal bytes.
    ///
    /// The form is that of tar(5) with GNU extensions for long names; times and owners are not kept.
    pub fn write_to(&self, out: impl Write) -> io::Result<()> {
        let mut archive = Builder::new(GzEncoder::new(out, Compression::default()));
        for (path, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(0);
            match entry {
                Entry::Folder => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(0o755);
                    archive.append_data(&mut header, path, io::empty())?;
                }
                Entry::File(bytes) => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_mode(0o644);
                    header.set_size(bytes.len() as u64);
                    archive.append_data(&mut header, path, bytes.as_slice())?;
                }
                Entry::Link(to) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    archive.append_link(&mut header, path, to)?;
                }
            }
        }
        archive.into_inner()?.finish()?.flush()
    }
}
