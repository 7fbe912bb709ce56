//! What the threads of a load share: when to start, when to stop, and what each has to tell.

use super::Unit;
use super::counts::{AtomicPhase, Counts};
use crate::model::{PerfFrame, WorkerFrame, WorkerPhase};
use crate::perf::Meter;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The phase all rails are in. Spinning threads read it without a lock, sleeping ones wait for it to change.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// Alone on its cache lines, so that workers that only read it keep it in their caches.
    phase: Alone,
    changing: Mutex<()>,
    changed: Condvar,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Alone(AtomicPhase);

impl Control {
    /// The phase now.
    #[inline]
    pub(super) fn phase(&self) -> WorkerPhase {
        self.phase.0.get()
    }

    /// Goes on to `phase`, unless the load is over already.
    pub(super) fn advance(&self, phase: WorkerPhase) {
        let _changing = lock(&self.changing);
        if self.phase() != WorkerPhase::Done {
            self.phase.0.set(phase);
            self.changed.notify_all();
        }
    }

    /// Waits until the phase is no longer `phase`, at most for `timeout`; says what it is then.
    pub(super) fn wait_while(&self, phase: WorkerPhase, timeout: Option<Duration>) -> WorkerPhase {
        let changing = lock(&self.changing);
        let same = |(): &mut ()| self.phase() == phase;
        match timeout {
            None => drop(self.changed.wait_while(changing, same).unwrap_or_else(PoisonError::into_inner)),
            Some(timeout) => drop(self.changed.wait_timeout_while(changing, timeout, same)),
        }
        self.phase()
    }
}

/// What one worker has to tell.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) unit: Unit,
    pub(super) device: String,
    pub(super) counts: Counts,
    /// Touched by the worker before it runs and after it ran, by the sampler in between.
    pub(super) meter: Mutex<Option<Meter>>,
    trouble: Mutex<Trouble>,
}

#[derive(Debug, Default)]
struct Trouble {
    errors: BTreeMap<String, u64>,
    failure: Option<String>,
}

impl Worker {
    pub(super) fn new(unit: Unit, device: String) -> Self {
        Self { unit, device, counts: Counts::default(), meter: Mutex::default(), trouble: Mutex::default() }
    }

    /// Notes errors by name, and what they mean.
    pub(super) fn report(&self, errors: impl IntoIterator<Item = (String, u64)>, failure: String) {
        let mut trouble = lock(&self.trouble);
        for (name, count) in errors {
            *trouble.errors.entry(name).or_default() += count;
        }
        trouble.failure.get_or_insert(failure);
    }

    /// What went wrong; `None` while nothing did.
    pub(super) fn failure(&self) -> Option<String> {
        lock(&self.trouble).failure.clone()
    }

    /// Whether it will move no more bytes.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.counts.phase(), WorkerPhase::Done | WorkerPhase::Failed)
    }

    /// What it has done so far.
    pub(super) fn frame(&self) -> WorkerFrame {
        let get = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        WorkerFrame {
            rail: Some(self.unit.rail),
            phase: self.counts.phase(),
            bytes: get(&self.counts.bytes),
            operations: get(&self.counts.operations),
            polls: get(&self.counts.polls),
            empty_polls: get(&self.counts.empty_polls),
            errors: lock(&self.trouble).errors.clone(),
            perf: lock(&self.meter).as_mut().map_or_else(PerfFrame::default, Meter::read),
            latency: self.counts.latency.read(),
            round_trip_ns: Some(get(&self.counts.round_trip_ns)).filter(|ns| *ns > 0),
        }
    }
}

/// The lock, also after a thread panicked with it: what it guards is valid at every moment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Control;
    use crate::model::WorkerPhase;
    use std::time::Duration;

    #[test]
    fn a_load_that_is_over_does_not_start_again() {
        let control = Control::default();
        control.advance(WorkerPhase::Done);
        control.advance(WorkerPhase::Measuring);
        assert_eq!(control.phase(), WorkerPhase::Done);
    }

    #[test]
    fn who_waits_for_another_phase_does_not_wait_when_it_came_before() {
        let control = Control::default();
        control.advance(WorkerPhase::Warmup);
        assert_eq!(control.wait_while(WorkerPhase::Waiting, None), WorkerPhase::Warmup);
        assert_eq!(control.wait_while(WorkerPhase::Warmup, Some(Duration::ZERO)), WorkerPhase::Warmup);
    }
}
