//! `railscope demo`: the live screen on a simulated node.

mod parts;

use super::{diagnose, watch};
use crate::cli::DemoArgs;
use crate::session::{Chained, DEFAULT_EVERY, Stop, Throttle, only};
use crate::sim::{Pace, Simulated};
use crate::tui::{How, Mode};
use anyhow::ensure;
use parts::Demo;
use std::process::ExitCode;
use std::time::Duration;

/// Simulated time without a screen unless told otherwise: nobody is there to end it.
const USUAL_TIME: Duration = Duration::from_secs(10);

/// Runs the command.
///
/// # Errors
///
/// There is no such scenario or rail, or the terminal is gone.
pub fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    let common = args.common.with_config()?;
    for (flag, given) in [("--root", common.root.is_some()), ("--steps", common.steps.is_some())] {
        ensure!(!given, "{flag}: `demo` simulates its own node; leave the flag out");
    }
    let every = common.overlay.every.map_or(DEFAULT_EVERY, |period| period.0);
    let time = common.duration.map(|period| period.0);
    let (stop, throttle) = (Stop::new(), Throttle::new());
    let how =
        How { mode: Mode::Demo, stop: stop.clone(), throttle: Some(throttle.clone()), ..How::default() };
    if !watch::has_screen(&common) {
        let time = Some(time.unwrap_or(USUAL_TIME));
        let source = Simulated::new(&args.scenario, args.seed, every, Pace::AsFastAsPossible, time)?;
        let source = source.stopped_by(stop).held_by(throttle);
        return watch::run(only(source, common.overlay.rails.as_deref())?, &common, how);
    }
    let demo = Demo { scenario: args.scenario, seed: args.seed, every, time, common: common.clone() };
    let (first, next, anew, diagnoses) = demo.begin(&stop, throttle)?;
    let source = Chained::new(first, next, anew.clone(), stop);
    let code = watch::run(Box::new(source), &common, How { anew: Some(anew), ..how })?;
    diagnose::print_all(diagnoses.take())?;
    Ok(code)
}
