//! The loop of a rail's thread.

use super::control::{Control, Worker};
use super::{LoadError, LoadTransport};
use crate::model::WorkerPhase;

/// What a thread does when there is nothing to reap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// Spins on. A NIC completes without this CPU, and the core is ours.
    Spin,
    /// Gives the CPU away after so many empty polls: a software device needs it to complete anything.
    YieldAfter(u32),
}

impl Idle {
    /// What suits a device of this kernel driver.
    pub(super) fn of_driver(driver: Option<&str>) -> Self {
        match driver {
            Some("rdma_rxe" | "rxe" | "siw") => Self::YieldAfter(1),
            _ => Self::Spin,
        }
    }
}

/// Pumps until the load is over. No lock, no allocation, no system call and no clock in between, unless `idle`
/// says so.
///
/// # Errors
///
/// The rail is done for.
pub(super) fn drive(
    transport: &mut impl LoadTransport,
    control: &Control,
    worker: &Worker,
    idle: Idle,
) -> Result<(), LoadError> {
    let mut seen = WorkerPhase::Waiting;
    let mut empty_polls = 0;
    loop {
        let phase = control.phase();
        if phase != seen {
            if phase == WorkerPhase::Done {
                return Ok(());
            }
            worker.counts.set_phase(phase);
            seen = phase;
        }
        let pumped = transport.pump()?;
        worker.counts.add(pumped);
        if pumped.empty_polls == 0 {
            empty_polls = 0;
            continue;
        }
        empty_polls += 1;
        match idle {
            Idle::YieldAfter(polls) if empty_polls >= polls => {
                empty_polls = 0;
                std::thread::yield_now();
            }
            Idle::YieldAfter(_) | Idle::Spin => std::hint::spin_loop(),
        }
    }
}
