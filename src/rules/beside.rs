//! What a rail could do beside the others that move something under the load.

use crate::ceilings;
use crate::timeline::Timeline;
use probes::model::{Rail, RailId, Topology};

/// Rails as they were seen last, with what each could do while those that a load drives move what they do.
pub(super) struct Beside {
    seen: Vec<Rail>,
    rates_gb_per_s: Vec<Option<f64>>,
    shares_gb_per_s: Vec<Option<f64>>,
}

impl Beside {
    /// Takes each rail's mean under load, GB/s, where there is one.
    pub(super) fn of(topology: &Topology, timeline: &Timeline, mean: impl Fn(RailId) -> Option<f64>) -> Self {
        let rails = || topology.rails_with_id();
        let seen: Vec<Rail> = rails().map(|(id, rail)| timeline.local().last_seen(id, rail)).collect();
        let rates_gb_per_s: Vec<Option<f64>> = rails().map(|(id, _)| mean(id)).collect();
        let moves = |at: usize| rates_gb_per_s[at].is_some_and(|gb| gb > 0.0);
        let shares_gb_per_s = ceilings::together_of_gb_per_s(&seen, moves);
        Self { seen, rates_gb_per_s, shares_gb_per_s }
    }

    /// The rail as it was seen last.
    pub(super) fn rail(&self, id: RailId) -> &Rail {
        &self.seen[id.0]
    }

    /// Its mean under load, GB/s; `None` where that was not long enough to judge.
    pub(super) fn rate_gb_per_s(&self, id: RailId) -> Option<f64> {
        self.rates_gb_per_s[id.0]
    }

    /// Its fair share (max–min) of wires and PCIe links, GB/s; `None` of a rail that moves nothing, and without a bound.
    pub(super) fn share_gb_per_s(&self, id: RailId) -> Option<f64> {
        self.shares_gb_per_s[id.0]
    }

    /// The least of that share and the rail's own ceilings, GB/s.
    pub(super) fn could_gb_per_s(&self, id: RailId, timeline: &Timeline) -> Option<f64> {
        let own = timeline.local().ceilings(id, self.rail(id)).lowest()?;
        Some(self.share_gb_per_s(id).map_or(own, |share| share.min(own)))
    }
}
