//! `railscope report`: judge a recorded session, or a part of it, and print it in the form that is asked for.

use super::output::Output;
use super::verdict::{self, Form};
use crate::cli::{Format, ReportArgs};
use crate::printable::tell;
use crate::report::{Csv, MeanRow, Means};
use crate::session::{FrameSource, Part, Replay, Stop, Until, only};
use crate::timeline::Timeline;
use anyhow::ensure;
use std::process::ExitCode;
use std::time::Duration;

/// A row of a table, and a point of a curve, unless told otherwise.
const USUAL_ROW: Duration = Duration::from_secs(1);

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: ReportArgs) -> anyhow::Result<ExitCode> {
    // of the flag alone: a config file says how often to sample
    let row = args.common.overlay.every.map_or(USUAL_ROW, |period| period.0);
    let common = args.common.with_config()?;
    ensure!(common.record.is_none(), "--record: `report` only reads; leave the flag out");
    for (flag, given) in [("--root", common.root.is_some()), ("--steps", common.steps.is_some())] {
        ensure!(!given, "{flag}: a recording brings its own node; leave the flag out");
    }
    let from = args.from.map(|moment| moment.0);
    let to = match (args.to, common.duration) {
        (Some(to), _) => Some(to.0),
        (None, Some(time)) => Some(from.unwrap_or_default() + time.0),
        (None, None) => None,
    };
    if let (Some(from), Some(to)) = (args.from, args.to) {
        ensure!(
            from < to,
            "--from {from} --to {to}: nothing lies between; --to is a moment, counted from the start"
        );
    }
    let replay = Replay::open(&args.file)?;
    let condition = replay.condition();
    let source: Box<dyn FrameSource> = match from {
        Some(from) => Box::new(Part::new(replay, from)?),
        None => Box::new(replay),
    };
    let mut source = Until::new(only(source, common.overlay.rails.as_deref())?, to, Stop::new());
    let form = match args.format {
        Format::Text => Form::of(&common),
        Format::Json => Form::Json,
        Format::Md => Form::Md,
        Format::Csv => Form::Csv,
    };
    let mut out = Output::to(args.output.as_deref())?;
    let mut written = Ok(());
    let timeline = if form == Form::Csv {
        let mut csv = Csv::begin(&mut out, &source.session())?;
        let session = source.session();
        let timeline = folded(&mut source, row, |rows| written = csv.rows(&session, rows))?;
        written = written.and_then(|()| csv.end());
        timeline
    } else {
        super::headless::play(&mut source)?
    };
    let mut report = verdict::judge(&timeline, &common);
    if let Some(from) = from {
        report.begins_at(from.as_secs_f64());
    }
    if form != Form::Csv {
        written = verdict::write(&mut out, &report, form);
    }
    out.end(written)?;
    if let Some(warning) = condition.warning() {
        tell(format_args!("{}: {warning}", args.file.display()));
    }
    Ok(verdict::exit_code(&report, common.fail_on()))
}

/// Plays a source to its end, and hands on its means as they come.
fn folded(
    source: &mut dyn FrameSource,
    row: Duration,
    mut take: impl FnMut(&[MeanRow]),
) -> anyhow::Result<Timeline> {
    let mut timeline = Timeline::new(source.session());
    let mut means = Means::of(u64::try_from(row.as_nanos())?);
    while let Some(frame) = source.next_frame()? {
        timeline.push(frame);
        take(&means.take(&timeline));
    }
    take(&means.end(&timeline));
    Ok(timeline)
}
