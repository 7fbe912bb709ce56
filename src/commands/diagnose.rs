//! `railscope diagnose`: planned loads, one after the other, and which of seven causes makes a rail slow.

mod begun;
mod rails;
mod simulated;
mod source;

use super::output::Output;
use super::progress::Progress;
use super::sweep::far_side::FarSide;
use super::{headless, signals, watch};
use crate::app::View;
use crate::cli::{DiagnoseArgs, DiagnoseCarrier, DiagnoseFormat};
use crate::experiments::text::Markdown;
use crate::experiments::{Base, Diagnosis, Step, plan};
use crate::peer::request;
use crate::printable::Printable;
use crate::rules::Severity;
use crate::session::{FrameSource, Stop};
use crate::settings::Common;
use crate::tui::{self, How, Mode};
use anyhow::{Context, ensure};
pub(super) use begun::Begun;
pub(super) use begun::{print_all, within};
use probes::load::Params;
use probes::model::{Frame, Simulation, Topology};
use rails::Rails;
use simulated::SimulatedRails;
use source::{Experimenting, Plan};
use std::process::ExitCode;
use std::time::Duration;

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
    /// The whole host, with the counters that the frames have.
    fn whole_topology(&self) -> Topology;
    /// That it is a simulation, and of what.
    fn simulated(&self) -> Option<Simulation>;
    /// What its figures are not, as far as that is known before the first load.
    fn caveat(&self) -> Option<String>;
    /// Makes one load; `None` when it was told to stop meanwhile, an error in words where it could not be had.
    fn make(&mut self, step: &Step, window: Duration) -> Option<Result<Made, String>>;
}

/// The rails that the flags ask for, or the simulated ones.
///
/// # Errors
///
/// There is no such scenario, rail or host, or flags that do not go together.
fn laboratory(
    args: &DiagnoseArgs,
    common: &Common,
    stop: &Stop,
) -> anyhow::Result<Box<dyn Laboratory + Send>> {
    Ok(match args.transport {
        DiagnoseCarrier::Sim => Box::new(SimulatedRails::new(args, common, stop.clone())?),
        DiagnoseCarrier::Verbs => {
            ensure!(args.scenario.is_none(), "--scenario: of the simulated node only; add --transport sim");
            Box::new(Rails::new(args, common, stop.clone())?)
        }
    })
}

/// What one load gave.
struct Made {
    from: Frame,
    to: Frame,
    failures: Vec<String>,
    /// Name of the peer; `None` in a simulation.
    peer: Option<String>,
    /// What its figures are not.
    caveat: Option<String>,
    /// What the peer's rails counted meanwhile.
    far: FarSide,
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
    ensure!(
        !args.screen || watch::has_screen(&common),
        "--screen: stdout is no terminal, or --headless forbids a screen; leave it out for the text"
    );
    let stop = Stop::new();
    let laboratory = laboratory(args, &common, &stop)?;
    let title = args.peer.clone().unwrap_or_default();
    let seen_by = if args.screen { SeenBy::Screen(title) } else { SeenBy::Nobody };
    let diagnosis = conduct(laboratory, &base(args, window), window, &common, seen_by, stop)?;
    let measured = diagnosis.rails.iter().any(|rail| rail.alone_gb_per_s.is_some());
    let form = if common.json { DiagnoseFormat::Json } else { args.format };
    print(&diagnosis, form)?;
    ensure!(measured, "not one rail could be measured: {}", first_failure(&diagnosis));
    let slow = diagnosis.has_slow_rail();
    ensure!(
        slow || !diagnosis.cut_short,
        "ended before all was measured, and no rail was seen to be slow until then"
    );
    Ok(ExitCode::from(u8::from(slow && common.fail_on().fails(Severity::Warning))))
}

/// The planned loads on a simulated node, as a part of a session whose times and counts begin anew; each takes the time that
/// it would take.
///
/// # Errors
///
/// There is no such scenario or rail.
pub(super) fn simulated(args: &DiagnoseArgs, stop: &Stop) -> anyhow::Result<(Box<dyn FrameSource>, Begun)> {
    let laboratory = Box::new(SimulatedRails::new(args, &args.common, stop.clone())?);
    let topology = laboratory.topology().clone();
    let (base, limits) = (base(args, WINDOW), args.common.limits.clone());
    let plan = Plan { base: base.clone(), limits: limits.clone(), window: WINDOW, is_watched: true };
    let source = Experimenting::new(laboratory, plan, stop.clone(), Progress::unseen());
    let begun = Begun::of(&source, topology, base, limits);
    Ok((Box::new(source), begun))
}

/// A diagnosis of a simulated node as a session, in no time.
///
/// # Errors
///
/// There is no such scenario.
pub fn simulated_session(scenario: &str, seed: u64) -> anyhow::Result<Box<dyn FrameSource>> {
    let args = DiagnoseArgs::of_scenario(scenario, seed, &Common::default());
    let stop = Stop::new();
    let laboratory = Box::new(SimulatedRails::new(&args, &args.common, stop.clone())?);
    let limits = args.common.limits.clone();
    let plan = Plan { base: base(&args, WINDOW), limits, window: WINDOW, is_watched: false };
    Ok(Box::new(Experimenting::new(laboratory, plan, stop, Progress::unseen())))
}

/// Who looks at the experiments while they are made.
enum SeenBy {
    /// The screen, with this title.
    Screen(String),
    /// At most a line of progress.
    Nobody,
}

/// Makes the loads until all were made, or until told to stop.
fn conduct(
    laboratory: Box<dyn Laboratory + Send>,
    base: &Base,
    window: Duration,
    common: &Common,
    seen_by: SeenBy,
    stop: Stop,
) -> anyhow::Result<Diagnosis> {
    let topology = laboratory.topology().clone();
    let is_watched = matches!(seen_by, SeenBy::Screen(_));
    let progress = if is_watched { Progress::unseen() } else { Progress::new() };
    let plan = Plan { base: base.clone(), limits: common.limits.clone(), window, is_watched };
    let source = Experimenting::new(laboratory, plan, stop.clone(), progress);
    let begun = Begun::of(&source, topology, base.clone(), common.limits.clone());
    let (mut source, recording) = headless::recorded(Box::new(source), common.record.as_deref())?;
    match seen_by {
        SeenBy::Screen(title) => {
            let how = How {
                title,
                mode: Mode::Diagnosis,
                view: View::Experiments,
                limits: common.limits.clone(),
                screen: common.screen.clone(),
                recording: recording.clone(),
                stop,
                ..How::default()
            };
            tui::run(source, how)?;
        }
        SeenBy::Nobody => {
            signals::end_on_signals(stop)?;
            while source.next_frame()?.is_some() {}
            drop(source);
        }
    }
    headless::tell_trouble(recording.as_deref());
    Ok(begun.diagnosis())
}

/// Flags of those who watch, which mean nothing here.
fn refuse(common: &Common) -> anyhow::Result<()> {
    for (given, flag, instead) in [
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
