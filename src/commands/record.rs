//! `railscope record`: a session into a file, without a screen.

use super::headless;
use super::signals::{end_on_signals, outlive_file_size_limit};
use crate::cli::RecordArgs;
use crate::printable::{Printable, tell};
use crate::session::{self, FrameSource, Recorded, RecordingStatus, Stop};
use anyhow::ensure;
use probes::model::Session;
use serde_json::json;
use std::io::Write;
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
    outlive_file_size_limit();
    let recorded = Recorded::create_below(source, &args.file, args.max_size.unwrap_or(u64::MAX))?;
    let status = recorded.status();
    // the terminal may be gone; the recording goes on
    tell(opening(&recorded.session(), &status));
    end_on_signals(stop)?;
    let played = play(recorded, &status);
    headless::tell_trouble(Some(&status));
    let summary = if common.json { as_json(&status).to_string() } else { closing(&status) };
    let _ = writeln!(std::io::stdout(), "{}", Printable(summary));
    played?;
    Ok(if status.trouble().is_some() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Plays the source to its end, or until the file is full, and closes the file.
fn play(mut source: impl FrameSource, status: &RecordingStatus) -> anyhow::Result<()> {
    while source.next_frame()?.is_some() && !status.is_full() {}
    Ok(())
}

fn opening(session: &Session, status: &RecordingStatus) -> String {
    let topology = session.topology();
    let host = topology.host.hostname.as_deref().unwrap_or("this host");
    let rails = match topology.rails.len() {
        1 => "1 rail".to_owned(),
        n => format!("{n} rails"),
    };
    let every_ms = session.interval_ns as f64 / 1e6;
    format!(
        "recording {rails} of {host} every {every_ms} ms into {}; Ctrl-C ends it",
        status.path().display()
    )
}

fn closing(status: &RecordingStatus) -> String {
    let file = status.path().display();
    let frames = match status.frames() {
        1 => "1 frame".to_owned(),
        n => format!("{n} frames"),
    };
    let full = if status.is_full() { ", as large as --max-size lets it be" } else { "" };
    format!("{file}: {frames}, {} bytes{full}; look at it with: railscope replay {file}", status.bytes())
}

fn as_json(status: &RecordingStatus) -> serde_json::Value {
    json!({
        "schema": "railscope.recording/1",
        "generated_by": crate::GENERATED_BY,
        // JSON has no other bytes than Unicode
        "file": status.path().to_string_lossy(),
        "frames": status.frames(),
        "bytes": status.bytes(),
        "full": status.is_full(),
        "trouble": status.trouble(),
    })
}
