//! Loads on a simulated node.

use super::{Laboratory, Made};
use crate::cli::DiagnoseArgs;
use crate::commands::sweep::far_side::FarSide;
use crate::experiments::Step;
use crate::experiments::told;
use crate::session::Stop;
use crate::settings::Common;
use crate::sim::{Scenario, Setup, World, go_on};
use anyhow::{Context, ensure};
use probes::model::{RailFrame, Simulation, Topology};
use std::time::Duration;

/// A simulated node with what is wrong with it.
pub(super) struct SimulatedRails {
    world: World,
    /// What the rails had counted after the last load; empty before the first.
    last: Vec<RailFrame>,
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
        let scenario = args.scenario.as_deref().context("--transport sim: name a --scenario")?;
        let mut world = Scenario::world(scenario, args.seed)?;
        if let Some(names) = &common.overlay.rails {
            for name in names {
                ensure!(
                    world.topology().rail(name).is_some(),
                    "--rails {name}: the simulated node has no such rail"
                );
            }
            world.retain(names);
        }
        Ok(Self { world, last: Vec::new(), stop })
    }
}

impl Laboratory for SimulatedRails {
    fn topology(&self) -> &Topology {
        self.world.topology()
    }

    fn whole_topology(&self) -> Topology {
        self.world.topology().clone()
    }

    fn simulated(&self) -> Option<Simulation> {
        let (scenario, seed) = self.world.scenario();
        Some(Simulation { scenario: scenario.to_owned(), seed })
    }

    fn caveat(&self) -> Option<String> {
        self.simulated().as_ref().map(told::simulated)
    }

    fn make(&mut self, step: &Step, window: Duration) -> Option<Result<Made, String>> {
        if self.stop.is_stopped() {
            return None;
        }
        let setup = Setup::of(&step.params, None);
        let shown = self.world.window(&setup, &step.rails, &step.to_string(), window);
        let (mut from, mut to) = (shown.from, shown.to);
        for (last, (from, to)) in self.last.iter().zip(from.rails.iter_mut().zip(&mut to.rails)) {
            // each load is simulated from the start of the node
            let first = from.clone();
            go_on(from, last, &first);
            go_on(to, last, &first);
        }
        self.last.clone_from(&to.rails);
        Some(Ok(Made {
            from,
            to,
            failures: shown.failures,
            peer: None,
            caveat: None,
            far: FarSide { samples: shown.far, gap: shown.far_gap },
        }))
    }
}
