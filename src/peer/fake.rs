//! A host of two rails and an engine that moves nothing, for tests.

use super::end::{Door, End};
use super::engine::{Engine, Opened, Traffic};
use super::link::Timing;
use super::message::Hello;
use super::offer::offers;
use probes::load::{Endpoint, LoadError, Params, QpAddress, RemoteBuffer, Role, RunningLoad, Unit};
use probes::model::{
    Gid, GidChoice, GidType, LinkLayer, Load, LoadOp, LoadOrigin, LoadTarget, Rail, RailId, Topology, Worker,
    WorkerFrame, WorkerPhase,
};
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
    /// Traffic that has not been dropped.
    pub alive: Arc<AtomicUsize>,
    /// How often traffic began.
    pub begun: Arc<AtomicUsize>,
}

/// Rails `mlx5_0` in 10.0.0.0/24 and `mlx5_1` in 10.0.1.0/24; `number` is the host's last octet.
pub(super) fn end(host: &str, number: u8) -> End {
    end_with(host, number, Arc::new(Fake::default()))
}

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
            .map(|Worker { device, qps, .. }| {
                if broken.contains(device) {
                    return Err(LoadError::Other(format!("{device}: ibv_reg_mr: no memory")));
                }
                let qps = (0..qps.unwrap()).map(|qpn| QpAddress { qpn, psn: 0 }).collect();
                let bytes = self.params.size_bytes;
                Ok(Endpoint {
                    device: device.clone(),
                    port: 1,
                    link_layer: LinkLayer::Ethernet,
                    lid: 0,
                    gid: Ipv4Addr::LOCALHOST.to_ipv6_mapped(),
                    gid_index: 3,
                    gid_type: Some(GidType::RoceV2),
                    path_mtu: 4096,
                    qps,
                    max_initiator_depth: 16,
                    max_responder_depth: 16,
                    buffer: (self.role == Role::Target).then_some(RemoteBuffer {
                        address: 0,
                        rkey: 1,
                        bytes,
                    }),
                    tcp: None,
                    memory: self.params.memory,
                    registered: None,
                })
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
            alive: self.fake.alive.clone(),
            begun: self.fake.begun.clone(),
        }))
    }
}

pub(super) struct FakeTraffic {
    workers: Vec<Worker>,
    going: AtomicBool,
    stopped: AtomicBool,
    alive: Arc<AtomicUsize>,
    begun: Arc<AtomicUsize>,
}

impl Drop for FakeTraffic {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Traffic for FakeTraffic {
    fn go(&self) {
        self.going.store(true, Ordering::SeqCst);
        self.begun.fetch_add(1, Ordering::SeqCst);
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
        let frame = |_: &Worker| WorkerFrame {
            phase: WorkerPhase::Measuring,
            bytes: moved,
            ..WorkerFrame::default()
        };
        self.workers.iter().map(frame).collect()
    }

    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}
