//! What can be typed after `serve` and `load`.

use super::DEFAULT_PORT;
use crate::settings::{Common, Period, Size};
use clap::Args;
use probes::load::Memory;
use std::net::SocketAddr;
use std::path::PathBuf;

const SERVE_HELP: &str = "\
Run it before `railscope load`; it prints the line to type on the other host:
  railscope serve
      every ACTIVE rail of this host
  railscope serve --rails mlx5_0,mlx5_1
      only these
  railscope serve --listen 10.0.0.2:9000
      at this address alone
  railscope serve --max-clients 4 --token secret
      up to 4 hosts that know the secret
  railscope serve --memory gpu:0
      data in the memory of a GPU
  railscope serve --transport tcp
      where there is no RDMA: functional checks alone
  railscope serve --for 10m
      until then, or until Ctrl-C

--root DIR is for trials with a stand-in verbs library: the tree names the
rails, the library moves the data.

Exit codes: 0 stopped as told, 2 could not serve (the reason is on stderr).";

const LOAD_HELP: &str = "\
On the other host, here n2, runs `railscope serve`:
  railscope load n2
      READ over every rail at once, live, until q
  railscope load n2 --headless --json --for 30s
      the same for scripts
  railscope load n2 -d mlx5_3 -q 16 -s 1M
      one rail alone, 16 queue pairs, 1 MiB each
  railscope load n2 --place remote
      what threads and buffers on the far node cost
  railscope load n2 --leg 2 -d mlx5_bond_0
      one leg of a bond
  railscope load n2 --preset peercache-1m
      as a KV cache reads, beside published figures
  railscope load n2 --transport tcp --for 5s
      where RDMA does not work: is there any way
  railscope load --transport sim --root node7
      no peer: what the rails of node7 should do

--root DIR with verbs is for trials with a stand-in library: the tree names the
rails, the library moves the data.

Exit codes: 0 fine, 1 a rail failed, data were wrong or a rule found something,
2 could not do it (the reason is on stderr).";

/// Flags of `serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub struct ServeArgs {
    /// Address and port of the control connection
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([0, 0, 0, 0], DEFAULT_PORT)))]
    pub listen: SocketAddr,
    /// What loads come over: verbs (RDMA, and those over TCP too), or tcp: those alone, where RDMA does not work
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub transport: ServeCarrier,
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

/// What carries the bytes of the loads that are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ServeCarrier {
    /// RDMA, and TCP where a client asks for that.
    #[default]
    Verbs,
    /// TCP connections alone: no verbs library is needed.
    Tcp,
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

/// Flags of `load`. Names and short forms are perftest's where it has them.
#[derive(Clone, Debug, Args)]
#[command(after_help = LOAD_HELP)]
pub struct LoadArgs {
    /// A published load: --shape striped --batch 128 --read-depth 16 --warmup 2s --for 10s, and what stands below; flags
    /// that are given besides win
    #[arg(long, value_enum, value_name = "NAME")]
    pub preset: Option<LoadPreset>,
    /// Queue pairs per rail
    #[arg(short = 'q', long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub qps: u32,
    /// Threads per rail, which share its queue pairs; each takes a core. With --shape striped, threads in all [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: Option<u32>,
    /// per-rail: each thread drives one rail, without a pause. striped: each thread posts a batch of pages (messages) over
    /// all rails and waits for all of it before the next, as a KV cache reads; page i goes to rail i modulo the rails
    /// [default: per-rail]
    #[arg(long, value_enum, value_name = "NAME")]
    pub shape: Option<Spread>,
    /// Pages of a batch of a striped load [default: 128]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Message size: 65536, 64K, 1M [default: 64K]
    #[arg(short = 's', long, value_name = "SIZE")]
    pub size: Option<Size>,
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

/// A load that was published, as one word: the READ baseline of `PeerCache`, in which a KV cache reads pages over eight
/// rails of 400G.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LoadPreset {
    /// The published READ baseline of `PeerCache` with pages of 1 MiB and 2 threads: 147.6 GB/s for one process over eight rails,
    /// 46.0 over one NIC
    #[value(name = "peercache-1m")]
    Peercache1M,
    /// The same with pages of 128 KiB and the 4 threads of its best run: 40.4 GB/s over eight rails
    #[value(name = "peercache-128k")]
    Peercache128K,
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
