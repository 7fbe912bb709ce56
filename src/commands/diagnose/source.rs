//! A diagnosis as a session: each planned load is two frames, which say what they are of.

use super::{AROUND, LOOK, Laboratory, Made};
use crate::commands::progress::Progress;
use crate::experiments::{self, Base, Kind, Seen, Step};
use crate::rules::Limits;
use crate::session::{FrameSource, SourceError, Stop};
use probes::model::{Experiment, ExperimentEdge, Frame, RailFrame, Session, Topology};
use probes::times::{nanoseconds, unix_ms};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What came of a diagnosis, for whoever gave its source away.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// What each load showed.
    pub(super) seen: Vec<Seen>,
    /// Name of the peer; `None` in a simulation.
    pub(super) peer: Option<String>,
    /// What its figures are not.
    pub(super) caveat: Option<String>,
    /// The session's time at the first sample of the first of them, nanoseconds; `None` before it.
    pub(super) began_ns: Option<u64>,
    /// How long the loads so far took, one after the other.
    pub(super) took: Duration,
}

/// How the loads are made.
pub(super) struct Plan {
    pub(super) base: Base,
    pub(super) limits: Limits,
    /// Time that each load is measured.
    pub(super) window: Duration,
    /// Whether a person watches each load of a simulation, which else takes no time.
    pub(super) is_watched: bool,
}

/// Planned loads, one after the other.
pub(super) struct Experimenting {
    laboratory: Box<dyn Laboratory + Send>,
    plan: Plan,
    session: Arc<Session>,
    waiting: VecDeque<Frame>,
    began: Instant,
    /// When the session began of which this is a later part; `None` where it is all of it.
    whole: Option<Instant>,
    /// When the last load was over, on the session's clock.
    last: Duration,
    seq: u64,
    stop: Stop,
    outcome: Arc<Mutex<Outcome>>,
    progress: Progress,
}

impl Experimenting {
    pub(super) fn new(
        laboratory: Box<dyn Laboratory + Send>,
        plan: Plan,
        stop: Stop,
        progress: Progress,
    ) -> Self {
        let simulated = laboratory.simulated();
        let session = Session {
            generated_by: crate::GENERATED_BY.to_owned(),
            started_unix_ms: unix_ms().filter(|_| simulated.is_none()),
            interval_ns: nanoseconds(plan.window),
            hosts: vec![Arc::new(laboratory.whole_topology())],
            clock_offset_ns: None,
            simulated,
        };
        let caveat = laboratory.caveat();
        Self {
            laboratory,
            plan,
            session: Arc::new(session),
            waiting: VecDeque::new(),
            began: Instant::now(),
            whole: None,
            last: Duration::ZERO,
            seq: 0,
            stop,
            outcome: Arc::new(Mutex::new(Outcome { caveat, ..Outcome::default() })),
            progress,
        }
    }

    /// The same as a later part of a session that began then: its times go on from there.
    pub(super) fn going_on(mut self, began: Instant) -> Self {
        self.whole = Some(began);
        self
    }

    /// What comes of it; complete when the source is over.
    pub(super) fn outcome(&self) -> Arc<Mutex<Outcome>> {
        self.outcome.clone()
    }

    /// The rails that are loaded.
    fn topology(&self) -> &Topology {
        self.laboratory.topology()
    }

    /// Makes the next load; `false` when there is none, or it was told to stop.
    fn make_next(&mut self) -> bool {
        let (seen, Plan { base, limits, .. }) = (self.seen(), &self.plan);
        let Some(step) = experiments::next(self.topology(), base, limits, &seen) else { return false };
        let left = experiments::left(self.topology(), base, limits, &seen);
        let usual = self.plan.window + Duration::from_secs_f64(base.params.warmup_s) + AROUND;
        let each = match u32::try_from(seen.len()) {
            Ok(count) if count > 0 && self.session.simulated.is_none() => self.began.elapsed() / count,
            _ => usual,
        };
        let (number, of) = (seen.len() + 1, seen.len() + left);
        let time_left = each * u32::try_from(left).unwrap_or(u32::MAX);
        self.progress.show(format_args!("experiment {number} of {of}: {step}"), Some(time_left));
        let is_look = matches!(step.kind, Kind::Labels(_));
        let window = if is_look { self.plan.window.min(LOOK) } else { self.plan.window };
        let begins = Instant::now();
        let Some(made) = self.laboratory.make(&step, window) else { return false };
        let warmup = Duration::from_secs_f64(self.plan.base.params.warmup_s);
        if self.plan.is_watched && !self.stop.wait_until(begins + warmup + window) {
            return false;
        }
        self.keep(&step, made, (begins, window), usual);
        true
    }

