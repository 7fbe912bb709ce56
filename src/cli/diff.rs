//! Two sessions held against each other: `diff`.

use crate::diff::Worse;
use crate::settings::Moment;
use clap::Args;
use std::path::PathBuf;

const DIFF_HELP: &str = r#"Before and after a change, on one node:
  railscope load n2 --for 30s --record before.rsz
      then change firmware, MTU, a cable, a numactl line ...
  railscope load n2 --for 30s --record after.rsz
  railscope diff before.rsz after.rsz

A and B are session files, folders with a copied tree (`capture`), or topology
files of hwloc or NCCL (.xml). Where both sessions have the other end of their
load, its facts and findings are compared as well. --from and --to are moments
of both.

A rail's rate is the mean of its whole seconds under load, warm-up left out; of
railscope's own load the payload, of one that is described beside a tree what
the NIC counted. Its standard error is the largest of those that means of 1, 2,
4 ... seconds give (six at least), so that what swings slowly is not taken for
certain. B is slower or faster where the means differ by more than 3 x
sqrt(se_A^2 + se_B^2) and by more than --tolerance. Rates are not compared
where operation, message size, queue pairs, directions, caps, batches or legs
differ, where one is simulated, over TCP or loopback and the other is not,
without a load, or over fewer than 5 seconds. A finding of A that B could not
have (no load on that rail, one look, a fact that B does not know) has not
gone: it stands under `not_judged` with the reason.

--fail-on: slower (a rail is slower, or gone), findings (one at warning or
above appeared), topology (a fact of host, rail, pinning or load differs), any.
Default: slower,findings. `--fail-on slower` in so many words is exit 2 where
rates could not be compared.

With --json it prints one object:
  {"schema": "railscope.diff/1", "generated_by": "railscope 0.1.0",
   "a": {"name": "before.rsz", "hostname": "n1", "simulated": null,
   "started_unix_ms": 1764460800000,
         "duration_s": 32.1, "frames": 321, "load": "READ 64K x 4 QPs,
         over verbs, depth 128, ..."}, "b": {...},
   "comparable": true, "not_comparable_because": [], "tolerance_percent": 1.0,
   "rails": [{"device": "mlx5_0", "port": 1,
              "a": {"mean_gb_per_s": 24.1, "standard_error_gb_per_s": 0.02,
              "seconds": 29}, "b": {...},
              "change_percent": 99.8, "limit_gb_per_s": 0.08,
              "judgement": "faster", "because": null}],
   "topology": [{"subject": "mlx5_0", "what": "firmware", "a": "28.39.1002",
   "b": "28.41.1000"}],
   "known_in_one": [{"subject": "mlx5_0", "what": "MaxReadReq", "a": null,
   "b": "4096"}],
   "appeared": [], "went": [{"code": "bond-leg-imbalance",
   "severity": "warning", "devices": ["mlx5_0"], "because": null, ...}],
   "not_judged": [], "peer": {"a": "n2", "b": "n2", "gone": [], "new": [],
   "topology": [], "known_in_one": [],
   "appeared": [], "went": [], "not_judged": []}, "peer_only_in": null}
`judgement` is slower, faster, same, not-judged, gone (in A only) or new (in B
only).

Exit codes: 0 nothing that --fail-on names, 1 something, 2 could not do it (the
reason is on stderr)."#;

/// Form of a printed comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DiffFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object, schema `railscope.diff/1`.
    Json,
    /// Markdown for a ticket.
    Md,
}

/// Flags of `diff`.
#[derive(Clone, Debug, Args)]
#[command(after_help = DIFF_HELP)]
pub struct DiffArgs {
    /// What was: a session file, a copied tree, a topology file
    #[arg(value_name = "A")]
    pub before: PathBuf,
    /// What is
    #[arg(value_name = "B")]
    pub after: PathBuf,
    /// Form of the comparison
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: DiffFormat,
    /// Print one JSON object
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Write into this file, in place of one that is there
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Begin at this moment of both sessions: 90s, 1:30
    #[arg(long, value_name = "MOMENT")]
    pub from: Option<Moment>,
    /// End at this moment of both sessions
    #[arg(long, value_name = "MOMENT")]
    pub to: Option<Moment>,
    /// Only these rails, by exact device name
    #[arg(short = 'd', long, value_delimiter = ',', value_name = "A,B")]
    pub rails: Option<Vec<String>>,
    /// What makes the exit code 1 [default: slower,findings]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub fail_on: Vec<Worse>,
    /// Changes of this share and less are the same: two runs of one node differ too
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT")]
    pub tolerance: f64,
    /// Leave out findings of these codes
    #[arg(long, value_delimiter = ',', value_name = "CODE")]
    pub ignore: Vec<String>,
}
