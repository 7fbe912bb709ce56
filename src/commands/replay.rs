//! `railscope replay`: a recorded session as if it were live.

use super::watch;
use crate::cli::ReplayArgs;
use crate::session::Replay;
use crate::tui::{How, Mode};
use std::io::Write;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// The file is no recording or cannot be read, or the terminal is gone.
pub fn run(args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.with_config()?;
    let replay = Replay::open(&args.file)?;
    if let Some(warning) = replay.warning() {
        // stderr may be gone: the session is still worth a look
        let _ = writeln!(std::io::stderr(), "railscope: {}: {warning}", args.file.display());
    }
    let title = args.file.display().to_string();
    watch::run(Box::new(replay), &common, How { title, mode: Mode::Replay, ..How::default() })
}
