//! `railscope check`: watch for a while, judge, and say so in the exit code.

use super::output::Output;
use super::progress::Followed;
use super::verdict::{self, Form};
use super::{headless, signals};
use crate::cli::{CheckArgs, Format};
use crate::session::{self, Stop};
use crate::settings::{Common, Period};
use anyhow::bail;
use std::process::ExitCode;
use std::time::Duration;

/// How long a node is watched unless told otherwise.
const USUAL_TIME: Duration = Duration::from_secs(5);

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    let common = Common { topology: args.topology, ..args.common.with_config()? };
    let common = with_time(common);
    let form = form(args.format, &common)?;
    // before anybody waits for nothing
    let mut out = Output::to(args.output.as_deref(), &[])?;
    let stop = Stop::new();
    // a check that is cut short reports on what was seen so far
    signals::end_on_signals(stop.clone())?;
    let source = session::open_stoppable(&common, None, stop)?;
    let (source, recording) = headless::recorded(source, common.record.as_deref())?;
    let mut source = Followed::live(source, "watching", common.duration.map(|period| period.0));
    let played = headless::play(&mut source)?;
    drop(source);
    headless::tell_trouble(recording.as_deref());
    let report = verdict::judge(&played, &common);
    let written = verdict::write(&mut out, &report, &played.timeline, form);
    out.end(written)?;
    Ok(verdict::exit_code(&report, common.fail_on()))
}

/// The form that is asked for, of those that need no more than a report.
fn form(asked: Option<Format>, common: &Common) -> anyhow::Result<Form> {
    Ok(match asked {
        None | Some(Format::Text) => Form::of(common),
        Some(Format::Json) => Form::Json,
        Some(Format::Md) => Form::Md,
        Some(Format::OpenMetrics) => Form::OpenMetrics,
        Some(Format::Csv | Format::Svg) => bail!(
            "--format csv, svg: of recordings only; `railscope check --record FILE`, then `railscope report FILE --format ...`"
        ),
    })
}

/// A copied tree ends by itself: after one look, or with its last step.
fn with_time(mut common: Common) -> Common {
    if common.root.is_none() && common.topology.is_none() {
        common.duration.get_or_insert(Period(USUAL_TIME));
    }
    common
}

#[cfg(test)]
mod tests {
    use super::with_time;
    use crate::settings::Common;

    #[test]
    fn a_live_node_is_watched_for_five_seconds_and_a_tree_until_it_ends() {
        assert_eq!(with_time(Common::default()).duration.unwrap().to_string(), "5s");
        let tree = Common { root: Some("tree".into()), ..Common::default() };
        assert_eq!(with_time(tree).duration, None);
    }
}
