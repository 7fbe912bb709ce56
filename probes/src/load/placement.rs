//! Where each rail's thread and buffer should go.

use super::gpu::Destination;
use super::{LoadError, Place, Role};
use crate::bind;
use crate::model::{CpuSet, RailId, Topology};
use std::collections::BTreeMap;

/// Where one rail's thread and buffer should go. `None`: wherever the kernel puts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) cpus: Option<CpuSet>,
    pub(super) node: Option<u32>,
    /// The GPU that the buffer goes into; `None`: it goes into the host's memory.
    pub(super) gpu: Option<Destination>,
}

/// What of this host limits a placement.
#[derive(Clone, Debug, Default)]
pub(super) struct Here {
    /// CPUs this process may use; `None` when unknown.
    pub(super) allowed: Option<CpuSet>,
    /// CPUs that serve interrupts of a rail's NIC.
    pub(super) irq_cpus: BTreeMap<RailId, CpuSet>,
}

/// Finds a place for each of `rails`, in that order. A target's threads only sleep, and the node numbers of a
/// placement are the reader's: a target is always local.
///
/// # Errors
///
/// A node or CPU that was named does not exist, has no CPUs, or is not allowed here.
pub(super) fn places(
    topology: &Topology,
    rails: &[RailId],
    place: &Place,
    role: Role,
    here: &Here,
) -> Result<Vec<Placement>, LoadError> {
    let place = if role == Role::Target { &Place::Local } else { place };
    let wanted = |rail: &RailId| -> Result<Placement, LoadError> {
        let own = topology.rails.get(rail.0).and_then(|rail| rail.numa_node);
        match place {
            Place::None => Ok(Placement::default()),
            Place::Local => Ok(on_node(topology, own, own, here)),
            Place::Remote => {
                let device = topology.rails.get(rail.0).map_or("", |rail| &rail.device);
                let Some(own) = own else {
                    return Err(LoadError::Other(format!(
                        "placement remote: the NUMA node of {device} is not known"
                    )));
                };
                let Some(far) = farthest(topology, own) else {
                    return Err(LoadError::Other(format!(
                        "placement remote: {device} is on node {own}, and no other node here has CPUs and memory"
                    )));
                };
                Ok(on_node(topology, Some(far), Some(far), here))
            }
            Place::Nodes { cpu, mem } => {
                known(topology, *cpu)?;
                known(topology, *mem)?;
                let place = on_node(topology, Some(*cpu), Some(*mem), here);
                if place.cpus.is_none() {
                    return Err(LoadError::Other(format!(
                        "placement: node {cpu} has no CPU that this process may use (taskset, cpuset or a memory-only node)"
                    )));
                }
                Ok(place)
            }
            Place::Cpus(cpus) => {
                let usable = allowed(cpus, here);
                if usable.is_empty() {
                    return Err(LoadError::Other(format!(
                        "placement: this process may use none of the CPUs {cpus} (taskset or cpuset)"
                    )));
                }
                let node = usable.iter().next().and_then(|cpu| topology.node_of_cpu(cpu));
                Ok(Placement { cpus: Some(usable), node, gpu: None })
            }
        }
    };
    let mut places = rails.iter().map(wanted).collect::<Result<Vec<_>, _>>()?;
    if !matches!(place, Place::Cpus(_)) {
        avoid_irq_cpus(&mut places, rails, here);
    }
    Ok(places)
}

/// Whether the nodes or CPUs that `place` names are here and may be used, before a rail is opened.
///
/// # Errors
///
/// Which is not, or may not.
pub fn check_place(topology: &Topology, place: &Place) -> Result<(), LoadError> {
    if matches!(place, Place::Nodes { .. } | Place::Cpus(_)) {
        let here = Here { allowed: bind::allowed_cpus(), irq_cpus: BTreeMap::new() };
        places(topology, &[RailId(0)], place, Role::Reader, &here)?;
    }
    Ok(())
}

