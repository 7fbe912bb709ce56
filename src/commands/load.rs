//! `railscope load`.

use crate::cli::LoadArgs;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: LoadArgs) -> anyhow::Result<ExitCode> {
    let _common = args.common.with_config()?;
    anyhow::bail!("`load` is not built yet")
}
