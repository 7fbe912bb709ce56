//! Flows over all that a node's traffic crosses, and the rates they get.
//!
//! One sum over the whole node: the wire of each leg, every PCIe link with all rails below it, the memory of each node,
//! the link between sockets, what one thread can do, and what lies beyond the host. A queue pair has no more READs under
//! way than both ends agreed to, which is a demand of its own.

use super::setup::Setup;
use super::world::{Grows, World};
use crate::ceilings::{
    Flow, ResourceId, line_of_messages_gb_per_s, line_raw_gb_per_s, link_payload_gb_per_s, max_min_shares,
    path_payload_gb_per_s, pcie_links,
};
use probes::model::{LoadOp, Rail};

/// What a thread far from its NIC still gets done: completions and doorbells cross the link between sockets.
const FAR_THREAD_SHARE: f64 = 0.8;

/// A rail that gets less of what it could is held back.
const HELD_BACK: f64 = 0.9;

/// What traffic crosses.
#[derive(Clone, Debug, PartialEq)]
enum Resource {
    /// A leg of a rail.
    Wire(usize, usize),
    /// A PCIe link.
    Link(String),
    /// A thread of a rail.
    Thread(usize, usize),
    /// Memory of a node.
    Memory(u32),
    /// The way from one node to another.
    Sockets(u32, u32),
    /// What lies beyond the host.
    Beyond(usize),
}

/// Each resource once, with what it carries.
#[derive(Default)]
struct Crossed {
    resources: Vec<Resource>,
    capacities: Vec<Option<f64>>,
}

impl Crossed {
    fn position(&mut self, resource: Resource, capacity: Option<f64>) -> ResourceId {
        self.resources.iter().position(|known| *known == resource).unwrap_or_else(|| {
            self.resources.push(resource);
            self.capacities.push(capacity);
            self.capacities.len() - 1
        })
    }
}

/// What the loaded rails get, and what others get on any rail.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    /// Payload of each leg of each thread of each loaded rail, GB/s.
    pub(super) loaded: Vec<Vec<Vec<f64>>>,
    /// What others read over each leg of each rail of the node, GB/s.
    pub(super) others: Vec<Vec<f64>>,
}

impl Rates {
    /// Payload of a loaded rail, GB/s, by its position among them.
    pub(super) fn of(&self, at: usize) -> f64 {
        self.loaded[at].iter().flatten().sum()
    }
}

/// Rates while these rails are loaded so, and all go as fast as they can.
pub(super) fn rates_gb_per_s(world: &World, setup: &Setup, loaded: &[usize]) -> Rates {
    rates(world, setup, loaded, &world.beyond_gb_per_s)
}

/// The same with these bounds beyond the host; one that is not among them bounds nothing.
fn rates(world: &World, setup: &Setup, loaded: &[usize], beyond_gb_per_s: &[f64]) -> Rates {
    let mut carriers = Crossed::default();
    let (mut flows, mut of_flows) = (Vec::new(), Vec::new());
    let shares = setup.shares();
    for (position, &rail) in loaded.iter().enumerate() {
        let legs = legs_of(&world.topology.rails[rail]);
        let mut first = 0;
        for (thread, &qps) in shares.iter().enumerate() {
            let mut on_legs = vec![0_u32; legs];
            (first..first + qps as usize).for_each(|qp| on_legs[leg_of(world, setup, rail, qp)] += 1);
            first += qps as usize;
            for (leg, qps) in on_legs.into_iter().enumerate().filter(|(_, qps)| *qps > 0) {
                let mut crosses = way(world, setup, &mut carriers, rail, leg);
                crosses.extend(thread_of(world, setup, &mut carriers, (rail, thread)));
                for &out in &world.unseen[rail].beyond {
                    let bound = beyond_gb_per_s.get(out).copied();
                    crosses.extend(bound.map(|bound| carriers.position(Resource::Beyond(out), Some(bound))));
                }
                let demand = window_gb_per_s(world, setup, rail).map(|each| each * f64::from(qps));
                flows.push(Flow { crosses, demand });
                of_flows.push((position, thread, leg));
            }
        }
    }
    let ours = flows.len();
    let mut of_others = Vec::new();
    for (rail, unseen) in world.unseen.iter().enumerate().filter(|(_, unseen)| unseen.others_gb_per_s > 0.0) {
        let legs = legs_of(&world.topology.rails[rail]);
        for leg in 0..legs {
            let crosses = way(world, setup, &mut carriers, rail, leg);
            flows.push(Flow { crosses, demand: Some(unseen.others_gb_per_s / legs as f64) });
            of_others.push((rail, leg));
        }
    }
    let got = max_min_shares(&carriers.capacities, &flows);
    let mut found = Rates {
        loaded: loaded
            .iter()
            .map(|&rail| vec![vec![0.0; legs_of(&world.topology.rails[rail])]; shares.len()])
            .collect(),
        others: world.topology.rails.iter().map(|rail| vec![0.0; legs_of(rail)]).collect(),
    };
    for ((position, thread, leg), rate) in of_flows.into_iter().zip(&got) {
        found.loaded[position][thread][leg] = rate.unwrap_or(0.0);
    }
    for ((rail, leg), rate) in of_others.into_iter().zip(&got[ours..]) {
        found.others[rail][leg] = rate.unwrap_or(0.0);
    }
    found
}

