//! A diagnosis as the frames of a session tell it.
//!
//! Frames carry which planned load they are a sample of ([`probes::model::Experiment`]). What each load showed, the verdicts
//! and the loads that are left are computed from that, so a diagnosis that is made, one that is recorded and one that is
//! replayed up to any moment are the same.

use super::Seen;
use super::diagnosis::{Diagnosis, RailDiagnosis, judge};
use super::plan::{Base, Step, left, next, usual};
use super::shared::{SharedLimit, shared_limits};
use crate::rules::Limits;
use probes::load::{Params, Place, WorkingSet};
use probes::model::{Experiment, ExperimentEdge, ExperimentKind, Frame, Load, Session, Simulation, Topology};
use std::sync::Arc;
use std::time::Duration;

/// Both samples of the planned loads of a session so far. What lies between two diagnoses, such as a load, parts them.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// That of a load which goes on.
    begun: Option<Arc<Frame>>,
    made: Vec<Made>,
    /// Which diagnosis of the session it is, from 0.
    diagnosis: usize,
    /// Whether something else came since its last load.
    is_left: bool,
    /// When that came, of each diagnosis, nanoseconds.
    left_at_ns: Vec<u64>,
}

/// What is said of loads over TCP.
pub const OVER_TCP: &str = "over TCP: a functional check, its rates prove nothing about a rail";

/// What the figures of a load are not; `None` of one over a fabric.
#[must_use]
pub fn caveat(load: &Load) -> Option<String> {
    let caveats = [(load.loopback, "loopback, not fabric"), (load.is_functional_check(), OVER_TCP)];
    let caveats: Vec<&str> = caveats.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    (!caveats.is_empty()).then(|| caveats.join("; "))
}

/// That no figure is a measurement.
#[must_use]
pub fn simulated(what: &Simulation) -> String {
    format!("simulated, scenario {}, seed {}", what.scenario, what.seed)
}

/// One planned load.
#[derive(Clone, Debug)]
struct Made {
    from: Option<Arc<Frame>>,
    to: Arc<Frame>,
    diagnosis: usize,
}

/// The table as it stands at some moment.
#[derive(Clone, Debug)]
pub struct Table {
    /// Rails, slow ones first.
    pub rails: Vec<RailDiagnosis>,
    /// Limits that several rails have in common.
    pub shared_limits: Vec<SharedLimit>,
    /// Loads that were made.
    pub made: usize,
    /// Loads that are left, as far as it can be told then.
    pub left: usize,
    /// How long those take, by what the others took.
    pub time_left: Duration,
    /// What the newest of those showed; `None` before the first is over.
    pub last: Option<Seen>,
    /// The load that comes next, or goes on; `None` when all were made.
    pub now: Option<Step>,
    /// Whether it was ended, and something else came: what was not made will not be.
    pub is_left: bool,
    /// Whether its loads went over TCP, whose rates prove nothing about a rail.
    pub is_functional_check: bool,
    /// What its figures are not; `None` of loads over a fabric.
    pub caveat: Option<String>,
}

impl Told {
    /// Takes a frame.
    pub fn frame(&mut self, frame: &Frame) {
        let Some(experiment) = &frame.experiment else {
            if !self.is_left && !self.is_empty() {
                self.is_left = true;
                self.left_at_ns.push(frame.at_ns);
            }
            return;
        };
        if std::mem::take(&mut self.is_left) {
            self.diagnosis += 1;
            self.begun = None;
        }
        let (frame, diagnosis) = (Arc::new(frame.clone()), self.diagnosis);
        match experiment.edge {
            ExperimentEdge::Begins => self.begun = Some(frame),
            ExperimentEdge::Ends => self.made.push(Made { from: self.begun.take(), to: frame, diagnosis }),
            ExperimentEdge::Failed => {
                self.begun = None;
                self.made.push(Made { from: None, to: frame, diagnosis });
            }
        }
    }

    /// How many frames were taken.
    #[must_use]
    pub fn frames(&self) -> usize {
        2 * self.made.len() + usize::from(self.begun.is_some())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.made.is_empty() && self.begun.is_none()
    }

    /// What the loads showed that were over by then, on a host that is this.
    #[must_use]
    pub fn seen(&self, topology: &Topology, until_ns: u64) -> Vec<Seen> {
        self.until(until_ns).filter_map(|made| made.seen(topology)).collect()
    }

    /// The table as it stood then; `None` before the first load.
    #[must_use]
    pub fn table(&self, topology: &Topology, limits: &Limits, until_ns: u64) -> Option<Table> {
        let begun = self.begun.iter().filter(|frame| frame.at_ns <= until_ns);
        let diagnosis = self.diagnosis_by(until_ns)?;
        let last = self.until(until_ns).map(|made| &made.to).chain(begun).last()?;
        let of = last.experiment.as_deref()?;
        let seen = self.seen(topology, until_ns);
        let mut topology = topology.clone();
        topology.rails.retain(|rail| of.among.contains(&rail.device));
        let base = Base {
            params: Params { qps: of.base_qps, size_bytes: of.size_bytes, ..usual() },
            // what cold memory is makes no difference to what comes next
            cold: WorkingSet::Hot,
        };
        let left = left(&topology, &base, limits, &seen);
        let spent = self.until(until_ns).next().map_or(Duration::ZERO, |first| first.to(last));
        let each = match u32::try_from(seen.len()) {
            Ok(count) if count > 2 => spent / count,
            _ => Duration::from_millis(of.takes_ms),
        };
        let rails = judge(&topology, limits, &seen);
        let load = self.until(until_ns).filter_map(|made| made.to.load.as_deref()).last();
        Some(Table {
            shared_limits: shared_limits(&topology, limits, &seen, &rails),
            rails,
            made: seen.len(),
            left,
            time_left: each * u32::try_from(left).unwrap_or(u32::MAX),
            now: next(&topology, &base, limits, &seen),
            last: seen.into_iter().last(),
            is_left: self.left_at_ns.get(diagnosis).is_some_and(|at_ns| *at_ns <= until_ns),
            is_functional_check: load.is_some_and(Load::is_functional_check),
            caveat: load.and_then(caveat),
        })
    }

