//! Which load comes next.
//!
//! Each rail alone; all together; what looks slow again, up to three times. Then for each slow rail, and for one healthy
//! rail beside which it is judged, each leg of its bond, the placements of CPU and memory, memory that is in no cache, more
//! threads, more queue pairs, the rails with which it shares a PCIe link, and those of its node. What differs there from the
//! rail by itself is loaded twice more. Slow rails that do less beside all than alone are loaded together without the others.

use super::label_sets::label_sets;
use super::neighbours::{legs, of_node, places, sharing};
use super::rounds::{Compared, ROUNDS, Rates};
use super::slow::{alike, control, slow_rails, why_slow_in};
use super::{Seen, shared};
use crate::rules::Limits;
use probes::load::{Params, Place, WorkingSet};
pub use probes::model::ExperimentKind as Kind;
use probes::model::{LoadOp, Rail, Topology};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::fmt;

/// Rails that are alike and fewer than this are each other's measure: they are loaded as often as the one that looks slow.
const FEW: usize = 4;

/// How a rail is loaded unless an experiment says otherwise, and what an experiment cannot know by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// The load.
    pub params: Params,
    /// Memory that is in no cache of this host.
    pub cold: WorkingSet,
}

/// One load.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it is to show.
    pub kind: Kind,
    /// Rails that it loads; the first is the one it is about, but of all together and of those of a node.
    pub rails: Vec<String>,
    /// How often it was made then, from 1.
    pub round: u32,
    /// How they are loaded.
    pub params: Params,
}

impl Step {
    /// Whether it shows this rail with what is asked in `kind`.
    #[must_use]
    pub fn is(&self, kind: &Kind, device: &str) -> bool {
        let is_about_all =
            matches!(self.kind, Kind::Together | Kind::Near(_) | Kind::NearCold(_) | Kind::Dropping);
        self.kind == *kind
            && if is_about_all {
                self.rails.iter().any(|rail| rail == device)
            } else {
                self.rails.first().is_some_and(|first| first == device)
            }
    }

    fn is_made(&self, seen: &[Seen]) -> bool {
        seen.iter().any(|seen| seen.step.is_same(self))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.rails == other.rails && self.round == other.round
    }

    /// What it is to show, and the how manieth time.
    fn experiment(&self) -> String {
        match self.round {
            0 | 1 => self.kind.to_string(),
            2 => format!("{} again", self.kind),
            round => format!("{} again ({round})", self.kind),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.experiment();
        match (&self.kind, &self.rails[..]) {
            (Kind::Together, rails) => {
                write!(f, "{} rails{}", rails.len(), what.trim_start_matches("all"))
            }
            (Kind::Near(_) | Kind::NearCold(_) | Kind::Dropping, _) | (_, []) => f.write_str(&what),
            (_, [first, ..]) => write!(f, "{first}: {what}"),
        }
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Step", 3)?;
        fields.serialize_field("experiment", &self.experiment())?;
        fields.serialize_field("devices", &self.rails)?;
        fields.serialize_field("place", &self.params.place.to_string())?;
        fields.end()
    }
}

/// The next load; `None` when all were made.
#[must_use]
pub fn next(topology: &Topology, base: &Base, limits: &Limits, seen: &[Seen]) -> Option<Step> {
    Plan { topology, base, limits, seen }.all().into_iter().find(|step| !step.is_made(seen))
}

/// How many loads are left, as far as it can be told now.
#[must_use]
pub fn left(topology: &Topology, base: &Base, limits: &Limits, seen: &[Seen]) -> usize {
    Plan { topology, base, limits, seen }.all().iter().filter(|step| !step.is_made(seen)).count()
}

/// What is planned with, and what was seen so far.
struct Plan<'a> {
    topology: &'a Topology,
    base: &'a Base,
    limits: &'a Limits,
    seen: &'a [Seen],
}

