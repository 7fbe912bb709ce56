//! Which load comes next.
//!
//! Each rail alone; all together; then for each slow rail, and for one healthy rail beside which it is judged, each leg of
//! its bond, the placements of CPU and memory, memory that is in no cache, twice the threads, and the rails with which it
//! shares a PCIe link.

use super::Seen;
use super::diagnosis::slow_rails;
use super::legs::Search;
use crate::ceilings::{link_payload_gb_per_s, pcie_links};
use crate::rules::Limits;
use probes::load::{Params, Place, WorkingSet};
use probes::model::{LoadOp, Rail, Topology};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::fmt;

/// How a rail is loaded unless an experiment says otherwise, and what an experiment cannot know by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// The load.
    pub params: Params,
    /// Memory that is in no cache of this host.
    pub cold: WorkingSet,
}

/// What a load is to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a rail does by itself.
    Alone,
    /// The same again: what differs between the two is noise.
    Again,
    /// What all do at once.
    Together,
    /// What one leg of the bond does, from 1.
    Leg(u32),
    /// Which legs receive with other queue pair numbers and flow labels: the set of labels, from 1.
    Labels(u32),
    /// What a placement does: node of the CPUs, node of the memory.
    Place {
        /// Node of the threads.
        cpu: u32,
        /// Node of the buffers.
        mem: u32,
    },
    /// What memory does that is in no cache.
    Cold,
    /// What more threads do.
    Workers(u32),
    /// What a rail does beside those with which it shares a PCIe link.
    Sharing,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => f.write_str("alone"),
            Self::Again => f.write_str("alone again"),
            Self::Together => f.write_str("all together"),
            Self::Leg(leg) => write!(f, "leg {leg} of its bond"),
            Self::Labels(set) => write!(f, "queue pairs and flow labels anew, set {set}"),
            Self::Place { cpu, mem } => write!(f, "CPUs of node {cpu}, memory of node {mem}"),
            Self::Cold => f.write_str("cold memory"),
            Self::Workers(workers) => write!(f, "{workers} threads"),
            Self::Sharing => f.write_str("with those that share a PCIe link"),
        }
    }
}

/// One load.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it is to show.
    pub kind: Kind,
    /// Rails that it loads; the first is the one it is about, but of all together.
    pub rails: Vec<String>,
    /// How they are loaded.
    pub params: Params,
}

impl Step {
    /// Whether it is about this rail alone, with what is asked in `kind`.
    #[must_use]
    pub fn is(&self, kind: &Kind, device: &str) -> bool {
        self.kind == *kind && self.rails.first().is_some_and(|first| first == device)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, &self.rails[..]) {
            (Kind::Together, rails) => write!(f, "{} rails together", rails.len()),
            (kind, [first, ..]) => write!(f, "{first}: {kind}"),
            (kind, []) => write!(f, "{kind}"),
        }
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Step", 3)?;
        fields.serialize_field("experiment", &self.kind.to_string())?;
        fields.serialize_field("devices", &self.rails)?;
        fields.serialize_field("place", &self.params.place.to_string())?;
        fields.end()
    }
}

/// The next load; `None` when all were made.
#[must_use]
pub fn next(topology: &Topology, base: &Base, limits: &Limits, seen: &[Seen]) -> Option<Step> {
    all(topology, base, limits, seen)
        .into_iter()
        .find(|step| !seen.iter().any(|done| done.step.kind == step.kind && done.step.rails == step.rails))
}

/// How many loads are left, as far as it can be told now.
#[must_use]
pub fn left(topology: &Topology, base: &Base, limits: &Limits, seen: &[Seen]) -> usize {
    all(topology, base, limits, seen).len().saturating_sub(seen.len())
}

/// Every load, as far as what was seen tells which.
fn all(topology: &Topology, base: &Base, limits: &Limits, seen: &[Seen]) -> Vec<Step> {
    let Base { params: base, cold } = base;
    let devices: Vec<String> = topology.rails.iter().map(|rail| rail.device.clone()).collect();
    let step = |kind, rails: Vec<String>, params: Params| Step { kind, rails, params };
    let mut steps: Vec<Step> =
        devices.iter().map(|device| step(Kind::Alone, vec![device.clone()], base.clone())).collect();
    if devices.len() > 1 {
        steps.push(step(Kind::Together, devices.clone(), base.clone()));
    }
    if seen.len() < steps.len() {
        return steps;
    }
    let slow = slow_rails(topology, limits, seen);
    for device in slow.iter().chain(control(topology, &slow, seen).as_ref()) {
        let Some((_, rail)) = topology.rail(device) else { continue };
        let own = || vec![device.clone()];
        let mut of_rail = |kind, params| steps.push(step(kind, own(), params));
        for leg in legs(rail) {
            of_rail(Kind::Leg(leg), Params { leg: Some(leg), ..base.clone() });
        }
        for set in label_sets(rail, seen) {
            of_rail(Kind::Labels(set), Params { labels: [(device.clone(), set)].into(), ..base.clone() });
        }
        for (cpu, mem) in places(topology, rail) {
            of_rail(Kind::Place { cpu, mem }, Params { place: Place::Nodes { cpu, mem }, ..base.clone() });
        }
        of_rail(Kind::Cold, Params { working_set: *cold, ..base.clone() });
        let workers = base.workers.saturating_mul(2);
        if workers <= base.qps {
            of_rail(Kind::Workers(workers), Params { workers, ..base.clone() });
        }
        of_rail(Kind::Again, base.clone());
        let sharing = sharing(topology, rail);
        if !sharing.is_empty() && slow.contains(device) {
            steps.push(step(Kind::Sharing, own().into_iter().chain(sharing).collect(), base.clone()));
        }
    }
    steps
}

