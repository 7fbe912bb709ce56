//! `railscope report`: judge a recorded session.

use super::{headless, verdict};
use crate::cli::{Format, ReportArgs};
use crate::printable::tell;
use crate::session::{Replay, only};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: ReportArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.with_config()?;
    let replay = Replay::open(&args.file)?;
    let condition = replay.condition();
    let timeline = headless::play(&mut *only(replay, common.overlay.rails.as_deref())?)?;
    if let Some(warning) = condition.warning() {
        tell(format_args!("{}: {warning}", args.file.display()));
    }
    let form = match args.format {
        Format::Text => verdict::Form::of(&common),
        Format::Json => verdict::Form::Json,
    };
    verdict::print(&timeline, &common, form)
}
