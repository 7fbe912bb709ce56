//! `railscope import-topology`: reads a topology file for another railscope, which outlives hwloc's assertions.

use crate::cli::ImportTopologyArgs;
use anyhow::Context;
use probes::topology_file;
use std::process::ExitCode;

/// Prints the topology, or why there is none, as JSON.
///
/// # Errors
///
/// stdout is gone.
pub fn run(args: &ImportTopologyArgs) -> anyhow::Result<ExitCode> {
    let read = topology_file::read(&args.file).map_err(|error| error.to_string());
    serde_json::to_writer(std::io::stdout().lock(), &read).context("stdout")?;
    Ok(ExitCode::SUCCESS)
}
