//! `railscope load --transport sim`: no peer, and no byte moves.

use crate::cli::LoadArgs;
use crate::commands::watch;
use crate::peer::request;
use crate::printable::tell;
use crate::session::{self, DEFAULT_EVERY, Stop, Throttle};
use crate::sim::{Pace, Setup, Simulated};
use crate::tui::{How, Mode};
use anyhow::ensure;
use std::process::ExitCode;
use std::time::Duration;

/// Simulated time without a screen unless told otherwise: nobody is there to end it.
const USUAL_TIME: Duration = Duration::from_secs(10);

/// What the rails of this node, or of a copied tree, should do by their ceilings.
pub(super) fn simulated(args: LoadArgs) -> anyhow::Result<ExitCode> {
    ensure!(
        args.knobs.peer.is_none() && args.knobs.port.is_none(),
        "--transport sim: nobody is at the other end; leave PEER and --port out"
    );
    ensure!(
        args.knobs.token.is_none() && !args.gentle,
        "--token, --gentle: --transport sim has nobody to show it to and \
        nothing to spare; leave them out"
    );
    let params = request::params(&args).map_err(anyhow::Error::msg)?;
    Setup::check(&params).map_err(anyhow::Error::msg)?;
    let of_preset = args.words_of_preset();
    let common = args.common.with_config()?;
    ensure!(common.steps.is_none(), "--steps: counters that are stepped cannot be loaded");
    let (_, mut topology) = session::node(&common)?;
    for line in Setup::leave_out(&mut topology) {
        tell(format_args!("left out: {line}"));
    }
    ensure!(!topology.rails.is_empty(), "no rail here can be simulated, for the reasons above");
    tell(
        "simulated: what these rails should do by their wires and PCIe paths, each by itself; nothing is measured",
    );
    for line in of_preset.into_iter().chain(Setup::not_modelled(&params)) {
        tell(line);
    }
    let time = common.duration.map(|period| period.0);
    let (pace, time) = if watch::has_screen(&common) {
        (Pace::RealTime, time)
    } else {
        (Pace::AsFastAsPossible, Some(time.unwrap_or(USUAL_TIME)))
    };
    let every = common.overlay.every.map_or(DEFAULT_EVERY, |period| period.0);
    let stop = Stop::new();
    let source = Simulated::with(topology, &Setup::of(&params, time), 1, every, pace)?;
    let throttle = Throttle::new();
    let source = Box::new(source.stopped_by(stop.clone()).held_by(throttle.clone()));
    watch::run(source, &common, How { mode: Mode::Load, stop, throttle: Some(throttle), ..How::default() })
}
