//! Points without a peer: what the rails should do by their ceilings.

use super::far_side::FarSide;
use super::measuring::{Bench, Measured};
use crate::cli::LoadKnobs;
use crate::peer::request;
use crate::printable::tell;
use crate::session::{self, FrameSource, Stop};
use crate::settings::Common;
use crate::sim::{Pace, Setup, Simulated};
use anyhow::{Context, ensure};
use probes::load::Params;
use probes::model::{Topology, WorkerPhase};
use std::time::Duration;

/// Samples in a window: both ends are all that counts.
const SAMPLES: u32 = 8;

/// The rails of this node, or of a copied tree, in virtual time.
pub(super) struct Simulation {
    topology: Topology,
    stop: Stop,
}

impl Simulation {
    /// The rails that the flags name.
    ///
    /// # Errors
    ///
    /// A peer was named, or no rail has a known ceiling.
    pub(super) fn new(knobs: &LoadKnobs, common: &Common, stop: Stop) -> anyhow::Result<Self> {
        ensure!(
            knobs.peer.is_none() && knobs.port.is_none(),
            "--transport sim: nobody is at the other end; leave PEER and --port out"
        );
        ensure!(knobs.token.is_none(), "--token: --transport sim has nobody to show it to; leave it out");
        let params = request::knobs(knobs).map_err(anyhow::Error::msg)?;
        Setup::check(&params).map_err(anyhow::Error::msg)?;
        let (_, mut topology) = session::node(common)?;
        for line in Setup::leave_out(&mut topology) {
            tell(format_args!("left out: {line}"));
        }
        ensure!(!topology.rails.is_empty(), "no rail here can be simulated, for the reasons above");
        if let Some(line) = Setup::not_modelled(&params) {
            tell(line);
        }
        Ok(Self { topology, stop })
    }
}

impl Bench for Simulation {
    fn measure(&self, params: &Params, window: Duration) -> anyhow::Result<Option<Measured>> {
        let setup = Setup::of(params, Some(window));
        let every = (window / SAMPLES).max(Duration::from_millis(1));
        let source = Simulated::with(self.topology.clone(), &setup, 1, every, Pace::AsFastAsPossible)?;
        let mut source = source.stopped_by(self.stop.clone());
        let (mut from, mut to) = (None, None);
        while let Some(frame) = source.next_frame()? {
            if frame.workers.iter().all(|worker| worker.phase == WorkerPhase::Measuring) {
                if from.is_none() {
                    from = Some(frame);
                } else {
                    to = Some(frame);
                }
            }
        }
        if self.stop.is_stopped() {
            return Ok(None);
        }
        let topology = source.session().topology().clone();
        let to = to.context("--for is too short: one sample in the measured time")?;
        Ok(Some(Measured {
            last: to.workers.clone(),
            here: topology.host.hostname.clone().unwrap_or_default(),
            topology,
            from: from.context("--for is too short: no sample in the measured time")?,
            to,
            peer: None,
            perftest: Vec::new(),
            failures: Vec::new(),
            far: FarSide::unseen("nobody is at the other end of a simulation"),
        }))
    }
}
