//! Who uses rails, and where they are: processes found on the node, and the threads of a load.

use probes::model::{
    BoundThreads, CpuSet, Load, LoadOrigin, LoadTarget, Process, ProcessSource, RailId, Topology, Worker,
};
use std::collections::{BTreeMap, BTreeSet};

/// What this program itself has in large mappings beside any buffer, at most: the heap arenas of its threads, on whatever node
/// those first ran. Less than that says nothing of buffers.
const OWN_HEAP_BYTES: u64 = 32 << 20;

/// One user of rails.
#[derive(Debug, Default)]
pub(in crate::rules) struct User {
    /// Process id; `None` for our own load and a described one without a PID.
    pub pid: Option<u32>,
    /// Command name.
    pub name: Option<String>,
    /// Rails it uses, in their order.
    pub rails: Vec<RailId>,
    /// Nodes its memory may come from.
    pub mems_allowed: Option<CpuSet>,
    /// Whether it is this program's own load, which is placed by `--place`.
    pub ours: bool,
    /// Its threads by the CPUs they may run on, where these differ.
    pub bound: Vec<BoundThreads>,
    /// GPU that the data go to.
    pub gpu: Option<String>,
    /// Placement as our own load asked for it: `local`, a CPU list.
    pub place: Option<String>,
    /// Whether it is simulated, so that nothing of it can be looked up on this host.
    pub simulated: bool,
    cpus: Option<CpuSet>,
    mappings: Option<BTreeMap<u32, u64>>,
    /// Bytes registered in large regions with each rail; empty where the kernel does not tell.
    registered: Vec<(RailId, u64)>,
    buffer_node: Option<u32>,
    workers: Vec<(RailId, Worker)>,
}

/// Where a user's memory is.
#[derive(Debug, PartialEq)]
pub(in crate::rules) enum Memory {
    /// Not known.
    Unknown,
    /// The nodes of its buffers, outright.
    Buffers(Vec<u32>),
    /// In large mappings, buffers among them.
    Mappings(Mappings),
}

/// Large mappings of a user.
#[derive(Debug, PartialEq)]
pub(in crate::rules) struct Mappings {
    /// Resident bytes by node.
    pub bytes_by_node: BTreeMap<u32, u64>,
    /// Bytes of them, at least, that are registered with the rails in question; `None` where the kernel does not tell.
    pub registered: Option<u64>,
}

impl User {
    /// `ib_read_bw (PID 4242)`, `our load`.
    pub(in crate::rules) fn title(&self) -> String {
        match (self.ours, &self.name, self.pid) {
            (true, _, _) => "our load".to_owned(),
            (_, Some(name), Some(pid)) => format!("{name} (PID {pid})"),
            (_, None, Some(pid)) => format!("PID {pid}"),
            (_, _, None) => "the load".to_owned(),
        }
    }

    /// CPUs that its part for these rails may run on.
    pub(in crate::rules) fn cpus_of(&self, rails: &[RailId]) -> Option<CpuSet> {
        if self.workers.is_empty() {
            return self.cpus.clone();
        }
        let mut cpus: BTreeSet<u32> = BTreeSet::new();
        for (_, worker) in self.workers.iter().filter(|(rail, _)| rails.contains(rail)) {
            cpus.extend(worker.cpus.as_ref()?.iter());
        }
        Some(cpus.into_iter().collect())
    }

    /// Memory of its part for these rails.
    pub(in crate::rules) fn memory_of(&self, rails: &[RailId]) -> Memory {
        if !self.workers.is_empty() {
            let workers = self.workers.iter().filter(|(rail, _)| rails.contains(rail));
            let buffers: BTreeSet<u32> = workers.filter_map(|(_, worker)| worker.buffer_node).collect();
            return if buffers.is_empty() {
                Memory::Unknown
            } else {
                Memory::Buffers(buffers.into_iter().collect())
            };
        }
        match (self.buffer_node, &self.mappings) {
            (Some(node), _) => Memory::Buffers(vec![node]),
            (None, Some(bytes_by_node)) => {
                let all = self.registered.iter().map(|(_, bytes)| *bytes).reduce(u64::saturating_add);
                let mapped = bytes_by_node.values().sum();
                if !Process::mappings_tell(mapped, all) {
                    return Memory::Unknown;
                }
                // the same memory may be registered with several rails
                let with_these = self.registered.iter().filter(|(rail, _)| rails.contains(rail));
                let registered = with_these.map(|(_, bytes)| *bytes).max();
                Memory::Mappings(Mappings { bytes_by_node: bytes_by_node.clone(), registered })
            }
            (None, None) => Memory::Unknown,
        }
    }
}

