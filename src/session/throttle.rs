//! The rate of a load, changed while it runs.

use probes::model::Load;
use std::sync::{Arc, Mutex, PoisonError};

/// The most that each rail of a load moves, as it was changed while the load ran; copies of it all mean the same load.
#[derive(Clone, Debug, Default)]
pub struct Throttle(Arc<Mutex<Option<Rate>>>);

/// A rate that a load is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Most payload a rail, GB/s; 0 moves nothing, `None` as much as goes.
    pub gb_per_s: Option<f64>,
}

impl Throttle {
    /// A load that runs as it was planned.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Holds each rail to this from its next sample on, GB/s; 0 moves nothing, `None` as much as goes.
    pub fn set(&self, gb_per_s: Option<f64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Rate { gb_per_s });
    }

    /// What was set since it was last asked; for the one who drives the load.
    pub(crate) fn take(&self) -> Option<Rate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a load is by now.
#[derive(Clone, Debug, Default)]
pub(crate) struct AsItIs {
    /// `None` before it was changed.
    rate: Option<Rate>,
    /// The load as it was planned, and as it is since the last change.
    now: Option<(Arc<Load>, Arc<Load>)>,
}

impl AsItIs {
    /// From now on it has this rate.
    pub(crate) fn change(&mut self, rate: Rate) {
        (self.rate, self.now) = (Some(rate), None);
    }

    /// The load that was planned, with the rate that it has by now. The same for as long as nothing changes, so that
    /// frames share it.
    pub(crate) fn of(&mut self, planned: Arc<Load>) -> Arc<Load> {
        let Some(rate) = self.rate else { return planned };
        match &self.now {
            Some((of, now)) if Arc::ptr_eq(of, &planned) => now.clone(),
            _ => {
                let now = Arc::new(Load { rate_gb_per_s: rate.gb_per_s, ..(*planned).clone() });
                self.now = Some((planned, now.clone()));
                now
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AsItIs, Rate, Throttle};
    use probes::model::Load;
    use std::sync::Arc;

    #[test]
    fn a_change_is_taken_once() {
        let (throttle, other) = (Throttle::new(), Throttle::new());
        let driven = throttle.clone();
        assert_eq!(driven.take(), None);
        throttle.set(Some(5.0));
        throttle.set(None);
        assert_eq!(driven.take(), Some(Rate { gb_per_s: None }));
        assert_eq!((driven.take(), other.take()), (None, None));
    }

    #[test]
    fn frames_share_a_load_until_it_changes() {
        let planned = Arc::new(Load::default());
        let mut load = AsItIs::default();
        assert!(Arc::ptr_eq(&load.of(planned.clone()), &planned));
        load.change(Rate { gb_per_s: Some(5.0) });
        let held = load.of(planned.clone());
        assert_eq!(held.rate_gb_per_s, Some(5.0));
        assert!(Arc::ptr_eq(&load.of(planned.clone()), &held));
        load.change(Rate { gb_per_s: None });
        assert_eq!(load.of(planned).rate_gb_per_s, None);
    }
}
