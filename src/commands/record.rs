//! `railscope record`.

use crate::cli::RecordArgs;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: RecordArgs) -> anyhow::Result<ExitCode> {
    let _common = args.common.with_config()?;
    anyhow::bail!("`record` is not built yet")
}
