//! The life of a simulated rail's thread: it moves what is due, in virtual time.

use super::clock::Clock;
use super::transport::SimTransport;
use probes::load::{Counts, LoadTransport};
use probes::model::WorkerPhase;

/// Drives the rail of the clock's thread `at` until the clock ends; what is done before `warmup_ns` is not measured.
pub(super) fn drive(
    (at, warmup_ns): (usize, u64),
    mut transport: SimTransport,
    clock: &Clock,
    counts: &Counts,
) {
    let _leaves = Leaves { at, clock };
    while clock.wait_beyond(at, transport.now_ns()) {
        while transport.now_ns() < clock.target_ns() {
            match transport.pump() {
                Ok(pumped) => counts.add(pumped),
                Err(_) => return counts.set_phase(WorkerPhase::Failed),
            }
        }
        if transport.now_ns() >= warmup_ns {
            counts.set_phase(WorkerPhase::Measuring);
        }
    }
}

/// Tells the clock when the thread ends, also by a panic.
struct Leaves<'a> {
    at: usize,
    clock: &'a Clock,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.clock.leave(self.at);
    }
}
