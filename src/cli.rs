//! The command line: what can be typed, and the help that says so.

use crate::settings::{Common, FailOn, Period, Size};
use crate::sweep::Sizes;
use clap::{Args, Parser, Subcommand};
use probes::load::Memory;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where `serve` listens and `load` connects unless told otherwise.
pub const DEFAULT_PORT: u16 = 18520;

const EXIT_CODES: &str =
    "Exit codes: 0 fine, 1 found something, 2 could not do it (the reason is on stderr).";

/// A terminal profiler for RDMA rails: where every NIC sits, what it moves, and why it is slow.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, args_conflicts_with_subcommands = true)]
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
    /// Judge a session file and print the report
    Report(ReportArgs),
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
    /// Scenario to simulate: healthy, mixed
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

/// Flags of `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Read a topology that hwloc (lstopo) or NCCL wrote, instead of this machine
    #[arg(long, value_name = "FILE.xml", conflicts_with_all = ["root", "steps"])]
    pub topology: Option<PathBuf>,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

const TRIALS: &str = "--root DIR is for trials with a stand-in verbs library: the tree names the rails, the library moves the data.";

/// Flags of `serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = TRIALS)]
pub struct ServeArgs {
    /// Address and port of the control connection
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([0, 0, 0, 0], DEFAULT_PORT)))]
    pub listen: SocketAddr,
    /// Memory that is offered: host, or gpu:N (NVIDIA, N as CUDA counts)
    #[arg(long, default_value_t, value_name = "MEMORY")]
    pub memory: Memory,
    /// Clients served at a time, 1 to 64, each with buffers of its own
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub max_clients: u8,
    /// Serve only who knows the secret in FILE (16 bytes or more, not readable for others); it is never sent
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// What carries the bytes of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Carrier {
    /// RDMA.
    #[default]
    Verbs,
    /// TCP connections from the rails' own addresses.
    Tcp,
    /// Nothing: what the rails of this node, or of --root DIR, should do by their ceilings.
    Sim,
}

/// What carries the bytes of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SweepCarrier {
    /// RDMA.
    #[default]
    Verbs,
    /// Refused in words: a functional check has no rate to compare.
    #[value(hide = true)]
    Tcp,
    /// Nothing: what the rails of this node, or of --root DIR, should do by their ceilings.
    Sim,
}

/// Flags of `load`. Names and short forms are perftest's where it has them.
#[derive(Clone, Debug, Args)]
#[command(after_help = TRIALS)]
pub struct LoadArgs {
    /// Queue pairs per rail
    #[arg(short = 'q', long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub qps: u32,
    /// Threads per rail, which share its queue pairs; each takes a core. With --shape striped, threads in all
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: u32,
    /// per-rail: each thread drives one rail, without a pause. striped: each thread posts a batch of pages (messages) over
    /// all rails and waits for all of it before the next, as a KV cache reads; page i goes to rail i modulo the rails
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub shape: Spread,
    /// Pages of a batch of a striped load [default: 128]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Message size: 65536, 64K, 1M
    #[arg(short = 's', long, default_value = "64K", value_name = "SIZE")]
    pub size: Size,
    /// End each rail after N operations, counted after the warm-up (perftest counts them per queue pair)
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub operations: Option<u64>,
    /// Leg of each bond, by port of the card, on which the end that sends the data (PEER for READ) sends them; mlx5 with
    /// RoCE LAG only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4))]
    pub leg: Option<u32>,
    /// What carries the bytes: verbs (RDMA); tcp, a functional check on any host, never a performance figure; or sim,
    /// without PEER: what these rails should do by their ceilings
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub transport: Carrier,
    /// End the load, with exit code 1, when pauses, timeouts or retransmits of a rail grow in three samples in a row
    #[arg(long)]
    pub gentle: bool,
    /// The peer, and how it is loaded.
    #[command(flatten)]
    pub knobs: LoadKnobs,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// Which thread posts on which rail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Spread {
    /// Each drives one rail.
    #[default]
    PerRail,
    /// Each posts batches over all rails.
    Striped,
}

/// Direction of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Op {
    /// Data come here.
    #[default]
    Read,
    /// Data go to the peer.
    Write,
}

