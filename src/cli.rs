//! The command line: what can be typed, and the help that says so.

mod again;
mod capture;
mod diagnose;
mod diff;
mod export;
#[cfg(test)]
mod help_tests;
mod load;
mod mask;
mod pins;
mod refused;
mod report;
mod screen;
mod sweep;

pub use again::LoadWords;
pub use capture::CaptureArgs;
pub use diagnose::{DiagnoseArgs, DiagnoseCarrier, DiagnoseFormat};
pub use diff::{DiffArgs, DiffFormat};
pub use export::{ExportArgs, ExportFormat};
pub use load::{Carrier, LoadArgs, LoadKnobs, LoadPreset, Op, ServeArgs, ServeCarrier, Spread};
pub use mask::MaskArgs;
pub use pins::PinsArgs;
pub use refused::{command, negative, without_idle_tip};
pub use report::{Format, ReportArgs};
pub use screen::{KeysArgs, ShotArgs};
pub use sweep::{SweepArgs, SweepCarrier, SweepPreset};

use crate::settings::{Common, FailOn};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Where `serve` listens and `load` connects unless told otherwise.
pub const DEFAULT_PORT: u16 = 18520;

const EXIT_CODES: &str = "\
Exit codes: 0 fine, 1 found something, 2 could not do it (the reason is on
stderr). The screen of top, demo and replay is 0 when it is left, whatever it
shows; load, diagnose and sweep print what came of them, and that counts.";

/// A terminal profiler for RDMA rails: where every NIC sits, what it moves, and why it is slow.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, args_conflicts_with_subcommands = true, term_width = 80)]
pub struct Cli {
    /// What to do; without one, `top`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of `top`, for when it is not named.
    #[command(flatten)]
    pub top: TopArgs,
}

/// What railscope can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch the rails of this node live (the default)
    Top(TopArgs),
    /// The live screen on a simulated eight-rail node
    Demo(DemoArgs),
    /// What the node is: rails, NUMA nodes, GIDs, PCIe paths, firmware
    Probe(ProbeArgs),
    /// Watch for a while, judge, and exit 0 (fine), 1 (found something) or 2 (could not measure)
    Check(CheckArgs),
    /// Offer buffers for another host's `railscope load` to read
    Serve(ServeArgs),
    /// Read from a `railscope serve` over every rail at once
    Load(LoadArgs),
    /// The same load at one message size, queue-pair and thread count after the other, with curves
    Sweep(SweepArgs),
    /// Write what `top` would show into a session file
    Record(RecordArgs),
    /// Look at a session file as if it were live
    Replay(ReplayArgs),
    /// Draw a view of a session file, or of the demo, as a picture (SVG) or as text
    Shot(ShotArgs),
    /// Print the keys of the screen
    Keys(KeysArgs),
    /// Judge a session file and print the report
    Report(ReportArgs),
    /// Load the rails one by one, together and otherwise, and say which of seven causes makes one slow
    Diagnose(DiagnoseArgs),
    /// Where the users of the rails are, or a command it starts, held against numactl, and what mends it
    Pins(PinsArgs),
    /// What a finding code or a word of the trade means: when it fires, its limits, what to do
    Explain(ExplainArgs),
    /// Hold a session against another: rates, findings, firmware, links, pinning
    Diff(DiffArgs),
    /// Copy a session file without addresses and names, to pass it on
    Mask(MaskArgs),
    /// What the survey learnt, for other tools: env (NCCL, UCX, numactl), nccl-xml, hwloc-xml
    Export(ExportArgs),
    /// Pack what this node is into FILE.tar.gz, for `--root` on another machine
    Capture(CaptureArgs),
    /// Read a topology file in a process of its own
    #[command(hide = true)]
    ImportTopology(ImportTopologyArgs),
}

/// Flags of `top`.
#[derive(Clone, Debug, Default, Args)]
pub struct TopArgs {
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `demo`.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Scenario to simulate: healthy, mixed, one-leg, hashed, cross-numa, shared-uplink, gen4-slot, congested, memory, or planted:
    /// a machine and what is wrong with it, drawn from --seed (planted:7 is that of seed 7)
    #[arg(long, default_value = "mixed", value_name = "NAME")]
    pub scenario: String,
    /// Seed of the simulation: equal seeds give equal sessions
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// Form of what `probe` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ProbeFormat {
    /// For people.
    Text,
    /// One JSON object, schema `railscope.report/1`, rates null.
    Json,
    /// Markdown to paste into a ticket.
    Md,
}

/// Flags of `probe`.
#[derive(Clone, Debug, Args)]
pub struct ProbeArgs {
    /// Form of the output [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<ProbeFormat>,
    /// Read a topology that hwloc (lstopo) or NCCL wrote, instead of this machine
    #[arg(long, value_name = "FILE.xml", conflicts_with_all = ["root", "steps"])]
    pub topology: Option<PathBuf>,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `explain`.
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// A finding code (`half-rate`) or a word (`GID`); without any, a list of both
    #[arg(value_name = "CODE")]
    pub words: Vec<String>,
    /// Config file, for the limits in force
    #[arg(long, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Form of the report: text, json, md or openmetrics [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json", hide_possible_values = true)]
    pub format: Option<Format>,
    /// Write the report into this file, in place of one that is there
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Read a topology that hwloc (lstopo) or NCCL wrote, instead of this machine
    #[arg(long, value_name = "FILE.xml", conflicts_with_all = ["root", "steps"])]
    pub topology: Option<PathBuf>,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `record`.
#[derive(Clone, Debug, Args)]
pub struct RecordArgs {
    /// Session file to write, usually NAME.rsz
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// End before the file is larger than this: 500K, 200M, 2G
    #[arg(long, value_name = "SIZE", value_parser = crate::settings::file_bytes)]
    pub max_size: Option<u64>,
    /// Write what may be passed on, as `mask` makes it: hosts, addresses, GUIDs, processes and marks replaced. Until it ends,
    /// FILE.unmasked holds the session as it is
    #[arg(long)]
    pub mask: bool,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

const REPLAY_HELP: &str = "On the screen: space pauses, [ ] step, g goes to a time (12:30, 90s, -10s, 50%,
@14:03:05), n N to where findings begin, e E to events and marks, Home and End
to the ends, + - change the speed, b lists the sessions of its folder, ? shows
every key. Of a FOLDER its sessions are listed, the newest first, with what was
found in each; Enter opens one, and q goes back to the list.

With --headless, --json or into a pipe it is read as fast as it goes, and the
report is printed, as `report FILE` does; --record PART then copies it, with
--for and --rails a part of it.

Exit codes: 0 when the screen is left, whatever it shows; without a screen 0
nothing at or above --fail-on, 1 something found; 2 could not do it (the reason
is on stderr).";

/// Flags of `replay`.
#[derive(Clone, Debug, Args)]
#[command(after_help = REPLAY_HELP)]
pub struct ReplayArgs {
    /// Session file to read, a folder whose sessions are listed, or what `sweep --save` kept
    #[arg(value_name = "FILE|FOLDER")]
    pub file: PathBuf,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `import-topology`, which only this program itself calls.
#[derive(Clone, Debug, Args)]
pub struct ImportTopologyArgs {
    /// File to read
    pub file: PathBuf,
}

impl Common {
    /// Lowest severity that makes the exit code 1.
    #[must_use]
    pub fn fail_on(&self) -> FailOn {
        self.overlay.fail_on.unwrap_or(FailOn::Warning)
    }
}
