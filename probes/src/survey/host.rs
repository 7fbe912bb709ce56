//! The host block: names, CPUs, memory, limits.

use super::Probe;
use super::look::{Look, quoted};
use super::numa::{kilobytes, package_of};
use crate::model::{CpuSet, Topology};
use crate::root::{ReadError, Root};
use std::collections::BTreeSet;

const NAME: &str = "host";

/// Reads the host's files; on a live machine `sysinfo` answers where it knows.
///
/// Sources: proc(5), sysfs(5), os-release(5), Documentation/admin-guide/sysctl/kernel.rst (`numa_balancing`).
pub(super) struct HostBlock;

impl Probe for HostBlock {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { host, gaps, .. } = topology;
        let mut look = Look::into(root, NAME, "host", "", gaps);
        host.hostname =
            live(root, sysinfo::System::host_name).or_else(|| look.text("proc/sys/kernel/hostname"));
        host.kernel = live(root, sysinfo::System::kernel_version)
            .or_else(|| look.maybe("proc/sys/kernel/osrelease"))
            .or_else(|| kernel_of_version(&mut look));
        host.os = os_name(&mut look);
        let (cpu_model, memory_bytes) = live_hardware(root);
        host.cpu_model = cpu_model.or_else(|| cpu_model_of_file(&mut look));
        host.memory_bytes = memory_bytes.or_else(|| memory_of_file(&mut look));
        let online = online_cpus(root, &mut look);
        host.cpus = online.as_ref().and_then(|cpus| u32::try_from(cpus.len()).ok());
        host.sockets = online.and_then(|cpus| sockets(root, &cpus, &mut look));
        (host.memlock_bytes, host.memlock_unlimited) = memlock(&mut look);
        host.memlock_exempt = look.maybe("proc/self/status").and_then(|status| may_lock_any_memory(&status));
        host.numa_balancing = look.parsed::<u32>("proc/sys/kernel/numa_balancing").map(|mode| mode != 0);
        Ok(())
    }
}

/// Asks the running system, where the root is the running system.
fn live<E>(root: &Root, ask: fn() -> Result<String, E>) -> Option<String> {
    if !root.is_live() {
        return None;
    }
    ask().ok().filter(|text| !text.is_empty())
}

/// CPU model and memory of the running system.
fn live_hardware(root: &Root) -> (Option<String>, Option<u64>) {
    use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};
    if !root.is_live() {
        return (None, None);
    }
    let what = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    let Ok(system) = System::new_with_specifics(what) else {
        return (None, None);
    };
    let model =
        system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).filter(|brand| !brand.is_empty());
    let memory_bytes = Some(system.total_memory()).filter(|bytes| *bytes > 0);
    (model, memory_bytes)
}

/// `Linux version 5.15.0-105-generic (build@host) ...`.
fn kernel_of_version(look: &mut Look<'_>) -> Option<String> {
    let text = look.text("proc/version")?;
    let kernel = text.strip_prefix("Linux version ").and_then(|rest| rest.split_whitespace().next());
    if kernel.is_none() {
        look.gap(format!("proc/version: says {}", quoted(&text)));
    }
    kernel.map(str::to_owned)
}

fn os_name(look: &mut Look<'_>) -> Option<String> {
    let file = ["etc/os-release", "usr/lib/os-release"].into_iter().find_map(|file| look.maybe(file));
    let name = file.as_deref().and_then(|text| {
        let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
    });
    if name.is_none() {
        look.gap("etc/os-release: no PRETTY_NAME to be read");
    }
    name
}

fn cpu_model_of_file(look: &mut Look<'_>) -> Option<String> {
    let text = look.text("proc/cpuinfo")?;
    // x86 and most others; POWER says `cpu`
    let model = ["model name", "cpu"].iter().find_map(|key| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == *key).then(|| value.trim().to_owned()).filter(|value| !value.is_empty())
        })
    });
    if model.is_none() {
        look.gap("proc/cpuinfo: no model name in it");
    }
    model
}

fn memory_of_file(look: &mut Look<'_>) -> Option<u64> {
    let text = look.text("proc/meminfo")?;
    let bytes = kilobytes(&text, "MemTotal:").and_then(|kb| kb.checked_mul(1024));
    if bytes.is_none() {
        look.gap("proc/meminfo: no MemTotal in it");
    }
    bytes
}

