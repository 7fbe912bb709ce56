//! Rails on their way: threads that open devices, and the exchange of addresses with the peer.

use super::control::{Control, Worker, lock};
use super::placement::{Here, Placement, places};
use super::running::{Clock, Running};
use super::thread::{Opened, Thread};
use super::{Endpoint, LoadError, Params, Role};
use crate::bind;
use crate::ffi::verbs::RelaxedOrdering;
use crate::model::{self, Load, LoadOp, LoadOrigin, LoadTarget, Rail, RailId, Topology};
use crate::perf::Meter;
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Rails that are being opened, or wait for their peers. Dropping it closes them.
pub struct Opening {
    params: Params,
    role: Role,
    control: Arc<Control>,
    rails: Vec<OpeningRail>,
    /// Every address of this host, to recognise a peer that is this host.
    own_gids: Vec<Ipv6Addr>,
}

/// One rail of an [`Opening`].
struct OpeningRail {
    worker: Arc<Worker>,
    /// Sends the peer to the thread; dropped, the thread ends.
    peer: Sender<Endpoint>,
    opened: Receiver<Result<Opened, LoadError>>,
    connected: Receiver<Result<u32, LoadError>>,
    facts: Option<Opened>,
    thread: JoinHandle<()>,
}

/// Starts opening rails, each on a thread of its own that binds itself before it allocates.
#[must_use]
pub fn open(topology: &Topology, rails: &[RailId], params: &Params, role: Role) -> Opening {
    let irq_cpus = topology
        .rails_with_id()
        .filter(|(id, _)| rails.contains(id))
        .map(|(id, rail)| (id, bind::irq_cpus(rail)));
    let here = Here { allowed: bind::allowed_cpus(), irq_cpus: irq_cpus.collect() };
    let places = places(topology, rails, &params.place, role, &here);
    let control = Arc::new(Control::default());
    let start = |(at, id): (usize, &RailId)| {
        let rail = topology.rails.get(id.0).cloned().unwrap_or_default();
        let place = match &places {
            Ok(places) => Ok(places.get(at).cloned().unwrap_or_default()),
            Err(error) => Err(error.to_string()),
        };
        spawn(*id, rail, place, params, role, &control)
    };
    let rails = rails.iter().enumerate().map(start).collect();
    let own_gids = topology.rails.iter().flat_map(|rail| &rail.gids).map(|gid| gid.address).collect();
    Opening { params: params.clone(), role, control, rails, own_gids }
}

fn spawn(
    id: RailId,
    rail: Rail,
    place: Result<Placement, String>,
    params: &Params,
    role: Role,
    control: &Arc<Control>,
) -> OpeningRail {
    let worker = Arc::new(Worker::new(id, rail.device.clone()));
    let (opened_sender, opened) = channel();
    let (connected_sender, connected) = channel();
    let (peer, peer_receiver) = channel();
    let thread = Thread {
        rail,
        place,
        params: params.clone(),
        role,
        control: Arc::clone(control),
        worker: Arc::clone(&worker),
        opened: opened_sender,
        connected: connected_sender,
        peer: peer_receiver,
    };
    let name = format!("rail-{}", worker.device);
    let thread = std::thread::Builder::new().name(name).spawn(move || thread.run());
    let thread = thread.expect("the process may start one more thread per rail");
    OpeningRail { worker, peer, opened, connected, facts: None, thread }
}

impl Opening {
    /// Waits until each rail is open or has failed, in the order in which they were asked for.
    pub fn endpoints(&mut self) -> Vec<Result<Endpoint, LoadError>> {
        self.rails.iter_mut().map(OpeningRail::endpoint).collect()
    }

