//! The machines that planted nodes are of: from two rails below one socket to twelve on four nodes.

use super::card;
use super::node::{NODE_MEMORY_BYTES, host};
use probes::model::{CpuSet, Hop, Host, NumaNode, Rail, Topology};

/// Cores of one node, each with one thread.
const CORES: u32 = 32;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Machine {
    /// Eight rails of 400G, one port each, four below each of two sockets.
    EightRails,
    /// Eight bonds of 2 × 200G, four below each of two sockets.
    EightBonds,
    /// Four rails of 200G, two below each of two switches.
    FourBelowSwitches,
    /// Twelve rails of 200G on four nodes of two sockets.
    TwelveOnFourNodes,
    /// Two rails of 400G on the one node that there is.
    TwoOnOneNode,
    /// Four rails of 400G, two bonds of 2 × 100G and two rails of 100G.
    Mixed,
}

impl Machine {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::EightRails,
        Self::EightBonds,
        Self::FourBelowSwitches,
        Self::TwelveOnFourNodes,
        Self::TwoOnOneNode,
        Self::Mixed,
    ];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EightRails => "8 x 400G",
            Self::EightBonds => "8 x 2 x 200G",
            Self::FourBelowSwitches => "4 x 200G below switches",
            Self::TwelveOnFourNodes => "12 x 200G on 4 nodes",
            Self::TwoOnOneNode => "2 x 400G on 1 node",
            Self::Mixed => "4 x 400G, 2 x 2 x 100G, 2 x 100G",
        }
    }

    fn nodes(self) -> u32 {
        match self {
            Self::TwoOnOneNode => 1,
            Self::TwelveOnFourNodes => 4,
            _ => 2,
        }
    }

    fn cards(self) -> Vec<Card> {
        let card = |node: u32, legs: u32, leg_gbit_per_s: f64| Card {
            node,
            legs,
            leg_gbit_per_s,
            below_switch: false,
        };
        let alike = |count: u32, per_node: u32, legs, leg_gbit_per_s| -> Vec<Card> {
            (0..count).map(|at| card(at / per_node, legs, leg_gbit_per_s)).collect()
        };
        match self {
            Self::EightRails => alike(8, 4, 1, 400.0),
            Self::EightBonds => alike(8, 4, 2, 200.0),
            Self::FourBelowSwitches => {
                alike(4, 2, 1, 200.0).into_iter().map(|card| Card { below_switch: true, ..card }).collect()
            }
            Self::TwelveOnFourNodes => alike(12, 3, 1, 200.0),
            Self::TwoOnOneNode => alike(2, 2, 1, 400.0),
            Self::Mixed => {
                let of_node = |node| {
                    [card(node, 1, 400.0), card(node, 1, 400.0), card(node, 2, 100.0), card(node, 1, 100.0)]
                };
                (0..2).flat_map(of_node).collect()
            }
        }
    }

    /// The machine with everything in order, as a survey finds it.
    #[must_use]
    pub fn topology(self) -> Topology {
        let nodes = self.nodes();
        let cpus: CpuSet = (0..nodes * CORES).collect();
        Topology {
            host: Host {
                sockets: Some(nodes.min(2)),
                cpus: Some(nodes * CORES),
                memory_bytes: Some(u64::from(nodes) * NODE_MEMORY_BYTES),
                cpuset_cpus: Some(cpus.clone()),
                cpuset_mems: Some((0..nodes).collect()),
                cpu_governors: Some([("performance".to_owned(), cpus)].into()),
                ..host()
            },
            numa: (0..nodes).map(|node| numa_node(node, nodes)).collect(),
            rails: (1..).zip(self.cards()).map(|(number, card)| card.rail(number)).collect(),
            ..Topology::default()
        }
    }
}

fn cpus(node: u32) -> CpuSet {
    (node * CORES..(node + 1) * CORES).collect()
}

/// Socket of a node, where there are so many: two nodes a socket on machines with four.
fn socket(node: u32, nodes: u32) -> u32 {
    if nodes > 2 { node / 2 } else { node }
}