fn on_node(topology: &Topology, cpu: Option<u32>, mem: Option<u32>, here: &Here) -> Placement {
    let cpus = cpu.and_then(|node| topology.node(node)?.cpus.clone());
    let cpus = cpus.map(|cpus| allowed(&cpus, here)).filter(|cpus| !cpus.is_empty());
    Placement { cpus, node: mem, gpu: None }
}

fn allowed(cpus: &CpuSet, here: &Here) -> CpuSet {
    cpus.iter().filter(|cpu| here.allowed.as_ref().is_none_or(|allowed| allowed.contains(*cpu))).collect()
}

/// The node with CPUs and memory that is farthest from `node`; the highest number among equals.
fn farthest(topology: &Topology, node: u32) -> Option<u32> {
    let has_cpus = |n: &&crate::model::NumaNode| n.cpus.as_ref().is_some_and(|cpus| !cpus.is_empty());
    let others = topology.numa.iter().filter(|other| other.node != node).filter(has_cpus);
    others
        .filter(|n| n.memory_bytes != Some(0))
        .map(|n| n.node)
        .max_by_key(|n| (topology.distance(node, *n), *n))
}

fn known(topology: &Topology, node: u32) -> Result<(), LoadError> {
    if topology.node(node).is_some() {
        return Ok(());
    }
    let nodes: CpuSet = topology.numa.iter().map(|node| node.node).collect();
    Err(LoadError::Other(if nodes.is_empty() {
        format!(
            "placement: NUMA node {node} cannot be used: which nodes this host has is not known \
             (/sys/devices/system/node); leave --place out, or name CPUs"
        )
    } else {
        format!("placement: there is no NUMA node {node} here; there are {nodes}")
    }))
}

/// Takes the NIC's interrupt CPUs out, where enough CPUs are left for every thread that shares the set: a poll
/// loop on an interrupt CPU loses up to half its rate (perftest commit 6492537), but two of them on one CPU
/// stall each other for milliseconds.
fn avoid_irq_cpus(places: &mut [Placement], rails: &[RailId], here: &Here) {
    let before: Vec<_> = places.iter().map(|place| place.cpus.clone()).collect();
    for (place, rail) in places.iter_mut().zip(rails) {
        let (Some(cpus), Some(busy)) = (&place.cpus, here.irq_cpus.get(rail)) else { continue };
        let sharing = before.iter().filter(|other| other.as_ref() == Some(cpus)).count();
        let free: CpuSet = cpus.iter().filter(|cpu| !busy.contains(*cpu)).collect();
        if free.len() >= sharing {
            place.cpus = Some(free);
        }
    }
}

