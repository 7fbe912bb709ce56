//! Rails in the order of the screen: grouped by NUMA node.

use probes::model::{RailId, Topology};

/// What rails of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// Their node; `None` for rails whose node the platform does not tell.
    Node(Option<u32>),
    /// That they are all, in an order of these words.
    Sorted(&'static str),
}

/// Rails under one heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What they have in common.
    pub heading: Heading,
    /// Its rails, from the top.
    pub rails: Vec<RailId>,
}

/// Rails by node, ascending; rails without a known node last.
#[must_use]
pub fn by_node(topology: &Topology) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (id, rail) in topology.rails_with_id() {
        let heading = Heading::Node(rail.numa_node);
        match groups.iter_mut().find(|group| group.heading == heading) {
            Some(group) => group.rails.push(id),
            None => groups.push(Group { heading, rails: vec![id] }),
        }
    }
    groups.sort_by_key(|group| match group.heading {
        Heading::Node(node) => (node.is_none(), node),
        Heading::Sorted(_) => (false, None),
    });
    groups
}

/// The position of this rail on the screen.
#[must_use]
pub fn position(topology: &Topology, rail: RailId) -> Option<usize> {
    by_node(topology).into_iter().flat_map(|group| group.rails).position(|id| id == rail)
}

/// The names of all rails, for a cut that tells them apart.
#[must_use]
pub fn devices(topology: &Topology) -> Vec<&str> {
    topology.rails.iter().map(|rail| rail.device.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Heading, by_node};
    use probes::model::{Rail, Topology};

    #[test]
    fn rails_without_a_node_come_last() {
        let rail = |numa_node| Rail { numa_node, ..Rail::default() };
        let topology =
            Topology { rails: [None, Some(1), Some(0), Some(1)].map(rail).into(), ..Topology::default() };
        let order: Vec<_> = by_node(&topology)
            .into_iter()
            .map(|group| (group.heading, group.rails.into_iter().map(|id| id.0).collect::<Vec<_>>()))
            .collect();
        let node = Heading::Node;
        assert_eq!(order, [(node(Some(0)), vec![2]), (node(Some(1)), vec![1, 3]), (node(None), vec![0])]);
    }
}
