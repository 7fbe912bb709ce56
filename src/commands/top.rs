//! `railscope top`: this node live.

use super::watch;
use crate::cli::TopArgs;
use crate::session::{self, DEFAULT_EVERY, Every, Stop};
use crate::tui::{How, Mode};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: TopArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.with_config()?;
    let stop = Stop::new();
    let every = Every::new(common.overlay.every.map_or(DEFAULT_EVERY, |period| period.0));
    let every = common.root.is_none().then_some(every);
    let source = session::open_changeable(&common, None, stop.clone(), every.clone())?;
    let (mode, title) = match &common.root {
        None => (Mode::Live, String::new()),
        Some(root) => (Mode::Tree, root.display().to_string()),
    };
    watch::run(source, &common, How { title, mode, stop, every, ..How::default() })
}
