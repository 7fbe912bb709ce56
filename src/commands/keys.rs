//! `railscope keys`: the keys in force.

use super::output::Output;
use crate::cli::KeysArgs;
use crate::settings::Common;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// The config file cannot be used.
pub fn run(args: &KeysArgs) -> anyhow::Result<ExitCode> {
    let common = Common { config: args.config.clone(), ..Common::default() }.with_config()?;
    Output::print(&common.screen.keys.to_string())?;
    // the table as it comes was printed then, to mend the file by
    common.screen.checked()?;
    Ok(ExitCode::SUCCESS)
}
