//! Rails in the order of the screen: grouped by NUMA node.

use probes::model::{RailId, Topology};

/// Rails on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The node; `None` for rails whose node the platform does not tell.
    pub node: Option<u32>,
    /// Its rails, in the topology's order.
    pub rails: Vec<RailId>,
}

/// Rails by node, ascending; rails without a known node last.
#[must_use]
pub fn by_node(topology: &Topology) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (id, rail) in topology.rails_with_id() {
        match groups.iter_mut().find(|group| group.node == rail.numa_node) {
            Some(group) => group.rails.push(id),
            None => groups.push(Group { node: rail.numa_node, rails: vec![id] }),
        }
    }
    groups.sort_by_key(|group| (group.node.is_none(), group.node));
    groups
}

/// The rail at this position of the screen.
#[must_use]
pub fn at(topology: &Topology, position: usize) -> Option<RailId> {
    by_node(topology).into_iter().flat_map(|group| group.rails).nth(position)
}

/// The position of this rail on the screen.
#[must_use]
pub fn position(topology: &Topology, rail: RailId) -> Option<usize> {
    by_node(topology).into_iter().flat_map(|group| group.rails).position(|id| id == rail)
}

#[cfg(test)]
mod tests {
    use super::by_node;
    use probes::model::{Rail, Topology};

    #[test]
    fn rails_without_a_node_come_last() {
        let rail = |numa_node| Rail { numa_node, ..Rail::default() };
        let topology =
            Topology { rails: [None, Some(1), Some(0), Some(1)].map(rail).into(), ..Topology::default() };
        let order: Vec<_> = by_node(&topology)
            .into_iter()
            .map(|group| (group.node, group.rails.into_iter().map(|id| id.0).collect::<Vec<_>>()))
            .collect();
        assert_eq!(order, [(Some(0), vec![2]), (Some(1), vec![1, 3]), (None, vec![0])]);
    }
}
