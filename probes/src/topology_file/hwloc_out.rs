//! hwloc's XML out: of this machine as hwloc sees it, or of a topology that was learnt elsewhere.
//!
//! hwloc itself can look at a copied tree (`HWLOC_FSROOT`) only if every CPU's `topology` folder is whole, which
//! it is in trees of `hwloc-gather-topology` alone. So a topology that is not this machine's is written from
//! what the survey learnt, and then read and written again by hwloc: what it refuses does not leave here.

use super::hwloc::import;
use super::hwloc_text::HwlocText;
use crate::model::{CpuSet, Topology};
use hwlocality::topology::builder::{BuildFlags, TypeFilter};
use hwlocality::topology::export::xml::XMLExportFlags;
use std::collections::{BTreeMap, BTreeSet};

/// Linux has at most 1024 nodes (`NODES_SHIFT` in arch/*/Kconfig); sets of higher numbers fill the memory.
const MOST_NODE: u32 = 65_535;

/// What hwloc sees of this machine, and a remark for people where that is not quite it.
///
/// # Errors
///
/// hwloc cannot look at this machine.
pub fn hwloc_xml_of_this_machine() -> Result<(String, Option<&'static str>), String> {
    let failed = |error: String| format!("hwloc: {error}");
    let machine = hwlocality::Topology::builder()
        .with_io_type_filter(TypeFilter::KeepImportant)
        .map_err(|error| failed(error.to_string()))?
        // a node in production: this thread stays where it is
        .with_flags(BuildFlags::DONT_CHANGE_BINDING)
        .map_err(|error| failed(error.to_string()))?
        .build()
        .map_err(|error| failed(error.to_string()))?;
    // HWLOC_XMLFILE and its kind put another machine in place of this one
    let remark = (!machine.is_this_system()).then_some(
        "the environment (HWLOC_XMLFILE, HWLOC_FSROOT, HWLOC_SYNTHETIC) names another machine; this is it",
    );
    Ok((written(&machine)?, remark))
}

/// The topology in hwloc's form; what hwloc has no place for (GID types, firmware, settings) is left out.
///
/// # Errors
///
/// hwloc makes no sense of it, as where a node's CPUs are unknown.
pub fn hwloc_xml(topology: &Topology) -> Result<String, String> {
    if topology.numa.iter().all(|node| node.cpus.as_ref().is_none_or(CpuSet::is_empty)) {
        return Err("no CPU of any NUMA node is known, and hwloc describes no machine without".to_owned());
    }
    if let Some(node) = topology.numa.iter().find(|node| node.cpus.is_none()) {
        return Err(format!("the CPUs of node {} are unknown, and hwloc has no word for that", node.node));
    }
    contradiction(topology).map_or(Ok(()), Err)?;
    written(&import(&HwlocText(topology).to_string())?)
}

/// What hwloc takes for granted, and a faulty platform or a hostile tree does not hold.
fn contradiction(topology: &Topology) -> Option<String> {
    let mut owners = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for node in &topology.numa {
        if node.node > MOST_NODE || !seen.insert(node.node) {
            return Some(format!("node {} is there twice, or has a number that none has", node.node));
        }
        for cpu in node.cpus.iter().flat_map(CpuSet::iter) {
            if let Some(other) = owners.insert(cpu, node.node) {
                return Some(format!("CPU {cpu} is of node {other} and of node {} as well", node.node));
            }
        }
    }
    None
}

fn written(machine: &hwlocality::Topology) -> Result<String, String> {
    let xml = machine.export_xml(XMLExportFlags::empty()).map_err(|error| format!("hwloc: {error}"))?;
    Ok(xml.as_str().to_owned())
}
