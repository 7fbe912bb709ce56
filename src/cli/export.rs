//! What the survey learnt, for other tools: `export`.

use clap::Args;
use std::path::PathBuf;

const EXPORT_HELP: &str = "\
env can be sourced by a shell; what cannot be given is a comment with its
reason:
  export NCCL_IB_HCA='=mlx5_0:1,mlx5_1:1'
      whole names; what cannot be used is left out
  export UCX_NET_DEVICES='mlx5_0:1,mlx5_1:1'
  export NCCL_IB_GID_INDEX=3
      only where one index fits every rail
  ON_mlx5_0='numactl --cpunodebind=0 --membind=0'
Then: $ON_mlx5_0 ib_read_bw -d mlx5_0 ...

nccl-xml leaves to NCCL what it learns by itself (NVLink, compute capability,
GPU Direct).
hwloc-xml of this machine is what hwloc sees of it, caches and cores included.
Of a copied tree or a topology file it holds what the survey knows: sockets,
nodes, CPUs, distances, PCI paths with their rates, RDMA devices, netdevs; no
caches and no cores, as hwloc's own look at a copied tree wants files that
railscope does not read.

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