    /// Connects each rail with its peer, in the order of the rails; `None` leaves a rail out. A rail that cannot
    /// be connected fails alone: [`RunningLoad::failures`] names it. Afterwards every queue pair can answer.
    ///
    /// # Errors
    ///
    /// Not a single rail could be connected.
    pub fn connect(mut self, peers: Vec<Option<Endpoint>>) -> Result<Running, LoadError> {
        let mut kept = Vec::new();
        let mut closing = Vec::new();
        let loopback = peers.iter().flatten().any(|peer| self.own_gids.contains(&peer.gid));
        let mut peers = peers.into_iter();
        for mut rail in std::mem::take(&mut self.rails) {
            let peer = peers.next().flatten();
            // asks for the endpoint in case the caller did not
            if rail.facts.is_none() && rail.endpoint().is_err() {
                closing.push(rail);
                continue;
            }
            match peer {
                Some(peer) => {
                    // a thread that is gone is noticed below
                    let _ = rail.peer.send(peer);
                    kept.push(rail);
                }
                None => closing.push(rail),
            }
        }
        for rail in closing {
            rail.close();
        }
        let mut first_error = None;
        let mut connected = Vec::new();
        for rail in kept {
            let depth = match rail.connected.recv() {
                Ok(Ok(depth)) => Some(depth),
                Ok(Err(error)) => {
                    rail.worker.report([], error.to_string());
                    first_error.get_or_insert(error);
                    None
                }
                Err(_) => {
                    first_error.get_or_insert_with(|| died(&rail.worker.device));
                    None
                }
            };
            connected.push((rail, depth));
        }
        if connected.iter().all(|(_, depth)| depth.is_none()) {
            return Err(first_error
                .unwrap_or_else(|| LoadError::Other("no rail has a peer to connect with".to_owned())));
        }
        Ok(self.start(connected, loopback))
    }

    fn start(&self, connected: Vec<(OpeningRail, Option<u32>)>, loopback: bool) -> Running {
        let load = Arc::new(self.describe(&connected, loopback));
        let workers = connected.iter().map(|(rail, _)| Arc::clone(&rail.worker)).collect();
        let mut threads: Vec<_> = connected.into_iter().map(|(rail, _)| rail.thread).collect();
        let clock = Clock {
            control: Arc::clone(&self.control),
            warmup_s: if self.role == Role::Reader { self.params.warmup_s } else { 0.0 },
            duration_s: if self.role == Role::Reader { self.params.duration_s } else { None },
        };
        let clock = std::thread::Builder::new().name("load-clock".to_owned()).spawn(move || clock.run());
        threads.push(clock.expect("the process may start one more thread"));
        Running { control: Arc::clone(&self.control), load, workers, threads }
    }

    fn describe(&self, connected: &[(OpeningRail, Option<u32>)], loopback: bool) -> Load {
        let facts =
            |rail: &OpeningRail| rail.facts.as_ref().map(|facts| (facts.cpus.clone(), facts.buffer_node));
        let workers = connected
            .iter()
            .map(|(rail, read_depth)| {
                let (cpus, buffer_node) = facts(rail).unwrap_or_default();
                model::Worker {
                    device: rail.worker.device.clone(),
                    cpus,
                    buffer_node,
                    read_depth: *read_depth,
                }
            })
            .collect();
        let is_read = self.params.op == LoadOp::Read;
        let depths = connected.iter().filter_map(|(_, depth)| *depth);
        let device_depths =
            connected.iter().filter_map(|(rail, _)| Some(rail.facts.as_ref()?.endpoint.max_initiator_depth));
        let relaxed = |(rail, _): &(OpeningRail, _)| {
            Some(rail.facts.as_ref()?.relaxed_ordering == RelaxedOrdering::Asked)
        };
        let gaps =
            connected.iter().filter_map(|(rail, _)| lock(&rail.worker.meter).as_ref().map(Meter::gaps));
        Load {
            origin: LoadOrigin::Ours,
            op: self.params.op,
            transport: Some("verbs".to_owned()),
            loopback,
            target: LoadTarget::Host,
            devices: connected.iter().map(|(rail, _)| rail.worker.device.clone()).collect(),
            size_bytes: Some(self.params.size_bytes),
            qps: Some(self.params.qps),
            depth: Some(self.params.depth),
            read_depth: depths.min().filter(|_| is_read),
            device_read_depth: device_depths.min().filter(|_| is_read),
            place: Some(self.params.place.to_string()),
            duration_s: self.params.duration_s,
            warmup_s: Some(self.params.warmup_s),
            workers,
            relaxed_ordering: connected.iter().filter_map(relaxed).min(),
            perf_gaps: gaps.flatten().collect(),
            ..Load::default()
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        for rail in std::mem::take(&mut self.rails) {
            rail.close();
        }
    }
}

impl OpeningRail {
    fn endpoint(&mut self) -> Result<Endpoint, LoadError> {
        if self.facts.is_none() {
            self.facts = Some(self.opened.recv().map_err(|_| died(&self.worker.device))??);
        }
        Ok(self.facts.as_ref().expect("set above").endpoint.clone())
    }

    /// Ends the thread: it finds that no peer will come.
    fn close(self) {
        drop(self.peer);
        // a panic of the thread has been printed, and the rail is closed either way
        let _ = self.thread.join();
    }
}

fn died(device: &str) -> LoadError {
    LoadError::Other(format!("{device}: its thread ended unexpectedly"))
}
