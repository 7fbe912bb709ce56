//! hwloc's XML in, through hwloc's own importer.
//!
//! Source: hwloc, "Importing and exporting topologies from/to XML files"; names of the infos: hwloc,
//! `topology-linux.c` (`hwloc_linux_infiniband_class_fillinfos`).

use super::parts::{self, PROBE, is_gpu, short};
use crate::model::{CpuSet, DrawnBy, Gid, Hop, LinkLayer, NumaNode, PciePath, Rail, Topology};
use crate::survey::gid_choice;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::{ObjectAttributes, PCIDeviceAttributes, UpstreamAttributes};
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::{OSDeviceType, ObjectType};
use hwlocality::topology::builder::{BuildFlags, TypeFilter};

/// GIDs that are looked for; hwloc writes the first entries of each port.
const MOST_GIDS: u32 = 16;

/// Ports of a device; real ones have one or two.
const MOST_PORTS: u32 = 8;

/// The newest version of the format that the library reads: its own major version.
pub(super) fn newest_version() -> u32 {
    u32::try_from(hwlocality::hwloc_api_version() >> 16).unwrap_or(2)
}

/// What the file says of the machine.
pub(super) fn topology(text: &str) -> Result<Topology, String> {
    let machine = import(text)?;
    let mut topology = Topology { drawn_by: Some(DrawnBy::Hwloc), ..Topology::default() };
    nodes(&machine, &mut topology);
    host(&machine, &mut topology);
    for device in machine.os_devices() {
        if matches!(device.attributes(), Some(ObjectAttributes::OSDevice(of)) if of.device_type() == OSDeviceType::OpenFabrics)
        {
            rails(device, &mut topology);
        }
    }
    let gpus = machine.pci_devices().filter_map(|device| {
        let pci = pci_of(device)?;
        let vendor = format!("{:04x}", pci.vendor_id());
        is_gpu(pci.class_id(), Some(&vendor)).then(|| (node_of(device).ok(), path(device, pci)))
    });
    let gpus = gpus.collect();
    for what in [
        "netdev settings, MTU, firmware, drivers, bonds, types of GIDs",
        "limits and other settings",
        "speed and width of PCIe links: only their rate is noted, and of the moment; what they could do",
    ] {
        topology.gap(PROBE, "host", format!("{what}: not in an hwloc XML file"));
    }
    parts::put_in_order(&mut topology, gpus);
    Ok(topology)
}

pub(super) fn import(text: &str) -> Result<hwlocality::Topology, String> {
    // hwloc answers EINVAL to whatever is wrong, and the binding's text of it is for its developers
    const REFUSED: &str = "hwloc cannot make a topology of it: an object or attribute is missing, or is none that hwloc \
                           writes; `lstopo -i FILE.xml` names the place, `lstopo FILE.xml` on that machine writes \
                           it again";
    let builder = hwlocality::Topology::builder().from_xml(text).ok();
    let builder = builder.and_then(|builder| builder.with_flags(BuildFlags::INCLUDE_DISALLOWED).ok());
    let builder = builder.and_then(|builder| builder.with_io_type_filter(TypeFilter::KeepAll).ok());
    builder.and_then(|builder| builder.build().ok()).ok_or_else(|| REFUSED.to_owned())
}

fn number(index: Option<usize>) -> Option<u32> {
    u32::try_from(index?).ok()
}

fn nodes(machine: &hwlocality::Topology, topology: &mut Topology) {
    let mut objects: Vec<_> = machine.objects_with_type(ObjectType::NUMANode).collect();
    objects.sort_by_key(|object| object.os_index());
    let mut taken = Vec::new();
    for object in objects {
        let Some(node) = number(object.os_index()) else { continue };
        let memory_bytes = match object.attributes() {
            Some(ObjectAttributes::NUMANode(numa)) => numa.local_memory().map(u64::from),
            _ => None,
        };
        if memory_bytes.is_none() {
            topology.gap(PROBE, format!("node {node}"), "local_memory: none, or not noted");
        }
        let cpus = own_cpus(object, node, &mut taken, topology);
        topology.numa.push(NumaNode {
            node,
            cpus,
            memory_bytes,
            socket: object.first_ancestor_with_type(ObjectType::Package).and_then(|p| number(p.os_index())),
            ..NumaNode::default()
        });
    }
    let latencies = machine.distances(Some(DistancesKind::MEANS_LATENCY)).unwrap_or_default();
    let between_nodes = latencies.iter().find(|matrix| {
        matrix
            .objects()
            .all(|object| object.is_some_and(|object| object.object_type() == ObjectType::NUMANode))
    });
    if let Some(matrix) = between_nodes {
        for ((from, to), distance) in matrix.object_distances() {
            let index = |object: Option<&TopologyObject>| number(object?.os_index());
            let (Some(from), Some(to), Ok(distance)) = (index(from), index(to), u32::try_from(distance))
            else {
                continue;
            };
            if let Some(node) = topology.numa.iter_mut().find(|node| node.node == from) {
                node.distances.insert(to, distance);
            }
        }
    } else if topology.numa.len() > 1 {
        topology.gap(PROBE, "host", "distances between the nodes: not in this file");
    }
}

