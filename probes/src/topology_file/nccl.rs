//! NCCL's topology XML in: what `NCCL_TOPO_DUMP_FILE` writes, and what clouds ship for `NCCL_TOPO_FILE`.
//!
//! Source: NCCL, `src/graph/xml.cc` and `topo.cc`: `cpu` holds a node's number and CPU mask; `pci` elements are
//! cards and the upper ports of switches, nested; `link_speed` and `link_width` are the lesser of what both
//! ends of a link can do (`max_link_speed`, `max_link_width`); `net` has its speed in Mb/s and, as `guid`, the
//! bytes of `sys_image_guid` read as a little-endian number.

use super::parts::{self, PROBE, is_gpu, short};
use crate::model::{CpuSet, DrawnBy, Hop, NumaNode, PciePath, Rail, Topology};
use crate::survey::cpus_of_mask;
use roxmltree::Node;

/// What the file says of the machine.
pub(super) fn topology(root: Node<'_, '_>) -> Result<Topology, String> {
    let mut topology = Topology { drawn_by: Some(DrawnBy::Nccl), ..Topology::default() };
    let mut gpus = Vec::new();
    for cpu in root.children().filter(|node| node.has_tag_name("cpu")) {
        add_node(&mut topology, cpu);
    }
    for pci in root.descendants().filter(|node| node.has_tag_name("pci")) {
        let has_gpu = pci.children().any(|child| child.has_tag_name("gpu"));
        let has_net = pci.children().any(|child| child.has_tag_name("nic") || child.has_tag_name("net"));
        let class = class(pci);
        if has_gpu || class.is_some_and(|class| is_gpu(class, id(pci, "vendor").as_deref())) {
            gpus.push((node_of(pci), path(pci)));
        } else if class.is_some_and(|class| class >> 8 == 0x02) && !has_net {
            let address = address(pci).unwrap_or_default();
            topology.gap(PROBE, address, "RDMA device: the file names none at this network card");
        }
    }
    for net in root.descendants().filter(|node| node.has_tag_name("net")) {
        add_rail(&mut topology, net);
    }
    if topology.numa.is_empty() && topology.rails.is_empty() && gpus.is_empty() {
        return Err("is NCCL's XML, but holds no CPU, network card or GPU".to_owned());
    }
    let known = topology.numa.iter().filter_map(|node| node.cpus.as_ref()).map(CpuSet::len).sum::<usize>();
    topology.host.cpus = u32::try_from(known).ok().filter(|known| *known > 0);
    for what in [
        "memory, sockets and distances of the nodes",
        "GID tables, port states, MTU, firmware, drivers, bonds",
        "kernel, limits and other settings",
    ] {
        topology.gap(PROBE, "host", format!("{what}: not in an NCCL topology file"));
    }
    if root.descendants().any(|node| node.has_attribute("link_speed")) {
        let reason = "PCIe links: NCCL notes what both ends can do; whether one trained lower is not known";
        topology.gap(PROBE, "host", reason);
    }
    parts::put_in_order(&mut topology, gpus);
    Ok(topology)
}

/// One `cpu` element: a NUMA node.
fn add_node(topology: &mut Topology, cpu: Node<'_, '_>) {
    let text = cpu.attribute("numaid").unwrap_or_default();
    // NCCL writes -1 where the platform does not tell
    let Ok(node) = text.parse::<u32>() else {
        return topology.gap(PROBE, "host", format!("numaid: says `{}`", short(text)));
    };
    if topology.node(node).is_some() {
        return topology.gap(PROBE, format!("node {node}"), "there are two of it; the first is used");
    }
    let mask = cpu.attribute("affinity").unwrap_or_default();
    let cpus = cpus_of_mask(mask);
    if cpus.is_none() {
        topology.gap(PROBE, format!("node {node}"), format!("affinity: says `{}`", short(mask)));
    }
    topology.numa.push(NumaNode { node, cpus, ..NumaNode::default() });
    if topology.host.cpu_model.is_none()
        && let (Some(vendor), Some(family), Some(model)) =
            (cpu.attribute("vendor"), cpu.attribute("familyid"), cpu.attribute("modelid"))
    {
        topology.host.cpu_model =
            Some(format!("{} family {} model {}", short(vendor), short(family), short(model)));
    }
}

