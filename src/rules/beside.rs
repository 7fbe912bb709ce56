//! What a rail could do beside the others that move something under the load.

use super::means::Rate;
use crate::ceilings::{self, Bytes, Ceilings};
use crate::timeline::Timeline;
use probes::model::{Rail, RailId, Topology};

/// Rails as they were seen last, with what each could do while those that a load drives move what they do.
pub(super) struct Beside {
    seen: Vec<Rail>,
    rates: Vec<Option<Rate>>,
    shares_gb_per_s: Vec<Option<f64>>,
}

impl Beside {
    /// Takes each rail's mean under load, where there is one.
    pub(super) fn of(
        topology: &Topology,
        timeline: &Timeline,
        mean: impl Fn(RailId) -> Option<Rate>,
    ) -> Self {
        let rails = || topology.rails_with_id();
        let seen: Vec<Rail> = rails().map(|(id, rail)| timeline.local().last_seen(id, rail)).collect();
        let rates: Vec<Option<Rate>> = rails().map(|(id, _)| mean(id)).collect();
        let moves = |at: usize| rates[at].is_some_and(|rate| rate.gb_per_s > 0.0);
        let shares_gb_per_s = ceilings::together_of_gb_per_s(&seen, moves);
        Self { seen, rates, shares_gb_per_s }
    }

    /// The rail as it was seen last.
    pub(super) fn rail(&self, id: RailId) -> &Rail {
        &self.seen[id.0]
    }

    /// Its mean under load, GB/s; `None` where that was not long enough to judge.
    pub(super) fn rate_gb_per_s(&self, id: RailId) -> Option<f64> {
        self.rates[id.0].map(|rate| rate.gb_per_s)
    }

    /// Its fair share (max–min) of wires and PCIe links, GB/s of the bytes that its rate counts; `None` of a rail that moves
    /// nothing, and without a bound.
    pub(super) fn share_gb_per_s(&self, id: RailId) -> Option<f64> {
        Some(self.payload_share_gb_per_s(id)? * self.bytes(id).per_payload(self.rail(id)))
    }

    /// The same share of payload.
    pub(super) fn payload_share_gb_per_s(&self, id: RailId) -> Option<f64> {
        self.shares_gb_per_s[id.0]
    }

    /// The lowest of the rail's own ceilings, of the bytes that its rate counts, GB/s.
    pub(super) fn own_gb_per_s(&self, id: RailId) -> Option<f64> {
        Ceilings::of(self.rail(id)).of_bytes(self.bytes(id), self.rail(id)).lowest()
    }

    /// Payload where it has no rate.
    fn bytes(&self, id: RailId) -> Bytes {
        self.rates[id.0].map_or(Bytes::Payload, |rate| rate.bytes)
    }

    /// The least of that share and the rail's own ceilings, its READ window among them, GB/s of the same bytes.
    pub(super) fn could_gb_per_s(&self, id: RailId, timeline: &Timeline) -> Option<f64> {
        let ceilings = timeline.local().ceilings(id, self.rail(id));
        let own = ceilings.of_bytes(self.bytes(id), self.rail(id)).lowest()?;
        Some(self.share_gb_per_s(id).map_or(own, |share| share.min(own)))
    }
}