fn numa_node(node: u32, nodes: u32) -> NumaNode {
    let distance = |other: u32| match (other == node, socket(other, nodes) == socket(node, nodes)) {
        (true, _) => 10,
        (_, true) => 12,
        _ => 32,
    };
    NumaNode {
        node,
        cpus: Some(cpus(node)),
        memory_bytes: Some(NODE_MEMORY_BYTES),
        socket: Some(socket(node, nodes)),
        distances: (0..nodes).map(|other| (other, distance(other))).collect(),
        memory_free_bytes: None,
        hugepages: Some(Vec::new()),
    }
}

/// A card of a machine, which is one rail.
#[derive(Clone, Copy)]
struct Card {
    node: u32,
    legs: u32,
    leg_gbit_per_s: f64,
    /// Whether it hangs on a switch with the others of its node.
    below_switch: bool,
}

impl Card {
    fn gbit_per_s(self) -> f64 {
        f64::from(self.legs) * self.leg_gbit_per_s
    }

    /// The generation of PCIe that a card of its speed is made for, x16.
    fn gt_per_s(self) -> f64 {
        match self.gbit_per_s() {
            speed if speed > 200.0 => 32.0,
            speed if speed > 100.0 => 16.0,
            _ => 8.0,
        }
    }

    fn rail(self, number: u32) -> Rail {
        let (is_bond, node) = (self.legs > 1, self.node);
        let bus = 0x10 + 8 * number;
        let address = format!("0000:{bus:02x}:00.0");
        let device = if is_bond { format!("mlx5_bond_{number}") } else { format!("mlx5_{number}") };
        let netdev = if is_bond { format!("bond{number}") } else { format!("enp{bus}s0np0") };
        let legs = || (0..self.legs).map(|leg| card::leg(bus, leg, self.leg_gbit_per_s)).collect();
        Rail {
            numa_node: Some(node),
            local_cpus: Some(cpus(node)),
            board_id: Some(format!("SIM{:010}", self.gbit_per_s())),
            line_gbit_per_s: Some(self.gbit_per_s()),
            pcie: Some(card::path(address.clone(), self.hops(&address, bus))),
            bond: is_bond.then(|| card::bond(netdev.clone(), legs())),
            ..card::rail(device, number, netdev)
        }
    }

    fn hops(self, address: &str, bus: u32) -> Vec<Hop> {
        if !self.below_switch {
            return vec![hop(address, &format!("0000:{:02x}:01.1", bus - 1), self.gt_per_s())];
        }
        let switch = 0x08 + 0x80 * self.node;
        let port_down = format!("0000:{:02x}:{:02x}.0", switch + 1, bus >> 3);
        let uplink = hop(&format!("0000:{switch:02x}:00.0"), &format!("0000:{:02x}:01.1", switch - 1), 32.0);
        vec![hop(address, &port_down, self.gt_per_s()), uplink]
    }
}

/// A link of sixteen lanes in order.
fn hop(address: &str, port: &str, gt_per_s: f64) -> Hop {
    let speed = Some(gt_per_s);
    Hop {
        current_gt_per_s: speed,
        max_gt_per_s: speed,
        upstream_max_gt_per_s: speed,
        ..card::full_hop(address, port)
    }
}

#[cfg(test)]
mod tests {
    use super::Machine;
    use crate::ceilings::{Ceilings, line_goodput_gb_per_s};

    #[test]
    fn on_every_machine_the_wire_is_what_bounds_a_rail() {
        for machine in Machine::ALL {
            for rail in machine.topology().rails {
                assert_eq!(Ceilings::of(&rail).lowest(), line_goodput_gb_per_s(&rail), "{}", machine.name());
            }
        }
    }

    #[test]
    fn devices_buses_and_nodes_are_told_apart() {
        for machine in Machine::ALL {
            let topology = machine.topology();
            let mut devices: Vec<&str> = topology.rails.iter().map(|rail| rail.device.as_str()).collect();
            let mut buses: Vec<&str> =
                topology.rails.iter().map(|rail| rail.pcie.as_ref().unwrap().address.as_str()).collect();
            devices.sort_unstable();
            buses.sort_unstable();
            devices.dedup();
            buses.dedup();
            assert_eq!((devices.len(), buses.len()), (topology.rails.len(), topology.rails.len()));
            assert!(topology.rails.iter().all(|rail| topology.node(rail.numa_node.unwrap()).is_some()));
        }
    }
}
