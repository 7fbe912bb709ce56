//! `railscope replay`: a recorded session as if it were live.

use super::progress::Followed;
use super::watch;
use crate::cli::ReplayArgs;
use crate::printable::tell;
use crate::session::{Only, Replay, Seekable, Stop, Until};
use crate::settings::Common;
use crate::sweep::Sweep;
use crate::tui::{self, Browser, Chosen, How, Left, Mode};
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
    if args.file.is_dir() {
        return browse(&args.file, None, &common);
    }
    if Sweep::is_in(&args.file) {
        return super::sweep::look_at(Sweep::open(&args.file)?, &common, None);
    }
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
        common.screen.checked()?;
        let whole = part(Replay::open(&args.file)?, &common, Stop::new())?;
        let (limits, ignore) = (common.limits.clone(), common.ignore().to_vec());
        let screen = common.screen.clone();
        let left = tui::replay(source, whole, How { limits, ignore, screen, ..how })?;
        if let Left::ForSessions(at_ns) = left {
            let folder = args.file.parent().filter(|folder| !folder.as_os_str().is_empty());
            return browse(folder.unwrap_or(Path::new(".")), Some((&args.file, at_ns)), &common);
        }
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

/// Lists the sessions of a folder, and shows the ones that are chosen, until the list is left; `from` is the one that it was
/// opened from, and at which time of it, nanoseconds.
fn browse(folder: &Path, from: Option<(&Path, u64)>, common: &Common) -> anyhow::Result<ExitCode> {
    ensure!(
        watch::has_screen(common),
        "{}: is a folder, whose sessions are listed on a screen; without one, name a file in it",
        folder.display()
    );
    ensure!(common.record.is_none(), "--record: of one recording, not of a folder of them");
    let (limits, ignore) = (common.limits.clone(), common.ignore().to_vec());
    let how = How { mode: Mode::Replay, limits, ignore, screen: common.screen.clone(), ..How::default() };
    let opened_from = from.map(|(file, _)| file.to_owned());
    let mut browser = Browser::open(folder.to_owned(), opened_from, how.clone())?;
    loop {
        let (file, at_ns) = match (browser.choose()?, from) {
            (Chosen::File(file), _) => (file, None),
            (Chosen::Back, Some((file, at_ns))) => (file.to_owned(), Some(at_ns)),
            (Chosen::Back | Chosen::Nothing, _) => break,
        };
        if Sweep::is_in(&file) {
            let left = match Sweep::open(&file) {
                Ok(sweep) => super::sweep::show(sweep, common)?,
                Err(error) => {
                    browser.refuse(error.to_string());
                    Left::Screen
                }
            };
            if left == Left::Program {
                break;
            }
            continue;
        }
        let opened = || -> anyhow::Result<_> {
            let part = |stop| part(Replay::open(&file)?, common, stop);
            let stop = Stop::new();
            Ok((part(stop.clone())?, part(Stop::new())?, stop))
        };
        let (source, whole, stop) = match opened() {
            Ok(opened) => opened,
            Err(error) => {
                browser.refuse(format!("{error:#}"));
                continue;
            }
        };
        let title = file.display().to_string();
        if tui::replay(source, whole, How { title, stop, at_ns, ..how.clone() })? == Left::Program {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
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
