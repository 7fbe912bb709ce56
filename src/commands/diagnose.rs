//! `railscope diagnose`: planned loads, one after the other, and which of seven causes makes a rail slow.

mod rails;
mod simulated;

use super::output::Output;
use super::progress::Progress;
use super::signals;
use crate::cli::{DiagnoseArgs, DiagnoseCarrier, DiagnoseFormat};
use crate::experiments::diagnosis::{SCHEMA, judge};
use crate::experiments::shared::shared_limits;
use crate::experiments::text::Markdown;
use crate::experiments::{self, Base, Diagnosis, Kind, Seen, Step, plan};
use crate::peer::request;
use crate::printable::Printable;
use crate::rules::Severity;
use crate::session::Stop;
use crate::settings::{Common, Size};
use anyhow::{Context, ensure};
use probes::load::Params;
use probes::model::Topology;
use rails::Rails;
use simulated::SimulatedRails;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Time that each load is measured unless told otherwise.
const WINDOW: Duration = Duration::from_secs(1);
/// Time that a load is measured which only shows on which legs its data arrive.
const LOOK: Duration = Duration::from_millis(300);
/// What connecting and coming to rest take besides, for the time that is left.
const AROUND: Duration = Duration::from_millis(400);

/// Where the loads are made.
trait Laboratory {
    /// The host, with the rails that can be loaded.
    fn topology(&self) -> &Topology;
    /// Name of the peer; `None` in a simulation.
    fn peer(&self) -> Option<String>;
    /// What its figures are not.
    fn caveat(&self) -> Option<String>;
    /// Makes one load; `None` when it was told to stop meanwhile.
    fn make(&self, step: Step, window: Duration) -> Option<Seen>;
}

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: &DiagnoseArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.clone().with_config()?;
    refuse(&common)?;
    let window = common.duration.map_or(WINDOW, |period| period.0);
    ensure!(window >= Duration::from_millis(100), "--for: a load of less than 100ms shows nothing");
    let stop = Stop::new();
    let laboratory: Box<dyn Laboratory> = match args.transport {
        DiagnoseCarrier::Sim => Box::new(SimulatedRails::new(args, &common, stop.clone())?),
        DiagnoseCarrier::Verbs => {
            ensure!(args.scenario.is_none(), "--scenario: of the simulated node only; add --transport sim");
            Box::new(Rails::new(args, &common, stop.clone())?)
        }
    };
    signals::end_on_signals(stop)?;
    let diagnosis = experiment(&*laboratory, args, &common, window);
    let measured = diagnosis.rails.iter().any(|rail| rail.alone_gb_per_s.is_some());
    let form = if common.json { DiagnoseFormat::Json } else { args.format };
    print(&diagnosis, form)?;
    ensure!(measured, "not one rail could be measured: {}", first_failure(&diagnosis));
    // a rail that brings nothing is the slowest of all
    let brings_nothing = !diagnosis.cut_short && diagnosis.unmeasured() > 0;
    let slow = brings_nothing || diagnosis.rails.iter().any(|rail| rail.slow);
    ensure!(
        slow || !diagnosis.cut_short,
        "ended before all was measured, and no rail was seen to be slow until then"
    );
    Ok(ExitCode::from(u8::from(slow && common.fail_on().fails(Severity::Warning))))
}

/// Flags of those who watch, which mean nothing here.
fn refuse(common: &Common) -> anyhow::Result<()> {
    for (given, flag, instead) in [
        (
            common.record.is_some(),
            "--record",
            "`railscope load --record` records a load; --json keeps all figures of these",
        ),
        (common.steps.is_some(), "--steps", "counters that are stepped cannot be loaded"),
        (
            !common.ignore().is_empty(),
            "--ignore",
            "a cause is named or it is not; `check` knows findings to leave out",
        ),
        (common.overlay.every.is_some(), "--every", "each load has two samples, at both ends of its window"),
    ] {
        ensure!(!given, "{flag}: {instead}");
    }
    Ok(())
}

/// How each rail is loaded unless an experiment says otherwise.
fn base(args: &DiagnoseArgs, window: Duration) -> Base {
    let params = Params {
        size_bytes: args.size.0,
        qps: args.qps,
        depth: args.depth,
        read_depth: args.read_depth,
        timeout: args.timeout,
        gid_index: args.gid_index,
        duration_s: Some(window.as_secs_f64()),
        ..plan::usual()
    };
    Base { params, cold: request::cold() }
}

/// One load after the other until all were made, or until told to stop.
fn experiment(
    laboratory: &dyn Laboratory,
    args: &DiagnoseArgs,
    common: &Common,
    window: Duration,
) -> Diagnosis {
    let began = Instant::now();
    let base = base(args, window);
    let topology = laboratory.topology();
    let mut seen: Vec<Seen> = Vec::new();
    let mut cut_short = false;
    let progress = Progress::new();
    while let Some(step) = experiments::next(topology, &base, &common.limits, &seen) {
        let left = experiments::left(topology, &base, &common.limits, &seen);
        let each = if seen.is_empty() || laboratory.peer().is_none() {
            window + Duration::from_secs_f64(base.params.warmup_s) + AROUND
        } else {
            began.elapsed() / u32::try_from(seen.len()).unwrap_or(u32::MAX)
        };
        let (number, of) = (seen.len() + 1, seen.len() + left);
        let time_left = each * u32::try_from(left).unwrap_or(u32::MAX);
        progress.show(format_args!("experiment {number} of {of}: {step}"), Some(time_left));
        let window = if matches!(step.kind, Kind::Labels(_)) { window.min(LOOK) } else { window };
        let Some(shown) = laboratory.make(step, window) else {
            cut_short = true;
            break;
        };
        seen.push(shown);
    }
    drop(progress);
    let rails = judge(topology, &common.limits, &seen);
    Diagnosis {
        schema: SCHEMA,
        generated_by: crate::GENERATED_BY,
        hostname: topology.host.hostname.clone(),
        peer: laboratory.peer(),
        caveat: laboratory.caveat(),
        load: format!(
            "READ, {} messages, {} queue pairs a rail",
            Size(base.params.size_bytes),
            base.params.qps
        ),
        took_s: (began.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        cut_short,
        shared_limits: shared_limits(topology, &common.limits, &seen, &rails),
        rails,
        experiments: seen,
    }
}

fn first_failure(diagnosis: &Diagnosis) -> String {
    let failed = diagnosis.experiments.iter().find_map(|seen| seen.failed.clone());
    failed.unwrap_or_else(|| "stopped before the first was".to_owned())
}

fn print(diagnosis: &Diagnosis, form: DiagnoseFormat) -> anyhow::Result<()> {
    let text = match form {
        DiagnoseFormat::Text => Printable(diagnosis).to_string(),
        DiagnoseFormat::Md => Printable(Markdown(diagnosis)).to_string(),
        DiagnoseFormat::Json => format!("{}\n", serde_json::to_string_pretty(diagnosis).context("as JSON")?),
    };
    Output::print(&text)
}
