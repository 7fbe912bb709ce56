//! `railscope capture`: this node as a tree of files that `--root` reads elsewhere.

use crate::cli::CaptureArgs;
use crate::printable::{Printable, for_shell, tell};
use crate::session;
use anyhow::{Context, anyhow};
use probes::capture::{self, Capture, Masked};
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

/// Name of the JSON object, as `capture --help` shows it.
const SCHEMA: &str = "railscope.capture/1";

/// What could not be taken is told line by line up to this many.
const MOST_LINES: usize = 5;

/// Runs the command.
///
/// # Errors
///
/// The tree cannot be read, or the archive cannot be written.
pub fn run(args: &CaptureArgs) -> anyhow::Result<ExitCode> {
    let whole = match &args.root {
        Some(folder) => {
            session::tree(folder)?;
            capture::tree(folder)
        }
        None => capture::live(),
    };
    let (capture, masked) = if args.mask {
        let (capture, masked) = whole.masked();
        (capture, Some(masked))
    } else {
        (whole, None)
    };
    let bytes = write(&capture, &args.output)?;
    let summary = if args.json {
        as_json(&capture, masked.as_ref(), &args.output, bytes).to_string()
    } else {
        as_text(&capture, masked.as_ref(), &args.output, bytes)
    };
    for not_taken in capture.not_taken.iter().take(MOST_LINES) {
        tell(format_args!("not taken: {}: {}", not_taken.path.display(), not_taken.reason));
    }
    if let Some(more) = capture.not_taken.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        tell(format_args!("not taken: {more} more; --json names them all"));
    }
    match writeln!(std::io::stdout(), "{}", Printable(summary)) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("what was taken cannot be written to stdout")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Writes the archive and returns its size; half an archive does not stay behind.
fn write(capture: &Capture, path: &Path) -> anyhow::Result<u64> {
    let told = |error: std::io::Error| anyhow!("{}: {}", path.display(), session::cannot_write(&error));
    let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(told)?;
    let written = capture.write_to(BufWriter::new(&file)).and_then(|()| file.metadata());
    match written {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) => {
            let _ = fs::remove_file(path);
            Err(told(error))
        }
    }
}

fn as_text(capture: &Capture, masked: Option<&Masked>, path: &Path, bytes: u64) -> String {
    let (files, links, _) = capture.size();
    let archive = path.display();
    let mut text = vec![format!("{archive}: {files} files, {links} links, {bytes} bytes")];
    let told: Vec<String> = capture.told().collect();
    if !told.is_empty() {
        text.push(format!("captured/: {}", told.join(", ")));
    }
    match masked {
        Some(masked) => {
            let kinds = masked.values.iter().map(|(kind, count)| counted(*count, kind));
            let kinds: Vec<String> = kinds.collect();
            let kinds = if kinds.is_empty() { "nothing to mask".to_owned() } else { kinds.join(", ") };
            text.push(format!("masked: {kinds}; look into it before you pass it on"));
        }
        None => {
            text.push("not masked: it names this host, its addresses and GUIDs; --mask replaces them".into());
        }
    }
    text.push(format!(
        "look at it with: mkdir node && tar -xzf {} -C node && railscope check --root node",
        for_shell(&archive.to_string())
    ));
    text.join("\n")
}

/// `2 MAC addresses`, `1 MAC address`.
fn counted(count: usize, kind: &str) -> String {
    let one = kind.strip_suffix("sses").map(|stem| format!("{stem}ss"));
    let one = one.or_else(|| kind.strip_suffix('s').map(str::to_owned));
    match one {
        Some(one) if count == 1 => format!("1 {one}"),
        _ => format!("{count} {kind}"),
    }
}

fn as_json(capture: &Capture, masked: Option<&Masked>, path: &Path, bytes: u64) -> serde_json::Value {
    let (files, links, _) = capture.size();
    let not_taken: Vec<_> = capture
        .not_taken
        .iter()
        .map(|not_taken| json!({ "path": not_taken.path.display().to_string(), "reason": not_taken.reason }))
        .collect();
    json!({
        "schema": SCHEMA,
        "generated_by": crate::GENERATED_BY,
        "file": path.display().to_string(),
        "bytes": bytes,
        "files": files,
        "links": links,
        "captured": capture.told().collect::<Vec<_>>(),
        "masked": masked.map(|masked| &masked.values),
        "not_taken": not_taken,
    })
}

#[cfg(test)]
mod tests {
    use super::{counted, for_shell};
    use crate::session::cannot_write;
    use std::io::{Error, ErrorKind};

    #[test]
    fn one_is_told_as_one() {
        let counts = [(1, "UUIDs"), (1, "MAC addresses"), (2, "GUIDs"), (1, "serial numbers")];
        let told = counts.map(|(count, kind)| counted(count, kind));
        assert_eq!(told, ["1 UUID", "1 MAC address", "2 GUIDs", "1 serial number"]);
    }

    #[test]
    fn a_name_can_be_pasted_into_a_shell() {
        for (name, pasted) in [
            ("node-7.tar.gz", "node-7.tar.gz"),
            ("a b; rm x.tar.gz", "'a b; rm x.tar.gz'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("~x", "'~x'"),
        ] {
            assert_eq!(for_shell(name), pasted);
        }
    }

    #[test]
    fn a_full_disk_leaves_no_archive_to_replay() {
        let told = cannot_write(&Error::from(ErrorKind::StorageFull));
        assert!(told.ends_with("; make room"), "{told}");
    }
}
