//! NCCL's topology XML out, for `NCCL_TOPO_FILE`.
//!
//! What NCCL learns by itself when it starts (compute capability, ranks, NVLink, GPU Direct) is left to it, as
//! the files of AWS and Azure do. Source: NCCL, `src/graph/xml.cc` and `topo.cc`.

use super::parts::Quoted;
use crate::model::{CpuSet, Hop, LinkLayer, NumaNode, PciePath, Rail, Topology};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// The text of `export --format nccl-xml`.
#[derive(Clone, Copy, Debug)]
pub struct NcclXml<'a>(pub &'a Topology);

/// A `pci` element.
#[derive(Default)]
struct Pci<'a> {
    hop: Option<&'a Hop>,
    /// What it is, for cards; switches have none.
    card: Option<Card<'a>>,
    below: BTreeMap<&'a str, Pci<'a>>,
}

struct Card<'a> {
    path: &'a PciePath,
    class: &'static str,
    /// Ports of a network card, with NCCL's number of each.
    nets: Vec<(usize, &'a Rail)>,
}

impl Display for NcclXml<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut roots: BTreeMap<Option<u32>, BTreeMap<&str, Pci<'_>>> = BTreeMap::new();
        for node in &self.0.numa {
            roots.entry(Some(node.node)).or_default();
        }
        for gpu in &self.0.gpus {
            let top = roots.entry(gpu.numa_node).or_default();
            place(top, &gpu.pcie).get_or_insert(Card {
                path: &gpu.pcie,
                class: "0x030200",
                nets: Vec::new(),
            });
        }
        let mut bare: BTreeMap<Option<u32>, Vec<(usize, &Rail)>> = BTreeMap::new();
        for (number, rail) in self.0.rails.iter().enumerate() {
            let Some(path) = &rail.pcie else {
                roots.entry(rail.numa_node).or_default();
                bare.entry(rail.numa_node).or_default().push((number, rail));
                continue;
            };
            let class = match rail.link_layer {
                Some(LinkLayer::InfiniBand) => "0x020700",
                _ => "0x020000",
            };
            let top = roots.entry(rail.numa_node).or_default();
            place(top, path).get_or_insert(Card { path, class, nets: Vec::new() }).nets.push((number, rail));
        }
        writeln!(f, "<system version=\"1\">")?;
        for (node, top) in &roots {
            let known = node.and_then(|node| self.0.node(node));
            cpu_start(f, *node, known, self.0.host.cpu_model.as_deref())?;
            for (address, pci) in top {
                write_pci(f, address, pci, 2)?;
            }
            for (number, rail) in bare.get(node).into_iter().flatten() {
                writeln!(f, "    <nic>")?;
                net(f, *number, rail, 2)?;
                writeln!(f, "    </nic>")?;
            }
            writeln!(f, "  </cpu>")?;
        }
        writeln!(f, "</system>")
    }
}

/// The card's place below the switches on its path, made where it is missing.
fn place<'a, 'b>(top: &'b mut BTreeMap<&'a str, Pci<'a>>, path: &'a PciePath) -> &'b mut Option<Card<'a>> {
    let mut below = top;
    for hop in path.hops.iter().skip(1).rev() {
        let pci = below.entry(&hop.address).or_default();
        pci.hop = Some(hop);
        below = &mut pci.below;
    }
    let pci = below.entry(&path.address).or_default();
    pci.hop = path.hops.first();
    &mut pci.card
}

fn cpu_start(
    f: &mut Formatter<'_>,
    node: Option<u32>,
    known: Option<&NumaNode>,
    model: Option<&str>,
) -> fmt::Result {
    let number = node.map_or("-1".to_owned(), |node| node.to_string());
    write!(f, "  <cpu numaid=\"{number}\"")?;
    if let Some(cpus) = known.and_then(|node| node.cpus.as_ref()) {
        write!(f, " affinity=\"{}\"", mask(cpus))?;
    }
    // as the reader of such files notes it: `GenuineIntel family 6 model 143`
    if let Some([vendor, "family", family, "model", id]) =
        model.map(|model| model.split(' ').collect::<Vec<_>>()).as_deref()
    {
        let (vendor, family, id) = (Quoted(vendor), Quoted(family), Quoted(id));
        write!(f, " arch=\"x86_64\" vendor=\"{vendor}\" familyid=\"{family}\" modelid=\"{id}\"")?;
    }
    writeln!(f, ">")
}

