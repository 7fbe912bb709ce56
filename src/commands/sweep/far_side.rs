//! The peer's host during one load, as `serve` told of it.

use crate::experiments::Far;
use crate::peer::Agreed;
use probes::model::{Frame, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The peer's host during one load.
pub(in crate::commands) struct FarSide {
    topology: Arc<Topology>,
    frames: Vec<Frame>,
    /// Its rail for each of ours, by RDMA device.
    rails: BTreeMap<String, String>,
}

impl FarSide {
    /// As the experiments look at it.
    pub(in crate::commands) fn as_far(&self) -> Far<'_> {
        Far { topology: &self.topology, frames: &self.frames, rails: &self.rails }
    }

    /// What came of the peer in a load that is over.
    pub(super) fn of(agreed: &Agreed) -> Result<Self, String> {
        let Some(sight) = &agreed.sight else { return Err(agreed.why_unseen().unwrap_or_default()) };
        if let Some(why) = sight.misfit() {
            return Err(format!("it told something that does not fit: {why}"));
        }
        Ok(Self { topology: sight.topology.clone(), frames: sight.inbox.drain(), rails: agreed.pairs() })
    }
}
