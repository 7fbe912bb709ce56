//! The load as a source samples it, with what only the control connection knows.

use super::engine::Traffic;
use probes::load::RunningLoad;
use probes::model::{Load, WorkerFrame};
use std::sync::Arc;

/// A load that knows whether its peer is this machine.
pub struct Controlled {
    traffic: Arc<dyn Traffic>,
    load: Arc<Load>,
}

impl Controlled {
    /// The engine's load, with `loopback` said.
    #[must_use]
    pub fn new(traffic: Arc<dyn Traffic>, loopback: bool) -> Self {
        let load = traffic.load();
        let load =
            if load.loopback == loopback { load } else { Arc::new(Load { loopback, ..(*load).clone() }) };
        Self { traffic, load }
    }
}

impl RunningLoad for Controlled {
    fn load(&self) -> Arc<Load> {
        self.load.clone()
    }

    fn workers(&self) -> Vec<WorkerFrame> {
        self.traffic.workers()
    }

    fn is_over(&self) -> bool {
        self.traffic.is_over()
    }

    fn stop(&self) {
        self.traffic.stop();
    }

    fn failures(&self) -> Vec<String> {
        self.traffic.failures()
    }
}
