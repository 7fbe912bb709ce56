//! `railscope record`: a session into a file, without a screen.

use super::headless;
use super::progress::{Followed, Progress};
use super::signals::end_on_signals;
use crate::cli::RecordArgs;
use crate::printable::{Printable, tell};
use crate::session::{self, FrameSource, MaskedCopy, Recorded, RecordingStatus, Stop};
use anyhow::{Context, ensure};
use probes::model::Session;
use serde_json::json;
use std::fmt::{self, Display, Formatter};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the command. Ctrl-C, SIGTERM and `--for` end it, and the file is whole.
///
/// # Errors
///
/// There is nothing to record, the file exists already or cannot be written, or the session broke off.
pub fn run(args: RecordArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.with_config()?;
    ensure!(common.record.is_none(), "--record: `record FILE` names its file already; leave the flag out");
    let stop = Stop::new();
    let source = session::open_stoppable(&common, None, stop.clone())?;
    let most_bytes = args.max_size.unwrap_or(u64::MAX);
    let into = if args.mask { unmasked(&args.file)? } else { args.file.clone() };
    let recorded = Recorded::create_below(source, &into, most_bytes)?;
    let status = recorded.status();
    // the terminal may be gone; the recording goes on
    tell(opening(&recorded.session(), &status, args.mask.then_some(&args.file)));
    end_on_signals(stop)?;
    let time = common.duration.map(|period| period.0);
    let played = play(Followed::live(recorded, "recording", time), &status);
    headless::tell_trouble(Some(&status));
    let copy = if args.mask { Some(masked(&into, &args.file, most_bytes)?) } else { None };
    let done = Done { file: &args.file, status: &status, copy: copy.as_ref() };
    let summary = if common.json { done.as_json().to_string() } else { done.to_string() };
    let _ = writeln!(std::io::stdout(), "{}", Printable(summary));
    played?;
    Ok(if status.trouble().is_some() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Plays the source to its end, or until the file is full, and closes the file.
fn play(mut source: impl FrameSource, status: &RecordingStatus) -> anyhow::Result<()> {
    while source.next_frame()?.is_some() && !status.is_full() {}
    Ok(())
}

/// Where the session stands until it is masked.
fn unmasked(file: &Path) -> anyhow::Result<PathBuf> {
    ensure!(!file.exists(), "{}: exists already; choose another name, or remove it first", file.display());
    let mut name = file.as_os_str().to_owned();
    name.push(".unmasked");
    Ok(name.into())
}

/// Makes the masked file, and takes the other away.
fn masked(from: &Path, to: &Path, most_bytes: u64) -> anyhow::Result<MaskedCopy> {
    let progress = Progress::new();
    let copy = session::masked_copy_below(from, to, most_bytes, &mut |share| {
        progress.share("masking", share);
    })
    .with_context(|| {
        let (from, to) = (from.display(), to.display());
        format!("not masked; {from} holds the session as it is, and `railscope mask {from} -o {to}` masks it")
    })?;
    std::fs::remove_file(from).with_context(|| {
        format!("{} is masked, and {} still tells whose it is", to.display(), from.display())
    })?;
    Ok(copy)
}

fn opening(session: &Session, status: &RecordingStatus, masked: Option<&PathBuf>) -> String {
    let topology = session.topology();
    let host = topology.host.hostname.as_deref().unwrap_or("this host");
    let rails = match topology.rails.len() {
        1 => "1 rail".to_owned(),
        n => format!("{n} rails"),
    };
    let every_ms = session.interval_ns as f64 / 1e6;
    let then = masked.map_or(String::new(), |file| format!(" and masks it into {}", file.display()));
    format!(
        "recording {rails} of {host} every {every_ms} ms into {}; Ctrl-C ends it{then}",
        status.path().display()
    )
}

/// What was recorded, and what became of it.
struct Done<'a> {
    file: &'a Path,
    status: &'a RecordingStatus,
    copy: Option<&'a MaskedCopy>,
}

impl Done<'_> {
    fn frames(&self) -> u64 {
        self.copy.map_or(self.status.frames(), |copy| copy.frames)
    }

    fn bytes(&self) -> u64 {
        self.copy.map_or(self.status.bytes(), |copy| copy.bytes)
    }

    fn as_json(&self) -> serde_json::Value {
        json!({
            "schema": "railscope.recording/1",
            "generated_by": crate::GENERATED_BY,
            // JSON has no other bytes than Unicode
            "file": self.file.to_string_lossy(),
            "frames": self.frames(),
            "bytes": self.bytes(),
            "full": self.status.is_full(),
            "trouble": self.status.trouble(),
            "masked": self.copy.map(|copy| &copy.masked.values),
        })
    }
}

impl Display for Done<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        let frames = match self.frames() {
            1 => "1 frame".to_owned(),
            n => format!("{n} frames"),
        };
        write!(f, "{file}: {frames}, {} bytes", self.bytes())?;
        if self.status.is_full() {
            f.write_str(", as large as --max-size lets it be")?;
        }
        if let Some(copy) = self.copy {
            write!(f, "; masked: {}", copy.in_words())?;
        }
        write!(f, "; look at it with: railscope replay {file}")
    }
}
