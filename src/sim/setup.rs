//! What is simulated: the load that is asked for, on a node of ours or of the user's.

use super::flows::{has_a_bound, read_depth};
use super::world::World;
use probes::load::{Memory, Params, Place, Shape, Unit, WorkingSet};
use probes::model::{Load, LoadOp, LoadOrigin, LoadTarget, PERF_GROUPS, Rail, RailId, Topology, Worker};
use std::collections::BTreeMap;
use std::time::Duration;

/// The load of a simulation.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Direction.
    pub op: LoadOp,
    /// Queue pairs per rail.
    pub qps: u32,
    /// Threads per rail.
    pub workers: u32,
    /// Message size, bytes.
    pub size_bytes: u64,
    /// Send queue depth per queue pair.
    pub depth: u32,
    /// READs outstanding per queue pair; `None`: as many as the device can.
    pub read_depth: Option<u32>,
    /// Placement.
    pub place: Place,
    /// Whether threads go where the scenario has them, and not where they were told to.
    pub misplaced: bool,
    /// Leg of each bond that the sender was told to use, from 1; `None`: queue pairs take the legs in turn.
    pub leg: Option<u32>,
    /// Devices that are loaded; `None`: all.
    pub rails: Option<Vec<String>>,
    /// Which set of flow labels each rail's queue pairs have; 0 of a rail that is not named.
    pub labels: BTreeMap<String, u32>,
    /// Whether the load goes over memory that is in no cache.
    pub is_cold: bool,
    /// Time at the start that is not measured.
    pub warmup: Duration,
    /// Time that is measured; `None` until stopped.
    pub duration: Option<Duration>,
    /// Time from start to end where that was asked for; `None`: the warm-up and the time that is measured.
    pub in_all: Option<Duration>,
}

impl Default for Setup {
    /// What `load` has by default, with a warm-up that is just long enough to be seen on the screen.
    fn default() -> Self {
        Self { warmup: Duration::from_millis(500), ..Self::of(&Params::default(), None) }
    }
}

impl Setup {
    /// The load that these parameters ask for.
    #[must_use]
    pub fn of(params: &Params, duration: Option<Duration>) -> Self {
        Self {
            op: params.op,
            qps: params.qps,
            workers: params.workers,
            size_bytes: params.size_bytes,
            depth: params.depth,
            read_depth: params.read_depth,
            place: params.place.clone(),
            misplaced: false,
            leg: params.leg,
            rails: None,
            labels: params.labels.clone(),
            is_cold: params.working_set != WorkingSet::Hot,
            warmup: Duration::try_from_secs_f64(params.warmup_s).unwrap_or_default(),
            duration,
            in_all: None,
        }
    }