/// The CPUs of a node, of which each has one node only (Documentation/admin-guide/mm/numaperf.rst): hwloc notes
/// of memory-only nodes those that are near, which an earlier node has.
fn own_cpus(
    object: &TopologyObject,
    node: u32,
    taken: &mut Vec<u32>,
    topology: &mut Topology,
) -> Option<CpuSet> {
    let near = cpus_of(object)?;
    let own: CpuSet = near.iter().filter(|cpu| !taken.contains(cpu)).collect();
    if own.len() < near.len() {
        let reason = format!("cpus: {near} are near, and another node has them; it is taken to be without");
        topology.gap(PROBE, format!("node {node}"), reason);
    }
    taken.extend(own.iter());
    Some(own)
}

fn host(machine: &hwlocality::Topology, topology: &mut Topology) {
    let root = machine.root_object();
    let host = &mut topology.host;
    host.hostname = info(root, "HostName");
    host.kernel = info(root, "OSRelease");
    let packages: Vec<&TopologyObject> = machine.objects_with_type(ObjectType::Package).collect();
    host.sockets = u32::try_from(packages.len()).ok().filter(|count| *count > 0);
    host.cpu_model = packages.first().and_then(|package| info(package, "CPUModel"));
    host.cpus = u32::try_from(machine.objects_with_type(ObjectType::PU).count()).ok();
    host.memory_bytes = Some(root.total_memory()).filter(|bytes| *bytes > 0);
}

fn info(object: &TopologyObject, key: &str) -> Option<String> {
    let text = object.info(key)?.to_string_lossy();
    Some(short_line(&text)).filter(|text| !text.is_empty())
}

fn short_line(text: &str) -> String {
    text.trim().chars().take(200).filter(|c| !c.is_control()).collect()
}

/// One rail per port of an RDMA device (`OpenFabrics` in hwloc's words).
fn rails(device: &TopologyObject, topology: &mut Topology) {
    let Some(name) = device.name().map(|name| short(&name.to_string_lossy())) else { return };
    let pci = device.ancestors().find_map(|object| Some((object, pci_of(object)?)));
    let (numa_node, local_cpus) = match node_of(device) {
        Ok(node) => (Some(node), device.first_non_io_ancestor().and_then(cpus_of)),
        Err(reason) => {
            topology.gap(PROBE, &name, format!("numa_node: {reason}"));
            (None, None)
        }
    };
    let mut ports: Vec<u32> = (1..=MOST_PORTS)
        .filter(|port| {
            ["State", "LID", "GID0"].iter().any(|key| device.info(&format!("Port{port}{key}")).is_some())
        })
        .collect();
    if ports.is_empty() {
        topology.gap(PROBE, &name, "ports: none noted");
        ports.push(1);
    }
    for port in ports {
        let of_port = |key: &str| info(device, &format!("Port{port}{key}"));
        // the local id of a RoCE port is 0 (IBTA 1.4, 4.1.3: no valid id)
        let lid = of_port("LID").and_then(|text| u16::from_str_radix(text.trim_start_matches("0x"), 16).ok());
        let lid = lid.filter(|lid| !matches!(lid, 0 | 0xffff));
        if lid.is_none() {
            topology.gap(PROBE, &name, "link_layer: hwloc does not note it, and the port has no LID");
        }
        let mut rail = Rail {
            device: name.clone(),
            port,
            netdev: pci.and_then(|(function, _)| netdev_of(function, port)),
            link_layer: lid.map(|_| LinkLayer::InfiniBand),
            state: of_port("State").and_then(|code| state(&code)).map(str::to_owned),
            lid,
            numa_node,
            local_cpus: local_cpus.clone(),
            system_image_guid: info(device, "SysImageGUID"),
            gids: gids(device, port),
            pcie: pci.map(|(function, of)| path(function, of)),
            ..Rail::default()
        };
        // on RoCE it takes the types of the entries, which hwloc does not note
        if rail.is_active() && rail.link_layer == Some(LinkLayer::InfiniBand) {
            rail.gid = gid_choice::recommended(&rail);
        }
        topology.rails.push(rail);
    }
}

