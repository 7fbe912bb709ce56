//! Loads on the simulated node.

use super::Laboratory;
use crate::cli::DiagnoseArgs;
use crate::experiments::{Seen, Step};
use crate::session::{FrameSource, Stop};
use crate::settings::Common;
use crate::sim::{Pace, Scenario, Setup, Simulated};
use anyhow::{Context, ensure};
use probes::model::{Frame, Topology, WorkerPhase};
use std::time::Duration;

/// The simulator reads what is dear to read once a second, as a live node does.
const FULL_EVERY: Duration = Duration::from_secs(1);

/// The simulated node with what is wrong with it.
pub(super) struct SimulatedRails {
    topology: Topology,
    scenario: Scenario,
    seed: u64,
    stop: Stop,
}

impl SimulatedRails {
    /// The node of the scenario, with the rails of `--rails`.
    ///
    /// # Errors
    ///
    /// There is no such scenario or rail, or a real host was named.
    pub(super) fn new(args: &DiagnoseArgs, common: &Common, stop: Stop) -> anyhow::Result<Self> {
        ensure!(common.root.is_none(), "--root: the simulated node is its own");
        ensure!(args.token.is_none(), "--token: --transport sim has nobody to show it to; leave it out");
        let scenario =
            Scenario::named(args.scenario.as_deref().context("--transport sim: name a --scenario")?)?;
        let mut topology = scenario.topology();
        if let Some(names) = &common.overlay.rails {
            for name in names {
                ensure!(topology.rail(name).is_some(), "--rails {name}: the simulated node has no such rail");
            }
            topology.rails.retain(|rail| names.contains(&rail.device));
        }
        Ok(Self { topology, scenario, seed: args.seed, stop })
    }

    fn load(&self, step: &Step, window: Duration) -> anyhow::Result<Option<(Topology, Frame, Frame)>> {
        let mut topology = self.topology.clone();
        topology.rails.retain(|rail| step.rails.contains(&rail.device));
        // warm-up and window of one interval each, so that every counter is read at both ends
        let every = window.max(FULL_EVERY);
        let setup = Setup { scenario: Some(self.scenario), ..Setup::of(&step.params, None) };
        let setup = Setup { warmup: every, duration: Some(2 * every), ..setup };
        let source = Simulated::with(topology.clone(), &setup, self.seed, every, Pace::AsFastAsPossible)?;
        let mut source = source.stopped_by(self.stop.clone());
        let mut measured = Vec::new();
        while let Some(frame) = source.next_frame()? {
            if frame.workers.iter().all(|worker| worker.phase == WorkerPhase::Measuring) {
                measured.push(frame);
            }
        }
        if self.stop.is_stopped() {
            return Ok(None);
        }
        let to = measured.pop().context("no sample in the measured time")?;
        let from = measured.into_iter().next().context("one sample in the measured time")?;
        Ok(Some((topology, from, to)))
    }
}

impl Laboratory for SimulatedRails {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn peer(&self) -> Option<String> {
        None
    }

    fn caveat(&self) -> Option<String> {
        Some(format!("simulated, scenario {}, seed {}", self.scenario.name(), self.seed))
    }

    fn make(&self, step: Step, window: Duration) -> Option<Seen> {
        match self.load(&step, window) {
            Ok(None) => None,
            Ok(Some((topology, from, to))) => Some(Seen::between(step, &topology, &from, &to, Vec::new())),
            Err(why) => Some(Seen::failed(step, format!("{why:#}"))),
        }
    }
}