    /// Refuses what a simulation cannot obey.
    ///
    /// # Errors
    ///
    /// In words: the flags, and what to do.
    pub fn check(params: &Params) -> Result<(), String> {
        let asked: Vec<&str> = [
            (params.bidirectional, "--bidirectional"),
            (params.shape != Shape::PerRail, "--shape striped"),
            (params.rate_gb_per_s.is_some(), "--rate"),
            (params.working_set != WorkingSet::Hot, "--working-set"),
            (params.memory != Memory::Host, "--memory"),
            (params.leg.is_some(), "--leg"),
            (params.operations.is_some(), "--operations"),
        ]
        .into_iter()
        .filter_map(|(is_asked, flag)| is_asked.then_some(flag))
        .collect();
        if asked.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{}: --transport sim cannot do that: it knows wires and PCIe paths, one direction, and runs for a time; leave \
             it out",
            asked.join(", ")
        ))
    }

    /// Flags that were given and change nothing in a simulation, in one line; `None` without one.
    #[must_use]
    pub fn not_modelled(params: &Params) -> Option<String> {
        let usual = Params::default();
        let asked: Vec<&str> = [
            (params.depth != usual.depth, "--depth"),
            (params.read_depth != usual.read_depth, "--read-depth"),
            (params.chain != usual.chain, "--chain"),
            (params.cq_mod != usual.cq_mod, "--cq-mod"),
            (params.timeout != usual.timeout, "--timeout"),
            (params.gid_index != usual.gid_index, "--gid-index"),
            (params.traffic_class != usual.traffic_class, "--tclass"),
            (params.path_mtu != usual.path_mtu, "--mtu"),
            (params.place != usual.place, "--place"),
        ]
        .into_iter()
        .filter_map(|(is_asked, flag)| is_asked.then_some(flag))
        .collect();
        (!asked.is_empty()).then(|| format!("not modelled, changes nothing here: {}", asked.join(", ")))
    }

    /// Takes the rails that cannot be simulated out of a topology; says why, one line each.
    #[must_use]
    pub fn leave_out(topology: &mut Topology) -> Vec<String> {
        let reason = |rail: &Rail| match rail.state.as_deref() {
            Some("ACTIVE") if has_a_bound(rail) => None,
            Some("ACTIVE") => {
                Some("neither what its wire nor what its PCIe path can carry is known".to_owned())
            }
            state => Some(format!("it is {}", state.unwrap_or("in an unknown state"))),
        };
        let mut left_out = Vec::new();
        topology.rails.retain(|rail| {
            let reason = reason(rail);
            left_out.extend(reason.as_ref().map(|reason| format!("{}: {reason}", rail.device)));
            reason.is_none()
        });
        left_out
    }

    /// Nodes of a rail's threads and of its buffers.
    pub(super) fn nodes(&self, world: &World, at: usize) -> (Option<u32>, Option<u32>) {
        let (topology, rail) = (&world.topology, &world.topology.rails[at]);
        match &self.place {
            Place::Nodes { cpu, mem } => (Some(*cpu), Some(*mem)),
            // what the user's own threads would do there
            _ if self.misplaced && world.unseen[at].is_misplaced => {
                let far =
                    topology.numa.iter().map(|node| node.node).find(|node| Some(*node) != rail.numa_node);
                (far, far)
            }
            _ => (rail.numa_node, rail.numa_node),
        }
    }

    /// Queue pairs of each thread of a rail.
    pub(super) fn shares(&self) -> Vec<u32> {
        let params = Params { qps: self.qps, workers: self.workers, ..Params::default() };
        Unit::all(&[RailId(0)], &params).map(|unit| unit.qps).collect()
    }

    /// Time from start to end.
    pub(super) fn until(&self) -> Option<Duration> {
        self.in_all.or_else(|| self.duration.map(|measured| measured + self.warmup))
    }

    /// The load as frames carry it.
    pub(super) fn load(&self, world: &World, loaded: &[usize]) -> Load {
        let topology = &world.topology;
        let of_cpu = PERF_GROUPS.iter().flat_map(|group| group.counters);
        let gaps = of_cpu.chain(&["context_switches", "migrations", "on_cpu_ns"]);
        let is_read = self.op == LoadOp::Read;
        let device_depth = |at: &usize| topology.rails[*at].max_read_depth.filter(|_| is_read);
        let depth = |at: &usize| read_depth(world, self, *at);
        let device = |at: &usize| topology.rails[*at].device.clone();
        let shares = &self.shares();
        let workers = loaded.iter().flat_map(|&at| {
            let rail = &topology.rails[at];
            let (cpu_node, buffer_node) = self.nodes(world, at);
            let of_node = |node: u32| topology.node(node).and_then(|node| node.cpus.clone());
            let cpus =
                if cpu_node == rail.numa_node { rail.local_cpus.clone() } else { cpu_node.and_then(of_node) };
            (1..).zip(shares).map(move |(number, qps)| Worker {
                device: rail.device.clone(),
                number: (shares.len() > 1).then_some(number),
                qps: (shares.len() > 1).then_some(*qps),
                cpus: cpus.clone(),
                buffer_node,
                read_depth: depth(&at),
                ..Worker::default()
            })
        });
        Load {
            origin: LoadOrigin::Ours,
            op: self.op,
            transport: Some("sim".into()),
            loopback: false,
            target: LoadTarget::Host,
            devices: loaded.iter().map(device).collect(),
            size_bytes: Some(self.size_bytes),
            qps: Some(self.qps),
            depth: Some(self.depth),
            read_depth: loaded.iter().filter_map(depth).min(),
            device_read_depth: loaded.iter().filter_map(device_depth).min(),
            place: Some(self.place.to_string()),
            leg: self.leg,
            duration_s: self.in_all.or(self.duration).map(|duration| duration.as_secs_f64()),
            warmup_s: Some(self.warmup.as_secs_f64()),
            workers: workers.collect(),
            relaxed_ordering: Some(true),
            perf_gaps: gaps.map(|name| ((*name).to_owned(), "simulated".to_owned())).collect(),
            ..Load::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Setup;
    use probes::load::{Memory, Params, Place, WorkingSet};

    #[test]
    fn what_a_simulation_cannot_obey_is_refused_and_what_changes_nothing_is_named() {
        let usual = Params::default();
        assert_eq!((Setup::check(&usual), Setup::not_modelled(&usual)), (Ok(()), None));
        let both = Params { bidirectional: true, memory: Memory::Gpu(1), ..Params::default() };
        let said = Setup::check(&both).unwrap_err();
        assert!(said.starts_with("--bidirectional, --memory: --transport sim cannot do that"), "{said}");
        for refused in [
            Params { rate_gb_per_s: Some(1.0), ..Params::default() },
            Params { working_set: WorkingSet::Bytes(1 << 20), ..Params::default() },
            Params { operations: Some(5), ..Params::default() },
        ] {
            assert!(Setup::check(&refused).is_err(), "{refused:?}");
        }
        let idle = Params { depth: 64, place: Place::None, ..Params::default() };
        assert_eq!(Setup::check(&idle), Ok(()));
        assert_eq!(
            Setup::not_modelled(&idle).as_deref(),
            Some("not modelled, changes nothing here: --depth, --place")
        );
    }
}
