//! Rails on their way: threads that open devices, and the exchange of addresses with the peer.

use super::control::{Control, Worker, lock};
use super::crew::Crew;
use super::gpu::Destination;
use super::leg;
use super::placement::{Here, Placement, places};
use super::running::{Clock, Running, RunningUnit};
use super::thread::{Opened, Order, Thread};
use super::{Endpoint, LoadError, Memory, Params, Role, Shape, Transport, Unit};
use crate::bind;
use crate::ffi::verbs::RelaxedOrdering;
use crate::model::{self, Load, LoadOp, LoadOrigin, LoadTarget, Rail, RailId, Topology};
use crate::perf::Meter;
use std::io;
use std::net::Ipv6Addr;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Rails that are being opened, or wait for their peers. Dropping it closes them.
pub struct Opening {
    params: Params,
    role: Role,
    control: Arc<Control>,
    units: Vec<OpeningUnit>,
    /// Every address of this host, to recognise a peer that is this host.
    own_gids: Vec<Ipv6Addr>,
    /// Where the data of this end lie.
    target: LoadTarget,
    /// Threads that carry several units.
    threads: Vec<JoinHandle<()>>,
}

/// One unit of an [`Opening`].
struct OpeningUnit {
    worker: Arc<Worker>,
    /// What the thread is to do; dropped, it ends.
    orders: Sender<Order>,
    opened: Receiver<Result<Opened, LoadError>>,
    connected: Receiver<Result<u32, LoadError>>,
    facts: Option<Opened>,
    /// What both ends of its queue pairs can do, bytes; `None` before the peer's end is known.
    path_mtu: Option<u32>,
    /// It could not be opened, which was told: nothing more is heard of it.
    is_lost: bool,
    /// `None`: it could not be started, or carries other units too.
    thread: Option<JoinHandle<()>>,
}

/// Starts opening rails: each worker of each rail on a thread of its own that binds itself before it allocates.
///
/// Everything after is in the order of the units: all workers of the first rail, then those of the next.
#[must_use]
pub fn open(topology: &Topology, rails: &[RailId], params: &Params, role: Role) -> Opening {
    let irq_cpus = topology
        .rails_with_id()
        .filter(|(id, _)| rails.contains(id))
        .map(|(id, rail)| (id, bind::irq_cpus(rail)));
    let here = Here { allowed: bind::allowed_cpus(), irq_cpus: irq_cpus.collect() };
    let units: Vec<Unit> = Unit::all(rails, params).collect();
    // a rail once for each of its threads, so that each has a CPU where there are enough
    let threads: Vec<RailId> = units.iter().map(|unit| unit.rail).collect();
    let places = places(topology, &threads, &params.place, role, &here);
    // CUDA takes its time to start, so it is asked once for all threads
    let gpu = match params.memory {
        Memory::Host => Ok(None),
        Memory::Gpu(number) => Destination::find(topology, number).map(Some),
    };
    let control = Arc::new(Control::default());
    let start = |(at, unit): (usize, &Unit)| {
        let rail = topology.rails.get(unit.rail.0).cloned().unwrap_or_default();
        let place = match (&places, &gpu) {
            (Ok(places), Ok(gpu)) => {
                Ok(Placement { gpu: gpu.clone(), ..places.get(at).cloned().unwrap_or_default() })
            }
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        };
        prepare(*unit, rail, place, params, role, &control)
    };
    let prepared = units.iter().enumerate().map(start);
    let mut threads = Vec::new();
    let units = if params.shape == Shape::Striped && role.posts(params) {
        let (units, mut starts): (Vec<_>, Vec<_>) = prepared.unzip();
        for worker in 0..params.workers {
            let own =
                starts.extract_if(.., |thread: &mut Thread| thread.worker.unit.worker == worker).collect();
            threads.extend(spawn_crew(worker, Crew { control: Arc::clone(&control), units: own }));
        }
        units
    } else {
        prepared.map(|(unit, thread)| spawn(unit, thread)).collect()
    };
    let own_gids = topology.rails.iter().flat_map(|rail| &rail.gids).map(|gid| gid.address).collect();
    let target = match gpu {
        Ok(Some(gpu)) => LoadTarget::Gpu(gpu.name),
        _ => LoadTarget::Host,
    };
    Opening { params: params.clone(), role, control, units, own_gids, target, threads }
}

fn prepare(
    unit: Unit,
    rail: Rail,
    place: Result<Placement, String>,
    params: &Params,
    role: Role,
    control: &Arc<Control>,
) -> (OpeningUnit, Thread) {
    let worker = Arc::new(Worker::new(unit, rail.device.clone()));
    let (opened_sender, opened) = channel();
    let (connected_sender, connected) = channel();
    let (orders, orders_receiver) = channel();
    let thread = Thread {
        rail,
        place,
        params: unit.params(params),
        role,
        control: Arc::clone(control),
        worker: Arc::clone(&worker),
        opened: opened_sender,
        connected: connected_sender,
        orders: orders_receiver,
    };
    (
        OpeningUnit {
            worker,
            orders,
            opened,
            connected,
            facts: None,
            path_mtu: None,
            is_lost: false,
            thread: None,
        },
        thread,
    )
}

