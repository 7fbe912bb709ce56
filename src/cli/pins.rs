//! Where the users of the rails are: `pins`.

use crate::settings::FailOn;
use clap::Args;
use std::path::PathBuf;

const PINS_HELP: &str = "\
Examples:
  railscope pins
      every process with a queue pair on a rail
  railscope pins 4242
      this one, its memory too however large it is
  railscope pins -- numactl -N 0 -m 0 ./launch.sh
      start it, look at all it starts, and judge when it ends
  railscope pins --json | jq '.processes[] | {pid, verdict}'
      schema railscope.pins/1

Exit codes: 0 all near or only worth knowing, 1 found something, 2 could not do
it (the reason is on stderr).";

/// Flags of `pins`.
#[derive(Clone, Debug, Args)]
#[command(after_help = PINS_HELP)]
pub struct PinsArgs {
    /// Only these processes [default: all that use rails]
    #[arg(value_name = "PID")]
    pub pids: Vec<u32>,
    /// A command to start and to look at until it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Read a copied tree instead of this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Config file
    #[arg(long, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Lowest severity that makes the exit code 1 [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
    /// Leave out findings of these codes
    #[arg(long, value_delimiter = ',', value_name = "CODE")]
    pub ignore: Option<Vec<String>>,
}
