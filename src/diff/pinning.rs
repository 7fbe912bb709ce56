//! Who uses a rail from where: CPUs and memory nodes of processes and of our own threads.

use super::Side;
use probes::model::{CpuSet, Process, ProcessSource};
use std::collections::BTreeSet;

/// Where the threads of our load on this rail were put; `None` without one.
pub(super) fn of_load(side: &Side, device: &str) -> Option<String> {
    let load = side.load()?;
    let on_rail = load.workers.iter().filter(|worker| worker.device == device);
    let places: BTreeSet<String> = on_rail
        .map(|worker| {
            let node = worker.buffer_node.map_or("any node".to_owned(), |node| format!("node {node}"));
            format!("{}, buffers on {node}", cpus(worker.cpus.as_ref()))
        })
        .collect();
    joined(places)
}

/// The processes on this rail by name, as PIDs change; `None` where none was found or nobody looked.
pub(super) fn of_processes(side: &Side, device: &str) -> Option<String> {
    let processes = side.timeline.local().processes()?;
    let on_rail = processes
        .iter()
        .filter(|process| process.device == device && process.source != ProcessSource::OurLoad);
    joined(on_rail.map(of_process).collect())
}

fn of_process(process: &Process) -> String {
    let name = &process.name;
    let may = process.mems_allowed.as_ref();
    let may = may.map_or(String::new(), |nodes| format!(", may use memory of {nodes}"));
    let has = process.large_mapping_bytes_by_node.iter().flatten();
    let has: Vec<String> = has.filter(|(_, bytes)| **bytes > 0).map(|(node, _)| node.to_string()).collect();
    let has = if has.is_empty() { String::new() } else { format!(", has it on {}", has.join(", ")) };
    format!("{name}: {}{may}{has}", cpus(process.cpus_allowed.as_ref()))
}

fn cpus(cpus: Option<&CpuSet>) -> String {
    cpus.map_or("CPUs unknown".to_owned(), |cpus| format!("CPUs {cpus}"))
}

fn joined(parts: BTreeSet<String>) -> Option<String> {
    (!parts.is_empty()).then(|| parts.into_iter().collect::<Vec<_>>().join("; "))
}
