//! What the NIC and the threads of one simulated rail have counted.

use super::counted::Messages;
use super::transport::{Nic, NicLeg};
use super::world::{Counter, Grows, Hides};
use probes::load::Counts;
use probes::model::{LegFrame, LoadOp, PerfFrame, RailFrame, RailId, WorkerFrame};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One rail, with all that its counters follow from.
#[derive(Debug)]
pub(super) struct SimRail {
    /// Its threads.
    pub(super) units: Vec<SimUnit>,
    /// What the NIC had counted before the session, received and sent.
    pub(super) before_bytes: [u64; 2],
    pub(super) path_mtu: u64,
    pub(super) size_bytes: u64,
    pub(super) legs: usize,
    pub(super) is_bond: bool,
    pub(super) op: LoadOp,
    pub(super) counters: Vec<Counter>,
    pub(super) hides: Hides,
    /// What holds it back.
    pub(super) held_by: Option<Grows>,
    /// What others read over each leg, bytes per nanosecond.
    pub(super) others: Vec<f64>,
}

/// One thread of a rail: what it did, and what the NIC moved for it.
#[derive(Debug)]
pub(super) struct SimUnit {
    /// Where the most that it moves is changed, and its part of what its rail moves.
    pub(super) most: Arc<AtomicU64>,
    pub(super) part: f64,
    pub(super) nic: Arc<Nic>,
    pub(super) counts: Arc<Counts>,
}

impl SimRail {
    pub(super) fn frame(&self, at_ns: u64, is_full: bool) -> RailFrame {
        let legs: Vec<LegFrame> = (0..self.legs).map(|leg| self.leg(leg, at_ns)).collect();
        let sum = |count: fn(&LegFrame) -> Option<u64>| {
            legs.iter().map(count).sum::<Option<u64>>().filter(|_| !self.hides.bytes)
        };
        RailFrame {
            rx_bytes: sum(|leg| leg.rx_rdma_bytes),
            tx_bytes: sum(|leg| leg.tx_rdma_bytes),
            state: is_full.then(|| "ACTIVE".into()),
            phys_state: is_full.then(|| "LinkUp".into()),
            counters: if is_full { self.counters() } else { Vec::new() },
            legs: if is_full && self.is_bond && !self.hides.legs { legs } else { Vec::new() },
            lost: false,
        }
    }

    fn counters(&self) -> Vec<Option<u64>> {
        let payload = |unit: &SimUnit| -> u64 {
            unit.nic.legs.iter().map(|leg| leg.payload_bytes.load(Ordering::Relaxed)).sum()
        };
        let gb = self.units.iter().map(payload).sum::<u64>() as f64 / 1e9;
        self.counters.iter().map(|counter| Some(counter.after(gb, self.held_by))).collect()
    }

    fn leg(&self, leg: usize, at_ns: u64) -> LegFrame {
        let sum = |count: fn(&NicLeg) -> &AtomicU64| -> u64 {
            self.units.iter().map(|unit| count(&unit.nic.legs[leg]).load(Ordering::Relaxed)).sum()
        };
        let [rx, tx] = self.before_bytes.map(|bytes| bytes / self.legs as u64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate and a time")]
        let others = (self.others[leg] * at_ns as f64) as u64;
        let messages = Messages {
            op: self.op,
            size_bytes: self.size_bytes,
            path_mtu: self.path_mtu,
            payload_bytes: sum(|leg| &leg.payload_bytes),
            requests: sum(|leg| &leg.requests),
            before_bytes: [rx + others, tx],
        };
        messages.counted()
    }
}

impl SimUnit {
    pub(super) fn worker(&self, rail: RailId) -> WorkerFrame {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        WorkerFrame {
            rail: Some(rail),
            phase: self.counts.phase(),
            bytes: count(&self.counts.bytes),
            operations: count(&self.counts.operations),
            polls: count(&self.counts.polls),
            empty_polls: count(&self.counts.empty_polls),
            errors: BTreeMap::new(),
            restarts: 0,
            measured: None,
            perf: PerfFrame::default(),
            latency: self.counts.latency.read(),
            round_trip_ns: None,
        }
    }
}
