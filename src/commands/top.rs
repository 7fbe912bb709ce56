//! `railscope top`.

use crate::cli::TopArgs;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: TopArgs) -> anyhow::Result<ExitCode> {
    let _common = args.common.with_config()?;
    anyhow::bail!("`top` is not built yet")
}
