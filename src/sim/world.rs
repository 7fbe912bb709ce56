//! A simulated node as it really is: what a survey finds of it, and what no survey tells.

use super::far_end::FarEnd;
use super::node;
use super::scenario::{DEVICE, Fault, Scenario};
use super::setup::Setup;
use probes::model::{Rail, Topology};
use std::collections::BTreeMap;

/// A simulated node.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// What a survey finds.
    pub(super) topology: Topology,
    /// What it does not find, rail by rail.
    pub(super) unseen: Vec<Unseen>,
    /// What the memory of a node takes at most; a node that is not here takes whatever comes.
    pub(super) memory: BTreeMap<u32, Memory>,
    /// What gets from the NICs of one node to the memory of another at most, GB/s.
    pub(super) socket_link_gb_per_s: Option<f64>,
    /// What bounds traffic beyond this host, GB/s; rails say by [`Unseen::beyond`] which of it they cross.
    pub(super) beyond_gb_per_s: Vec<f64>,
    /// The other end; `None` where it is not seen.
    pub(super) far_end: Option<FarEnd>,
    /// Share by which a rate strays from its mean.
    pub(super) noise: f64,
    /// Name and seed in the session.
    pub(super) scenario: (String, u64),
}

/// What host memory takes, GB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory {
    /// Of buffers that are used again and again, of which caches take a part.
    pub(super) hot_gb_per_s: f64,
    /// Of buffers that are in no cache.
    pub(super) cold_gb_per_s: f64,
}

/// What no survey tells of a rail.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Unseen {
    /// Whether the switch sends all that this host reads through the first leg of the bond.
    pub(super) one_leg: bool,
    /// Sets of flow labels, the driver's own first, whose queue pairs the hash of the switch all puts on the first leg.
    pub(super) one_leg_sets: u32,
    /// Node that its slot hangs on; `None`: the one that the platform tells.
    pub(super) true_node: Option<u32>,
    /// Whether the user's own threads drive it from another node.
    pub(super) is_misplaced: bool,
    /// Bounds beyond this host that its data cross: positions in [`World::beyond_gb_per_s`].
    pub(super) beyond: Vec<usize>,
    /// What one thread posts and reaps at most, GB/s; `None`: whatever comes.
    pub(super) thread_gb_per_s: Option<f64>,
    /// Time from a READ request to the first byte of its answer; `None`: too short to bound anything.
    pub(super) round_trip_ns: Option<f64>,
    /// How many times as long that takes under load.
    pub(super) stretch: f64,
    /// READs that the peer lets a queue pair have under way; `None`: as many as this device can.
    pub(super) peer_read_depth: Option<u32>,
    /// What others read over it meanwhile, GB/s.
    pub(super) others_gb_per_s: f64,
    /// Share by which it strays from load to load besides the noise.
    pub(super) wanders: f64,
    /// Its further counters, in the order of [`Rail::counters`].
    pub(super) counters: Vec<Counter>,
    /// Why it cannot be loaded; `None`: it can.
    pub(super) refuses: Option<&'static str>,
    /// What it keeps to itself.
    pub(super) hides: Hides,
}

/// One of a rail's further counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counter {
    /// What it had when the session began.
    pub(super) before: u64,
    /// How much it grows for each gigabyte that arrives.
    pub(super) per_gb: f64,
    /// While what it grows.
    pub(super) grows: Grows,
}

/// While what a counter grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grows {
    /// Whatever holds the rail back.
    Always,
    /// While this host takes less than arrives could.
    HostHolds,
    /// While something beyond the host holds it back.
    BeyondHolds,
}

/// What a NIC does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hides {
    /// The bytes of its legs.
    pub(super) legs: bool,
    /// The bytes that it counts.
    pub(super) bytes: bool,
    /// How long a READ alone takes.
    pub(super) round_trip: bool,
}

