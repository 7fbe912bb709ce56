//! `railscope demo`: the live screen on a simulated node.

use super::{diagnose, watch};
use crate::app::DiagnosisWish;
use crate::cli::{DemoArgs, DiagnoseArgs};
use crate::session::{DEFAULT_EVERY, Stop, Throttle, only};
use crate::sim::{Pace, Simulated};
use crate::tui::{How, Mode};
use anyhow::ensure;
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
    let (pace, time) = if watch::has_screen(&common) {
        (Pace::RealTime, time)
    } else {
        (Pace::AsFastAsPossible, Some(time.unwrap_or(USUAL_TIME)))
    };
    let wish = DiagnosisWish::default();
    let mut common = common;
    loop {
        let (stop, throttle) = (Stop::new(), Throttle::new());
        let source = Simulated::new(&args.scenario, args.seed, every, pace, time)?;
        let source = source.stopped_by(stop.clone()).held_by(throttle.clone());
        let source = only(source, common.overlay.rails.as_deref())?;
        let diagnose = Some(wish.clone());
        let how = How { mode: Mode::Demo, stop, throttle: Some(throttle), diagnose, ..How::default() };
        let code = watch::run(source, &common, how)?;
        if !wish.take() {
            return Ok(code);
        }
        diagnose::on_screen(&DiagnoseArgs::of_scenario(&args.scenario, args.seed, &common), &wish)?;
        if !wish.take() {
            return Ok(code);
        }
        // the recording has its end; a second one would need another name
        common.record = None;
    }
}