/// Everybody on the rails. The process of a described load is one user with it, not two.
pub(in crate::rules) fn all(topology: &Topology, processes: &[Process], load: Option<&Load>) -> Vec<User> {
    let mut users: BTreeMap<u32, User> = BTreeMap::new();
    let bound = load.is_some_and(|load| load.workers.iter().any(says_where));
    // where it only offers buffers, its CPUs have nothing to do with READ and WRITE, which are one-sided
    let drives = load.is_some_and(|load| !load.workers.is_empty());
    for process in processes {
        // our own threads are known one by one, which says more than all of them together
        if process.source == ProcessSource::OurLoad && bound {
            continue;
        }
        let Some((rail, _)) = topology.rail(&process.device) else { continue };
        if process.source == ProcessSource::OpenFile && has_queue_pairs(processes, process.pid) {
            continue;
        }
        let ours = process.source == ProcessSource::OurLoad;
        let offers = ours && !drives;
        let mappings = process.large_mapping_bytes_by_node.clone();
        let user = users.entry(process.pid).or_insert_with(|| User {
            pid: Some(process.pid),
            name: Some(process.name.clone()),
            ours,
            cpus: process.cpus_allowed.clone().filter(|_| !offers),
            bound: if offers { Vec::new() } else { process.bound_threads.clone() },
            mems_allowed: process.mems_allowed.clone(),
            mappings: mappings.filter(|bytes| !ours || bytes.values().sum::<u64>() > OWN_HEAP_BYTES),
            ..User::default()
        });
        user.rails.push(rail);
        user.registered.extend(process.registered_large_bytes.map(|bytes| (rail, bytes)));
    }
    let mut users: Vec<User> = match load {
        Some(load) if load.origin == LoadOrigin::Described => described(topology, users, load),
        Some(load) => users.into_values().chain(ours(topology, load)).collect(),
        None => users.into_values().collect(),
    };
    for user in &mut users {
        user.rails.sort_unstable();
        user.rails.dedup();
    }
    users
}

/// Where netlink names the queue pairs of a process, an open file says nothing about further devices.
fn has_queue_pairs(processes: &[Process], pid: u32) -> bool {
    processes.iter().any(|p| p.pid == pid && p.source == ProcessSource::QueuePairs)
}

fn says_where(worker: &Worker) -> bool {
    worker.cpus.is_some() || worker.buffer_node.is_some()
}

fn ours(topology: &Topology, load: &Load) -> Option<User> {
    let workers: Vec<(RailId, Worker)> = load
        .workers
        .iter()
        .filter(|worker| says_where(worker))
        .filter_map(|worker| Some((topology.rail(&worker.device)?.0, worker.clone())))
        .collect();
    let rails = workers.iter().map(|(rail, _)| *rail).collect();
    let gpu = gpu_of(load);
    (!workers.is_empty()).then(|| User {
        ours: true,
        rails,
        workers,
        gpu,
        place: load.place.clone(),
        simulated: load.is_simulated(),
        ..User::default()
    })
}

/// The GPU that a load's data go to.
fn gpu_of(load: &Load) -> Option<String> {
    match &load.target {
        LoadTarget::Host => None,
        LoadTarget::Gpu(name) => Some(name.clone()),
    }
}

/// A described load: what it says of CPUs and buffers is laid over the process it names.
fn described(topology: &Topology, mut users: BTreeMap<u32, User>, load: &Load) -> Vec<User> {
    let gpu = gpu_of(load);
    let gpu_node = gpu
        .as_ref()
        .and_then(|name| topology.gpus.iter().find(|gpu| gpu.name == *name))
        .and_then(|gpu| gpu.numa_node);
    let mut user = load.pid.and_then(|pid| users.remove(&pid)).unwrap_or_default();
    user.pid = user.pid.or(load.pid);
    if load.cpus.is_some() {
        user.bound.clear();
    }
    user.cpus = load.cpus.clone().or(user.cpus);
    user.buffer_node = gpu_node.or(load.buffer_node).or(user.buffer_node);
    user.gpu = gpu;
    user.rails
        .extend(topology.rails_with_id().filter(|(_, rail)| load.drives(&rail.device)).map(|(id, _)| id));
    let mut all: Vec<User> = users.into_values().collect();
    all.push(user);
    all
}
