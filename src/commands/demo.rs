//! `railscope demo`.

use crate::cli::DemoArgs;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    let _common = args.common.with_config()?;
    anyhow::bail!("`demo` is not built yet")
}
