//! What is read at every sample: a rail's bytes and state, and less often its further counters and legs.
//!
//! Where the bytes of a rail are counted depends on its driver; [`Sampler::open`] decides once and leaves a
//! gap where the place is not what its name promises:
//!
//! | place | unit | drivers |
//! |---|---|---|
//! | `ports/N/counters/port_{rcv,xmit}_data` | 4-byte words on any lane count | mlx5, mlx4, mthca, qib, hfi1, ocrdma |
//! | `ports/N/counters_ext/port_{rcv,xmit}_data_64` | the same, 64 bits wide | mlx4 of out-of-tree stacks |
//! | `hw_counters/{rx,tx}_bytes` and the like | bytes | efa, `bnxt_re`, mana, ionic, erdma, irdma |
//! | `/sys/class/net/DEV/statistics/{rx,tx}_bytes` | bytes, all traffic | `rdma_rxe`, siw: the netdev carries it |
//! | nowhere | | hns, cxgb4, qedr, usnic |
//!
//! The table with names and sources is in `counters/drivers.rs`.
//!
//! Reading is not free on a live node: each file of `counters/` is a firmware command on mlx5
//! (`process_mad` in drivers/infiniband/hw/mlx5/mad.c), and ethtool statistics hold the rtnl lock. So the
//! byte counters and the state are one call ([`Sampler::bytes`]), everything else another
//! ([`Sampler::further`]) that is made once a second. Files stay open and are read again at offset 0,
//! without a path walk.

mod bytes;
mod drivers;
mod file;
mod legs;
mod rail;
mod statistics;

use crate::model::{RailFrame, RailId, Topology};
use crate::root::Root;
use rail::RailSource;

pub use drivers::{AtEnd, Range, range};

/// Reads what the rails of one topology have counted so far.
#[derive(Debug)]
pub struct Sampler {
    rails: Vec<RailSource>,
}

impl Sampler {
    /// Finds out what is counted where, names the further counters in [`crate::model::Rail::counters`], and
    /// leaves a gap for each byte counter that is not readable or not what its name promises.
    #[must_use]
    pub fn open(root: &Root, topology: &mut Topology) -> Self {
        let mut gaps = Vec::new();
        let rails = topology.rails.iter_mut().map(|rail| RailSource::open(root, rail, &mut gaps)).collect();
        topology.gaps.extend(gaps);
        topology.gaps.sort();
        topology.gaps.dedup();
        Self { rails }
    }

    /// One entry per rail: bytes and state of those that `wanted` names, nothing of the others.
    pub fn bytes(&mut self, root: &Root, wanted: impl Fn(RailId) -> bool) -> Vec<RailFrame> {
        let mut frames = vec![RailFrame::default(); self.rails.len()];
        // counters of all rails first and close together: they share one time stamp
        for (at, (source, frame)) in self.rails.iter_mut().zip(&mut frames).enumerate() {
            if wanted(RailId(at)) {
                source.bytes(root, frame);
            }
        }
        for (at, (source, frame)) in self.rails.iter_mut().zip(&mut frames).enumerate() {
            source.state(root, wanted(RailId(at)), frame);
        }
        frames
    }

    /// Adds the further counters, the legs and the physical state of every rail.
    pub fn further(&mut self, root: &Root, frames: &mut [RailFrame]) {
        for (source, frame) in self.rails.iter_mut().zip(frames) {
            source.further(root, frame);
        }
    }
}

#[cfg(test)]
mod tests;