/// What holds each loaded rail back: something beyond the host, the host, or nothing that a counter would tell of.
pub(super) fn held_by(world: &World, setup: &Setup, loaded: &[usize], rates: &Rates) -> Vec<Option<Grows>> {
    let here = loaded.iter().flat_map(|&rail| &world.unseen[rail].counters);
    let there = world.far_end.iter().flat_map(|far_end| far_end.rails.iter().flatten());
    if here.chain(there).all(|counter| counter.grows == Grows::Always) {
        return vec![None; loaded.len()];
    }
    let host = self::rates(world, setup, loaded, &[]);
    let of_rail = |at: usize| {
        let wire = line_of_messages_gb_per_s(&world.topology.rails[loaded[at]], setup.size_bytes);
        if rates.of(at) < HELD_BACK * host.of(at) {
            Some(Grows::BeyondHolds)
        } else {
            wire.filter(|wire| host.of(at) < HELD_BACK * wire).map(|_| Grows::HostHolds)
        }
    };
    (0..loaded.len()).map(of_rail).collect()
}

/// What data cross that arrive on this leg: its wire, the PCIe links, what is between sockets, memory.
fn way(world: &World, setup: &Setup, carriers: &mut Crossed, rail: usize, leg: usize) -> Vec<ResourceId> {
    let this = &world.topology.rails[rail];
    let wire = leg_goodput_gb_per_s(this, leg, setup.size_bytes);
    let mut crosses = vec![carriers.position(Resource::Wire(rail, leg), wire)];
    for (link, hop) in pcie_links(this) {
        let at = carriers.position(Resource::Link(link), link_payload_gb_per_s(hop));
        // the functions of one card say the same link twice
        if !crosses.contains(&at) {
            crosses.push(at);
        }
    }
    let (near, (_, memory)) = (world.node_of(rail), setup.nodes(world, rail));
    if let (Some(near), Some(memory)) = (near, memory)
        && near != memory
    {
        crosses.push(carriers.position(Resource::Sockets(near, memory), world.socket_link_gb_per_s));
    }
    if let Some((node, takes)) = memory.and_then(|node| Some((node, world.memory.get(&node)?))) {
        let takes = if setup.is_cold { takes.cold_gb_per_s } else { takes.hot_gb_per_s };
        crosses.push(carriers.position(Resource::Memory(node), Some(takes)));
    }
    crosses
}

fn thread_of(
    world: &World,
    setup: &Setup,
    carriers: &mut Crossed,
    (rail, thread): (usize, usize),
) -> Option<ResourceId> {
    let does = thread_gb_per_s(world, setup, rail)?;
    Some(carriers.position(Resource::Thread(rail, thread), Some(does)))
}

/// What one thread of a rail does at most where it runs, GB/s; `None`: whatever comes.
pub(super) fn thread_gb_per_s(world: &World, setup: &Setup, rail: usize) -> Option<f64> {
    let (cpus, _) = setup.nodes(world, rail);
    let share = if cpus == world.node_of(rail) { 1.0 } else { FAR_THREAD_SHARE };
    Some(world.unseen[rail].thread_gb_per_s? * share)
}

/// READs that a queue pair of this rail has under way at most; `None` of WRITEs and where nothing is known.
pub(super) fn read_depth(world: &World, setup: &Setup, rail: usize) -> Option<u32> {
    let asked = setup.read_depth;
    let device = world.topology.rails[rail].max_read_depth;
    let depth = [asked, device, world.unseen[rail].peer_read_depth].into_iter().flatten().min();
    depth.filter(|_| setup.op == LoadOp::Read)
}

/// Time that a READ of this size alone takes, nanoseconds; `None` where it is too short to bound anything.
pub(super) fn single_read_ns(world: &World, setup: &Setup, rail: usize) -> Option<f64> {
    let wire = leg_goodput_gb_per_s(&world.topology.rails[rail], 0, setup.size_bytes)?;
    Some(world.unseen[rail].round_trip_ns? + setup.size_bytes as f64 / wire)
}

/// What one queue pair brings at most by the READs it may have under way, GB/s.
fn window_gb_per_s(world: &World, setup: &Setup, rail: usize) -> Option<f64> {
    let under_way = f64::from(read_depth(world, setup, rail)?.min(setup.depth));
    let takes_ns = single_read_ns(world, setup, rail)? * world.unseen[rail].stretch.max(1.0);
    Some(under_way * setup.size_bytes as f64 / takes_ns)
}

/// Leg that a queue pair's data arrive on. A switch that sends all through one leg does so whatever the sender chose.
fn leg_of(world: &World, setup: &Setup, rail: usize, qp: usize) -> usize {
    let legs = legs_of(&world.topology.rails[rail]);
    let set = setup.labels.get(&world.topology.rails[rail].device).copied().unwrap_or(0);
    match setup.leg {
        _ if world.unseen[rail].one_leg || set < world.unseen[rail].one_leg_sets => 0,
        Some(leg) => (leg as usize).saturating_sub(1).min(legs - 1),
        None => qp % legs,
    }
}

pub(super) fn legs_of(rail: &Rail) -> usize {
    rail.bond.as_ref().map_or(1, |bond| bond.legs.len().max(1))
}

/// Whether anything is known that bounds the rail.
pub(super) fn has_a_bound(rail: &Rail) -> bool {
    let wires = line_raw_gb_per_s(rail).is_some_and(|rate| rate > 0.0)
        && (0..legs_of(rail))
            .all(|leg| leg_goodput_gb_per_s(rail, leg, 1 << 20).is_some_and(|rate| rate > 0.0));
    wires || rail.pcie.as_ref().and_then(path_payload_gb_per_s).is_some()
}

/// Payload that one leg's wire can carry in messages of this size, GB/s; without a path MTU its raw rate.
fn leg_goodput_gb_per_s(rail: &Rail, leg: usize, size_bytes: u64) -> Option<f64> {
    let whole = line_of_messages_gb_per_s(rail, size_bytes)?;
    let Some(bond) = &rail.bond else { return Some(whole) };
    Some(whole * bond.legs.get(leg)?.speed_gbit_per_s? / rail.line_gbit_per_s?)
}

#[cfg(test)]
mod tests;