impl Plan<'_> {
    /// Every load, as far as what was seen tells which.
    fn all(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = self
            .topology
            .rails
            .iter()
            .map(|rail| self.step(Kind::Alone, vec![rail.device.clone()]))
            .collect();
        // whether all can be loaded together is not known before each was
        steps.extend(self.together());
        if !self.are_made(&steps) {
            return steps;
        }
        steps.extend(self.again());
        if !self.are_made(&steps) {
            return steps;
        }
        let slow = slow_rails(self.topology, self.limits, self.seen);
        for device in &slow {
            let Some((_, rail)) = self.topology.rail(device) else { continue };
            for step in self.of_rail(rail).into_iter().chain(self.of_neighbours(rail)) {
                let more = self.differs(device, &step.kind).then(|| later(&step)).into_iter().flatten();
                let more: Vec<Step> = more.collect();
                // rails of one node are loaded once for all of them that are slow
                for step in std::iter::once(step).chain(more) {
                    push_new(&mut steps, step);
                }
            }
        }
        let dropping = shared::dropping(self.topology, self.limits, self.seen);
        let loaded = self.together().map_or(0, |step| step.rails.len());
        if dropping.len() > 1 && dropping.len() < loaded {
            let step = self.step(Kind::Dropping, dropping);
            let more = later(&step);
            steps.extend(std::iter::once(step).chain(more));
        }
        let control = control(self.topology, &slow, self.seen);
        if let Some((_, rail)) = control.and_then(|device| self.topology.rail(&device)) {
            let mut of_rail = self.of_rail(rail);
            if slow.is_empty() {
                of_rail.retain(|step| matches!(step.kind, Kind::Place { .. }));
            }
            steps.extend(of_rail);
        }
        steps
    }

    fn are_made(&self, steps: &[Step]) -> bool {
        steps.iter().all(|step| step.is_made(self.seen))
    }

    fn step(&self, kind: Kind, rails: Vec<String>) -> Step {
        Step { kind, rails, round: 1, params: self.base.params.clone() }
    }

    /// Rails that brought something by themselves: another would keep those beside it from being measured.
    fn able(&self, among: Vec<String>) -> Vec<String> {
        let is_able = |device: &String| {
            let mut alone = self.seen.iter().filter(|seen| seen.step.is(&Kind::Alone, device)).peekable();
            alone.peek().is_none() || alone.any(|seen| seen.of(device).is_some())
        };
        among.into_iter().filter(is_able).collect()
    }

    fn together(&self) -> Option<Step> {
        let all = self.topology.rails.iter().map(|rail| rail.device.clone()).collect();
        let able = self.able(all);
        (able.len() > 1).then(|| self.step(Kind::Together, able))
    }

    /// What looks slow once more, as often as it takes.
    fn again(&self) -> Vec<Step> {
        let looks_slow = |kind: &Kind| -> Vec<String> {
            let rails = self.topology.rails.iter();
            let slow =
                rails.filter(|rail| why_slow_in(kind, self.topology, rail, self.limits, self.seen).is_some());
            slow.map(|rail| rail.device.clone()).collect()
        };
        let mut steps = Vec::new();
        let (alone, together) = (looks_slow(&Kind::Alone), looks_slow(&Kind::Together));
        for device in &alone {
            let alike = self.able(alike(self.topology, device));
            let with = if alike.len() < FEW { alike } else { vec![device.clone()] };
            for device in with {
                steps.extend(later(&self.step(Kind::Alone, vec![device])));
            }
        }
        for device in together.iter().filter(|device| !alone.contains(device)) {
            // what it does by itself is what the rest is held against
            steps.extend(later(&self.step(Kind::Alone, vec![device.clone()])));
            steps.extend(self.together().iter().flat_map(later));
        }
        let mut once: Vec<Step> = Vec::new();
        for step in steps {
            push_new(&mut once, step);
        }
        once
    }

    /// The loads of a rail by itself.
    fn of_rail(&self, rail: &Rail) -> Vec<Step> {
        let base = &self.base.params;
        let own = |kind, params| Step { params, ..self.step(kind, vec![rail.device.clone()]) };
        let mut steps: Vec<Step> = Vec::new();
        for leg in legs(rail) {
            steps.push(own(Kind::Leg(leg), Params { leg: Some(leg), ..base.clone() }));
        }
        for set in label_sets(rail, self.seen) {
            let labels = [(rail.device.clone(), set)].into();
            steps.push(own(Kind::Labels(set), Params { labels, ..base.clone() }));
        }
        for (cpu, mem) in places(self.topology, rail) {
            let place = Place::Nodes { cpu, mem };
            steps.push(own(Kind::Place { cpu, mem }, Params { place, ..base.clone() }));
        }
        steps.push(own(Kind::Cold, Params { working_set: self.base.cold, ..base.clone() }));
        let workers = base.workers.saturating_mul(2);
        if workers <= base.qps {
            steps.push(own(Kind::Workers(workers), Params { workers, ..base.clone() }));
        }
        let qps = base.qps.saturating_mul(2);
        steps.push(own(Kind::Queues(qps), Params { qps, ..base.clone() }));
        steps
    }

    /// The loads of a rail beside others.
    fn of_neighbours(&self, rail: &Rail) -> Vec<Step> {
        let mut steps = Vec::new();
        let sharing = self.able(sharing(self.topology, rail));
        if !sharing.is_empty() {
            let rails = std::iter::once(rail.device.clone()).chain(sharing).collect();
            steps.push(self.step(Kind::Sharing, rails));
        }
        let Some(node) = rail.numa_node else { return steps };
        let near = self.able(of_node(self.topology, node));
        if near.len() > 1 {
            let cold = Params { working_set: self.base.cold, ..self.base.params.clone() };
            steps.push(self.step(Kind::Near(node), near.clone()));
            // memory that all of them find enough of is not what holds them back
            if self.differs(&rail.device, &Kind::Near(node)) || self.differs(&rail.device, &Kind::Cold) {
                steps.push(Step { params: cold, ..self.step(Kind::NearCold(node), near) });
            }
        }
        steps
    }

    /// Whether the first load of a kind differs from what the rail is held against, so that it is worth to be made again.
    fn differs(&self, device: &str, kind: &Kind) -> bool {
        let base = match kind {
            Kind::NearCold(node) => Kind::Near(*node),
            Kind::Leg(_) | Kind::Labels(_) => return false,
            _ => Kind::Alone,
        };
        let rates = |kind: &Kind| Rates::of(self.seen, kind, device);
        match (rates(kind), rates(&base)) {
            (Ok(rates), Ok(base)) => rates.rounds() > 1 || rates.beside(&base) != Compared::Same,
            _ => false,
        }
    }
}

/// Adds a load unless it is there already.
fn push_new(steps: &mut Vec<Step>, step: Step) {
    if !steps.iter().any(|known| known.is_same(&step)) {
        steps.push(step);
    }
}

/// The same load in the rounds after the first.
fn later(step: &Step) -> impl Iterator<Item = Step> + use<> {
    let step = step.clone();
    (2..=ROUNDS).map(move |round| Step { round, ..step.clone() })
}

/// What a load of this kind is by default: READs of a size and depth that fill a rail, over 1 s after 0.3 s.
#[must_use]
pub fn usual() -> Params {
    Params {
        op: LoadOp::Read,
        qps: 8,
        size_bytes: 1 << 18,
        warmup_s: 0.3,
        duration_s: Some(1.0),
        ..Params::default()
    }
}