/// Starts the thread of one unit.
fn spawn(unit: OpeningUnit, thread: Thread) -> OpeningUnit {
    let number = unit.worker.unit.number().map(|number| format!("-{number}")).unwrap_or_default();
    let name = format!("rail-{}{number}", unit.worker.device);
    let refused = vec![Refused::of(&thread)];
    let thread = std::thread::Builder::new().name(name).spawn(move || thread.run());
    OpeningUnit { thread: started(thread, refused), ..unit }
}

/// Starts the thread of several units.
fn spawn_crew(worker: u32, crew: Crew) -> Option<JoinHandle<()>> {
    let refused = crew.units.iter().map(Refused::of).collect();
    let name = format!("striped-{}", worker.saturating_add(1));
    started(std::thread::Builder::new().name(name).spawn(move || crew.run()), refused)
}

/// Who hears that a thread could not be started.
struct Refused {
    device: String,
    opened: Sender<Result<Opened, LoadError>>,
}

impl Refused {
    fn of(thread: &Thread) -> Self {
        Self { device: thread.rail.device.clone(), opened: thread.opened.clone() }
    }
}

fn started(thread: io::Result<JoinHandle<()>>, refused: Vec<Refused>) -> Option<JoinHandle<()>> {
    let cause = match thread {
        Ok(thread) => return Some(thread),
        Err(cause) => cause,
    };
    for Refused { device, opened } in refused {
        let reason =
            format!("{device}: no thread for it: {cause}; see ulimit -u, or ask for fewer --workers");
        let _ = opened.send(Err(LoadError::Other(reason)));
    }
    None
}

impl Opening {
    /// Waits until each unit is open or has failed.
    pub fn endpoints(&mut self) -> Vec<Result<Endpoint, LoadError>> {
        self.units.iter_mut().map(OpeningUnit::endpoint).collect()
    }

    /// Connects each unit with its peer; `None` leaves a unit out. A unit that cannot be connected fails alone:
    /// [`RunningLoad::failures`] names it. Afterwards every queue pair can answer.
    ///
    /// # Errors
    ///
    /// Not a single unit could be connected.
    pub fn connect(mut self, peers: Vec<Option<Endpoint>>) -> Result<Running, LoadError> {
        let mut kept = Vec::new();
        let mut closing = Vec::new();
        let loopback = peers.iter().flatten().any(|peer| self.own_gids.contains(&peer.gid));
        let mut peers = peers.into_iter();
        for mut unit in std::mem::take(&mut self.units) {
            let peer = peers.next().flatten();
            // asks for the endpoint in case the caller did not
            if unit.is_lost || (unit.facts.is_none() && unit.endpoint().is_err()) {
                closing.push(unit);
                continue;
            }
            match peer {
                Some(peer) => {
                    let own = unit.facts.as_ref().map(|facts| facts.endpoint.path_mtu);
                    unit.path_mtu = own.map(|own| own.min(peer.path_mtu));
                    // a thread that is gone is noticed below
                    let _ = unit.orders.send(Order::Connect(peer));
                    kept.push(unit);
                }
                None => closing.push(unit),
            }
        }
        for unit in closing {
            unit.close();
        }
        let mut first_error = None;
        let mut connected = Vec::new();
        for unit in kept {
            let depth = match unit.connected.recv() {
                Ok(Ok(depth)) => Some(depth),
                Ok(Err(error)) => {
                    let error = unit.worker.unit.name(error);
                    unit.worker.report([], error.to_string());
                    first_error.get_or_insert(error);
                    None
                }
                Err(_) => {
                    first_error.get_or_insert_with(|| died(&unit.worker));
                    None
                }
            };
            connected.push((unit, depth));
        }
        if connected.iter().all(|(_, depth)| depth.is_none()) {
            return Err(first_error
                .unwrap_or_else(|| LoadError::Other("no rail has a peer to connect with".to_owned())));
        }
        Ok(self.start(connected, loopback))
    }

    fn start(&mut self, connected: Vec<(OpeningUnit, Option<u32>)>, loopback: bool) -> Running {
        let load = Arc::new(self.describe(&connected, loopback));
        let workers: Vec<_> = connected.iter().map(|(unit, _)| Arc::clone(&unit.worker)).collect();
        let (mut units, mut threads) = (Vec::new(), std::mem::take(&mut self.threads));
        for (unit, _) in connected {
            let OpeningUnit { worker, orders, opened, connected, thread, .. } = unit;
            threads.extend(thread);
            units.push(RunningUnit {
                worker,
                orders,
                opened: Mutex::new(opened),
                connected: Mutex::new(connected),
            });
        }
        let (warmup_s, duration_s) = (self.params.warmup_s, self.params.duration_s);
        // one end alone decides when a load of one direction ends
        let (warmup_s, duration_s) =
            if self.role.posts(&self.params) { (warmup_s, duration_s) } else { (0.0, None) };
        let clock = Clock { control: Arc::clone(&self.control), workers, warmup_s, duration_s };
        let clock = std::thread::Builder::new().name("load-clock".to_owned()).spawn(move || clock.run());
        threads.push(clock.expect("the process may start one more thread"));
        Running {
            control: Arc::clone(&self.control),
            load,
            params: self.params.clone(),
            units,
            threads,
            mends: AtomicBool::new(false),
        }
    }

