//! `railscope report`: judge a recorded session, or a part of it, and print it in the form that is asked for.

use super::output::Output;
use super::progress::Followed;
use super::verdict::{self, Form};
use crate::cli::{Format, ReportArgs};
use crate::printable::tell;
use crate::report::{self, Csv, MeanRow, Means};
use crate::session::{FrameSource, Part, Replay, Stop, Until, only};
use crate::timeline::Timeline;
use anyhow::ensure;
use std::io::Write;
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
    let row = args.common.overlay.every.map(|period| period.0);
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
    let mut replay = Replay::open(&args.file)?;
    let whole_ns = replay.span_ns().unwrap_or_default();
    let last_s = whole_ns.1 as f64 / 1e9;
    let span_s =
        to.map_or(last_s, |to| to.as_secs_f64().min(last_s)) - from.unwrap_or_default().as_secs_f64();
    let condition = replay.condition();
    let source: Box<dyn FrameSource> = match from {
        Some(from) => Box::new(Part::new(replay, from)?),
        None => Box::new(replay),
    };
    let source = Until::new(only(source, common.overlay.rails.as_deref())?, to, Stop::new());
    let mut source = Followed::file(source, "reading", whole_ns);
    let form = match args.format {
        Format::Text => Form::of(&common),
        Format::Json => Form::Json,
        Format::Md => Form::Md,
        Format::Csv => Form::Csv,
        Format::Svg => Form::Svg,
        Format::OpenMetrics => Form::OpenMetrics,
    };
    let mut out = Output::to(args.output.as_deref(), &[&args.file])?;
    let mut written = Ok(());
    let session = source.session();
    let mut rows = Vec::new();
    let played = match form {
        Form::Csv => {
            let mut csv = Csv::begin(&mut out, &session)?;
            let timeline = folded(&mut source, row.unwrap_or(USUAL_ROW), |rows| {
                if written.is_ok() {
                    written = csv.rows(&session, &rows);
                }
            })?;
            written = written.and_then(|()| csv.end());
            timeline.into()
        }
        Form::Svg => {
            let row = row.unwrap_or_else(|| width_of_point(span_s));
            folded(&mut source, row, |more| rows.extend(more))?.into()
        }
        _ => super::headless::play(&mut source)?,
    };
    let mut report = verdict::judge(&played, &common);
    if from.is_some() || to.is_some() {
        // a part of it would be told as one that was broken off
        report.diagnosis = None;
    }
    if let Some(from) = from {
        report.begins_at(from.as_secs_f64());
    }
    if form == Form::Svg {
        let load = report::load_in_short(&played.timeline);
        let svg = report::picture(&report, &rows, load.as_deref()).map_err(anyhow::Error::msg)?;
        written = out.write_all(svg.as_bytes());
    } else if form != Form::Csv {
        written = verdict::write(&mut out, &report, &played.timeline, form);
    }
    out.end(written)?;
    if let Some(warning) = condition.warning() {
        tell(format_args!("{}: {warning}", args.file.display()));
    }
    ensure!(
        report.session.frames > 0,
        "{}: not one sample of it can be read, so nothing was measured and nothing is judged",
        args.file.display()
    );
    Ok(verdict::exit_code(&report, common.fail_on()))
}

/// So many points tell all that a curve of a thousand pixels can show; a second at least, as in a table.
fn width_of_point(span_s: f64) -> Duration {
    const MOST_POINTS: f64 = 400.0;
    Duration::from_secs_f64((span_s / MOST_POINTS).ceil().max(1.0))
}

/// Plays a source to its end, and hands on its means as they come.
fn folded(
    source: &mut dyn FrameSource,
    row: Duration,
    mut take: impl FnMut(Vec<MeanRow>),
) -> anyhow::Result<Timeline> {
    let mut timeline = Timeline::new(source.session());
    let mut means = Means::of(u64::try_from(row.as_nanos())?);
    while let Some(frame) = source.next_frame()? {
        timeline.push(frame);
        take(means.take(&timeline));
    }
    take(means.end(&timeline));
    Ok(timeline)
}