/// CPUs that are there and switched off, by their own word.
///
/// The list of those online names candidates alone: container run times lay a text of theirs over it (lxcfs),
/// which names the container's CPUs.
/// Source: Documentation/ABI/testing/sysfs-devices-system-cpu (`present`, `online`, `cpuX/online`).
pub(super) fn offline_cpus(root: &Root) -> CpuSet {
    const FOLDER: &str = "sys/devices/system/cpu";
    let set = |name: &str| root.text(format!("{FOLDER}/{name}")).ok()?.parse::<CpuSet>().ok();
    let candidates: Vec<u32> = if let (Some(present), Some(online)) = (set("present"), set("online")) {
        present.iter().filter(|cpu| !online.contains(*cpu)).collect()
    } else {
        let names = root.names(FOLDER).unwrap_or_default();
        names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect()
    };
    let is_off = |cpu: &u32| root.text(format!("{FOLDER}/cpu{cpu}/online")).is_ok_and(|text| text == "0");
    candidates.into_iter().filter(is_off).collect()
}

/// CPUs online; in trees without that file, those that `cpuinfo` lists and that are not switched off.
fn online_cpus(root: &Root, look: &mut Look<'_>) -> Option<CpuSet> {
    if let Some(cpus) = look.maybe("sys/devices/system/cpu/online").and_then(|text| text.parse().ok()) {
        return Some(cpus);
    }
    let offline = offline_cpus(root);
    let text = look.text("proc/cpuinfo")?;
    let cpus: CpuSet = text
        .lines()
        .filter_map(|line| line.split_once(':').filter(|(name, _)| name.trim() == "processor"))
        .filter_map(|(_, number)| number.trim().parse().ok())
        .filter(|cpu| !offline.contains(*cpu))
        .collect();
    if cpus.is_empty() {
        look.gap("proc/cpuinfo: no processor in it");
        return None;
    }
    Some(cpus)
}

fn sockets(root: &Root, cpus: &CpuSet, look: &mut Look<'_>) -> Option<u32> {
    let names = root.names("sys/devices/system/cpu").unwrap_or_default();
    let described = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok());
    let mut packages = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for cpu in described.filter(|cpu| cpus.contains(*cpu)) {
        if !seen.insert(cpu) {
            continue;
        }
        let Some(package) = package_of(root, cpu) else { continue };
        packages.insert(package);
        // spares a file per CPU where the kernel (5.4 and later) lists the package's CPUs
        let list = root.text(format!("sys/devices/system/cpu/cpu{cpu}/topology/package_cpus_list"));
        if let Some(Ok(others)) = list.ok().map(|list| list.parse::<CpuSet>()) {
            seen.extend(others.iter());
        }
    }
    if packages.is_empty() {
        look.gap("sys/devices/system/cpu/cpu*/topology/physical_package_id: none readable");
        return None;
    }
    u32::try_from(packages.len()).ok()
}

/// Soft limit of locked memory: bytes, and whether it is unlimited.
///
/// Source: proc(5), `/proc/pid/limits`.
fn memlock(look: &mut Look<'_>) -> (Option<u64>, Option<bool>) {
    let Some(text) = look.text("proc/self/limits") else {
        return (None, None);
    };
    let soft = text
        .lines()
        .find_map(|line| line.strip_prefix("Max locked memory"))
        .and_then(|rest| rest.split_whitespace().next());
    match soft {
        Some("unlimited") => (None, Some(true)),
        Some(bytes) if bytes.parse::<u64>().is_ok() => (bytes.parse().ok(), Some(false)),
        _ => {
            look.gap("proc/self/limits: no locked-memory limit in it");
            (None, None)
        }
    }
}

/// Whether the effective capabilities hold `CAP_IPC_LOCK`, number 14 (capabilities(7), proc(5)).
fn may_lock_any_memory(status: &str) -> Option<bool> {
    const IPC_LOCK: u32 = 14;
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    Some(u64::from_str_radix(bits.trim(), 16).ok()? >> IPC_LOCK & 1 == 1)
}

#[cfg(test)]
mod tests;
