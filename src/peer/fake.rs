//! A host of two rails and an engine that moves nothing, for tests.

use super::end::{Door, End};
use super::engine::{Engine, Opened, Traffic};
use super::link::Timing;
use super::matching::matching;
use super::message::{Hello, Plan};
use super::offer::offers;
use super::party::Party;
use probes::load::{
    Endpoint, Happening, LoadError, Params, QpAddress, RemoteBuffer, Role, RunningLoad, Unit, Wrong,
};
use probes::model::{
    Gid, GidChoice, GidType, LinkLayer, Load, LoadOp, LoadOrigin, LoadTarget, Measured, Rail, RailId,
    Topology, Worker, WorkerFrame, WorkerPhase,
};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What the fake engine does, and what was done with it.
#[derive(Default)]
pub(super) struct Fake {
    /// Devices that cannot be opened.
    pub broken: Mutex<Vec<String>>,
    /// Opening never ends.
    pub hangs: AtomicBool,
    /// Queue pairs are never closed.
    pub never_closes: AtomicBool,
    /// Traffic that has not been dropped.
    pub alive: Arc<AtomicUsize>,
    /// How often traffic began.
    pub begun: Arc<AtomicUsize>,
    /// Devices that fail once in mid-load.
    pub fails_once: Mutex<Vec<String>>,
    /// Tries to open a device anew that come to nothing, from now on.
    pub refusals: AtomicUsize,
    /// How often a device was opened anew, or tried to.
    pub reopened: AtomicUsize,
}

/// Rails `mlx5_0` in 10.0.0.0/24 and `mlx5_1` in 10.0.1.0/24; `number` is the host's last octet.
pub(super) fn end(host: &str, number: u8) -> End {
    end_with(host, number, Arc::new(Fake::default()))
}

/// One end of a load between two such hosts, its threads connected.
pub(super) fn party(params: Params, role: Role) -> Party {
    party_of(&end("n1", 1), params, role)
}

/// The same, of this client.
pub(super) fn party_of(client: &End, params: Params, role: Role) -> Party {
    let server = end("n2", 2);
    let pairs = matching(&client.offers, &server.offers);
    let plan = Plan::new(&pairs, &client.offers, &server.offers, params).unwrap();
    let end = match role {
        Role::Reader => client,
        Role::Target => &server,
    };
    let (topology, rails, params) = plan.for_end(role, end).unwrap();
    let mut opened = end.engine.open(&topology, &rails, &params, role);
    let ends = opened.endpoints().into_iter().map(Result::ok).collect();
    let traffic = opened.connect(ends).unwrap();
    Party { traffic, slots: plan.slots().collect(), plan, role }
}

/// The same host as [`end`], with an engine that the test tells what to do.
pub(super) fn end_with(host: &str, number: u8, engine: Arc<Fake>) -> End {
    let rail = |at: u8| Rail {
        device: format!("mlx5_{at}"),
        port: 1,
        link_layer: Some(LinkLayer::Ethernet),
        state: Some("ACTIVE".to_owned()),
        path_mtu: Some(4096),
        gids: vec![Gid {
            index: 3,
            address: Ipv4Addr::new(10, 0, at, number).to_ipv6_mapped(),
            kind: Some(GidType::RoceV2),
            netdev: None,
        }],
        gid: Some(GidChoice { index: 3, reason: String::new() }),
        ..Rail::default()
    };
    let topology = Topology { rails: vec![rail(0), rail(1)], ..Topology::default() };
    End {
        me: Hello { host: host.to_owned(), version: "0.1.0".to_owned(), boot_id: Some(host.to_owned()) },
        offers: offers(&topology, &[], None, None).unwrap(),
        topology: Arc::new(topology),
        engine: Arc::new(Shared(engine)),
        timing: Timing::default(),
        gpu: None,
        door: Door::default(),
        root: None,
    }
}

struct Shared(Arc<Fake>);

impl Engine for Shared {
    fn open(&self, topology: &Topology, rails: &[RailId], params: &Params, role: Role) -> Box<dyn Opened> {
        let worker = |unit: Unit| Worker {
            device: topology.rails[unit.rail.0].device.clone(),
            number: unit.number(),
            qps: Some(unit.qps),
            read_depth: Some(16),
            ..Worker::default()
        };
        let workers = Unit::all(rails, params).map(worker).collect();
        Box::new(FakeOpened { fake: self.0.clone(), workers, params: params.clone(), role })
    }
}

struct FakeOpened {
    fake: Arc<Fake>,
    workers: Vec<Worker>,
    params: Params,
    role: Role,
}

impl Opened for FakeOpened {
    fn endpoints(&mut self) -> Vec<Result<Endpoint, LoadError>> {
        while self.fake.hangs.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let broken = self.fake.broken.lock().unwrap();
        self.workers
            .iter()
            .map(|worker| {
                let device = &worker.device;
                if broken.contains(device) {
                    return Err(LoadError::Other(format!("{device}: ibv_reg_mr: no memory")));
                }
                Ok(endpoint(worker, self.role, &self.params))
            })
            .collect()
    }