fn write_pci(f: &mut Formatter<'_>, address: &str, pci: &Pci<'_>, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    let class = pci.card.as_ref().map_or("0x060400", |card| card.class);
    write!(f, "{indent}<pci busid=\"{}\" class=\"{class}\"", Quoted(address))?;
    if let Some(card) = &pci.card {
        for (name, id) in [("vendor", &card.path.vendor), ("device", &card.path.device)] {
            if let Some(id) = id {
                write!(f, " {name}=\"0x{}\"", Quoted(id))?;
            }
        }
    }
    let (speed, width) = pci.hop.map_or((None, None), link);
    // NCCL wants both attributes, and writes these itself where sysfs has nothing
    let speed = speed.map_or(String::new(), |speed| format!("{speed:.1} GT/s PCIe"));
    write!(f, " link_speed=\"{speed}\" link_width=\"{}\"", width.unwrap_or(0))?;
    let nets = pci.card.as_ref().map(|card| card.nets.as_slice()).unwrap_or_default();
    if nets.is_empty() && pci.below.is_empty() {
        return writeln!(f, "/>");
    }
    writeln!(f, ">")?;
    if !nets.is_empty() {
        writeln!(f, "{indent}  <nic>")?;
        for (number, rail) in nets {
            net(f, *number, rail, depth + 1)?;
        }
        writeln!(f, "{indent}  </nic>")?;
    }
    for (address, pci) in &pci.below {
        write_pci(f, address, pci, depth + 1)?;
    }
    writeln!(f, "{indent}</pci>")
}

fn net(f: &mut Formatter<'_>, number: usize, rail: &Rail, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth + 1);
    write!(f, "{indent}<net name=\"{}\" dev=\"{number}\"", Quoted(&rail.device))?;
    if let Some(line) = rail.line_gbit_per_s {
        write!(f, " speed=\"{:.0}\"", line * 1000.0)?;
    }
    write!(f, " port=\"{}\"", rail.port)?;
    if let Some(guid) = rail.system_image_guid.as_deref().and_then(number_of) {
        write!(f, " guid=\"{guid:#x}\"")?;
    }
    writeln!(f, "/>")
}

/// What both ends of a link can do; where that is unknown, what it does.
fn link(hop: &Hop) -> (Option<f64>, Option<u32>) {
    let speed = match (hop.max_gt_per_s, hop.upstream_max_gt_per_s) {
        (Some(own), Some(above)) => Some(own.min(above)),
        (own, above) => own.or(above),
    };
    let width = match (hop.max_width, hop.upstream_max_width) {
        (Some(own), Some(above)) => Some(own.min(above)),
        (own, above) => own.or(above),
    };
    (speed.or(hop.current_gt_per_s), width.or(hop.current_width))
}

/// As sysfs writes `cpumap`: words of eight digits, most significant first.
fn mask(cpus: &CpuSet) -> String {
    let count = cpus.iter().last().map_or(1, |last| last / 32 + 1);
    let word = |word: u32| {
        (0..32).filter(|bit| cpus.contains(word * 32 + bit)).fold(0_u32, |bits, bit| bits | 1 << bit)
    };
    let words: Vec<String> = (0..count).rev().map(|at| format!("{:08x}", word(at))).collect();
    words.join(",")
}

/// The GUID's bytes as NCCL prints them, read as a little-endian number.
fn number_of(guid: &str) -> Option<u64> {
    u64::from_str_radix(&guid.replace(':', ""), 16).ok().map(u64::swap_bytes)
}
