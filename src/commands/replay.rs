//! `railscope replay`.

use crate::cli::ReplayArgs;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let _common = args.common.with_config()?;
    anyhow::bail!("`replay` is not built yet")
}