impl World {
    /// A node of which nothing is known but what a survey finds: nothing is wrong with it.
    #[must_use]
    pub fn of(topology: Topology) -> Self {
        let unseen = topology.rails.iter().map(|rail| Unseen {
            // a node of the user's has other counters, which nobody simulates
            counters: node::counters(None).take(rail.counters.len()).map(still).collect(),
            ..Unseen::default()
        });
        Self {
            unseen: unseen.collect(),
            topology,
            memory: BTreeMap::new(),
            socket_link_gb_per_s: None,
            beyond_gb_per_s: Vec::new(),
            far_end: None,
            noise: 0.0,
            scenario: ("ceilings".to_owned(), 1),
        }
    }

    /// What a survey finds.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Share by which its rates stray from their mean.
    #[must_use]
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// Name of what is simulated, and its seed.
    #[must_use]
    pub fn scenario(&self) -> (&str, u64) {
        (&self.scenario.0, self.scenario.1)
    }

    /// Takes the rails out that are not among these.
    pub fn retain(&mut self, devices: &[String]) {
        let kept: Vec<bool> = self.topology.rails.iter().map(|rail| devices.contains(&rail.device)).collect();
        let mut keeps = kept.iter();
        self.topology.rails.retain(|_| *keeps.next().unwrap_or(&false));
        let mut keeps = kept.iter();
        self.unseen.retain(|_| *keeps.next().unwrap_or(&false));
        if let Some(far_end) = &mut self.far_end {
            let mut keeps = kept.iter();
            far_end.rails.retain(|_| *keeps.next().unwrap_or(&false));
        }
    }

    /// Positions of the rails that can be loaded.
    pub(super) fn able(&self) -> Vec<usize> {
        (0..self.unseen.len()).filter(|&at| self.unseen[at].refuses.is_none()).collect()
    }

    /// Positions of those that a load of its kind takes.
    pub(super) fn loaded(&self, setup: &Setup) -> Vec<usize> {
        let is_wanted = |at: &usize| {
            setup.rails.as_ref().is_none_or(|rails| rails.contains(&self.topology.rails[*at].device))
        };
        self.able().into_iter().filter(is_wanted).collect()
    }

    /// Node that the slot of a rail hangs on.
    pub(super) fn node_of(&self, at: usize) -> Option<u32> {
        self.unseen[at].true_node.or(self.topology.rails[at].numa_node)
    }

    /// The node of a scenario that is no planted one.
    pub(super) fn named(scenario: Scenario, seed: u64) -> Self {
        let topology = node::topology(scenario);
        let mut world = Self { scenario: (scenario.name().to_owned(), seed), ..Self::of(topology) };
        // what the path between two sockets leaves, and what four cards together find too little
        world.socket_link_gb_per_s = Some(34.0);
        world.noise = 0.005;
        if scenario == Scenario::Memory {
            world.memory.insert(1, Memory { hot_gb_per_s: 128.0, cold_gb_per_s: 96.0 });
        }
        for (rail, unseen) in world.topology.rails.iter().zip(&mut world.unseen) {
            let fault = scenario.fault_of(rail);
            unseen.one_leg = fault == Some(Fault::OneLeg);
            unseen.one_leg_sets = if fault == Some(Fault::Hashed) { 3 } else { 0 };
            unseen.is_misplaced = fault == Some(Fault::FarNode);
            if fault == Some(Fault::Congested) {
                unseen.beyond.push(world.beyond_gb_per_s.len());
                world.beyond_gb_per_s.push(31.0);
            }
            unseen.counters = node::counters(fault).map(|counter| growing(fault, counter)).collect();
        }
        world
    }
}

/// A counter that stands still.
pub(super) fn still((_, before): (&'static str, u64)) -> Counter {
    Counter { before, per_gb: 0.0, grows: Grows::Always }
}

/// A counter of a rail that is held back by this.
fn growing(fault: Option<Fault>, (name, before): (&'static str, u64)) -> Counter {
    let grows = fault.map_or(&[][..], Fault::growing).iter().find(|(grows, _)| *grows == name);
    Counter {
        before,
        per_gb: grows.map_or(0.0, |(_, per_gb)| *per_gb),
        grows: if fault == Some(Fault::Memory) { Grows::HostHolds } else { Grows::Always },
    }
}

impl Scenario {
    /// What holds back this rail of the node.
    fn fault_of(self, rail: &Rail) -> Option<Fault> {
        self.fault(rail.device.strip_prefix(DEVICE)?.parse().ok()?)
    }
}
