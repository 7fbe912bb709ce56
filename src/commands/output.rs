//! Where a command writes what it made: stdout, or a file that is there whole or not at all.

use super::seven_bits::Shown;
use anyhow::{Context, anyhow, ensure};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// stdout, or a file of `-o`.
///
/// The file takes its name when all of it is written, in place of one that had it: whoever reads it in the
/// meantime, such as a metrics collector, never sees half of it.
#[derive(Debug)]
pub struct Output {
    out: Option<BufWriter<Box<dyn Sink>>>,
    file: Option<Renamed>,
}

trait Sink: Write + std::fmt::Debug + Send {}
impl<T: Write + std::fmt::Debug + Send> Sink for T {}

#[derive(Debug)]
struct Renamed {
    unfinished: PathBuf,
    path: PathBuf,
}

/// stdout, for a text that somebody is to read.
///
/// # Errors
///
/// The program was started without one (`>&-`), where every write would seem to succeed.
pub fn stdout() -> anyhow::Result<Shown> {
    ensure!(
        !probes::ffi::stdout::was_closed_at_start(),
        "stdout is closed, so nothing can be printed; send it somewhere, to /dev/null if nowhere else"
    );
    Ok(Shown::new())
}

impl Output {
    /// Opens the file, or stdout without one. What is no file (a device, a pipe) is written as it stands; a link stays one.
    ///
    /// # Errors
    ///
    /// No file can be made in its folder, or it is one of `inputs`, which are read.
    pub fn to(file: Option<&Path>, inputs: &[&Path]) -> anyhow::Result<Self> {
        let Some(asked) = file else {
            return Ok(Self { out: Some(BufWriter::new(Box::new(stdout()?))), file: None });
        };
        let refused =
            |error: &io::Error| anyhow!("-o {}: {}", asked.display(), crate::session::cannot_write(error));
        let path = asked.canonicalize().unwrap_or_else(|_| asked.to_owned());
        if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == path)) {
            return Err(anyhow!("-o {}: is what is read; name another file", asked.display()));
        }
        let there = path.metadata().ok();
        if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
            let out = File::options().write(true).open(&path).map_err(|error| refused(&error))?;
            return Ok(Self { out: Some(BufWriter::new(Box::new(out))), file: None });
        }
        let name = path.file_name().with_context(|| format!("-o {}: names no file", asked.display()))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", std::process::id()));
        let unfinished = path.with_file_name(hidden);
        let out = File::create_new(&unfinished).map_err(|error| refused(&error))?;
        let file = Renamed { unfinished, path };
        if let Some(there) = there {
            // who may read it stays as it was
            out.set_permissions(there.permissions()).map_err(|error| refused(&error))?;
        }
        Ok(Self { out: Some(BufWriter::new(Box::new(out))), file: Some(file) })
    }

    /// Prints a text on stdout.
    ///
    /// # Errors
    ///
    /// As [`Output::end`].
    pub fn print(text: &str) -> anyhow::Result<()> {
        let mut out = Self::to(None, &[])?;
        let written = out.write_all(text.as_bytes());
        out.end(written)
    }

    /// Ends the writing: of what `written` tells, what went wrong.
    ///
    /// # Errors
    ///
    /// It could not be written. A reader of stdout that has seen enough (`| head`) is no error.
    pub fn end(mut self, written: io::Result<()>) -> anyhow::Result<()> {
        let flushed = written.and_then(|()| self.out.as_mut().map_or(Ok(()), Write::flush));
        // the file is closed before it takes its name
        let is_open = self.out.take().is_some();
        debug_assert!(is_open, "an output ends once");
        let done = match &self.file {
            Some(file) => flushed.and_then(|()| std::fs::rename(&file.unfinished, &file.path)),
            None => flushed,
        };
        match (done, self.file.take()) {
            (Ok(()), _) => Ok(()),
            (Err(error), None) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            (Err(error), None) => Err(error).context("what was made cannot be written"),
            (Err(error), Some(file)) => {
                let _ = std::fs::remove_file(&file.unfinished);
                Err(anyhow!("-o {}: {}", file.path.display(), crate::session::cannot_write(&error)))
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(bytes.len()), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // given up before its end
            let _ = std::fs::remove_file(&file.unfinished);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Output;
    use std::io::Write;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.prom");
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        std::fs::write(&path, "old").unwrap();
        let mut output = Output::to(Some(&path), &[]).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        output.end(Ok(())).unwrap();
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names()), ("new", 1));
        let mut given_up = Output::to(Some(&path), &[]).unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names()), ("new", 1));
        let error = Output::to(Some(&folder.path().join("none/a")), &[]).unwrap_err().to_string();
        assert!(error.ends_with("its folder does not exist; make it first"), "{error}");
    }

    #[test]
    fn what_is_read_is_not_written_over_and_a_link_and_a_pipe_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.rsz"), folder.path().join("link"));
        std::fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for name in [&path, &link] {
            let error = Output::to(Some(name), &[&path]).unwrap_err().to_string();
            assert!(error.ends_with("is what is read; name another file"), "{error}");
        }
        let mut output = Output::to(Some(&link), &[]).unwrap();
        output.write_all(b"new").unwrap();
        output.end(Ok(())).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        let mut full = Output::to(Some(std::path::Path::new("/dev/full")), &[]).unwrap();
        full.write_all(b"more").unwrap();
        assert!(full.end(Ok(())).is_err());
        assert!(!std::path::Path::new("/dev/full").is_file());
    }
}