/// The healthy rail beside which the slow ones are judged: the fastest alone.
pub(super) fn control(topology: &Topology, slow: &[String], seen: &[Seen]) -> Option<String> {
    if slow.is_empty() {
        return None;
    }
    let alone = |device: &String| {
        let step = seen.iter().find(|done| done.step.is(&Kind::Alone, device))?;
        step.of(device)?.gb_per_s
    };
    let devices = topology.rails.iter().map(|rail| &rail.device).filter(|device| !slow.contains(device));
    let rated = devices.filter_map(|device| Some((alone(device)?, device)));
    rated.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, device)| device.clone())
}

/// Legs that can be tried one by one: those of a bond that carries RDMA on an mlx5 card.
fn legs(rail: &Rail) -> Vec<u32> {
    let is_mlx5 = rail.driver.as_deref() == Some("mlx5_core");
    let bond = rail.bond.as_ref().filter(|bond| is_mlx5 && bond.carries_rdma != Some(false));
    let count = bond.map_or(0, |bond| bond.legs.len());
    (1..=u32::try_from(count).unwrap_or(0)).filter(|_| count > 1).collect()
}

/// Sets of flow labels that were tried on a rail because what it received came over one leg, and the one to try next.
fn label_sets(rail: &Rail, seen: &[Seen]) -> std::ops::Range<u32> {
    let search = search(rail, seen);
    let next = search.as_ref().and_then(Search::next);
    let tried =
        seen.iter().filter(|seen| matches!(seen.step.kind, Kind::Labels(_)) && is_about(seen, rail)).count();
    let tried = u32::try_from(tried).unwrap_or(u32::MAX);
    1..tried.saturating_add(1 + u32::from(next.is_some()))
}

/// How far it is sought that each leg of a rail's bond receives; `None` where there is nothing to seek, or where the legs
/// already do in what was seen of the rail by itself.
pub(super) fn search(rail: &Rail, seen: &[Seen]) -> Option<Search> {
    let mut search = Search::on(rail, 0)?;
    let legs = |seen: &Seen| seen.of(&rail.device).and_then(|rail| rail.legs_gb_per_s.clone());
    let alone = seen.iter().find(|seen| seen.step.kind == Kind::Alone && is_about(seen, rail))?;
    search.saw_before(&legs(alone)?);
    if search.is_complete() {
        return None;
    }
    for seen in seen.iter().filter(|seen| is_about(seen, rail)) {
        match (&seen.step.kind, legs(seen)) {
            (Kind::Labels(set), legs) => search.saw(*set, legs.as_deref()),
            (Kind::Leg(_), Some(legs)) => search.saw_before(&legs),
            _ => {}
        }
    }
    Some(search)
}

fn is_about(seen: &Seen, rail: &Rail) -> bool {
    seen.step.rails.first().is_some_and(|first| *first == rail.device)
}

/// The three placements besides the rail's own node for both: far CPUs, far memory, both far.
pub(super) fn places(topology: &Topology, rail: &Rail) -> Vec<(u32, u32)> {
    let Some(near) = rail.numa_node.filter(|near| topology.node(*near).is_some()) else { return Vec::new() };
    let can = |node: &&probes::model::NumaNode| {
        node.node != near
            && node.memory_bytes.is_some_and(|bytes| bytes > 0)
            && node.cpus.as_ref().is_some_and(|cpus| !cpus.is_empty())
    };
    let far = topology.numa.iter().filter(can).max_by_key(|node| topology.distance(near, node.node));
    far.map_or_else(Vec::new, |far| vec![(far.node, near), (near, far.node), (far.node, far.node)])
}

/// Other rails whose way up goes over a link of this rail's.
pub(super) fn sharing(topology: &Topology, rail: &Rail) -> Vec<String> {
    let own = pcie_links(rail);
    let others = topology.rails.iter().filter(|other| other.device != rail.device);
    others
        .filter(|other| pcie_links(other).iter().any(|(link, _)| own.iter().any(|(own, _)| own == link)))
        .map(|other| other.device.clone())
        .collect()
}

/// Payload of the slowest link that a rail has in common with one of the others, GB/s; `None` where that is not known.
pub(super) fn shared_payload_gb_per_s(topology: &Topology, rail: &Rail, others: &[String]) -> Option<f64> {
    let theirs: Vec<String> = topology
        .rails
        .iter()
        .filter(|other| others.contains(&other.device))
        .flat_map(|other| pcie_links(other).into_iter().map(|(link, _)| link))
        .collect();
    let shared = pcie_links(rail).into_iter().filter(|(link, _)| theirs.contains(link));
    shared.filter_map(|(_, hop)| link_payload_gb_per_s(hop)).reduce(f64::min)
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
