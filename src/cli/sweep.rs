//! What can be typed after `sweep`.

use super::LoadKnobs;
use crate::settings::Common;
use crate::sweep::Sizes;
use clap::Args;
use std::path::PathBuf;

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

const SWEEP_HELP: &str = r#"Each point is a load of its own against the same `railscope serve`: rails begin
together, warm up, and are then measured for --for. Everything in a row comes
from that one window. READs are timed one at a time before each point; with
that round trip the READ window is computed.

  railscope sweep n2 --sizes 1K..1M --qps 1,4,16 --save n1-n2.json --svg \
    n1-n2.svg
  railscope sweep n2 --sizes 1K..1M --qps 1,4,16 --save n1-n2.json --resume
  railscope sweep n2 -d mlx5_3 --workers 1,2,4 --qps 16 --for 5s
      do threads help here
  railscope sweep n2 --preset qp4-msgsweep
      a published ib_write_bw sweep
  railscope sweep n2 --sizes 1K..1M --save n1-n2.json --screen
      curves that fill in; q ends it and keeps what is measured
  railscope sweep --show n1-n2.json
      the same curves later (as does `railscope replay n1-n2.json`)
  railscope sweep --transport sim --root node7
      no peer: what node7 should do

Ctrl-C ends it: the point under way is given up, the points before it are
printed (and are in --save).

With --json it prints one object; --save keeps the same object:
  {"schema": "railscope.sweep/1", "generated_by": "railscope 0.1.0",
  "started_unix_ms": 1764460800000,
   "host": {"hostname": "n1", "cpu_model": "...", "kernel": "...",
   "peer": "n2", "loopback": false,
            "transport": "verbs", "rails": ["mlx5_0"], "simulated": false},
   "params": {"op": "read", "depth": 128, "warmup_s": 2.0, ...},
   "window_s": 15.0,
   "grid": {"sizes_bytes": [1024, 2048], "qps": [1, 4], "workers": [1]},
   "points": [{"size_bytes": 1024, "qps": 1, "workers": 1, "read_depth": 16,
   "window_s": 15.0,
     "all": {"gbit_per_s": 52.46, "gb_per_s": 6.56, "mpps": 6.404,
     "empty_poll_share": 0.031,
             "completions_per_poll": 15.2, "busy_share": 0.999,
             "cycles": 39000000000, "instructions_per_cycle": 2.0,
             "effective_ghz": 2.6, "cycles_per_byte": 0.396,
             "cache_references": null, "cache_misses": null,
             "l1d_load_misses": 137700000, "llc_load_misses": null,
             "llc_store_misses": null,
             "dtlb_load_misses": 120, "itlb_load_misses": 3,
             "context_switches": 164, "migrations": 2,
             "state": {"cache_misses": "not supported"},
             "unavailable": {"cache_misses": "not supported: ..."},
             "nic": {"ecn_cnp": 0, "retransmits": 0, "rx_pause": 0,
             "tx_pause": null}},
     "bound": {"by": "posting-core", "because": "..."},
     "rails": [{"device": "mlx5_0", "round_trip_us": 4.2, ...}],
     "errors": {}, "failures": [],
     "perftest": ["mlx5_0: on n2: ib_read_bw ..."]}],
   "unavailable": {"cache_misses": "not supported: ..."},
   "statements": ["4 QPs: peak 77.68 Gb/s at 4K, ..."]}
What is not known is null, never 0.

Exit codes: 0 every point was measured, 1 a rail failed or data were wrong at
one of them, 2 points are missing (the reason is on stderr)."#;

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
    /// Show the curves on the screen as they are measured; without it lines and tables are printed, for scripts and logs
    #[arg(long, conflicts_with_all = ["json", "headless"])]
    pub screen: bool,
    /// Measure nothing: show the sweep that --save kept in this file, on the screen where there is one
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["peer", "preset", "sizes", "qps", "workers", "save", "screen"])]
    pub show: Option<PathBuf>,
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
