//! What one thread of a load has to do: its rail, and its share of the rail's queue pairs.

use super::{LoadError, Params, WorkingSet, leg};
use crate::model::RailId;

/// One thread of a load on one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its rail.
    pub rail: RailId,
    /// Position among the threads of its rail, from 0.
    pub worker: u32,
    /// Threads of its rail.
    pub workers: u32,
    /// Queue pairs that are its own.
    pub qps: u32,
}

impl Unit {
    /// The units of a load over these rails: all workers of the first rail, then those of the next.
    ///
    /// The queue pairs of a rail are shared out so that the shares differ by one at most.
    pub fn all(rails: &[RailId], params: &Params) -> impl Iterator<Item = Self> {
        let (qps, workers) = (params.qps, params.workers.max(1));
        rails.iter().flat_map(move |rail| {
            let unit = move |worker| {
                let qps = qps / workers + u32::from(worker < qps % workers);
                Self { rail: *rail, worker, workers, qps }
            };
            (0..workers).map(unit)
        })
    }

    /// Its number for people, from 1; `None` where its rail has no other thread.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        (self.workers > 1).then(|| self.worker.saturating_add(1))
    }

    /// The parameters of this unit alone.
    pub(super) fn params(&self, params: &Params) -> Params {
        let working_set = match params.working_set {
            WorkingSet::Hot => WorkingSet::Hot,
            WorkingSet::Bytes(bytes) => {
                WorkingSet::Bytes(bytes / u64::from(params.qps.max(1)) * u64::from(self.qps))
            }
        };
        let share = f64::from(self.qps) / f64::from(params.qps.max(1));
        let rate_gb_per_s = params.rate_gb_per_s.map(|rate| rate * share);
        // each thread has labels of its own
        let labels =
            params.labels.iter().map(|(device, set)| (device.clone(), leg::set_of_worker(*set, self.worker)));
        Params { qps: self.qps, working_set, rate_gb_per_s, labels: labels.collect(), ..params.clone() }
    }

    /// Names the worker in an error that names the rail, where the rail has several.
    pub(super) fn name(&self, error: LoadError) -> LoadError {
        match self.number() {
            None => error,
            Some(number) => LoadError::Worker { number, error: Box::new(error) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Unit;
    use crate::load::{LoadError, Params};
    use crate::model::RailId;

    fn shares(qps: u32, workers: u32) -> Vec<(usize, u32, u32)> {
        let params = Params { workers, qps, ..Params::default() };
        Unit::all(&[RailId(0), RailId(3)], &params).map(|unit| (unit.rail.0, unit.worker, unit.qps)).collect()
    }

    #[test]
    fn shares_of_queue_pairs_differ_by_one_at_most() {
        assert_eq!(shares(4, 1), [(0, 0, 4), (3, 0, 4)]);
        assert_eq!(shares(5, 2), [(0, 0, 3), (0, 1, 2), (3, 0, 3), (3, 1, 2)]);
    }

    #[test]
    fn an_error_names_the_worker_where_there_are_several() {
        let said = |workers| {
            let unit = Unit { rail: RailId(0), worker: 1, workers, qps: 1 };
            unit.name(LoadError::Other("mlx5_0: no memory".into())).to_string()
        };
        assert_eq!(said(1), "mlx5_0: no memory");
        assert_eq!(said(2), "worker 2 of mlx5_0: no memory");
    }
}