    fn describe(&self, connected: &[(OpeningUnit, Option<u32>)], loopback: bool) -> Load {
        let facts =
            |unit: &OpeningUnit| unit.facts.as_ref().map(|facts| (facts.cpus.clone(), facts.buffer_node));
        let workers = connected
            .iter()
            .map(|(unit, read_depth)| {
                let (cpus, buffer_node) = facts(unit).unwrap_or_default();
                model::Worker {
                    device: unit.worker.device.clone(),
                    number: unit.worker.unit.number(),
                    qps: Some(unit.worker.unit.qps),
                    cpus,
                    buffer_node,
                    page_bytes: unit.facts.as_ref().and_then(|facts| facts.page_bytes),
                    read_depth: read_depth.filter(|_| self.params.transport == Transport::Verbs),
                    path_mtu: unit.path_mtu.filter(|_| self.params.transport == Transport::Verbs),
                    registered: unit.facts.as_ref().and_then(|facts| facts.endpoint.registered),
                    leg: leg::of_sender(&self.params, self.role).filter(|_| read_depth.is_some()),
                }
            })
            .collect();
        let is_rdma = self.params.transport == Transport::Verbs;
        let is_striped = self.params.shape == Shape::Striped;
        // of a batch each queue pair gets its part with one doorbell, whatever it comes to
        let has_chains = is_rdma && !is_striped;
        let is_read = self.params.op == LoadOp::Read && is_rdma;
        let depths = connected.iter().filter_map(|(_, depth)| *depth);
        let device_depths =
            connected.iter().filter_map(|(unit, _)| Some(unit.facts.as_ref()?.endpoint.max_initiator_depth));
        let relaxed = |(unit, _): &(OpeningUnit, _)| {
            Some(unit.facts.as_ref()?.relaxed_ordering == RelaxedOrdering::Asked)
        };
        let gaps =
            connected.iter().filter_map(|(unit, _)| lock(&unit.worker.meter).as_ref().map(Meter::gaps));
        let mut devices: Vec<String> = connected.iter().map(|(unit, _)| unit.worker.device.clone()).collect();
        devices.dedup();
        let (chain, cq_mod) = self.params.chain_and_signal();
        Load {
            origin: LoadOrigin::Ours,
            op: self.params.op,
            transport: Some(self.params.transport.to_string()),
            loopback,
            bidirectional: self.params.bidirectional,
            target: self.target.clone(),
            devices,
            size_bytes: Some(self.params.size_bytes),
            qps: Some(self.params.qps),
            depth: Some(self.params.depth),
            chain: has_chains.then_some(chain),
            cq_mod: has_chains.then_some(cq_mod),
            batch: is_striped.then_some(self.params.batch),
            rate_gb_per_s: self.params.rate_gb_per_s,
            leg: self.params.leg,
            working_set_bytes: self.params.working_set.bytes(),
            path_mtu: connected.iter().filter_map(|(unit, _)| unit.path_mtu).min().filter(|_| is_rdma),
            read_depth: depths.min().filter(|_| is_read),
            device_read_depth: device_depths.min().filter(|_| is_read),
            place: Some(self.params.place.to_string()),
            duration_s: self.params.duration_s,
            warmup_s: Some(self.params.warmup_s),
            workers,
            relaxed_ordering: connected.iter().filter_map(relaxed).min().filter(|_| is_rdma),
            perf_gaps: gaps.flatten().collect(),
            ..Load::default()
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        for unit in std::mem::take(&mut self.units) {
            unit.close();
        }
        for thread in self.threads.drain(..) {
            // a panic of the thread has been printed
            let _ = thread.join();
        }
    }
}

impl OpeningUnit {
    fn endpoint(&mut self) -> Result<Endpoint, LoadError> {
        if self.facts.is_none() {
            // a thread that failed waits for the order to try again, and says nothing before
            let opened = if self.is_lost { None } else { self.opened.recv().ok() };
            self.is_lost = !matches!(opened, Some(Ok(_)));
            let opened = opened.ok_or_else(|| died(&self.worker))?;
            self.facts = Some(opened.map_err(|error| self.worker.unit.name(error))?);
        }
        Ok(self.facts.as_ref().expect("set above").endpoint.clone())
    }

    /// Ends the thread: it finds that no peer will come.
    fn close(self) {
        drop(self.orders);
        // a panic of the thread has been printed, and the rail is closed either way
        let _ = self.thread.map(JoinHandle::join);
    }
}

fn died(worker: &Worker) -> LoadError {
    worker.unit.name(LoadError::Other(format!("{}: its thread ended unexpectedly", worker.device)))
}
