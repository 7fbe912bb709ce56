//! Sessions for the rules' tests, built from tables of facts and rates.

use super::{Finding, Limits, Rule};
use crate::timeline::Timeline;
use probes::model::{
    Bond, Frame, Hop, Leg, LegFrame, LinkLayer, Load, LoadOp, LoadOrigin, LoadTarget, NumaNode, PciePath,
    Process, ProcessSource, Rail, RailFrame, Session, Topology,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

/// A healthy 400G RoCE rail on a Gen5 x16 slot of node 0: 49.02 GB/s of payload, 57.6 GB/s over PCIe.
pub(crate) fn rail(device: &str) -> Rail {
    Rail {
        device: device.into(),
        port: 1,
        link_layer: Some(LinkLayer::Ethernet),
        state: Some("ACTIVE".into()),
        phys_state: Some("LinkUp".into()),
        numa_node: Some(0),
        line_gbit_per_s: Some(400.0),
        path_mtu: Some(4096),
        pcie: Some(PciePath {
            address: "0000:41:00.0".into(),
            hops: vec![hop("0000:41:00.0", 32.0, 16)],
            ..PciePath::default()
        }),
        ..Rail::default()
    }
}

/// The same behind these hops, the card's own first.
pub(crate) fn behind(device: &str, hops: Vec<Hop>) -> Rail {
    let mut rail = rail(device);
    rail.pcie.as_mut().unwrap().hops = hops;
    rail
}

/// A hop that runs at what both of its ends can do.
pub(crate) fn hop(address: &str, gt_per_s: f64, width: u32) -> Hop {
    Hop {
        address: address.into(),
        upstream: Some(port_above(address)),
        current_gt_per_s: Some(gt_per_s),
        current_width: Some(width),
        max_gt_per_s: Some(gt_per_s),
        max_width: Some(width),
        upstream_max_gt_per_s: Some(gt_per_s),
        upstream_max_width: Some(width),
        raw_gb_per_s: None,
        max_payload_bytes: Some(256),
    }
}

/// `0000:40:01.0` above `0000:41:00.0`: cards on other buses hang on other ports.
fn port_above(address: &str) -> String {
    let bus = address.get(5..7).and_then(|bus| u8::from_str_radix(bus, 16).ok());
    format!("0000:{:02x}:01.0", bus.unwrap_or(0x41).saturating_sub(1))
}

/// A rail of 2 × 200G in an active 802.3ad bond.
pub(crate) fn bonded(device: &str) -> Rail {
    let leg = |netdev: &str| Leg {
        netdev: netdev.into(),
        speed_gbit_per_s: Some(200.0),
        link_up: Some(true),
        active: Some(true),
        ..Leg::default()
    };
    Rail {
        bond: Some(Bond {
            netdev: "bond1".into(),
            mode: Some("802.3ad".into()),
            legs: vec![leg("eth0"), leg("eth1")],
            ..Bond::default()
        }),
        ..rail(device)
    }
}

/// The same with something else about its bond.
pub(crate) fn bond_with(change: impl FnOnce(&mut Bond)) -> Rail {
    let mut rail = bonded("mlx5_bond_1");
    change(rail.bond.as_mut().expect("it is one"));
    rail
}

/// Two nodes on two sockets, CPUs 0-3 and 4-7, distance 32, and these rails.
pub(crate) fn two_sockets(rails: Vec<Rail>) -> Topology {
    let node = |node: u32, cpus: &str| NumaNode {
        node,
        cpus: Some(cpus.parse().unwrap()),
        memory_bytes: Some(64 << 30),
        socket: Some(node),
        distances: BTreeMap::from([(node, 10), (1 - node, 32)]),
        ..NumaNode::default()
    };
    Topology { numa: vec![node(0, "0-3"), node(1, "4-7")], rails, ..Topology::default() }
}

/// What the frames of a test session hold, second by second.
#[derive(Clone, Default)]
pub(crate) struct Traffic {
    /// GB/s received by each rail, one row a second.
    pub rx_gb_per_s: Vec<Vec<f64>>,
    /// GB/s received by each leg of the first rail, the same in every second.
    pub legs_rx_gb_per_s: Vec<f64>,
    /// The load that covers every interval.
    pub load: Option<Load>,
    /// Processes found in the first frame.
    pub processes: Option<Vec<Process>>,
}

impl Traffic {
    /// These rates for four seconds, with a described READ load over every rail.
    pub(crate) fn loaded(rx_gb_per_s: &[f64]) -> Self {
        Self {
            rx_gb_per_s: vec![rx_gb_per_s.to_vec(); 4],
            load: Some(described(LoadOp::Read)),
            ..Self::default()
        }
    }
}

/// A described load over every rail.
pub(crate) fn described(op: LoadOp) -> Load {
    Load {
        origin: LoadOrigin::Described,
        op,
        loopback: false,
        target: LoadTarget::Host,
        devices: Vec::new(),
        size_bytes: Some(65536),
        qps: Some(4),
        read_depth: None,
        device_read_depth: None,
        relaxed_ordering: None,
        ..Load::default()
    }
}

/// A process with a queue pair on `device` that may run on `cpus`.
pub(crate) fn process(pid: u32, device: &str, cpus: &str) -> Process {
    Process {
        pid,
        name: "ib_read_bw".into(),
        device: device.into(),
        queue_pairs: Some(1),
        source: ProcessSource::QueuePairs,
        cpus_allowed: Some(cpus.parse().unwrap()),
        bound_threads: Vec::new(),
        mems_allowed: Some("0-1".parse().unwrap()),
        last_cpus: Vec::new(),
        large_mapping_bytes_by_node: None,
        registered_large_bytes: None,
        gpu: None,
        rank: None,
    }
}

/// The header of a test session; it has a wall clock, so it counts as a live one.
pub(crate) fn session(topology: Topology) -> Session {
    Session {
        generated_by: "railscope 0.1.0".into(),
        started_unix_ms: Some(0),
        interval_ns: SECOND_NS,
        hosts: vec![Arc::new(topology)],
        clock_offset_ns: None,
        simulated: None,
    }
}

/// The timeline of such a session.
pub(crate) fn timeline(topology: Topology, traffic: &Traffic) -> Timeline {
    let rails = topology.rails.len();
    let legs = topology.rails.first().and_then(|r| r.bond.as_ref()).map_or(0, |b| b.legs.len());
    let mut timeline = Timeline::new(Arc::new(session(topology)));
    let mut rx_bytes = vec![1_000_000_000_u64; rails];
    let mut leg_bytes = vec![0_u64; legs];
    let load = traffic.load.clone().map(Arc::new);
    for seq in 0..=traffic.rx_gb_per_s.len() {
        if let Some(row) = seq.checked_sub(1).map(|at| &traffic.rx_gb_per_s[at]) {
            for (bytes, rate) in rx_bytes.iter_mut().zip(row) {
                *bytes = bytes.saturating_add_signed(bytes_of(*rate));
            }
            for (bytes, rate) in leg_bytes.iter_mut().zip(&traffic.legs_rx_gb_per_s) {
                *bytes = bytes.saturating_add_signed(bytes_of(*rate));
            }
        }
        let leg = |at: usize| LegFrame {
            rx_rdma_bytes: Some(leg_bytes[at]),
            tx_rdma_bytes: Some(0),
            ..LegFrame::default()
        };
        let rail = |at: usize| RailFrame {
            rx_bytes: Some(rx_bytes[at]),
            tx_bytes: Some(0),
            legs: if at == 0 && !traffic.legs_rx_gb_per_s.is_empty() {
                (0..legs).map(leg).collect()
            } else {
                Vec::new()
            },
            ..RailFrame::default()
        };
        timeline.push(Frame {
            seq: seq as u64,
            at_ns: seq as u64 * SECOND_NS,
            rails: (0..rails).map(rail).collect(),
            processes: traffic.processes.clone().filter(|_| seq == 0).map(Arc::new),
            load: load.clone(),
            ..Frame::default()
        });
    }
    timeline
}

/// A session of the first rail alone: 2 GB/s come in, and its further counters take these values, a row a second.
pub(crate) fn counted(topology: &Topology, rows: &[Vec<u64>]) -> Timeline {
    let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
    for (seq, row) in rows.iter().enumerate() {
        let seq = seq as u64;
        let read = RailFrame {
            rx_bytes: Some(seq * 2_000_000_000),
            tx_bytes: Some(0),
            counters: row.iter().copied().map(Some).collect(),
            ..RailFrame::default()
        };
        timeline.push(Frame { seq, at_ns: seq * SECOND_NS, rails: vec![read], ..Frame::default() });
    }
    timeline
}

#[expect(clippy::cast_possible_truncation, reason = "rates of tests are small")]
fn bytes_of(gb_per_s: f64) -> i64 {
    (gb_per_s * 1e9) as i64
}

/// What one rule finds in this session.
pub(crate) fn found(rule: &Rule, topology: &Topology, traffic: &Traffic) -> Vec<Finding> {
    (rule.check)(topology, &timeline(topology.clone(), traffic), &Limits::default())
}

/// What one rule finds in this timeline.
pub(crate) fn found_in(rule: &Rule, topology: &Topology, timeline: &Timeline) -> Vec<Finding> {
    (rule.check)(topology, timeline, &Limits::default())
}

/// Code and devices of findings, side by side: `pcie-downgraded mlx5_2`.
pub(crate) fn named(found: &[Finding]) -> Vec<String> {
    found.iter().map(|f| format!("{} {}", f.code, f.devices.join(","))).collect()
}