    /// All of it, as `railscope diagnose` tells it at its end; `None` where the session has no planned load.
    #[must_use]
    pub fn diagnosis(&self, session: &Session, limits: &Limits) -> Option<Diagnosis> {
        let topology = session.topology();
        let table = self.table(topology, limits, u64::MAX)?;
        let all = || self.until(u64::MAX).filter_map(|made| made.to.experiment.as_deref());
        let first = all().next()?;
        let took = self.until(u64::MAX).next()?.to(&self.until(u64::MAX).last()?.to);
        let load = (first.size_bytes, first.base_qps);
        let (verdicts, seen) = ((table.rails, table.shared_limits), self.seen(topology, u64::MAX));
        Some(Diagnosis {
            peer: all().find_map(|of| of.peer.clone()),
            caveat: session.simulated.as_ref().map(simulated).or(table.caveat),
            cut_short: table.now.is_some(),
            ..Diagnosis::of(topology, load, took, verdicts, seen)
        })
    }

    /// Loads of the diagnosis that went on last by then, which were over.
    fn until(&self, until_ns: u64) -> impl Iterator<Item = &Made> {
        let diagnosis = self.diagnosis_by(until_ns);
        let over = self.made.iter().filter(move |made| made.to.at_ns <= until_ns);
        over.filter(move |made| Some(made.diagnosis) == diagnosis)
    }

    /// The diagnosis that went on last by then.
    fn diagnosis_by(&self, until_ns: u64) -> Option<usize> {
        let begun = self.begun.iter().filter(|frame| frame.at_ns <= until_ns).map(|_| self.diagnosis);
        let over = self.made.iter().filter(|made| made.to.at_ns <= until_ns).map(|made| made.diagnosis);
        begun.chain(over).max()
    }
}

impl Made {
    /// Time from its first sample to this one.
    fn to(&self, last: &Frame) -> Duration {
        let first = self.from.as_ref().unwrap_or(&self.to);
        Duration::from_nanos(last.at_ns.saturating_sub(first.at_ns))
    }

    /// What it showed; `None` where its beginning is not in the session.
    fn seen(&self, topology: &Topology) -> Option<Seen> {
        let of = self.to.experiment.as_deref()?;
        let step = step_of(of, &self.to);
        if of.edge == ExperimentEdge::Failed {
            return Some(Seen::failed(step, of.failures.join("; ")));
        }
        let from = self.from.as_ref()?;
        let seen = Seen::between(step, topology, from, &self.to, of.failures.clone());
        Some(seen.with_far(&of.far, of.far_gap.clone()))
    }
}

/// The load of a plan that an experiment of a session was.
fn step_of(of: &Experiment, frame: &Frame) -> Step {
    let load = frame.load.as_deref();
    let params = Params {
        size_bytes: of.size_bytes,
        qps: load.and_then(|load| load.qps).unwrap_or(of.base_qps),
        workers: load.map_or(1, workers_of_a_rail),
        place: match of.kind {
            ExperimentKind::Place { cpu, mem } => Place::Nodes { cpu, mem },
            _ => Place::Local,
        },
        ..usual()
    };
    Step { kind: of.kind.clone(), rails: of.devices.clone(), round: of.round, params }
}

/// Threads of a rail of a load.
fn workers_of_a_rail(load: &Load) -> u32 {
    let first = load.workers.first();
    let alike = load.workers.iter().filter(|worker| first.is_some_and(|first| first.device == worker.device));
    u32::try_from(alike.count().max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Told;
    use crate::experiments::testing::{Host, four_rails};
    use crate::rules::Limits;

    #[test]
    fn the_table_of_the_frames_is_that_of_the_loads_and_fills_in() {
        let host = Host::of(four_rails(), |_, device| Some(if device == "mlx5_2" { 20.0 } else { 48.0 }));
        let (seen, rails) = host.diagnose();
        let mut told = Told::default();
        assert!(told.table(&host.topology, &Limits::default(), u64::MAX).is_none());
        for (at, seen) in seen.iter().enumerate() {
            for frame in host.frames(&seen.step, at as u64 * 2) {
                told.frame(&frame);
            }
        }
        let table = |until_ns| told.table(&host.topology, &Limits::default(), until_ns).unwrap();
        let whole = table(u64::MAX);
        assert_eq!(whole.rails, rails);
        assert_eq!((whole.made, whole.left, whole.now), (seen.len(), 0, None));
        let early = table(2_000_000_000);
        assert_eq!((early.made, early.now.unwrap().to_string()), (1, "mlx5_1: alone".to_owned()));
        assert!(early.left >= 4 && !early.time_left.is_zero());
    }
}
