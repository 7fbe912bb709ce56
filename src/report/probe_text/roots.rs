//! Who shares which way to the CPU.

use crate::ceilings;
use probes::model::{PciePath, Topology};
use std::collections::BTreeMap;

/// One line for each root port of a node that carries more than one card: its link and what hangs below.
pub(super) fn shared(topology: &Topology, here: impl Fn(Option<u32>) -> bool) -> Vec<String> {
    struct Below<'a> {
        rate: Option<f64>,
        names: Vec<&'a str>,
        slots: Vec<&'a str>,
    }
    let rails = topology.rails.iter().filter_map(|rail| {
        Some((rail.device.as_str(), rail.pcie.as_ref().filter(|_| here(rail.numa_node))?))
    });
    let gpus = topology.gpus.iter().filter(|gpu| here(gpu.numa_node));
    let all = rails.chain(gpus.map(|gpu| (gpu.name.as_str(), &gpu.pcie)));
    let mut roots: BTreeMap<&str, Below<'_>> = BTreeMap::new();
    for (name, path) in all {
        let Some(hop) = path.hops.last() else { continue };
        let Some(root) = hop.upstream.as_deref() else { continue };
        let below = roots.entry(root).or_insert_with(|| Below {
            rate: ceilings::link_gb_per_s(hop),
            names: Vec::new(),
            slots: Vec::new(),
        });
        let slot = slot(path);
        if !below.slots.contains(&slot) {
            below.slots.push(slot);
        }
        if !below.names.contains(&name) {
            below.names.push(name);
        }
    }
    let several = roots.into_iter().filter(|(_, below)| below.slots.len() > 1);
    several
        .map(|(root, below)| {
            let rate = below.rate.map_or("rate unknown".to_owned(), |rate| format!("{rate:.1} GB/s"));
            format!("root port {root}, {rate}, is shared by {}", below.names.join(", "))
        })
        .collect()
}

/// Two functions of one card share its slot, which says nothing.
fn slot(path: &PciePath) -> &str {
    path.address.rsplit_once('.').map_or(path.address.as_str(), |(slot, _)| slot)
}
