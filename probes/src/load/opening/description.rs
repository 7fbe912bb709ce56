//! What a load is, as every frame carries it.

use super::{Opening, OpeningUnit};
use crate::ffi::verbs::RelaxedOrdering;
use crate::load::control::lock;
use crate::load::{Shape, Transport, leg};
use crate::model::{self, Load, LoadOp, LoadOrigin};
use crate::perf::Meter;

impl Opening {
    /// What these units are going to do, each with the READ depth that it was connected with; `None` of one that was not.
    pub(super) fn describe(&self, connected: &[(OpeningUnit, Option<u32>)], loopback: bool) -> Load {
        let facts =
            |unit: &OpeningUnit| unit.facts.as_ref().map(|facts| (facts.cpus.clone(), facts.buffer_node));
        let workers = connected
            .iter()
            .map(|(unit, read_depth)| {
                let (cpus, buffer_node) = facts(unit).unwrap_or_default();
                model::Worker {
                    device: unit.worker.device.clone(),
                    number: unit.worker.unit.number(),
                    qps: Some(unit.worker.unit.qps),
                    cpus,
                    buffer_node,
                    page_bytes: unit.facts.as_ref().and_then(|facts| facts.page_bytes),
                    read_depth: read_depth.filter(|_| self.params.transport == Transport::Verbs),
                    path_mtu: unit.path_mtu.filter(|_| self.params.transport == Transport::Verbs),
                    registered: unit.facts.as_ref().and_then(|facts| facts.endpoint.registered),
                    leg: leg::of_sender(&self.params, self.role).filter(|_| read_depth.is_some()),
                }
            })
            .collect();
        let is_rdma = self.params.transport == Transport::Verbs;
        let is_striped = self.params.shape == Shape::Striped;
        // of a batch each queue pair gets its part with one doorbell, whatever it comes to
        let has_chains = is_rdma && !is_striped;
        let is_read = self.params.op == LoadOp::Read && is_rdma;
        let depths = connected.iter().filter_map(|(_, depth)| *depth);
        let device_depths =
            connected.iter().filter_map(|(unit, _)| Some(unit.facts.as_ref()?.endpoint.max_initiator_depth));
        let relaxed = |(unit, _): &(OpeningUnit, _)| {
            Some(unit.facts.as_ref()?.relaxed_ordering == RelaxedOrdering::Asked)
        };
        let gaps =
            connected.iter().filter_map(|(unit, _)| lock(&unit.worker.meter).as_ref().map(Meter::gaps));
        let mut devices: Vec<String> = connected.iter().map(|(unit, _)| unit.worker.device.clone()).collect();
        devices.dedup();
        let (chain, cq_mod) = self.params.chain_and_signal();
        Load {
            origin: LoadOrigin::Ours,
            op: self.params.op,
            transport: Some(self.params.transport.to_string()),
            loopback,
            bidirectional: self.params.bidirectional,
            target: self.target.clone(),
            devices,
            size_bytes: Some(self.params.size_bytes),
            qps: Some(self.params.qps),
            depth: Some(self.params.depth),
            chain: has_chains.then_some(chain),
            cq_mod: has_chains.then_some(cq_mod),
            batch: is_striped.then_some(self.params.batch),
            rate_gb_per_s: self.params.rate_gb_per_s,
            leg: self.params.leg,
            working_set_bytes: self.params.working_set.bytes(),
            path_mtu: connected.iter().filter_map(|(unit, _)| unit.path_mtu).min().filter(|_| is_rdma),
            read_depth: depths.min().filter(|_| is_read),
            device_read_depth: device_depths.min().filter(|_| is_read),
            place: Some(self.params.place.to_string()),
            duration_s: self.params.duration_s,
            warmup_s: Some(self.params.warmup_s),
            workers,
            relaxed_ordering: connected.iter().filter_map(relaxed).min().filter(|_| is_rdma),
            perf_gaps: gaps.flatten().collect(),
            ..Load::default()
        }
    }
}
