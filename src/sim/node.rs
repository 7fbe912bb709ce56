//! The simulated node: two sockets, eight bonds of two 200 Gb/s legs, PCIe Gen5 x16.

use super::card;
use super::scenario::{DEVICE, Fault, Scenario};
use probes::model::{CpuSet, Hop, Host, NumaNode, PciePath, Rail, Topology};
use std::collections::BTreeMap;

/// Bonds of the node.
pub(super) const BONDS: std::ops::RangeInclusive<u32> = 1..=8;
/// Speed of one leg.
const LEG_GBIT_PER_S: f64 = 200.0;
/// Cores of one socket, each with two threads.
const CORES: u32 = 96;
/// Bus of each bond's card, in slot order; the first four sit below socket 0.
const BUSES: [u8; 8] = [0x11, 0x2b, 0x41, 0x5d, 0x91, 0xab, 0xc1, 0xdd];
/// The port up of the switch that two cards of a scenario hang on, and the bus of its ports down.
const SWITCH: &str = "0000:40:00.0";
const SWITCH_BUS: &str = "0000:42";
/// Counters that a healthy rail has and that stand still on this node, with what they had when the session began.
/// Lifetime totals are seldom 0 on a real node, and prove nothing.
const QUIET_COUNTERS: [(&str, u64); 16] = [
    ("port/link_downed", 1),
    ("port/link_error_recovery", 0),
    ("port/local_link_integrity_errors", 0),
    ("port/port_rcv_errors", 0),
    ("port/port_xmit_discards", 0),
    ("port/symbol_error", 0),
    ("hw/duplicate_request", 12),
    ("hw/implied_nak_seq_err", 0),
    ("hw/local_ack_timeout_err", 3),
    ("hw/np_cnp_sent", 48_211),
    ("hw/np_ecn_marked_roce_packets", 48_502),
    ("hw/out_of_buffer", 0),
    ("hw/out_of_sequence", 1207),
    ("hw/packet_seq_err", 9),
    ("hw/rnr_nak_retry_err", 0),
    ("hw/rp_cnp_handled", 51_930),
];

/// The node as a survey would find it.
pub(super) fn topology(scenario: Scenario) -> Topology {
    Topology {
        host: host(),
        numa: (0..2).map(numa_node).collect(),
        rails: BONDS.map(|bond| rail(bond, scenario.fault(bond))).collect(),
        ..Topology::default()
    }
}

pub(super) fn host() -> Host {
    Host {
        hostname: Some("simulated".into()),
        kernel: Some("6.8.0-simulated".into()),
        os: Some("Simulated Linux".into()),
        cpu_model: Some("AMD EPYC 9654 96-Core Processor".into()),
        sockets: Some(2),
        cpus: Some(4 * CORES),
        memory_bytes: Some(2 * NODE_MEMORY_BYTES),
        rdma_core: Some("50.0".into()),
        ofed: None,
        memlock_bytes: None,
        memlock_unlimited: Some(true),
        memlock_exempt: None,
        numa_balancing: Some(false),
        iommu: Some("passthrough".into()),
        cpuset_cpus: Some((0..4 * CORES).collect()),
        cpuset_mems: Some((0..2).collect()),
        cpu_governors: Some([("performance".to_owned(), (0..4 * CORES).collect())].into()),
        energy_preferences: None,
        ..Host::default()
    }
}

pub(super) const NODE_MEMORY_BYTES: u64 = 768 << 30;

fn cpus(node: u32) -> CpuSet {
    let first = node * CORES;
    (first..first + CORES).chain(2 * CORES + first..3 * CORES + first).collect()
}

fn numa_node(node: u32) -> NumaNode {
    NumaNode {
        node,
        cpus: Some(cpus(node)),
        memory_bytes: Some(NODE_MEMORY_BYTES),
        socket: Some(node),
        distances: BTreeMap::from([(node, 10), (1 - node, 32)]),
        memory_free_bytes: None,
        hugepages: Some(Vec::new()),
    }
}

fn rail(bond: u32, fault: Option<Fault>) -> Rail {
    let bus = BUSES[bond as usize - 1];
    let node = u32::from(bus >= 0x80);
    let netdev = format!("bond{bond}");
    let legs = (0..2).map(|leg| card::leg(u32::from(bus), leg, LEG_GBIT_PER_S)).collect();
    Rail {
        numa_node: Some(node),
        local_cpus: Some(cpus(node)),
        board_id: Some("MT_0000000834".into()),
        // sysfs shows one leg's rate for a bond
        rate_text: Some("200 Gb/sec (2X NDR)".into()),
        line_gbit_per_s: Some(2.0 * LEG_GBIT_PER_S),
        pcie: Some(pcie(bus, fault)),
        bond: Some(card::bond(netdev.clone(), legs)),
        counters: counters(fault).map(|(name, _)| name.to_owned()).collect(),
        ..card::rail(format!("{DEVICE}{bond}"), bond, netdev)
    }
}

/// Names of a rail's counters and what they had when the session began: the quiet ones, and those that grow by its fault.
pub(super) fn counters(fault: Option<Fault>) -> impl Iterator<Item = (&'static str, u64)> {
    let is_quiet = |name: &str| QUIET_COUNTERS.iter().any(|(quiet, _)| *quiet == name);
    let further = fault.map_or(&[][..], Fault::growing).iter().map(|(name, _)| (*name, 0));
    QUIET_COUNTERS.into_iter().chain(further.filter(move |(name, _)| !is_quiet(name)))
}

fn pcie(bus: u8, fault: Option<Fault>) -> PciePath {
    let address = format!("0000:{bus:02x}:00.0");
    let port = match fault {
        Some(Fault::SharedUplink) => format!("{SWITCH_BUS}:{:02x}.0", bus >> 4),
        _ => format!("0000:{:02x}:01.1", bus - 1),
    };
    let slot_gt_per_s = if fault == Some(Fault::Gen4Slot) { 16.0 } else { 32.0 };
    let hop = Hop {
        current_gt_per_s: Some(slot_gt_per_s),
        current_width: Some(if fault == Some(Fault::HalfWidth) { 8 } else { 16 }),
        upstream_max_gt_per_s: Some(slot_gt_per_s),
        ..card::full_hop(&address, &port)
    };
    let mut hops = vec![hop];
    if fault == Some(Fault::SharedUplink) {
        hops.push(card::full_hop(SWITCH, "0000:3f:01.1"));
    }
    card::path(address, hops)
}

#[cfg(test)]
mod tests {
    use super::topology;
    use crate::sim::Scenario;

    #[test]
    fn four_bonds_sit_on_each_node() {
        let topology = topology(Scenario::Mixed);
        let nodes: Vec<_> =
            topology.rails.iter().map(|rail| (rail.device.as_str(), rail.numa_node.unwrap())).collect();
        assert_eq!(nodes[0], ("mlx5_bond_1", 0));
        assert_eq!(nodes[3], ("mlx5_bond_4", 0));
        assert_eq!(nodes[4], ("mlx5_bond_5", 1));
        assert_eq!(nodes[7], ("mlx5_bond_8", 1));
        assert_eq!(topology.numa[1].cpus.as_ref().unwrap().to_string(), "96-191,288-383");
    }
}
