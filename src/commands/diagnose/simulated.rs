//! Loads on a simulated node.

use super::Laboratory;
use crate::cli::DiagnoseArgs;
use crate::experiments::{Seen, Step};
use crate::session::Stop;
use crate::settings::Common;
use crate::sim::{Scenario, Setup, World};
use anyhow::{Context, ensure};
use probes::model::Topology;
use std::time::Duration;

/// A simulated node with what is wrong with it.
pub(super) struct SimulatedRails {
    world: World,
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
        Ok(Self { world, stop })
    }
}

impl Laboratory for SimulatedRails {
    fn topology(&self) -> &Topology {
        self.world.topology()
    }

    fn peer(&self) -> Option<String> {
        None
    }

    fn caveat(&self) -> Option<String> {
        let (scenario, seed) = self.world.scenario();
        Some(format!("simulated, scenario {scenario}, seed {seed}"))
    }

    fn make(&self, step: Step, window: Duration) -> Option<Seen> {
        if self.stop.is_stopped() {
            return None;
        }
        let setup = Setup::of(&step.params, None);
        let shown = self.world.window(&setup, &step.rails, &step.to_string(), window);
        let seen = Seen::between(step, self.world.topology(), &shown.from, &shown.to, shown.failures);
        Some(seen.with_far(Err("a simulated node has none".to_owned())))
    }
}
