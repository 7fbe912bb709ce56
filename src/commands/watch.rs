//! A session on the screen or without one: what `top`, `demo`, `load` and `replay` share.

use super::progress::Followed;
use super::{headless, signals, verdict};
use crate::session::{FrameSource, Marked, RecordingStatus};
use crate::settings::Common;
use crate::tui::{self, How, Mode};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// Plays the source on the screen, or without one where the flags or a pipe ask for that.
///
/// Without a screen, and after a load, the report is printed and its findings make the exit code. `how.stop` must
/// be the source's own, so that keys and signals end it at once.
///
/// # Errors
///
/// The recording cannot be made, the source cannot go on, or the terminal is gone.
pub fn run(source: Box<dyn FrameSource>, common: &Common, how: How) -> anyhow::Result<ExitCode> {
    run_until(source, common, how, || None)
}

/// The same; between the session and its report `end` ends what the session was of, and says why a load ended before
/// its time.
///
/// # Errors
///
/// As [`run`].
pub fn run_until(
    source: Box<dyn FrameSource>,
    common: &Common,
    mut how: How,
    end: impl FnOnce() -> Option<String>,
) -> anyhow::Result<ExitCode> {
    let source = match how.mode {
        // what is over takes no marks: its file would not have them
        Mode::Replay => source,
        _ => Box::new(Marked::new(source, how.marks.clone())),
    };
    let with_screen = has_screen(common);
    if with_screen {
        common.screen.checked()?;
    }
    let (mut source, recording) = headless::recorded(source, common.record.as_deref())?;
    how.limits = common.limits.clone();
    how.ignore = common.ignore().to_vec();
    how.screen = common.screen.clone();
    how.recording.clone_from(&recording);
    let reports = !with_screen || how.mode == Mode::Load;
    let played = if with_screen {
        tui::run(source, how).map(headless::Played::from)
    } else {
        let time = common.duration.map(|period| period.0);
        source = followed(source, how.mode, time);
        signals::end_on_signals(how.stop)?;
        let played = headless::play(&mut *source);
        drop(source);
        played
    };
    headless::tell_trouble(recording.as_deref());
    let cut_short = end();
    let played = played?;
    let code = if reports {
        verdict::print_with(&played, common, verdict::Form::of(common), cut_short)?
    } else {
        ExitCode::SUCCESS
    };
    // what was to be kept is not whole, whatever is in it
    let is_whole = recording.as_deref().and_then(RecordingStatus::trouble).is_none();
    Ok(if is_whole { code } else { ExitCode::from(2) })
}

/// The source, with its progress shown where somebody watches.
fn followed(source: Box<dyn FrameSource>, mode: Mode, time: Option<Duration>) -> Box<dyn FrameSource> {
    match (mode, time) {
        (Mode::Load, _) => Box::new(Followed::load(source)),
        (Mode::Demo, Some(time)) => Box::new(Followed::simulation(source, time)),
        (Mode::Live, time) => Box::new(Followed::live(source, "watching", time)),
        // a replay has been given its line, and the steps of a tree take no time
        (Mode::Demo | Mode::Diagnosis | Mode::Replay | Mode::Tree, _) => source,
    }
}

/// Whether the session goes on the screen.
#[must_use]
pub fn has_screen(common: &Common) -> bool {
    !common.headless && !common.json && std::io::stdout().is_terminal()
}
