//! The text of a topology in hwloc's XML, version 2.
//!
//! Source: hwloc 2, `topology-xml.c` and hwloc2.dtd.

mod devices;

use super::parts::Quoted;
use crate::model::{CpuSet, NumaNode, Topology};
use devices::Devices;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// Displays as the file.
pub(super) struct HwlocText<'a>(pub(super) &'a Topology);

/// Numbers that tell the objects apart.
struct Numbers(Cell<u64>);

impl Numbers {
    fn next(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

impl Display for HwlocText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let topology = self.0;
        let numbers = Numbers(Cell::new(0));
        let nodes: CpuSet = topology.numa.iter().map(|node| node.node).collect();
        let cpus: CpuSet =
            topology.numa.iter().filter_map(|n| n.cpus.as_ref()).flat_map(CpuSet::iter).collect();
        let devices = Devices::of(topology);
        f.write_str(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n",
        )?;
        writeln!(f, "<topology version=\"2.0\">")?;
        start(f, "Machine", Some(0), &Sets { cpus: &cpus, nodes: &nodes }, &numbers)?;
        writeln!(f, " allowed_cpuset=\"{}\" allowed_nodeset=\"{}\">", bits(&cpus), bits(&nodes))?;
        let host = &topology.host;
        for (name, value) in [("HostName", &host.hostname), ("OSRelease", &host.kernel)] {
            info(f, name, value.as_deref())?;
        }
        // nodes without CPUs hang on the machine, before what has CPUs
        for node in topology.numa.iter().filter(|node| is_bare(node)) {
            numa(f, node, &numbers)?;
        }
        let mut sockets: BTreeMap<Option<u32>, Vec<&NumaNode>> = BTreeMap::new();
        for node in topology.numa.iter().filter(|node| !is_bare(node)) {
            sockets.entry(node.socket).or_default().push(node);
        }
        for (socket, nodes) in &sockets {
            package(f, topology, *socket, nodes, (&devices, &numbers))?;
        }
        devices.write(f, None, &numbers)?;
        for node in topology.numa.iter().filter(|node| is_bare(node)) {
            devices.write(f, Some(node.node), &numbers)?;
        }
        writeln!(f, "</object>")?;
        distances(f, topology)?;
        writeln!(f, "</topology>")
    }
}

fn is_bare(node: &NumaNode) -> bool {
    node.cpus.as_ref().is_none_or(CpuSet::is_empty)
}

/// CPUs and nodes of an object.
struct Sets<'a> {
    cpus: &'a CpuSet,
    nodes: &'a CpuSet,
}

/// One socket with its nodes; those of an unknown socket stand for themselves.
fn package(
    f: &mut Formatter<'_>,
    topology: &Topology,
    socket: Option<u32>,
    nodes: &[&NumaNode],
    (devices, numbers): (&Devices<'_>, &Numbers),
) -> fmt::Result {
    let cpus: CpuSet = nodes.iter().filter_map(|node| node.cpus.as_ref()).flat_map(CpuSet::iter).collect();
    let numbers_of: CpuSet = nodes.iter().map(|node| node.node).collect();
    if socket.is_some() {
        start(f, "Package", socket, &Sets { cpus: &cpus, nodes: &numbers_of }, numbers)?;
        writeln!(f, ">")?;
        info(f, "CPUModel", topology.host.cpu_model.as_deref())?;
    }
    for node in nodes {
        let own = node.cpus.clone().unwrap_or_default();
        let number: CpuSet = [node.node].into_iter().collect();
        // a group for each node, unless the package is the node
        let has_group = socket.is_none() || nodes.len() > 1;
        if has_group {
            start(f, "Group", None, &Sets { cpus: &own, nodes: &number }, numbers)?;
            writeln!(f, " kind=\"0\" subkind=\"0\">")?;
        }
        numa(f, node, numbers)?;
        for cpu in own.iter() {
            let one: CpuSet = [cpu].into_iter().collect();
            start(f, "PU", Some(cpu), &Sets { cpus: &one, nodes: &number }, numbers)?;
            writeln!(f, "/>")?;
        }
        devices.write(f, Some(node.node), numbers)?;
        if has_group {
            writeln!(f, "</object>")?;
        }
    }
    if socket.is_some() { writeln!(f, "</object>") } else { Ok(()) }
}

fn numa(f: &mut Formatter<'_>, node: &NumaNode, numbers: &Numbers) -> fmt::Result {
    let number: CpuSet = [node.node].into_iter().collect();
    let cpus = node.cpus.clone().unwrap_or_default();
    start(f, "NUMANode", Some(node.node), &Sets { cpus: &cpus, nodes: &number }, numbers)?;
    if let Some(bytes) = node.memory_bytes {
        write!(f, " local_memory=\"{bytes}\"")?;
    }
    writeln!(f, "/>")
}

/// An object's start tag up to its last attribute.
fn start(
    f: &mut Formatter<'_>,
    kind: &str,
    index: Option<u32>,
    sets: &Sets<'_>,
    numbers: &Numbers,
) -> fmt::Result {
    write!(f, "<object type=\"{kind}\"")?;
    if let Some(index) = index {
        write!(f, " os_index=\"{index}\"")?;
    }
    let (cpus, nodes) = (bits(sets.cpus), bits(sets.nodes));
    write!(
        f,
        " cpuset=\"{cpus}\" complete_cpuset=\"{cpus}\" nodeset=\"{nodes}\" complete_nodeset=\"{nodes}\""
    )?;
    write!(f, " gp_index=\"{}\"", numbers.next())
}

fn info(f: &mut Formatter<'_>, name: &str, value: Option<&str>) -> fmt::Result {
    match value {
        Some(value) => writeln!(f, "<info name=\"{name}\" value=\"{}\"/>", Quoted(value)),
        None => Ok(()),
    }
}

/// `0x00000001,0x000000ff`: words of 32 bits, most significant first.
fn bits(set: &CpuSet) -> String {
    let Some(last) = set.iter().last() else { return "0x0".to_owned() };
    let word =
        |at: u32| (0..32).filter(|bit| set.contains(at * 32 + bit)).fold(0_u32, |word, bit| word | 1 << bit);
    let words: Vec<String> = (0..=last / 32).rev().map(|at| format!("0x{:08x}", word(at))).collect();
    words.join(",")
}

/// The matrix, where it is whole; 5 is "from the operating system" and "latency".
fn distances(f: &mut Formatter<'_>, topology: &Topology) -> fmt::Result {
    let nodes: Vec<u32> = topology.numa.iter().map(|node| node.node).collect();
    let pairs = nodes.iter().flat_map(|from| nodes.iter().map(move |to| (*from, *to)));
    let values: Option<Vec<u32>> = pairs.map(|(from, to)| topology.distance(from, to)).collect();
    let Some(values) = values.filter(|_| nodes.len() > 1) else { return Ok(()) };
    let list =
        |numbers: &[u32]| numbers.iter().map(|number| format!("{number} ")).collect::<Vec<_>>().concat();
    let (nodes_text, values) = (list(&nodes), list(&values));
    writeln!(f, "<distances2 type=\"NUMANode\" nbobjs=\"{}\" kind=\"5\" indexing=\"os\">", nodes.len())?;
    writeln!(f, "<indexes length=\"{}\">{nodes_text}</indexes>", nodes_text.len())?;
    writeln!(f, "<u64values length=\"{}\">{values}</u64values>", values.len())?;
    writeln!(f, "</distances2>")
}
