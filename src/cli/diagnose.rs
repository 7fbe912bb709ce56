//! What can be typed after `diagnose`.

use super::LoadArgs;
use crate::settings::{Common, Size};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const HELP: &str = "\
On the other host, here n2, runs `railscope serve`:
  railscope diagnose n2
      which rails are slow, and which of seven causes it is
  railscope diagnose n2 --rails mlx5_0,mlx5_3
      of these alone
  railscope diagnose n2 --format md > ticket
      tables to paste
  railscope diagnose n2 --screen --record slow.rsz
      the table on the screen as it fills in, and kept for `railscope replay`
  railscope diagnose --transport sim --scenario one-leg
      how that looks, without a peer
  railscope diagnose --transport sim --scenario planted --seed 7
      of a machine and causes that the seed draws

Each rail alone, all together; then, for slow rails and one healthy one beside
them: each leg of a bond, CPUs and memory on other nodes, memory that is in no
cache, more threads, more queue pairs, the rails that share a PCIe link, and
those of its node. What looks slow, and what differs, is loaded three times. A
second each after 0.3 s, a minute or two for eight rails; it loads the rails as
fast as they go. Ctrl-C ends it with what was measured so far. Without
--screen it is text, on a terminal too: to be read, piped and kept.

JSON: schema railscope.diagnosis/1.
Exit codes: 0 no rail is slow, 1 one is or brings nothing, 2 could not do it,
or ended before any was seen to be slow (the reason is on stderr).";

/// What carries the bytes of a diagnosis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DiagnoseCarrier {
    /// RDMA.
    #[default]
    Verbs,
    /// The simulated node, without a peer.
    Sim,
}

/// Form of a printed diagnosis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DiagnoseFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// Markdown.
    Md,
}

/// Flags of `diagnose`.
#[derive(Clone, Debug, Args)]
#[command(after_help = HELP)]
pub struct DiagnoseArgs {
    /// Host of the `railscope serve`, with `:PORT` if it is not 18520
    #[arg(value_name = "PEER[:PORT]", conflicts_with = "scenario")]
    pub peer: Option<String>,
    /// Show PEER that this end knows the secret in FILE; it is never sent
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// Message size
    #[arg(short = 's', long, default_value = "256K", value_name = "SIZE")]
    pub size: Size,
    /// Queue pairs per rail
    #[arg(short = 'q', long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub qps: u32,
    /// Send queue depth per queue pair
    #[arg(short = 't', long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub depth: u32,
    /// READs outstanding per queue pair; default: as many as both ends can
    #[arg(short = 'o', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    pub read_depth: Option<u32>,
    /// QP timeout exponent, 4.096 us x 2^N
    #[arg(short = 'u', long, default_value_t = 14, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=31))]
    pub timeout: u8,
    /// GID index on this host; default: the recommended one of each rail
    #[arg(short = 'x', long, value_name = "N")]
    pub gid_index: Option<u32>,
    /// What carries the bytes
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub transport: DiagnoseCarrier,
    /// Scenario of the simulated node, as `demo` has them; with --transport sim
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
    /// Seed of the simulation
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Show the experiments and the table on the screen as it fills in; the text follows when it is left
    #[arg(long, conflicts_with = "json")]
    pub screen: bool,
    /// Form of the diagnosis; --json is json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", conflicts_with = "json")]
    pub format: DiagnoseFormat,
    /// Flags that most commands share; --for is the time that each load is measured [default: 1s]
    #[command(flatten)]
    pub common: Common,
}

impl DiagnoseArgs {
    /// Of a simulated node, with everything else as usual.
    #[must_use]
    pub fn of_scenario(scenario: &str, seed: u64, common: &Common) -> Self {
        Self {
            scenario: Some(scenario.to_owned()),
            transport: DiagnoseCarrier::Sim,
            seed,
            ..Self::usual(common)
        }
    }

    /// Of the peer of a load, with what that peer and the way to it ask for.
    #[must_use]
    pub fn beside(load: &LoadArgs, common: &Common) -> Self {
        Self {
            token: load.knobs.token.clone(),
            read_depth: load.knobs.read_depth,
            timeout: load.knobs.timeout,
            gid_index: load.knobs.gid_index,
            ..Self::usual(common)
        }
    }

    fn usual(common: &Common) -> Self {
        Self {
            peer: None,
            token: None,
            size: Size(256 << 10),
            qps: 8,
            depth: 32,
            read_depth: None,
            timeout: 14,
            gid_index: None,
            transport: DiagnoseCarrier::Verbs,
            scenario: None,
            seed: 1,
            screen: true,
            format: DiagnoseFormat::Text,
            common: common.clone(),
        }
    }
}
