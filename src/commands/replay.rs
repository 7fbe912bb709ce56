//! `railscope replay`: a recorded session as if it were live.

use super::watch;
use crate::cli::ReplayArgs;
use crate::printable::tell;
use crate::session::{FrameSource, Replay, Stop, Until, only};
use crate::settings::Common;
use crate::tui::{How, Mode};
use anyhow::ensure;
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
    let stop = Stop::new();
    let source = part(replay, &common, stop.clone())?;
    let code = watch::run(source, &common, How { title, mode: Mode::Replay, stop, ..How::default() })?;
    // what was damaged further in has come out by now
    let warning = condition.warning().filter(|warning| known.as_ref() != Some(warning));
    warn(&args.file, warning.as_deref());
    Ok(code)
}

/// The part of a recording that the flags ask for.
///
/// # Errors
///
/// It has no such rail, or the flags name another node than the recording's.
pub(super) fn part(replay: Replay, common: &Common, stop: Stop) -> anyhow::Result<Box<dyn FrameSource>> {
    for (flag, given) in [("--root", common.root.is_some()), ("--steps", common.steps.is_some())] {
        ensure!(!given, "{flag}: a recording brings its own node; leave the flag out");
    }
    let time = common.duration.map(|period| period.0);
    Ok(Box::new(Until::new(only(replay, common.overlay.rails.as_deref())?, time, stop)))
}

fn warn(file: &Path, warning: Option<&str>) {
    if let Some(warning) = warning {
        tell(format_args!("{}: {warning}", file.display()));
    }
}
