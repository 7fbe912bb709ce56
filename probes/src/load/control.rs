//! What the threads of a load share: when to start, when to stop, and what each has to tell.

use super::Unit;
use super::counts::{AtomicPhase, Counts};
use super::layout::Layout;
use crate::ffi::verbs::Region;
use crate::model::{Failure, Measured, PerfFrame, WorkerFrame, WorkerPhase};
use crate::perf::Meter;
use crate::times::nanoseconds;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The phase all rails are in. Spinning threads read it without a lock, sleeping ones wait for it to change.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// Alone on its cache lines, so that workers that only read it keep it in their caches.
    phase: Alone,
    changing: Mutex<()>,
    changed: Condvar,
}

/// When a worker's measured time began and ended, with its bytes then.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    begin: Option<(Instant, u64)>,
    end: Option<(Instant, u64)>,
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

    /// Waits until the phase is no longer `phase`, or `worker` is told to let go.
    pub(super) fn sleep(&self, phase: WorkerPhase, worker: &Worker) {
        let changing = lock(&self.changing);
        let same = |(): &mut ()| self.phase() == phase && !worker.is_halted();
        drop(self.changed.wait_while(changing, same).unwrap_or_else(PoisonError::into_inner));
    }

    /// Tells `worker` to let go of its queue pairs, so that it can be opened anew.
    pub(super) fn halt(&self, worker: &Worker) {
        let _changing = lock(&self.changing);
        worker.halted.store(true, Ordering::Release);
        self.changed.notify_all();
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
    /// What its peer may read or write, while it may.
    pub(super) exposed: Mutex<Option<(Arc<Region>, Layout)>>,
    /// Told to let go of its queue pairs.
    halted: AtomicBool,
    /// Bits of the rate that it was told to keep to while it ran; [`AS_PLANNED`] before that.
    rate: AtomicU64,
    /// How often it went on after it had failed.
    pub(super) restarts: AtomicU64,
    news: Mutex<Vec<Happening>>,
    measured: Mutex<Window>,
    /// Touched by the worker before it runs and after it ran, by the sampler in between.
    pub(super) meter: Mutex<Option<Meter>>,
    trouble: Mutex<Trouble>,
}

/// No rate has these bits.
const AS_PLANNED: u64 = u64::MAX;

/// The rate that a thread was told to keep to while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToldRate(u64);

impl ToldRate {
    /// Nothing was told: the rate is the plan's.
    pub(super) const NONE: Self = Self(AS_PLANNED);

    /// GB/s; `None`: as much as goes.
    pub(super) fn gb_per_s(self) -> Option<f64> {
        Some(f64::from_bits(self.0)).filter(|rate| rate.is_finite())
    }
}

/// What happens to a thread that the other end must hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It failed: why.
    Failed(String),
    /// It posts nothing any more, and nothing is out: good operations of each of its queue pairs since it was opened.
    AtRest(Vec<u64>),
}

#[derive(Debug, Default)]
struct Trouble {
    errors: BTreeMap<String, u64>,
    /// Different ones only, in the order in which they came.
    failures: Vec<String>,
    /// All that came since they were last asked for.
    fresh: Vec<String>,
}

impl Worker {
    pub(super) fn new(unit: Unit, device: String) -> Self {
        Self {
            unit,
            device,
            counts: Counts::default(),
            exposed: Mutex::default(),
            halted: AtomicBool::new(false),
            rate: AtomicU64::new(AS_PLANNED),
            restarts: AtomicU64::new(0),
            news: Mutex::default(),
            measured: Mutex::default(),
            meter: Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    /// Tells it to move no more than this from now on, GB/s; `None`: as much as goes.
    pub(super) fn hold_to(&self, gb_per_s: Option<f64>) {
        self.rate.store(gb_per_s.unwrap_or(f64::INFINITY).to_bits(), Ordering::Relaxed);
    }

    /// What it was told last, to be held against what was told before.
    #[inline]
    pub(super) fn told_rate(&self) -> ToldRate {
        ToldRate(self.rate.load(Ordering::Relaxed))
    }

    fn bytes(&self) -> u64 {
        self.counts.bytes.load(Ordering::Relaxed)
    }

    /// Notes that its measured time begins.
    pub(super) fn measured_from(&self, now: Instant) {
        lock(&self.measured).begin.get_or_insert_with(|| (now, self.bytes()));
    }

    /// Notes that its measured time ends, unless it has ended: a counted load ends thread by thread.
    pub(super) fn measured_until(&self, now: Instant) {
        lock(&self.measured).end.get_or_insert_with(|| (now, self.bytes()));
    }

    /// What it did in its measured time so far, also over the time in which it had failed; `None` before that begins.
    pub(super) fn measured(&self) -> Option<Measured> {
        let Window { begin, end } = *lock(&self.measured);
        let (begin, bytes_then) = begin?;
        let (end, bytes) = end.unwrap_or_else(|| (Instant::now(), self.bytes()));
        let ns = nanoseconds(end.saturating_duration_since(begin));
        Some(Measured { bytes: bytes.saturating_sub(bytes_then), ns })
    }

    /// Notes errors by name, and what they mean.
    pub(super) fn report(&self, errors: impl IntoIterator<Item = (String, u64)>, failure: String) {
        let mut trouble = lock(&self.trouble);
        for (name, count) in errors {
            *trouble.errors.entry(name).or_default() += count;
        }
        trouble.fresh.push(failure.clone());
        if !trouble.failures.contains(&failure) {
            trouble.failures.push(failure);
        }
    }

    /// What went wrong, one line each; the first says whether it came back.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = lock(&self.trouble).failures.clone();
        if let Some(first) = failures.first_mut() {
            match self.restarts.load(Ordering::Relaxed) {
                0 => {}
                1 => first.push_str(" (it came back)"),
                times => *first = format!("{first} (it came back {times} times)"),
            }
        }
        failures
    }

    /// What went wrong since it was last asked for.
    pub(super) fn fresh_failures(&self) -> Vec<Failure> {
        let fresh = std::mem::take(&mut lock(&self.trouble).fresh);
        fresh.iter().map(|text| Failure::new(Some(&self.device), text)).collect()
    }

    /// Notes what the other end must hear of.
    pub(super) fn tell(&self, happening: Happening) {
        lock(&self.news).push(happening);
    }

    /// What was noted since it was last asked for.
    pub(super) fn news(&self) -> Vec<Happening> {
        std::mem::take(&mut *lock(&self.news))
    }

    /// Whether it was told to let go of its queue pairs.
    pub(super) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Begins anew.
    pub(super) fn unhalt(&self) {
        self.halted.store(false, Ordering::Release);
    }

    /// Whether it has moved something, so that its failure may pass.
    pub(super) fn has_worked(&self) -> bool {
        self.counts.operations.load(Ordering::Relaxed) > 0
    }

    /// What it has done so far.
    pub(super) fn frame(&self) -> WorkerFrame {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkerFrame {
            rail: Some(self.unit.rail),
            phase: self.counts.phase(),
            bytes: get(&self.counts.bytes),
            operations: get(&self.counts.operations),
            polls: get(&self.counts.polls),
            empty_polls: get(&self.counts.empty_polls),
            errors: lock(&self.trouble).errors.clone(),
            restarts: get(&self.restarts),
            perf: lock(&self.meter).as_mut().map_or_else(PerfFrame::default, Meter::read),
            latency: self.counts.latency.read(),
            round_trip_ns: Some(get(&self.counts.round_trip_ns)).filter(|ns| *ns > 0),
            measured: self.measured(),
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
