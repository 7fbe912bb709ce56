//! The report of a session on stdout, and the exit code that goes with it.

use super::headless::Played;
use crate::printable::Printable;
use crate::report::{self, OpenMetrics, Report, Ticket};
use crate::settings::{Common, FailOn};
use crate::timeline::Timeline;
use anyhow::Context;
use std::io::{BufWriter, ErrorKind, Write};
use std::process::ExitCode;

/// Form of a printed report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// One JSON object.
    Json,
    /// Markdown, for a ticket.
    Md,
    /// For Prometheus and its kind.
    OpenMetrics,
    /// A picture, which wants the means of the session beside its report.
    Svg,
    /// A table, which is written while the session is read and not from its report.
    Csv,
}

impl Form {
    /// As `--json` asks.
    #[must_use]
    pub fn of(common: &Common) -> Self {
        if common.json { Self::Json } else { Self::Text }
    }
}

/// Judges the session, prints the report, and says how the program ends: 1 when something at or above
/// `--fail-on` was found, else 0.
///
/// # Errors
///
/// The report cannot be written.
pub fn print(played: &Played, common: &Common, form: Form) -> anyhow::Result<ExitCode> {
    print_with(played, common, form, None)
}

/// The same of a load that ended before its time, where `cut_short` says why.
///
/// # Errors
///
/// As [`print`].
pub fn print_with(
    played: &Played,
    common: &Common,
    form: Form,
    cut_short: Option<String>,
) -> anyhow::Result<ExitCode> {
    let mut report = judge(played, common);
    if let (Some(load), Some(why)) = (&mut report.load, cut_short) {
        load.ended.get_or_insert(why);
    }
    // a line at a time otherwise, hundreds of system calls
    let mut out = BufWriter::new(super::output::stdout()?);
    match write(&mut out, &report, &played.timeline, form).and_then(|()| out.flush()) {
        // whoever reads has seen enough (`| head`); the verdict still counts
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.context("the report cannot be written to stdout")?,
    }
    Ok(exit_code(&report, common.fail_on()))
}

/// What the session amounts to, under these limits and without what is to be ignored.
#[must_use]
pub fn judge(played: &Played, common: &Common) -> Report {
    let Played { timeline, told } = played;
    // the verdicts of a diagnosis hang on all of its rails and loads
    let is_whole = common.overlay.rails.is_none();
    let diagnosis =
        is_whole.then(|| told.diagnosis(timeline.session(), &common.limits)).flatten().map(Box::new);
    Report { diagnosis, ..report::build(timeline, &common.limits, common.ignore()) }
}

/// 1 when the worst finding fails, else 0.
#[must_use]
pub fn exit_code(report: &Report, fail_on: FailOn) -> ExitCode {
    ExitCode::from(u8::from(report.worst().is_some_and(|worst| fail_on.fails(worst))))
}

/// Writes a report in this form.
///
/// # Errors
///
/// It cannot be written.
pub fn write(out: &mut impl Write, report: &Report, timeline: &Timeline, form: Form) -> std::io::Result<()> {
    match form {
        Form::Text => write!(out, "{}", Printable(report)),
        Form::Json => serde_json::to_writer_pretty(&mut *out, report)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out)),
        Form::Md => write!(out, "{}", Printable(Ticket(report))),
        Form::OpenMetrics => write!(out, "{}", OpenMetrics { report, timeline }),
        Form::Csv | Form::Svg => Ok(()),
    }
}