    /// Keeps what a load showed, and its frames.
    fn keep(
        &mut self,
        step: &Step,
        made: Result<Made, String>,
        (begins, window): (Instant, Duration),
        usual: Duration,
    ) {
        let at = self.now(begins, window);
        let experiment = |edge| Experiment {
            kind: step.kind.clone(),
            edge,
            devices: step.rails.clone(),
            round: step.round,
            among: self.topology().rails.iter().map(|rail| rail.device.clone()).collect(),
            base_qps: self.plan.base.params.qps,
            size_bytes: step.params.size_bytes,
            failures: Vec::new(),
            far: Vec::new(),
            far_gap: None,
            peer: None,
            takes_ms: u64::try_from(usual.as_millis()).unwrap_or(u64::MAX),
        };
        let mut frames = Vec::new();
        let seen = match made {
            Err(why) => {
                let of = Experiment { failures: vec![why.clone()], ..experiment(ExperimentEdge::Failed) };
                let rails = vec![RailFrame::default(); self.session.topology().rails.len()];
                let experiment = Some(Arc::new(of));
                frames.push(Frame { at_ns: nanoseconds(at), rails, experiment, ..Frame::default() });
                Seen::failed(step.clone(), why)
            }
            Ok(made) => {
                self.note(|outcome| {
                    outcome.peer = made.peer.clone().or(outcome.peer.take());
                    outcome.caveat = made.caveat.clone().or(outcome.caveat.take());
                });
                let length_ns = made.to.at_ns.saturating_sub(made.from.at_ns);
                let end_ns = nanoseconds(at);
                let of = Experiment {
                    failures: made.failures.clone(),
                    far: made.far.samples.clone(),
                    far_gap: made.far.gap.clone(),
                    peer: made.peer.clone(),
                    ..experiment(ExperimentEdge::Ends)
                };
                let seen =
                    Seen::between(step.clone(), self.session.topology(), &made.from, &made.to, made.failures);
                frames.push(Frame {
                    at_ns: end_ns.saturating_sub(length_ns),
                    experiment: Some(Arc::new(experiment(ExperimentEdge::Begins))),
                    ..made.from
                });
                frames.push(Frame { at_ns: end_ns, experiment: Some(Arc::new(of)), ..made.to });
                seen.with_far(&made.far.samples, made.far.gap)
            }
        };
        let [first_ns, end_ns] =
            [frames.first(), frames.last()].map(|frame| frame.map_or(0, |frame| frame.at_ns));
        for frame in frames {
            self.waiting.push_back(Frame { seq: self.seq, ..frame });
            self.seq += 1;
        }
        self.note(|outcome| {
            outcome.seen.push(seen);
            let began_ns = *outcome.began_ns.get_or_insert(first_ns);
            outcome.took = Duration::from_nanos(end_ns.saturating_sub(began_ns));
        });
    }

    /// The session's time after a load that began then: of a simulation its own, which nobody waits for.
    fn now(&mut self, begins: Instant, window: Duration) -> Duration {
        if let Some(began) = self.whole {
            // what comes after it has times of the clock, too
            return began.elapsed();
        }
        let took = if self.session.simulated.is_some() {
            window + Duration::from_secs_f64(self.plan.base.params.warmup_s)
        } else {
            begins.elapsed().max(window)
        };
        self.last += took;
        self.last
    }

    fn seen(&self) -> Vec<Seen> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).seen.clone()
    }

    fn note(&self, change: impl FnOnce(&mut Outcome)) {
        change(&mut self.outcome.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl FrameSource for Experimenting {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        if self.waiting.is_empty() && (self.stop.is_stopped() || !self.make_next()) {
            return Ok(None);
        }
        Ok(self.waiting.pop_front())
    }
}