/// The peer and how it is loaded: what `load` and `sweep` have in common.
#[derive(Clone, Debug, Args)]
pub struct LoadKnobs {
    /// Host of the `railscope serve`, with `:PORT` if it is not 18520
    #[arg(value_name = "PEER[:PORT]")]
    pub peer: Option<String>,
    /// TCP port of PEER's `railscope serve`, instead of PEER:PORT
    #[arg(short = 'p', long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Show PEER that this end knows the secret in FILE, and have it show the same; it is never sent
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// RDMA operation: read (data come here) or write (data go to PEER) [default: read]
    #[arg(long, value_enum, value_name = "OP")]
    pub op: Option<Op>,
    /// PEER does the same in the other direction at the same time
    #[arg(short = 'b', long)]
    pub bidirectional: bool,
    /// Send queue depth per queue pair
    #[arg(short = 't', long, default_value_t = 128, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub depth: u32,
    /// READs outstanding per queue pair; default: as many as both ends can
    #[arg(short = 'o', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    pub read_depth: Option<u32>,
    /// Work requests posted with one doorbell; default: a quarter of the depth, at most 16
    #[arg(short = 'l', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub chain: Option<u32>,
    /// Work requests per completion, at every message size; default: one chain
    #[arg(short = 'Q', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub cq_mod: Option<u32>,
    /// QP timeout exponent, 4.096 us x 2^N
    #[arg(short = 'u', long, default_value_t = 14, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=31))]
    pub timeout: u8,
    /// GID index on this host; default: the recommended one of each rail
    #[arg(short = 'x', long, value_name = "N")]
    pub gid_index: Option<u32>,
    /// Traffic class of the packets, 0 to 255 (DSCP x 4 on RoCE v2)
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub tclass: u8,
    /// Path MTU in bytes; default: the smaller of both ends' active MTU
    #[arg(short = 'm', long, value_name = "BYTES", value_parser = ["256", "512", "1024", "2048", "4096"])]
    pub mtu: Option<String>,
    /// Where threads and buffers go: local, remote, none, cpu:N,mem:M or a CPU list
    #[arg(long, default_value = "local", value_name = "PLACE")]
    pub place: String,
    /// Memory that a rail's operations go over: hot (re-used, stays in the caches), cold (twice this host's last-level
    /// caches), or a SIZE per rail such as 4G
    #[arg(long, default_value = "hot", value_name = "hot|cold|SIZE")]
    pub working_set: String,
    /// Memory of this end's data: host, or gpu:N (NVIDIA, N as CUDA counts)
    #[arg(long, default_value_t, value_name = "MEMORY")]
    pub memory: Memory,
    /// Most payload per rail, GB/s; default: as much as goes
    #[arg(long, value_name = "GB/s")]
    pub rate: Option<f64>,
    /// Time at the start that is not measured; 0s for none
    #[arg(long, value_parser = Period::or_none, default_value = "2s", value_name = "DURATION")]
    pub warmup: Period,
}

const SWEEP_HELP: &str = r#"Each point is a load of its own against the same `railscope serve`: rails begin together, warm up, and are then measured
for --for. Everything in a row comes from that one window. READs are timed one at a time before each point; with that
round trip the READ window is computed.

  railscope sweep n2 --sizes 1K..1M --qps 1,4,16 --save n1-n2.json --svg n1-n2.svg
  railscope sweep n2 --sizes 1K..1M --qps 1,4,16 --save n1-n2.json --resume

Ctrl-C ends it: the point under way is given up, the points before it are printed (and are in --save).

With --json it prints one object; --save keeps the same object:
  {"schema": "railscope.sweep/1", "generated_by": "railscope 0.1.0", "started_unix_ms": 1764460800000,
   "host": {"hostname": "n1", "cpu_model": "...", "kernel": "...", "peer": "n2", "loopback": false,
            "transport": "verbs", "rails": ["mlx5_0"], "simulated": false},
   "params": {"op": "read", "depth": 128, "warmup_s": 2.0, ...}, "window_s": 15.0,
   "grid": {"sizes_bytes": [1024, 2048], "qps": [1, 4], "workers": [1]},
   "points": [{"size_bytes": 1024, "qps": 1, "workers": 1, "read_depth": 16, "window_s": 15.0,
     "all": {"gbit_per_s": 52.46, "gb_per_s": 6.56, "mpps": 6.404, "empty_poll_share": 0.031,
             "completions_per_poll": 15.2, "busy_share": 0.999, "cycles": 39000000000, "instructions_per_cycle": 2.0,
             "effective_ghz": 2.6, "cycles_per_byte": 0.396, "cache_references": null, "cache_misses": null,
             "l1d_load_misses": 137700000, "llc_load_misses": null, "llc_store_misses": null,
             "dtlb_load_misses": 120, "itlb_load_misses": 3, "context_switches": 164, "migrations": 2,
             "state": {"cache_misses": "not supported"}, "unavailable": {"cache_misses": "not supported: ..."},
             "nic": {"ecn_cnp": 0, "retransmits": 0, "rx_pause": 0, "tx_pause": null}},
     "bound": {"by": "posting-core", "because": "..."}, "rails": [{"device": "mlx5_0", "round_trip_us": 4.2, ...}],
     "errors": {}, "failures": [], "perftest": ["mlx5_0: on n2: ib_read_bw ..."]}],
   "unavailable": {"cache_misses": "not supported: ..."}, "statements": ["4 QPs: peak 77.68 Gb/s at 4K, ..."]}
What is not known is null, never 0.

Exit codes: 0 every point was measured, 1 a rail failed or data were wrong at one of them, 2 points are missing (the reason is on stderr)."#;

