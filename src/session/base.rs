//! What the numbers of a row are differences to: the last ones of the same host in the same block.

use probes::model::{Latencies, Load, PerfFrame, Process};
use std::sync::Arc;

/// The last value of one cumulative number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last(pub Option<u64>);

/// The last values of one host.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    pub seq: Last,
    pub at_ns: Last,
    pub rails: Vec<RailBase>,
    pub workers: Vec<WorkerBase>,
    pub peer: [Last; 2],
    pub load: Option<Arc<Load>>,
    pub processes: Option<Arc<Vec<Process>>>,
}

/// The last values of one rail.
#[derive(Clone, Debug, Default)]
pub(super) struct RailBase {
    pub rx_bytes: Last,
    pub tx_bytes: Last,
    pub counters: Vec<Last>,
    pub legs: Vec<[Last; 4]>,
}

/// The last values of a worker's cost.
pub(super) type PerfBase = [Last; PerfFrame::NAMES.len()];

/// The last values of one worker.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkerBase {
    pub counts: [Last; 4],
    pub perf: PerfBase,
    pub latency: Latencies,
    pub measured: [Last; 2],
}

/// The element at this position, made if it is not there yet.
pub(super) fn slot<T: Default>(list: &mut Vec<T>, at: usize) -> &mut T {
    if list.len() <= at {
        list.resize_with(at + 1, T::default);
    }
    &mut list[at]
}
