//! `railscope load`: reads from a `railscope serve` over every rail at once, or writes to it, or both ends do.

mod ending;
mod opening;
mod seeking;
mod simulated;
mod stage;

use super::way::Way;
use super::{diagnose, watch};
use crate::cli::{Carrier, LoadArgs, LoadWords};
use crate::peer::request;
use crate::printable::tell;
use crate::session::{Chained, DEFAULT_EVERY, Every, Stop, Throttle};
use crate::settings::FailOn;
use crate::tui::{How, Mode};
use anyhow::ensure;
use ending::{Ledger, Told};
pub(super) use stage::in_words;
use stage::{Flags, Stage};
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the command.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: LoadArgs) -> anyhow::Result<ExitCode> {
    let args = args.with_preset();
    if args.transport == Carrier::Sim {
        return simulated::simulated(args);
    }
    // a flag that is none is told before this host is looked at
    request::target(&args.knobs).map_err(anyhow::Error::msg)?;
    opening::params(&args).map_err(anyhow::Error::msg)?;
    let common = args.common.clone().with_config()?;
    if let Some(file) = &common.record {
        // before the peer registers memory for nothing
        ensure!(!file.exists(), "{}: is there already; choose another name", file.display());
    }
    let way = Way::of(&args.knobs, &common)?;
    let told = Arc::new(Told::new(watch::has_screen(&common)));
    let (root, topology) = (way.root.clone(), (*way.end.topology).clone());
    let (connected, lines) = {
        let stop = Stop::new();
        let _signals = seeking::Watch::over(stop.clone())?;
        opening::open(&args, &common, way, &told, &stop)?
    };
    lines.iter().for_each(tell);

    let every = common.overlay.every.map_or(DEFAULT_EVERY, |period| period.0);
    let changing = watch::has_screen(&common).then(|| Every::new(every));
    let stage = Stage {
        root,
        topology,
        rails: common.overlay.rails.clone(),
        every: (every, changing.clone()),
        throttle: Throttle::new(),
        is_gentle: args.gentle,
        stop: Stop::new(),
        told: told.clone(),
        ledger: Ledger::default(),
    };
    let title = connected.agreed.peer.host.clone();
    let (ledger, stop, throttle) = (stage.ledger.clone(), stage.stop.clone(), stage.throttle.clone());
    let flags = Flags::new(LoadWords::of_process().map_err(anyhow::Error::msg)?);
    let anew = flags.anew();
    let (first, next) = stage.begin(connected, flags, anew.clone())?;
    let source = Chained::new(first, next, anew.clone(), stop.clone());
    let end = || {
        let why = ledger.book().end(&told);
        told.close();
        why
    };
    let how = How {
        title,
        mode: Mode::Load,
        stop,
        throttle: Some(throttle),
        every: changing,
        anew: Some(anew),
        ..How::default()
    };
    let code = watch::run_until(Box::new(source), &common, how, end);
    let diagnoses = std::mem::take(&mut ledger.book().diagnoses);
    let is_slow = diagnose::print_all(diagnoses)?;
    let outcome = ledger.book().close();
    let code = match code? {
        // a recording that is not whole
        code if code == ExitCode::from(2) => code,
        // what the rules find cannot make it better that a rail failed
        _ if (outcome.is_amiss() || is_slow) && common.fail_on() != FailOn::Never => ExitCode::from(1),
        code => code,
    };
    outcome.or(code)
}