    fn connect(self: Box<Self>, peers: Vec<Option<Endpoint>>) -> Result<Arc<dyn Traffic>, LoadError> {
        self.fake.alive.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(FakeTraffic {
            workers: self
                .workers
                .into_iter()
                .zip(peers)
                .filter_map(|(worker, peer)| peer.map(|_| worker))
                .collect(),
            going: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            frames: Mutex::default(),
            fake: self.fake,
            role: self.role,
            params: self.params,
        }))
    }
}

pub(super) struct FakeTraffic {
    workers: Vec<Worker>,
    going: AtomicBool,
    stopped: AtomicBool,
    /// Phase and restarts of those that failed.
    frames: Mutex<BTreeMap<usize, (WorkerPhase, u64)>>,
    fake: Arc<Fake>,
    role: Role,
    params: Params,
}

fn endpoint(worker: &Worker, role: Role, params: &Params) -> Endpoint {
    let bytes = params.size_bytes;
    Endpoint {
        device: worker.device.clone(),
        port: 1,
        link_layer: LinkLayer::Ethernet,
        lid: 0,
        gid: Ipv4Addr::LOCALHOST.to_ipv6_mapped(),
        gid_index: 3,
        gid_type: Some(GidType::RoceV2),
        path_mtu: 4096,
        qps: (0..worker.qps.unwrap()).map(|qpn| QpAddress { qpn, psn: 0 }).collect(),
        max_initiator_depth: 16,
        max_responder_depth: 16,
        buffer: role.answers(params).then_some(RemoteBuffer { address: 0, rkey: 1, bytes }),
        tcp: None,
        memory: params.memory,
        registered: None,
    }
}

impl Drop for FakeTraffic {
    fn drop(&mut self) {
        self.fake.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Traffic for FakeTraffic {
    fn go(&self) {
        self.going.store(true, Ordering::SeqCst);
        self.fake.begun.fetch_add(1, Ordering::SeqCst);
    }

    fn mend(&self) {}

    fn news(&self) -> Vec<(usize, Happening)> {
        let failing = std::mem::take(&mut *self.fake.fails_once.lock().unwrap());
        let failed = self.workers.iter().enumerate().filter(|(_, worker)| failing.contains(&worker.device));
        let mut frames = self.frames.lock().unwrap();
        let news = failed.map(|(at, worker)| {
            frames.insert(at, (WorkerPhase::Failed, 0));
            (at, Happening::Failed(format!("{}: RETRY_EXC_ERR: gone", worker.device)))
        });
        news.collect()
    }

    fn reopen(&self, at: usize) -> Result<Endpoint, LoadError> {
        self.fake.reopened.fetch_add(1, Ordering::SeqCst);
        self.frames.lock().unwrap().entry(at).or_default().0 = WorkerPhase::Failed;
        let refused =
            self.fake.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if refused.is_ok() {
            let text = format!("{} port 1: the port is DOWN", self.workers[at].device);
            return Err(LoadError::Other(text));
        }
        Ok(endpoint(&self.workers[at], self.role, &self.params))
    }

    fn reconnect(&self, _: usize, _: Endpoint) -> Result<(), LoadError> {
        Ok(())
    }

    fn resume(&self, at: usize) {
        let mut frames = self.frames.lock().unwrap();
        let (phase, restarts) = frames.entry(at).or_default();
        (*phase, *restarts) = (WorkerPhase::Measuring, *restarts + 1);
    }

    fn check(&self, _: usize, _: &[u64]) -> Option<Wrong> {
        None
    }

    fn verdict(&self, _: usize, _: Option<Wrong>) {}

    fn release(&self, _: usize) {}

    fn measured(&self) -> Option<Measured> {
        None
    }
}

impl RunningLoad for FakeTraffic {
    fn load(&self) -> Arc<Load> {
        Arc::new(Load {
            origin: LoadOrigin::Ours,
            op: LoadOp::Read,
            transport: Some("fake".to_owned()),
            loopback: false,
            target: LoadTarget::Host,
            devices: self.workers.iter().map(|worker| worker.device.clone()).collect(),
            size_bytes: None,
            qps: None,
            read_depth: None,
            device_read_depth: None,
            workers: self.workers.clone(),
            relaxed_ordering: None,
            ..Load::default()
        })
    }

    fn workers(&self) -> Vec<WorkerFrame> {
        let moved = if self.going.load(Ordering::SeqCst) { 1_000_000_000 } else { 0 };
        let frames = self.frames.lock().unwrap();
        let frame = |at| {
            let (phase, restarts) = frames.get(&at).copied().unwrap_or((WorkerPhase::Measuring, 0));
            WorkerFrame { phase, restarts, bytes: moved, operations: moved, ..WorkerFrame::default() }
        };
        (0..self.workers.len()).map(frame).collect()
    }

    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::SeqCst) && !self.fake.never_closes.load(Ordering::SeqCst)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}