/// IBTA 1.4, 14.2.5.6 (`PortInfo`), port states.
fn state(code: &str) -> Option<&'static str> {
    match code {
        "1" => Some("DOWN"),
        "2" => Some("INIT"),
        "3" => Some("ARMED"),
        "4" => Some("ACTIVE"),
        _ => None,
    }
}

fn gids(device: &TopologyObject, port: u32) -> Vec<Gid> {
    let entry = |index: u32| {
        let address = info(device, &format!("Port{port}GID{index}"))?.parse().ok()?;
        Some(Gid { index, address, kind: None, netdev: None })
    };
    (0..MOST_GIDS).filter_map(entry).collect()
}

/// The netdev beside it: the one of that port, or the only one.
fn netdev_of(function: &TopologyObject, port: u32) -> Option<String> {
    let is_net = |object: &&TopologyObject| matches!(object.attributes(), Some(ObjectAttributes::OSDevice(of)) if of.device_type() == OSDeviceType::Network);
    let netdevs: Vec<&TopologyObject> = function.io_children().filter(is_net).collect();
    let of_port = netdevs.iter().find(|netdev| info(netdev, "Port") == Some(port.to_string()));
    let netdev = match (of_port, netdevs.as_slice()) {
        (Some(netdev), _) => netdev,
        (None, [only]) => only,
        _ => return None,
    };
    netdev.name().map(|name| short(&name.to_string_lossy()))
}

fn cpus_of(object: &TopologyObject) -> Option<CpuSet> {
    let cpus = object.cpuset()?;
    Some(cpus.iter_set().filter_map(|cpu| u32::try_from(usize::from(cpu)).ok()).collect())
}

/// The one node of the object that a device hangs on, or why there is none.
fn node_of(device: &TopologyObject) -> Result<u32, String> {
    let nodes = device.first_non_io_ancestor().and_then(TopologyObject::nodeset);
    let nodes: Vec<u32> = nodes
        .iter()
        .flat_map(|nodes| nodes.iter_set())
        .filter_map(|node| u32::try_from(usize::from(node)).ok())
        .collect();
    match nodes.as_slice() {
        [node] => Ok(*node),
        [] => Err("hwloc names no node for it".to_owned()),
        several => {
            let several: CpuSet = several.iter().copied().collect();
            Err(format!("hwloc puts it under nodes {several} together"))
        }
    }
}

fn pci_of(object: &TopologyObject) -> Option<&PCIDeviceAttributes> {
    match object.attributes()? {
        ObjectAttributes::PCIDevice(pci) => Some(pci),
        _ => None,
    }
}

fn address(pci: &PCIDeviceAttributes) -> String {
    format!("{:04x}:{:02x}:{:02x}.{:x}", pci.domain(), pci.bus_id(), pci.bus_device(), pci.function())
}

/// The function and the bridges above it, in pairs: a link joins a card to the port above it, and the two sides
/// of a switch have none between them.
fn path(device: &TopologyObject, pci: &PCIDeviceAttributes) -> PciePath {
    let bridges = device.ancestors().filter_map(|object| match object.attributes()? {
        ObjectAttributes::Bridge(bridge) => {
            // a host bridge has no PCI side above it
            let UpstreamAttributes::PCI(upstream) = bridge.upstream_attributes()?;
            Some(upstream)
        }
        _ => None,
    });
    let chain: Vec<&PCIDeviceAttributes> = std::iter::once(pci).chain(bridges).collect();
    let hops = chain.chunks(2).filter_map(|link| {
        let (lower, above) = link.split_first()?;
        let rate = f64::from(lower.link_speed());
        Some(Hop {
            address: address(lower),
            upstream: above.first().map(|port| address(port)),
            raw_gb_per_s: (rate.is_finite() && rate > 0.0).then_some(rate),
            ..Hop::default()
        })
    });
    PciePath {
        address: address(pci),
        vendor: Some(format!("{:04x}", pci.vendor_id())),
        device: Some(format!("{:04x}", pci.device_id())),
        hops: hops.collect(),
        ..PciePath::default()
    }
}
