//! `railscope top`: this node live.

use super::watch;
use crate::cli::TopArgs;
use crate::session::{self, Stop};
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
    let source = session::open_stoppable(&common, None, stop.clone())?;
    let (mode, title) = match &common.root {
        None => (Mode::Live, String::new()),
        Some(root) => (Mode::Tree, root.display().to_string()),
    };
    watch::run(source, &common, How { title, mode, stop, ..How::default() })
}
