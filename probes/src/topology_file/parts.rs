//! What both kinds of file have in common.

use crate::model::{Gap, Gpu, GpuPath, PathClass, PciePath, Rail, Topology};
use crate::survey::order::natural;
use std::fmt::{self, Display, Formatter, Write};

/// Name of this reader in gaps.
pub(super) const PROBE: &str = "topology-file";

/// A piece of a hostile file, short enough to print.
pub(super) fn short(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Whether a class code (`0x0302`) and vendor are those of a GPU: display of any kind, or AMD's
/// "processing accelerator". Hand-made files have vendors ffff and 0000.
pub(super) fn is_gpu(class: u16, vendor: Option<&str>) -> bool {
    match class {
        0x0302 | 0x0380 | 0x1200 => {
            vendor.is_none_or(|vendor| matches!(vendor, "10de" | "1002" | "ffff" | "0000"))
        }
        // a server's console chip is one as well
        0x0300 => matches!(vendor, Some("10de" | "1002")),
        _ => false,
    }
}

/// Rails in natural order, GPUs in address order with their names, gaps in order.
pub(super) fn put_in_order(topology: &mut Topology, mut gpus: Vec<(Option<u32>, PciePath)>) {
    topology.numa.sort_by_key(|node| node.node);
    topology.rails.sort_by(|a, b| natural(&a.device, &b.device).then(a.port.cmp(&b.port)));
    gpus.sort_by(|(_, a), (_, b)| a.address.cmp(&b.address));
    gpus.dedup_by(|(_, a), (_, b)| a.address == b.address);
    topology.gpus = gpus
        .into_iter()
        .enumerate()
        .map(|(at, (numa_node, pcie))| Gpu { name: format!("gpu{at}"), numa_node, pcie, ..Gpu::default() })
        .collect();
    let Topology { gpus, rails, gaps, .. } = topology;
    for gpu in gpus {
        gpu.paths = rails.iter().filter_map(|rail| path_between(gpu, rail)).collect();
        for path in gpu.paths.iter().filter(|path| path.class.is_none()) {
            let node = rails.iter().find(|rail| rail.device == path.device).and_then(|rail| rail.numa_node);
            let lacking = match (gpu.numa_node, node) {
                (None, _) => format!("{} is on no known node", gpu.name),
                (_, None) => format!("{} is on no known node", path.device),
                _ => "host bridges are not in such a file".to_owned(),
            };
            let reason = format!("path to {}: no switch is shared, and {lacking}", path.device);
            gaps.push(Gap { probe: PROBE.to_owned(), subject: gpu.name.clone(), reason });
        }
    }
    topology.gaps.sort();
    topology.gaps.dedup();
}

/// How near a rail is to a GPU, as far as shared switches and nodes tell: host bridges are not in these files.
fn path_between(gpu: &Gpu, rail: &Rail) -> Option<GpuPath> {
    let switches =
        |path: &PciePath| path.hops.iter().skip(1).map(|hop| hop.address.clone()).collect::<Vec<_>>();
    let of_gpu = switches(&gpu.pcie);
    let of_rail = switches(rail.pcie.as_ref()?);
    let class = match (of_gpu.first(), of_rail.first()) {
        (Some(a), Some(b)) if a == b => Some(PathClass::Pix),
        _ if of_gpu.iter().any(|switch| of_rail.contains(switch)) => Some(PathClass::Pxb),
        _ if gpu.numa_node.is_some() && rail.numa_node.is_some() && gpu.numa_node != rail.numa_node => {
            Some(PathClass::Sys)
        }
        _ => None,
    };
    Some(GpuPath { device: rail.device.clone(), class, ports: Vec::new() })
}

/// Text inside an attribute.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '"' => f.write_str("&quot;")?,
                c if c.is_control() => f.write_str(" ")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
