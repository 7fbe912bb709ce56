//! A recording for others: `mask`.

use clap::Args;
use std::path::PathBuf;

const MASK_HELP: &str = r#"  railscope mask node7.rsz -o share.rsz

It replaces hosts' names, MAC addresses, GIDs and IP addresses, subnets, GUIDs,
UUIDs, names of processes and jobs, and the texts of marks: the same by the
same, under a key that is drawn anew each time and never written down. Subnets
stay subnets, link-local addresses and embedded MACs stay what they are, so the
findings are the same. Counters and times, names of devices and netdevs, PCI
addresses, board ids, versions and process ids stay. Look into the copy before
you pass it on: zstdcat share.rsz | less

With --json it prints one object:
  {"schema": "railscope.mask/1", "generated_by": "railscope 0.1.0",
  "file": "share.rsz", "bytes": 48211, "frames": 601,
   "masked": {"GUIDs": 8, "IP addresses": 24, "host names": 1},
   "warning": null}

Exit codes: 0 written, 2 could not do it (the reason is on stderr)."#;

/// Flags of `mask`.
#[derive(Clone, Debug, Args)]
#[command(after_help = MASK_HELP)]
pub struct MaskArgs {
    /// Session file to read
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Session file to write; it must not exist
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
