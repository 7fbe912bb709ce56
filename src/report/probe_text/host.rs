//! The host block.

use super::gib;
use super::packed::Packed;
use probes::model::{CpuSet, Host};
use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

pub(super) fn write(f: &mut Formatter<'_>, host: &Host) -> fmt::Result {
    let known = |text: &Option<String>, what: &str| text.clone().unwrap_or_else(|| format!("{what} unknown"));
    let count = |number: Option<u32>, one: &str, several: &str| match number {
        Some(1) => format!("1 {one}"),
        Some(number) => format!("{number} {several}"),
        None => format!("{several} unknown"),
    };
    let name = host.hostname.as_deref().unwrap_or("unknown host");
    let system = [Some(format!("Linux {}", known(&host.kernel, "version"))), host.os.clone()];
    let hardware = [
        count(host.sockets, "socket", "sockets"),
        count(host.cpus, "CPU", "CPUs"),
        known(&host.cpu_model, "CPU model"),
        host.memory_bytes.map_or_else(|| "memory unknown".to_owned(), gib),
    ];
    let stack = [
        host.rdma_core
            .as_ref()
            .map_or("rdma-core unknown".to_owned(), |version| format!("rdma-core {version}")),
        host.ofed.clone().unwrap_or_else(|| "no OFED found".to_owned()),
        memlock(host),
    ];
    let line = |f: &mut Formatter<'_>, parts: &[String]| write!(f, "{}", Packed { lead: "", parts });
    let first: Vec<String> = [format!("{} | {name}", crate::GENERATED_BY)]
        .into_iter()
        .chain(system.into_iter().flatten())
        .collect();
    line(f, &first)?;
    line(f, &hardware)?;
    line(f, &stack)?;
    let set = |set: &Option<CpuSet>| set.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let limits = [
        match host.numa_balancing {
            Some(true) => "NUMA balancing on".to_owned(),
            Some(false) => "NUMA balancing off".to_owned(),
            None => "NUMA balancing unknown".to_owned(),
        },
        by_word("governor", host.cpu_governors.as_ref()).unwrap_or_else(|| "CPU governor unknown".to_owned()),
        format!("IOMMU {}", host.iommu.as_deref().unwrap_or("unknown")),
        format!("this cgroup: CPUs {}, memory of nodes {}", set(&host.cpuset_cpus), set(&host.cpuset_mems)),
    ];
    let mut limits = Vec::from(limits);
    // most drivers have none, which says nothing
    limits.extend(by_word("energy preference", host.energy_preferences.as_ref()));
    line(f, &limits)
}

/// `governor performance`, or with the CPUs of each where they differ.
fn by_word(what: &str, sets: Option<&BTreeMap<String, CpuSet>>) -> Option<String> {
    let sets = sets?;
    let words: Vec<String> = if sets.len() == 1 {
        sets.keys().cloned().collect()
    } else {
        sets.iter().map(|(word, cpus)| format!("{word} on CPUs {cpus}")).collect()
    };
    Some(format!("{what} {}", words.join(", ")))
}

fn memlock(host: &Host) -> String {
    match (host.memlock_unlimited, host.memlock_bytes) {
        (Some(true), _) => "locked memory unlimited".to_owned(),
        (_, Some(bytes)) => format!("locked memory up to {} KiB", bytes / 1024),
        _ => "locked-memory limit unknown".to_owned(),
    }
}
