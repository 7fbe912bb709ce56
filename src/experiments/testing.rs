//! Hosts for tests of the experiments: every load brings what a function says.

use super::diagnosis::{RailDiagnosis, judge};
use super::{Answer, Base, Seen, Step, next, plan};
use crate::rules::Limits;
use crate::rules::testing::{behind, hop, two_sockets};
use probes::load::WorkingSet;
use probes::model::{
    Experiment, ExperimentEdge, Frame, Load, LoadOrigin, RailFrame, RailId, Topology, Worker, WorkerFrame,
    WorkerPhase,
};
use std::sync::Arc;

/// What a load brings on a rail, GB/s.
type Brings<'a> = Box<dyn Fn(&Step, &str) -> Option<f64> + 'a>;

/// What the counters of a rail grow by in a load.
type Counts<'a> = Box<dyn Fn(&str) -> Vec<u64> + 'a>;

/// A host on which every load brings what this says.
pub(super) struct Host<'a> {
    pub(super) topology: Topology,
    brings: Brings<'a>,
    round_trip_us: Option<u64>,
    /// What the counters of a rail have grown by at the end of a load; none are read otherwise.
    counts: Option<Counts<'a>>,
    /// Changes what was seen of each load, as the other end's words do.
    sees: Option<Box<dyn Fn(Seen) -> Seen + 'a>>,
}

impl<'a> Host<'a> {
    pub(super) fn of(topology: Topology, brings: impl Fn(&Step, &str) -> Option<f64> + 'a) -> Self {
        Self { topology, brings: Box::new(brings), round_trip_us: None, counts: None, sees: None }
    }

    /// The same, with 16 READs under way a queue pair and so long a round trip.
    pub(super) fn with_round_trip_us(self, round_trip_us: u64) -> Self {
        Self { round_trip_us: Some(round_trip_us), ..self }
    }

    /// The same, with counters that grow so much in each load.
    pub(super) fn counting(self, counts: impl Fn(&str) -> Vec<u64> + 'a) -> Self {
        Self { counts: Some(Box::new(counts)), ..self }
    }

    /// The same, with what was seen of each load changed so.
    pub(super) fn seeing(self, sees: impl Fn(Seen) -> Seen + 'a) -> Self {
        Self { sees: Some(Box::new(sees)), ..self }
    }

    fn rail(&self, device: &str, at_s: u64) -> RailFrame {
        let counters = self.counts.as_ref().map_or_else(Vec::new, |counts| {
            counts(device).into_iter().map(|by| Some(if at_s > 1 { by } else { 0 })).collect()
        });
        RailFrame { counters, ..RailFrame::default() }
    }

    /// Both samples of a load, as a session that began so long before would have them.
    pub(super) fn frames(&self, step: &Step, began_s: u64) -> [Frame; 2] {
        let experiment = |edge| Experiment {
            kind: step.kind.clone(),
            edge,
            devices: step.rails.clone(),
            round: step.round,
            among: self.topology.rails.iter().map(|rail| rail.device.clone()).collect(),
            base_qps: plan::usual().qps,
            size_bytes: step.params.size_bytes,
            failures: Vec::new(),
            far: Vec::new(),
            far_gap: Some("no sample of it belongs to this load".to_owned()),
            peer: Some("lab-b".to_owned()),
            takes_ms: 1300,
        };
        let [mut from, mut to] = [self.frame(step, 1), self.frame(step, 2)];
        from.experiment = Some(Arc::new(experiment(ExperimentEdge::Begins)));
        to.experiment = Some(Arc::new(experiment(ExperimentEdge::Ends)));
        for frame in [&mut from, &mut to] {
            frame.at_ns += began_s * 1_000_000_000;
        }
        [from, to]
    }

    fn frame(&self, step: &Step, at_s: u64) -> Frame {
        let driven = self.topology.rails_with_id().filter(|(_, rail)| step.rails.contains(&rail.device));
        let workers = driven.map(|(RailId(at), rail)| {
            let rate = (self.brings)(step, &rail.device).unwrap_or(0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of a test")]
            let bytes = (rate * 1e9) as u64 * at_s;
            WorkerFrame {
                rail: Some(RailId(at)),
                phase: WorkerPhase::Measuring,
                bytes,
                operations: bytes >> 18,
                polls: 1000 * at_s,
                empty_polls: 10 * at_s,
                round_trip_ns: self.round_trip_us.map(|us| us * 1000),
                ..WorkerFrame::default()
            }
        });
        let rails = self.topology.rails.iter().map(|rail| self.rail(&rail.device, at_s));
        Frame {
            at_ns: at_s * 1_000_000_000,
            rails: rails.collect(),
            workers: workers.collect(),
            load: Some(Arc::new(Load {
                origin: LoadOrigin::Ours,
                workers: vec![Worker::default(); step.rails.len()],
                qps: Some(step.params.qps),
                size_bytes: Some(step.params.size_bytes),
                read_depth: self.round_trip_us.map(|_| 16),
                ..Load::default()
            })),
            ..Frame::default()
        }
    }

    fn load(&self, step: &Step) -> Seen {
        let (from, to) = (self.frame(step, 1), self.frame(step, 2));
        let seen = Seen::between(step.clone(), &self.topology, &from, &to, Vec::new());
        match &self.sees {
            Some(changed) => changed(seen),
            None => seen,
        }
    }

    /// All experiments in their order, and the verdicts.
    pub(super) fn diagnose(&self) -> (Vec<Seen>, Vec<RailDiagnosis>) {
        let base = Base { params: plan::usual(), cold: WorkingSet::Bytes(1 << 30) };
        let limits = Limits::default();
        let mut seen = Vec::new();
        while let Some(step) = next(&self.topology, &base, &limits, &seen) {
            assert!(seen.len() < 200, "the plan ends");
            seen.push(self.load(&step));
        }
        let rails = judge(&self.topology, &limits, &seen);
        (seen, rails)
    }
}

/// Rails `mlx5_0` to `mlx5_3` of node 0, of 400 Gb/s each, in slots of their own.
pub(super) fn four_rails() -> Topology {
    let slot = |at| behind(&format!("mlx5_{at}"), vec![hop(&format!("0000:{}1:00.0", at + 4), 32.0, 16)]);
    two_sockets((0..4).map(slot).collect())
}

/// What was found of a hypothesis on a rail.
pub(super) fn answer(rails: &[RailDiagnosis], device: &str, id: &str) -> (Answer, String) {
    let rail = rails.iter().find(|rail| rail.device == device).unwrap();
    let held = rail.hypotheses.iter().find(|held| held.id == id).unwrap();
    (held.answer, held.because.clone())
}
