//! `railscope report`: judge a recorded session.

use super::replay::part;
use super::{headless, verdict};
use crate::cli::{Format, ReportArgs};
use crate::printable::tell;
use crate::session::{Replay, Stop};
use anyhow::ensure;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: ReportArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.with_config()?;
    ensure!(common.record.is_none(), "--record: `report` only reads; leave the flag out");
    let replay = Replay::open(&args.file)?;
    let condition = replay.condition();
    let timeline = headless::play(&mut *part(replay, &common, Stop::new())?)?;
    if let Some(warning) = condition.warning() {
        tell(format_args!("{}: {warning}", args.file.display()));
    }
    let form = match args.format {
        Format::Text => verdict::Form::of(&common),
        Format::Json => verdict::Form::Json,
    };
    verdict::print(&timeline, &common, form)
}
