//! A node built in code, for tests of the screen.

use crate::rules::{Finding, Severity};
use crate::timeline::Timeline;
use probes::model::{
    Bond, Frame, Hop, Host, Leg, LegFrame, LinkLayer, Load, LoadOp, LoadOrigin, LoadTarget, NumaNode,
    PciePath, Rail, RailFrame, RailId, Session, Simulation, Topology, Worker, WorkerFrame, WorkerPhase,
};
use std::sync::Arc;

/// A node whose parts a test may change before it makes a session of it.
pub struct Node {
    pub topology: Topology,
    pub simulated: Option<Simulation>,
}

impl Node {
    /// Rails `mlx5_bond_1`, `mlx5_bond_2`, ...: bonds of 2×200G on Gen5 x16, the first half on node 0.
    pub fn with_rails(count: usize) -> Self {
        let rails = (1..=count).map(|n| bond_rail(n, u32::from(n > count.div_ceil(2)))).collect();
        let host = Host {
            hostname: Some("gpu17".into()),
            kernel: Some("6.1.0-18-amd64".into()),
            cpu_model: Some("AMD EPYC 9654".into()),
            ..Host::default()
        };
        let numa = vec![numa_node(0, "0-95,192-287"), numa_node(1, "96-191,288-383")];
        Self { topology: Topology { host, numa, rails, ..Topology::default() }, simulated: None }
    }

    pub fn session(&self) -> Arc<Session> {
        Arc::new(Session {
            generated_by: crate::GENERATED_BY.into(),
            started_unix_ms: Some(1_764_385_445_000),
            interval_ns: 100_000_000,
            hosts: vec![Arc::new(self.topology.clone())],
            clock_offset_ns: None,
            simulated: self.simulated.clone(),
        })
    }
}

/// A session of so many rails.
pub fn host_of(rails: usize) -> Arc<Session> {
    Node::with_rails(rails).session()
}

/// A reading of a rail's two byte counters.
pub fn rail_frame(rx_bytes: u64, tx_bytes: u64) -> RailFrame {
    RailFrame { rx_bytes: Some(rx_bytes), tx_bytes: Some(tx_bytes), ..RailFrame::default() }
}

fn numa_node(node: u32, cpus: &str) -> NumaNode {
    NumaNode {
        node,
        cpus: Some(cpus.parse().unwrap()),
        memory_bytes: Some(1_209_462_790_553),
        socket: Some(node),
        distances: [(0, if node == 0 { 10 } else { 32 }), (1, if node == 1 { 10 } else { 32 })].into(),
        ..NumaNode::default()
    }
}

fn bond_rail(number: usize, node: u32) -> Rail {
    let leg = |n: usize| Leg {
        netdev: format!("eth{}", 2 * (number - 1) + n),
        speed_gbit_per_s: Some(200.0),
        link_up: Some(true),
        active: Some(true),
        ..Leg::default()
    };
    let hop = Hop {
        address: format!("0000:{number:02x}:00.0"),
        current_gt_per_s: Some(32.0),
        current_width: Some(16),
        max_gt_per_s: Some(32.0),
        max_width: Some(16),
        ..Hop::default()
    };
    Rail {
        device: format!("mlx5_bond_{number}"),
        port: 1,
        netdev: Some(format!("bond{number}")),
        link_layer: Some(LinkLayer::Ethernet),
        state: Some("ACTIVE".into()),
        numa_node: Some(node),
        line_gbit_per_s: Some(400.0),
        path_mtu: Some(4096),
        pcie: Some(PciePath { address: hop.address.clone(), hops: vec![hop], ..PciePath::default() }),
        bond: Some(Bond { netdev: format!("bond{number}"), legs: vec![leg(0), leg(1)], ..Bond::default() }),
        ..Rail::default()
    }
}

/// Twelve seconds of READ over eight bonds, three and four at half rate because one leg carries all.
pub fn two_slow_bonds() -> Timeline {
    let mut node = Node::with_rails(8);
    node.simulated = Some(Simulation { scenario: "mixed".into(), seed: 1 });
    let mut timeline = Timeline::new(node.session());
    let load = Arc::new(read_load(8));
    let mut bytes = [[0_u64; 2]; 8];
    for seq in 0..=120_u64 {
        let mut rails = Vec::new();
        let mut workers = Vec::new();
        for (at, legs) in bytes.iter_mut().enumerate() {
            if seq > 0 {
                grow(legs, at, seq);
            }
            rails.push(RailFrame {
                legs: if seq % 10 == 0 { legs.iter().copied().map(leg_frame).collect() } else { Vec::new() },
                ..rail_frame(legs.iter().sum(), seq * 20_000_000)
            });
            workers.push(WorkerFrame {
                rail: Some(RailId(at)),
                phase: if seq < 20 { WorkerPhase::Warmup } else { WorkerPhase::Measuring },
                // headers are no payload
                bytes: legs.iter().sum::<u64>() / 1000 * 990,
                ..WorkerFrame::default()
            });
        }
        let load = Some(load.clone());
        timeline.push(Frame { seq, at_ns: seq * 100_000_000, rails, load, workers, ..Frame::default() });
    }
    timeline
}

