//! What mends a `cross-numa`: the command to paste, or why none does.

use super::super::wording::{devices, list, nodes};
use super::{Case, LEAST_BYTES, Memory};
use std::collections::BTreeSet;

pub(super) fn of(case: &Case<'_>) -> String {
    let (user, node) = (case.user, case.node);
    let data_of_gpu = user.gpu.as_ref().filter(|_| !user.ours || case.cpu_nodes.is_empty());
    if user.ours && data_of_gpu.is_none() {
        let advice = of_our_load(user.place.as_deref(), node);
        return if user.simulated {
            format!("this load is simulated, and nothing is to be mended here; of a real one: {advice}")
        } else {
            advice
        };
    }
    if let Some(gpu) = data_of_gpu {
        return near_rails(case, &format!("data for {gpu} belong on rails of its own node: "))
            .unwrap_or_else(|| format!("no rail is on the node of {gpu}; no binding changes that"));
    }
    if let Some(allowed) = user.mems_allowed.as_ref().filter(|allowed| !allowed.contains(node)) {
        return format!(
            "no binding mends this: its cpuset has memory of {} only; give the container or job the \
             memory and CPUs of the rails' node, or let it use a rail of a node it has",
            nodes(&allowed.iter().collect::<Vec<_>>())
        );
    }
    let rail_nodes: BTreeSet<u32> =
        user.rails.iter().filter_map(|id| case.topology.rails[id.0].numa_node).collect();
    let command = user.name.as_deref().unwrap_or("COMMAND");
    let bind = format!("`numactl --cpunodebind={node} --membind={node} {command} ...`");
    if rail_nodes.len() > 1 {
        let split = format!(
            "one process a node, each with the rails of its node; for {}: {bind}",
            list(case.devices())
        );
        return match near_rails(case, "use only the rails near it: ") {
            Some(near) => format!("{near}; or {split}"),
            None => split,
        };
    }
    match (&case.far_memory, user.pid, cpus_of_node(case)) {
        (None, Some(pid), Some(cpus)) if memory_is_known(case) => {
            format!("its memory is on the right node already: `taskset -apc {cpus} {pid}`")
        }
        _ => format!(
            "start it again as: {bind} (memory that is allocated stays where it is, so moving \
                      only its threads does not mend it)"
        ),
    }
}

/// Our own load goes where it is told; one that was told `local` and is elsewhere was kept from there.
fn of_our_load(place: Option<&str>, node: u32) -> String {
    if place == Some("local") {
        return format!(
            "it was placed `local` and is elsewhere all the same, so something moved it or kept it from node {node}: see \
             what it may use (`grep allowed_list /proc/PID/status` while it runs), then ask for the node outright: \
             `--place cpu:{node},mem:{node}`"
        );
    }
    format!("start the load again with `--place local` (node {node} for these rails)")
}

/// Whether where its memory lies was looked at, and there was enough of it to tell.
fn memory_is_known(case: &Case<'_>) -> bool {
    match case.user.memory_of(&case.rails) {
        Memory::Unknown => false,
        Memory::Buffers(_) => true,
        Memory::Mappings(mappings) => mappings.bytes_by_node.values().sum::<u64>() >= LEAST_BYTES,
    }
}

fn cpus_of_node(case: &Case<'_>) -> Option<String> {
    Some(case.topology.node(case.node)?.cpus.as_ref()?.to_string())
}

/// Rails on the nodes where the user is.
fn near_rails(case: &Case<'_>, lead: &str) -> Option<String> {
    let there = case.far_nodes();
    let near = case.topology.rails.iter().filter(|r| r.numa_node.is_some_and(|n| there.contains(&n)));
    let names = devices(near);
    (!names.is_empty()).then(|| format!("{lead}{}", list(names)))
}
