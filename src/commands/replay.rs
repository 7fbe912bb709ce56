//! `railscope replay`: a recorded session as if it were live.

use super::progress::Followed;
use super::watch;
use crate::cli::ReplayArgs;
use crate::printable::tell;
use crate::session::{Only, Replay, Seekable, Stop, Until};
use crate::settings::Common;
use crate::tui::{self, How, Mode};
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
    let mut replay = Replay::open(&args.file)?;
    let span_ns = replay.span_ns().unwrap_or_default();
    let condition = replay.condition();
    let known = condition.warning();
    warn(&args.file, known.as_deref());
    let title = args.file.display().to_string();
    let stop = Stop::new();
    let source = part(replay, &common, stop.clone())?;
    let how = How { title, mode: Mode::Replay, stop: stop.clone(), ..How::default() };
    let code = if watch::has_screen(&common) {
        ensure!(
            common.record.is_none(),
            "--record: a replay on the screen goes back and forth; `replay FILE --headless --record PART` copies"
        );
        let whole = part(Replay::open(&args.file)?, &common, Stop::new())?;
        let (limits, ignore) = (common.limits.clone(), common.ignore().to_vec());
        let screen = common.screen.clone();
        tui::replay(source, whole, How { limits, ignore, screen, ..how })?;
        ExitCode::SUCCESS
    } else {
        let source = Followed::file(source, "reading", span_ns);
        let code = watch::run(Box::new(source), &common, how)?;
        if stop.is_stopped() {
            tell(
                "ended before the end of the recording, as it was asked to; the report is of what comes before",
            );
        }
        code
    };
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
fn part(replay: Replay, common: &Common, stop: Stop) -> anyhow::Result<Box<dyn Seekable>> {
    for (flag, given) in [("--root", common.root.is_some()), ("--steps", common.steps.is_some())] {
        ensure!(!given, "{flag}: a recording brings its own node; leave the flag out");
    }
    let time = common.duration.map(|period| period.0);
    Ok(match &common.overlay.rails {
        None => Box::new(Until::new(replay, time, stop)),
        Some(names) => Box::new(Until::new(Only::new(replay, names)?, time, stop)),
    })
}

fn warn(file: &Path, warning: Option<&str>) {
    if let Some(warning) = warning {
        tell(format_args!("{}: {warning}", file.display()));
    }
}