/// Bytes of 100 ms: near the wire, with a slow swell; rails 3 and 4 over one leg only.
fn grow(legs: &mut [u64; 2], rail: usize, seq: u64) {
    let swell = (seq / 10 + rail as u64) % 4 * 20_000_000;
    if rail == 2 || rail == 3 {
        legs[1] += 2_450_000_000 - swell;
    } else {
        legs[0] += 2_460_000_000 - swell;
        legs[1] += 2_440_000_000 - swell;
    }
}

fn leg_frame(rx_bytes: u64) -> LegFrame {
    LegFrame { rx_rdma_bytes: Some(rx_bytes), tx_rdma_bytes: Some(0), ..LegFrame::default() }
}

fn read_load(rails: usize) -> Load {
    let devices: Vec<_> = (1..=rails).map(|n| format!("mlx5_bond_{n}")).collect();
    let worker =
        |device: &String| Worker { device: device.clone(), read_depth: Some(16), ..Worker::default() };
    Load {
        origin: LoadOrigin::Ours,
        op: LoadOp::Read,
        transport: Some("sim".into()),
        loopback: false,
        target: LoadTarget::Host,
        workers: devices.iter().map(worker).collect(),
        devices,
        size_bytes: Some(64 << 10),
        qps: Some(4),
        depth: Some(128),
        read_depth: Some(16),
        device_read_depth: Some(16),
        place: Some("local".into()),
        duration_s: Some(30.0),
        warmup_s: Some(2.0),
        relaxed_ordering: None,
        ..Load::default()
    }
}

/// What the rules would find there.
pub fn findings_on_two_slow_bonds() -> Vec<Finding> {
    let leg = |n: u32, netdev: &str| {
        Finding::new(
            "bond-leg-imbalance",
            Severity::Warning,
            [format!("mlx5_bond_{n}")],
            format!("mlx5_bond_{n}: {netdev} carries 100% of the bond's received bytes; limit 80%"),
        )
        .advise("more than one queue pair per peer, and layer3+4 on the switch; then read again")
    };
    vec![
        leg(3, "eth5"),
        leg(4, "eth7"),
        Finding::new(
            "rail-imbalance",
            Severity::Warning,
            ["mlx5_bond_3", "mlx5_bond_4"],
            "mlx5_bond_3 and mlx5_bond_4 read 24.1 GB/s, the median is 48.2; limit 0.85 of the median",
        )
        .advise(
            "see the findings on these rails: the slowest leg, hop or node holds all of a striped read back",
        ),
        Finding::new(
            "cross-numa",
            Severity::Info,
            ["mlx5_bond_6"],
            "mlx5_bond_6 is on node 1, python3 (pid 4711) runs on CPUs 0-95 of node 0",
        )
        .advise("numactl --cpunodebind=1 --membind=1 python3 serve.py"),
    ]
}

/// Every kind of unknown on one node: a rail each without data, without a ceiling, down, gone, and on no known node.
pub fn a_mixed_bag() -> Timeline {
    let mut node = Node::with_rails(6);
    let topology = &mut node.topology;
    topology.gap("counters", "mlx5_bond_1", "port_rcv_data: N/A (no PMA)");
    topology.rails[1].line_gbit_per_s = None;
    topology.rails[1].pcie = None;
    topology.rails[2].state = Some("DOWN".into());
    topology.rails[4].numa_node = None;
    if let Some(hop) = topology.rails[4].pcie.as_mut().and_then(|path| path.hops.first_mut()) {
        hop.current_width = Some(4);
    }
    topology.rails[5].port = 2;
    topology.numa[1].memory_bytes = Some(0);
    topology.host.hostname = None;
    let mut timeline = Timeline::new(node.session());
    for seq in 0..=30_u64 {
        let at = |bytes_per_frame: u64| rail_frame(seq * bytes_per_frame, seq * 10_000_000);
        let gone = RailFrame { lost: true, ..RailFrame::default() };
        let rails = vec![
            RailFrame::default(),
            at(700_000_000),
            at(0),
            if seq < 20 { at(3_000_000_000) } else { gone },
            at(1_300_000_000),
            at(5_000),
        ];
        timeline.push(Frame { seq, at_ns: seq * 100_000_000, rails, ..Frame::default() });
    }
    timeline
}