fn add_rail(topology: &mut Topology, net: Node<'_, '_>) {
    let Some(device) = net.attribute("name").filter(|name| !name.is_empty()) else {
        return topology.gap(PROBE, "host", "net: one without a name");
    };
    let device = short(device);
    let number = |name: &str, topology: &mut Topology| {
        let text = net.attribute(name)?;
        let number = text.parse::<u32>().ok();
        if number.is_none() {
            topology.gap(PROBE, &device, format!("{name}: says `{}`", short(text)));
        }
        number
    };
    let port = number("port", topology).unwrap_or(1);
    if port == 0 {
        topology.gap(
            PROBE,
            &device,
            "port: 0, so NCCL reaches it over sockets or a plugin, not as an RDMA device",
        );
    }
    let megabits = number("speed", topology).filter(|speed| *speed > 0);
    let pci = net.ancestors().find(|node| node.has_tag_name("pci"));
    let numa_node = pci.and_then(node_of).or_else(|| node_of(net));
    if numa_node.is_none() {
        topology.gap(PROBE, &device, "numa_node: the file puts it on no node");
    }
    topology.rails.push(Rail {
        port,
        numa_node,
        line_gbit_per_s: megabits.map(|megabits| f64::from(megabits) / 1000.0),
        system_image_guid: net.attribute("guid").and_then(guid),
        pcie: pci.map(path),
        device,
        ..Rail::default()
    });
}

/// The node of the `cpu` element around it.
fn node_of(node: Node<'_, '_>) -> Option<u32> {
    node.ancestors().find(|node| node.has_tag_name("cpu"))?.attribute("numaid")?.parse().ok()
}

/// From the card up; the file leaves out the lower ports of switches.
fn path(pci: Node<'_, '_>) -> PciePath {
    let chain: Vec<Node<'_, '_>> = pci.ancestors().filter(|node| node.has_tag_name("pci")).collect();
    let hops = chain.iter().enumerate().filter_map(|(at, pci)| {
        let speed = pci.attribute("link_speed").and_then(gt_per_s);
        let width =
            pci.attribute("link_width").and_then(|width| width.parse().ok()).filter(|width| *width > 0);
        Some(Hop {
            address: address(*pci)?,
            upstream: chain.get(at + 1).and_then(|above| address(*above)),
            current_gt_per_s: speed,
            current_width: width,
            max_gt_per_s: speed,
            max_width: width,
            ..Hop::default()
        })
    });
    PciePath {
        address: address(pci).unwrap_or_default(),
        vendor: id(pci, "vendor"),
        device: id(pci, "device"),
        hops: hops.collect(),
        ..PciePath::default()
    }
}

fn address(pci: Node<'_, '_>) -> Option<String> {
    pci.attribute("busid").filter(|address| !address.is_empty()).map(|address| short(address).to_lowercase())
}

/// Upper 16 bits of the class code: `0x020000` is 0x0200, an Ethernet controller.
fn class(pci: Node<'_, '_>) -> Option<u16> {
    let code = u32::from_str_radix(pci.attribute("class")?.trim_start_matches("0x"), 16).ok()?;
    u16::try_from(code >> 8).ok()
}

fn id(pci: Node<'_, '_>, which: &str) -> Option<String> {
    let text = pci.attribute(which)?.trim_start_matches("0x");
    (text.len() == 4 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_lowercase())
}

/// `16 GT/s`, `32.0 GT/s PCIe`.
fn gt_per_s(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let rate: f64 = number.parse().ok()?;
    (unit.starts_with("GT/s") && rate.is_finite() && rate > 0.0).then_some(rate)
}

/// `0xf2bb2700034b6b50` is the GUID 506b:4b03:0027:bbf2.
fn guid(text: &str) -> Option<String> {
    let guid = u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()?.swap_bytes();
    let group = |shift: u32| guid >> shift & 0xffff;
    (guid != 0).then(|| format!("{:04x}:{:04x}:{:04x}:{:04x}", group(48), group(32), group(16), group(0)))
}