/// A sweep that was published, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SweepPreset {
    /// 1K to 1M in eight sizes, 1 and 4 queue pairs, depth 128, 15 s a point; WRITE, as it was made with `ib_write_bw`,
    /// unless --op read
    Qp4Msgsweep,
}

/// Flags of `sweep`.
#[derive(Clone, Debug, Args)]
#[command(after_help = SWEEP_HELP)]
pub struct SweepArgs {
    /// A published sweep; flags that are given besides win
    #[arg(long, value_enum, value_name = "NAME")]
    pub preset: Option<SweepPreset>,
    /// Message sizes: 1K..1M (powers of two), or a list 1K,4K,1M [default: 1K..1M]
    #[arg(short = 's', long, value_name = "SIZES")]
    pub sizes: Option<Sizes>,
    /// Queue pairs per rail, one curve each [default: 1,4]
    #[arg(short = 'q', long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub qps: Vec<u32>,
    /// Threads per rail, one curve each; they share its queue pairs [default: 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: Vec<u32>,
    /// Keep the sweep in this file, whole after every point
    #[arg(long, value_name = "FILE.json")]
    pub save: Option<PathBuf>,
    /// Go on with the sweep that --save has
    #[arg(long, requires = "save")]
    pub resume: bool,
    /// What carries the bytes: verbs (RDMA), or sim, without PEER: what these rails should do by their ceilings
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub transport: SweepCarrier,
    /// Draw the curves into this file
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// The peer, and how it is loaded.
    #[command(flatten)]
    pub knobs: LoadKnobs,
    /// Flags that most commands share; --for is the time that is measured at each point [default: 15s]
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `record`.
#[derive(Clone, Debug, Args)]
pub struct RecordArgs {
    /// Session file to write, usually NAME.rsz
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `replay`.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// Session file to read
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

/// Form of a printed report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object, schema `railscope.report/1`.
    Json,
}

/// Flags of `report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// Session file to read
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Form of the report
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}

const EXPORT_HELP: &str = "\
env can be sourced by a shell; what cannot be given is a comment with its reason:
  export NCCL_IB_HCA='=mlx5_0:1,mlx5_1:1'    whole names; what cannot be used is left out
  export UCX_NET_DEVICES='mlx5_0:1,mlx5_1:1'
  export NCCL_IB_GID_INDEX=3                 only where one index fits every rail
  ON_mlx5_0='numactl --cpunodebind=0 --membind=0'
Then: $ON_mlx5_0 ib_read_bw -d mlx5_0 ...

nccl-xml leaves to NCCL what it learns by itself (NVLink, compute capability, GPU Direct).
hwloc-xml of this machine is what hwloc sees of it, caches and cores included. Of a copied tree or a topology file it
holds what the survey knows: sockets, nodes, CPUs, distances, PCI paths with their rates, RDMA devices, netdevs; no
caches and no cores, as hwloc's own look at a copied tree wants files that railscope does not read.

Exit codes: 0 written, 2 could not do it (the reason is on stderr).";

/// What `export` can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// Variables for NCCL and UCX, a numactl launcher per rail
    Env,
    /// NCCL's topology XML, for `NCCL_TOPO_FILE`
    NcclXml,
    /// hwloc's XML, for `lstopo -i FILE` and `HWLOC_XMLFILE`
    HwlocXml,
}

/// Flags of `export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXPORT_HELP)]
pub struct ExportArgs {
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: ExportFormat,
    /// Read a topology that hwloc (lstopo) or NCCL wrote, instead of this machine
    #[arg(long, value_name = "FILE.xml", conflicts_with = "root")]
    pub topology: Option<PathBuf>,
    /// Only these rails, by exact device name
    #[arg(short = 'd', long, value_delimiter = ',', value_name = "A,B")]
    pub rails: Option<Vec<String>>,
    /// Read a copied tree instead of this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Config file (TOML), of which `rails` counts here
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

const CAPTURE_HELP: &str = r#"Unpack it into a folder of its own and look at it anywhere:
  mkdir node7 && tar -xzf node7.tar.gz -C node7 && railscope check --root node7

It holds the files that probe and check read, sysfs links as relative links, and under captured/ what sysfs lacks:
driver statistics (ethtool -S), READ depth and path MTU, which process has queue pairs on which device. Folders that
they list keep their names, as empty files where nobody reads them. Of a process's environment only the launcher's
variables for job and rank are taken, of its memory map no paths of files.

--mask replaces MAC addresses, GIDs and IP addresses, GUIDs, UUIDs, container ids, serial numbers (also those in
captured/lspci-vvv), the host's name and names of jobs and hosts that launchers told: the same by
the same, so that subnets, link-local addresses and embedded MACs stay what they are. Device and process names, PCI
addresses, board ids, versions and counters stay. Look into the archive before you pass it on.

With --json it prints one object:
  {"schema": "railscope.capture/1", "generated_by": "railscope 0.1.0", "file": "node7.tar.gz", "bytes": 48211,
   "files": 912, "links": 204, "captured": ["ethtool-S/eth0"], "masked": {"MAC addresses": 8},
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
