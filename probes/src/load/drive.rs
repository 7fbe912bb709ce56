//! The loop of a rail's thread.

use super::control::{Control, ToldRate, Worker};
use super::{LoadError, LoadTransport};
use crate::model::WorkerPhase;
use std::time::{Duration, Instant};

/// What a thread does when there is nothing to reap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// Spins on. A NIC completes without this CPU, and the core is ours.
    Spin,
    /// Gives the CPU away: a software device needs it to complete anything.
    Yield,
}

/// Empty polls in a row with which a thread on a software device only offers the CPU to others; after that it
/// sleeps for [`NAP`] between polls, because the machine may have no CPU to spare at all.
pub(super) const PATIENT_POLLS: u32 = 64;

/// Short against the time a full queue takes a software device, which moves a few bytes per nanosecond at best.
pub(super) const NAP: Duration = Duration::from_micros(50);

impl Idle {
    /// What suits a device of this kernel driver.
    pub(super) fn of_driver(driver: Option<&str>) -> Self {
        match driver {
            Some("rdma_rxe" | "siw") => Self::Yield,
            _ => Self::Spin,
        }
    }
}

/// Pumps until the load is over, until the worker is told to let go, or until `operations` were good after the
/// warm-up. No lock, no allocation and no
/// system call in between, unless `idle` says so, and a clock for one operation in hundreds.
///
/// # Errors
///
/// The rail is done for.
pub(super) fn drive(
    transport: &mut impl LoadTransport,
    control: &Control,
    worker: &Worker,
    idle: Idle,
    operations: Option<u64>,
) -> Result<(), LoadError> {
    let mut seen = WorkerPhase::Waiting;
    let mut empty_polls: u32 = 0;
    let mut rate = ToldRate::NONE;
    let mut left = operations.unwrap_or(u64::MAX);
    loop {
        let phase = control.phase();
        if phase != seen {
            if phase == WorkerPhase::Done {
                return Ok(());
            }
            worker.counts.set_phase(phase);
            seen = phase;
        }
        let told = worker.told_rate();
        if told != rate {
            rate = told;
            transport.hold_to(told.gb_per_s());
        }
        let pumped = transport.pump()?;
        worker.counts.add(pumped);
        if pumped.operations > 0 {
            empty_polls = 0;
            if seen == WorkerPhase::Measuring {
                left = left.saturating_sub(pumped.operations);
                if left == 0 {
                    worker.measured_until(Instant::now());
                    return Ok(());
                }
            }
            // it may be told to while all is well
            if worker.is_halted() {
                return Ok(());
            }
            continue;
        }
        if worker.is_halted() {
            return Ok(());
        }
        empty_polls = empty_polls.saturating_add(1);
        match idle {
            Idle::Spin => std::hint::spin_loop(),
            Idle::Yield if empty_polls <= PATIENT_POLLS => std::thread::yield_now(),
            Idle::Yield => std::thread::sleep(NAP),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Idle, Worker, drive};
    use crate::load::{LoadError, LoadTransport, Pumped, Unit};
    use crate::model::{RailId, WorkerPhase};
    use std::sync::atomic::Ordering;

    /// Completes four operations a pump, and begins to be measured with the third.
    struct Fours<'a>(&'a Control, u64);

    impl LoadTransport for Fours<'_> {
        fn pump(&mut self) -> Result<Pumped, LoadError> {
            self.1 += 1;
            if self.1 == 2 {
                self.0.advance(WorkerPhase::Measuring);
            }
            Ok(Pumped { bytes: 400, operations: 4, polls: 1, ..Pumped::default() })
        }
    }

    /// Is told another rate, and ends the load once it has heard of it.
    struct Heard<'a>(&'a Control, Vec<Option<f64>>);

    impl LoadTransport for Heard<'_> {
        fn pump(&mut self) -> Result<Pumped, LoadError> {
            Ok(Pumped { polls: 1, empty_polls: 1, ..Pumped::default() })
        }

        fn hold_to(&mut self, gb_per_s: Option<f64>) {
            self.1.push(gb_per_s);
            self.0.advance(WorkerPhase::Done);
        }
    }

    #[test]
    fn a_rate_that_is_changed_while_it_runs_is_heard_of_once() {
        let unit = Unit { rail: RailId(0), worker: 0, workers: 1, qps: 1 };
        for rate in [Some(2.5), Some(0.0), None] {
            let (control, worker) = (Control::default(), Worker::new(unit, "mlx5_0".to_owned()));
            worker.hold_to(rate);
            let mut heard = Heard(&control, Vec::new());
            drive(&mut heard, &control, &worker, Idle::Spin, None).unwrap();
            assert_eq!(heard.1, [rate]);
        }
    }

    #[test]
    fn a_counted_load_ends_with_the_pump_that_completes_its_share() {
        let unit = Unit { rail: RailId(0), worker: 0, workers: 1, qps: 1 };
        let (control, worker) = (Control::default(), Worker::new(unit, "mlx5_0".to_owned()));
        control.advance(WorkerPhase::Warmup);
        drive(&mut Fours(&control, 0), &control, &worker, Idle::Spin, Some(9)).unwrap();
        assert_eq!(worker.counts.operations.load(Ordering::Relaxed), 2 * 4 + 3 * 4, "warm-up and 12 for 9");
    }
}
