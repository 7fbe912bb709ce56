//! A copy of what a node is: `capture`.

use clap::Args;
use std::path::PathBuf;

const CAPTURE_HELP: &str = r#"Unpack it into a folder of its own and look at it anywhere:
  mkdir node7 && tar -xzf node7.tar.gz -C node7 && railscope check --root node7

It holds the files that probe and check read, sysfs links as relative links,
and under captured/ what sysfs lacks: driver statistics (ethtool -S), READ
depth and path MTU, which process has queue pairs on which device. Folders that
they list keep their names, as empty files where nobody reads them. Of a
process's environment only the launcher's variables for job and rank are taken,
of its memory map no paths of files.

--mask replaces MAC addresses, GIDs and IP addresses, GUIDs, UUIDs, container
ids, serial numbers (also those in captured/lspci-vvv), the host's name and
names of jobs and hosts that launchers told: the same by the same, so that
subnets, link-local addresses and embedded MACs stay what they are. Device and
process names, PCI addresses, board ids, versions and counters stay. Look into
the archive before you pass it on.

With --json it prints one object:
  {"schema": "railscope.capture/1", "generated_by": "railscope 0.1.0",
  "file": "node7.tar.gz", "bytes": 48211,
   "files": 912, "links": 204, "captured": ["ethtool-S/eth0"],
   "masked": {"MAC addresses": 8},
   "not_taken": [{"path": "captured/ibv_devinfo", "reason": "..."}]}
`masked` is null without --mask.

Exit codes: 0 written, 2 could not do it (the reason is on stderr)."#;

/// Flags of `capture`.
#[derive(Clone, Debug, Args)]
#[command(after_help = CAPTURE_HELP)]
pub struct CaptureArgs {
    /// Archive to write, usually NAME.tar.gz; it must not exist
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace addresses, GUIDs, serial numbers and the host's name
    #[arg(long)]
    pub mask: bool,
    /// Capture from a copied tree instead of this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
