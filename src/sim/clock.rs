//! Virtual time: the source sets it forward, the rail threads follow, the source waits until all have arrived.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The clock that rail threads and source share.
#[derive(Debug)]
pub(super) struct Clock {
    /// A copy of the state's, to be read without the lock.
    target_ns: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    target_ns: u64,
    /// How far each rail thread is; `None` once it has ended.
    reached_ns: Vec<Option<u64>>,
    over: bool,
}

impl Clock {
    pub(super) fn new(threads: usize) -> Self {
        let state = State { target_ns: 0, reached_ns: vec![Some(0); threads], over: false };
        Self { target_ns: AtomicU64::new(0), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The time up to which rails may run.
    pub(super) fn target_ns(&self) -> u64 {
        self.target_ns.load(Ordering::Relaxed)
    }

    /// Sets the clock forward and waits for every rail; `false` when a rail thread has ended.
    pub(super) fn advance(&self, to_ns: u64) -> bool {
        let mut state = self.lock();
        state.target_ns = to_ns;
        self.target_ns.store(to_ns, Ordering::Relaxed);
        self.changed.notify_all();
        let behind = |state: &mut State| state.reached_ns.iter().flatten().any(|reached| *reached < to_ns);
        let state = self.changed.wait_while(state, behind).unwrap_or_else(PoisonError::into_inner);
        state.reached_ns.iter().all(Option::is_some)
    }

    /// Says that a rail has come to `now_ns`, and waits until it may go on; `false` when the session is over.
    pub(super) fn wait_beyond(&self, thread: usize, now_ns: u64) -> bool {
        let mut state = self.lock();
        state.reached_ns[thread] = Some(now_ns);
        self.changed.notify_all();
        let idle = |state: &mut State| !state.over && state.target_ns <= now_ns;
        let state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        !state.over
    }

    /// Says that a rail's thread has ended, however it did.
    pub(super) fn leave(&self, thread: usize) {
        self.lock().reached_ns[thread] = None;
        self.changed.notify_all();
    }

    /// Ends all rails.
    pub(super) fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