/// A placement in one word or phrase, as it stands in reports.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Remote => f.write_str("remote"),
            Self::None => f.write_str("none"),
            Self::Nodes { cpu, mem } => write!(f, "cpu:{cpu},mem:{mem}"),
            Self::Cpus(cpus) => cpus.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Here, Placement, places};
    use crate::load::{Place, Role};
    use crate::model::{CpuSet, NumaNode, Rail, RailId, Topology};
    use std::collections::BTreeMap;

    fn cpus(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    /// Two nodes of four CPUs, two rails on each.
    fn topology() -> Topology {
        let node = |node: u32, list: &str| NumaNode {
            node,
            cpus: Some(cpus(list)),
            memory_bytes: Some(1 << 30),
            distances: BTreeMap::from([(node, 10), (1 - node, 32)]),
            ..NumaNode::default()
        };
        let rail = |at: u32| Rail { device: format!("r{at}"), numa_node: Some(at / 2), ..Rail::default() };
        Topology {
            numa: vec![node(0, "0-3"), node(1, "4-7")],
            rails: (0..4).map(rail).collect(),
            ..Topology::default()
        }
    }

    fn of(place: &Place, here: &Here) -> Vec<(String, Option<u32>)> {
        let all: Vec<_> = (0..4).map(RailId).collect();
        let places = places(&topology(), &all, place, Role::Reader, here).unwrap();
        places
            .into_iter()
            .map(|p: Placement| (p.cpus.map_or("any".into(), |c| c.to_string()), p.node))
            .collect()
    }

    fn same(rows: [(&str, u32); 4]) -> Vec<(String, Option<u32>)> {
        rows.into_iter().map(|(cpus, node)| (cpus.to_owned(), Some(node))).collect()
    }

    #[test]
    fn local_is_the_node_of_the_nic_and_remote_the_other() {
        let here = Here::default();
        assert_eq!(of(&Place::Local, &here), same([("0-3", 0), ("0-3", 0), ("4-7", 1), ("4-7", 1)]));
        assert_eq!(of(&Place::Remote, &here), same([("4-7", 1), ("4-7", 1), ("0-3", 0), ("0-3", 0)]));
    }

    #[test]
    fn threads_and_memory_may_be_told_apart() {
        let rows = of(&Place::Nodes { cpu: 0, mem: 1 }, &Here::default());
        assert_eq!(rows, same([("0-3", 1), ("0-3", 1), ("0-3", 1), ("0-3", 1)]));
    }

    #[test]
    fn listed_cpus_take_memory_from_the_node_of_the_first() {
        let rows = of(&Place::Cpus(cpus("5,2")), &Here::default());
        assert_eq!(rows[0], ("2,5".to_owned(), Some(0)));
    }

    #[test]
    fn an_unknown_nic_node_binds_nothing() {
        let mut topology = topology();
        topology.rails[0].numa_node = None;
        let places = places(&topology, &[RailId(0)], &Place::Local, Role::Reader, &Here::default()).unwrap();
        assert_eq!(places, [Placement::default()]);
    }

    #[test]
    fn cpus_that_are_not_allowed_are_left_out() {
        let here = Here { allowed: Some(cpus("2-5")), ..Here::default() };
        assert_eq!(of(&Place::Local, &here)[0].0, "2-3");
        let here = Here { allowed: Some(cpus("0-3")), ..Here::default() };
        assert_eq!(of(&Place::Local, &here)[3], ("any".to_owned(), Some(1)));
    }

    #[test]
    fn interrupt_cpus_are_avoided_while_enough_are_left() {
        let busy =
            |list: &str| Here { irq_cpus: BTreeMap::from([(RailId(0), cpus(list))]), ..Here::default() };
        assert_eq!(of(&Place::Local, &busy("0-1"))[0].0, "2-3");
        assert_eq!(of(&Place::Local, &busy("0-2"))[0].0, "0-3");
    }

    #[test]
    fn a_node_that_is_not_there_is_named_with_those_that_are() {
        let bad = |place: &Place, here: &Here| {
            places(&topology(), &[RailId(0)], place, Role::Reader, here).unwrap_err().to_string()
        };
        let error = bad(&Place::Nodes { cpu: 3, mem: 0 }, &Here::default());
        assert!(error.contains("no NUMA node 3 here; there are 0-1"), "{error}");
        let here = Here { allowed: Some(cpus("0-3")), ..Here::default() };
        assert!(bad(&Place::Nodes { cpu: 1, mem: 0 }, &here).contains("node 1 has no CPU"));
        assert!(bad(&Place::Cpus(cpus("6")), &here).contains("none of the CPUs 6"));
    }

    #[test]
    fn remote_needs_another_node() {
        let mut topology = topology();
        topology.numa.pop();
        let error =
            places(&topology, &[RailId(0)], &Place::Remote, Role::Reader, &Here::default()).unwrap_err();
        assert!(error.to_string().contains("r0 is on node 0, and no other node here"), "{error}");
    }

    #[test]
    fn a_node_of_a_host_whose_nodes_are_not_known_is_refused_in_a_whole_sentence() {
        let place = Place::Nodes { cpu: 0, mem: 0 };
        let error = places(&Topology::default(), &[RailId(0)], &place, Role::Reader, &Here::default());
        let said = error.unwrap_err().to_string();
        assert!(said.contains("which nodes this host has is not known (/sys/devices/system/node)"), "{said}");
    }

    #[test]
    fn a_target_is_local_whatever_the_reader_asked() {
        let places = places(
            &topology(),
            &[RailId(0)],
            &Place::Nodes { cpu: 9, mem: 9 },
            Role::Target,
            &Here::default(),
        );
        assert_eq!(places.unwrap()[0].node, Some(0));
    }
}
