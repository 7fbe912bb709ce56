//! `railscope replay`: a recorded session as if it were live.

use super::watch;
use crate::cli::ReplayArgs;
use crate::printable::tell;
use crate::session::{Replay, only};
use crate::tui::{How, Mode};
use std::path::Path;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// The file is no recording or cannot be read, it has no such rail, or the terminal is gone.
pub fn run(args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.with_config()?;
    let replay = Replay::open(&args.file)?;
    let condition = replay.condition();
    let known = condition.warning();
    warn(&args.file, known.as_deref());
    let title = args.file.display().to_string();
    let source = only(replay, common.overlay.rails.as_deref())?;
    let code = watch::run(source, &common, How { title, mode: Mode::Replay, ..How::default() })?;
    // what was damaged further in has come out by now
    let warning = condition.warning().filter(|warning| known.as_ref() != Some(warning));
    warn(&args.file, warning.as_deref());
    Ok(code)
}

fn warn(file: &Path, warning: Option<&str>) {
    if let Some(warning) = warning {
        tell(format_args!("{}: {warning}", file.display()));
    }
}
