//! What is made of session files: `report`.

use crate::settings::{Common, Moment};
use clap::Args;
use std::path::PathBuf;

/// Form of a printed report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object, schema `railscope.report/1`.
    Json,
    /// A row for each rail and second, for spreadsheets; an empty field is unknown.
    Csv,
    /// Markdown for a ticket: verdict first.
    Md,
    /// A picture: a bar for each rail with its limits, and the rates over time.
    Svg,
    /// For Prometheus and its kind, as a textfile collector reads it.
    #[value(name = "openmetrics")]
    OpenMetrics,
}

const REPORT_HELP: &str = "\
  railscope report node7.rsz --from 1:30 --to 2:00
      what was in that half minute
  railscope report node7.rsz --format md -o ticket.md
      verdict, rates, host, parameters, for a ticket
  railscope report node7.rsz --format csv -o node7.csv
      means of a second; --every 10s of ten (--every 1ms: a row for each
      sample)
  railscope report node7.rsz --format svg -o node7.svg
      bars with limit marks, rates over time
  railscope report node7.rsz --format openmetrics -o \\
    /var/lib/node_exporter/railscope.prom

A moment is counted from the start of the session: 90s, 2m, 1:30, 1:02:03.
Findings, means and the load's figures are then those of the part alone.

Exit codes: 0 nothing at or above --fail-on, 1 something found, 2 could not do
it (the reason is on stderr).";

/// Flags of `report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = REPORT_HELP)]
pub struct ReportArgs {
    /// Session file to read
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Form of the report
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Format,
    /// Begin at this moment of the session: 90s, 1:30
    #[arg(long, value_name = "MOMENT")]
    pub from: Option<Moment>,
    /// End at this moment of the session
    #[arg(long, value_name = "MOMENT", conflicts_with = "duration")]
    pub to: Option<Moment>,
    /// Write into this file, in place of one that is there
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Flags that most commands share.
    #[command(flatten)]
    pub common: Common,
}
