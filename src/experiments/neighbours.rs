//! Which rails share something with a rail, and where else it can be used from.

use crate::ceilings::{link_payload_gb_per_s, pcie_links};
use probes::model::{NumaNode, Rail, Topology};

/// Placements besides the rail's own node for both, CPUs first: far CPUs, far memory, both far, with the farthest node; and
/// both on each other node, since a platform that tells a wrong node may mean any.
pub(super) fn places(topology: &Topology, rail: &Rail) -> Vec<(u32, u32)> {
    let Some(near) = rail.numa_node.filter(|near| topology.node(*near).is_some()) else { return Vec::new() };
    let can = |node: &&NumaNode| {
        node.node != near
            && node.memory_bytes.is_some_and(|bytes| bytes > 0)
            && node.cpus.as_ref().is_some_and(|cpus| !cpus.is_empty())
    };
    let others: Vec<&NumaNode> = topology.numa.iter().filter(can).collect();
    let Some(far) = others.iter().max_by_key(|node| topology.distance(near, node.node)).map(|node| node.node)
    else {
        return Vec::new();
    };
    let both = others.iter().map(|node| node.node).filter(|node| *node != far).map(|node| (node, node));
    [(far, near), (near, far), (far, far)].into_iter().chain(both).collect()
}

/// Other rails whose way up goes over a link of this rail's.
pub(super) fn sharing(topology: &Topology, rail: &Rail) -> Vec<String> {
    let own = pcie_links(rail);
    let others = topology.rails.iter().filter(|other| other.device != rail.device);
    others
        .filter(|other| pcie_links(other).iter().any(|(link, _)| own.iter().any(|(own, _)| own == link)))
        .map(|other| other.device.clone())
        .collect()
}

/// Payload of the slowest link that a rail has in common with one of the others, GB/s; `None` where that is not known.
pub(super) fn shared_payload_gb_per_s(topology: &Topology, rail: &Rail, others: &[String]) -> Option<f64> {
    let theirs: Vec<String> = topology
        .rails
        .iter()
        .filter(|other| others.contains(&other.device))
        .flat_map(|other| pcie_links(other).into_iter().map(|(link, _)| link))
        .collect();
    let shared = pcie_links(rail).into_iter().filter(|(link, _)| theirs.contains(link));
    shared.filter_map(|(_, hop)| link_payload_gb_per_s(hop)).reduce(f64::min)
}

/// Rails whose cards are on this node, in their order.
pub(super) fn of_node(topology: &Topology, node: u32) -> Vec<String> {
    let near = topology.rails.iter().filter(|rail| rail.numa_node == Some(node));
    near.map(|rail| rail.device.clone()).collect()
}

/// Legs that can be tried one by one: those of a bond that carries RDMA on an mlx5 card.
pub(super) fn legs(rail: &Rail) -> Vec<u32> {
    let is_mlx5 = rail.driver.as_deref() == Some("mlx5_core");
    let bond = rail.bond.as_ref().filter(|bond| is_mlx5 && bond.carries_rdma != Some(false));
    let count = bond.map_or(0, |bond| bond.legs.len());
    (1..=u32::try_from(count).unwrap_or(0)).filter(|_| count > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::places;
    use crate::sim::Machine;

    #[test]
    fn with_the_farthest_node_each_of_cpus_and_memory_is_tried_and_both_on_every_other() {
        let two = Machine::EightRails.topology();
        assert_eq!(places(&two, &two.rails[0]), [(1, 0), (0, 1), (1, 1)]);
        let four = Machine::TwelveOnFourNodes.topology();
        assert_eq!(places(&four, &four.rails[0]), [(3, 0), (0, 3), (3, 3), (1, 1), (2, 2)]);
        let one = Machine::TwoOnOneNode.topology();
        assert_eq!(places(&one, &one.rails[0]), []);
    }
}
