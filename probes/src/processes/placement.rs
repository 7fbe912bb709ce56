//! Where one process is, thread by thread and mapping by mapping: more than a session keeps of it.

use super::threads::{self, Stat};
use super::{gpus, numa_maps};
use crate::model::CpuSet;
use crate::root::Root;
use std::collections::{BTreeMap, BTreeSet};

/// Threads that are looked at.
const MOST_THREADS: usize = 4096;
/// CPUs that are kept of a group of threads.
const MOST_CPUS: usize = 16;

/// Where one process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Its threads, those that may run on the same CPUs together, the busiest first.
    pub threads: Vec<ThreadGroup>,
    /// Nodes that any thread may take memory from; `None` when not readable.
    pub mems_allowed: Option<CpuSet>,
    /// Its mappings of 2 MiB and more that are memory; an error says why they are not known.
    pub memory: Result<Vec<Mapped>, String>,
    /// PCI address of the one GPU that it holds open; `None` where it holds none or several, since CUDA opens each GPU
    /// that is visible, and where that is not readable.
    pub gpu: Option<String>,
}

/// Threads of a process that may run on the same CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadGroup {
    /// CPUs that they may run on.
    pub cpus: CpuSet,
    /// How many there are.
    pub count: u32,
    /// Id of the busiest.
    pub busiest: u32,
    /// Its name.
    pub name: String,
    /// CPU time of all of them, clock ticks.
    pub busy_ticks: u64,
    /// Where they ran last, the busiest first, at most 16.
    pub last_cpus: Vec<u32>,
}

/// Large mappings under one memory policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// As the kernel writes it: `default`, `bind:0`, `prefer:1`, `interleave:0-1`.
    pub policy: String,
    /// Resident bytes by node.
    pub bytes_by_node: BTreeMap<u32, u64>,
}

/// Reads where a process is. Its memory is read only up to 32 GiB unless `whatever_it_costs`: the kernel walks every
/// page table entry for it.
///
/// # Errors
///
/// There is no such process, or its threads are not readable.
pub fn placement(root: &Root, pid: u32, whatever_it_costs: bool) -> Result<Placement, String> {
    let status = root.text(format!("proc/{pid}/status")).map_err(|error| {
        if error.is_missing() { format!("there is no process {pid}") } else { error.to_string() }
    })?;
    let folder = format!("proc/{pid}/task");
    let names = root.names(&folder).map_err(|error| error.to_string())?;
    let mut groups: BTreeMap<String, Vec<(Stat, u32, CpuSet)>> = BTreeMap::new();
    let mut mems = BTreeSet::new();
    for id in names.iter().take(MOST_THREADS).filter_map(|name| name.parse::<u32>().ok()) {
        // a thread may end while we look
        let Ok(status) = root.text(format!("{folder}/{id}/status")) else { continue };
        let stat = root.text(format!("{folder}/{id}/stat")).ok().as_deref().and_then(threads::stat);
        mems.extend(threads::list(&status, "Mems_allowed_list").iter().flat_map(CpuSet::iter));
        if let (Some(stat), Some(cpus)) = (stat, threads::list(&status, "Cpus_allowed_list")) {
            groups.entry(cpus.to_string()).or_default().push((stat, id, cpus));
        }
    }
    let mut threads: Vec<ThreadGroup> =
        groups.into_values().filter_map(|group| of_group(root, &folder, group)).collect();
    threads.sort_by_key(|group| std::cmp::Reverse(group.busy_ticks));
    let resident = threads::kilobytes(&status, "VmRSS");
    Ok(Placement {
        threads,
        mems_allowed: (!mems.is_empty()).then(|| mems.into_iter().collect()),
        memory: numa_maps::by_policy(root, pid, resident.filter(|_| !whatever_it_costs)),
        gpu: gpus::held_alone(root, pid),
    })
}

fn of_group(root: &Root, folder: &str, mut group: Vec<(Stat, u32, CpuSet)>) -> Option<ThreadGroup> {
    group.sort_by_key(|(stat, ..)| std::cmp::Reverse(stat.busy_ticks));
    let (_, busiest, cpus) = group.first()?;
    let mut last_cpus: Vec<u32> = Vec::new();
    for (stat, ..) in &group {
        if !last_cpus.contains(&stat.last_cpu) && last_cpus.len() < MOST_CPUS {
            last_cpus.push(stat.last_cpu);
        }
    }
    Some(ThreadGroup {
        cpus: cpus.clone(),
        count: u32::try_from(group.len()).ok()?,
        busiest: *busiest,
        name: root.text(format!("{folder}/{busiest}/comm")).unwrap_or_default(),
        busy_ticks: group.iter().map(|(stat, ..)| stat.busy_ticks).sum(),
        last_cpus,
    })
}

/// The process that started each process; those that cannot be read are left out.
#[must_use]
pub fn parents(root: &Root) -> BTreeMap<u32, u32> {
    let ids = root.names("proc").unwrap_or_default();
    ids.iter()
        .filter_map(|name| name.parse::<u32>().ok())
        .filter_map(|pid| {
            let status = root.text(format!("proc/{pid}/status")).ok()?;
            Some((pid, threads::field(&status, "PPid")?.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Mapped, ThreadGroup, parents, placement};
    use crate::root::Root;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn stat_line(ticks: u64, cpu: u32) -> String {
        format!("7 (x) S 1 7 7 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 555 0 0{} {cpu} 0 0", " 0".repeat(14))
    }

    /// Process 7: two threads on CPUs 0-1, one that does most of the work on CPU 4.
    fn tree() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/7/status", "Name:\tx\nPPid:\t3\nVmRSS:\t   2048 kB\n");
        for (id, cpus, ticks, ran_on) in [(7, "0-1", 5, 0), (8, "0-1", 6, 1), (9, "4", 900, 4)] {
            put(
                &format!("proc/7/task/{id}/status"),
                &format!("Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n"),
            );
            put(&format!("proc/7/task/{id}/stat"), &stat_line(ticks, ran_on));
            put(&format!("proc/7/task/{id}/comm"), &format!("thread{id}\n"));
        }
        put(
            "proc/7/numa_maps",
            "7f10 bind:0 anon=1024 N0=1024 kernelpagesize_kB=4\n7f20 default anon=2048 N1=2048 kernelpagesize_kB=4\n\
             7f30 default anon=1024 N0=1024 kernelpagesize_kB=4\n",
        );
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn threads_that_may_run_on_the_same_cpus_stand_together_and_the_busiest_first() {
        let (_folder, root) = tree();
        let placement = placement(&root, 7, false).unwrap();
        let group = |cpus: &str, count, busiest: u32, busy_ticks, last_cpus: &[u32]| ThreadGroup {
            cpus: cpus.parse().unwrap(),
            count,
            busiest,
            name: format!("thread{busiest}"),
            busy_ticks,
            last_cpus: last_cpus.to_vec(),
        };
        assert_eq!(placement.threads, [group("4", 1, 9, 900, &[4]), group("0-1", 2, 8, 11, &[1, 0])]);
        assert_eq!(placement.mems_allowed.unwrap().to_string(), "0-1");
    }

    #[test]
    fn memory_is_told_by_the_policy_it_was_placed_under() {
        let (_folder, root) = tree();
        let mapped = |policy: &str, bytes: &[(u32, u64)]| Mapped {
            policy: policy.into(),
            bytes_by_node: bytes.iter().copied().collect(),
        };
        assert_eq!(
            placement(&root, 7, false).unwrap().memory,
            Ok(vec![mapped("bind:0", &[(0, 4 << 20)]), mapped("default", &[(0, 4 << 20), (1, 8 << 20)])])
        );
    }

    #[test]
    fn the_memory_of_a_very_large_process_is_read_when_it_is_asked_for() {
        let (folder, root) = tree();
        fs::write(folder.path().join("proc/7/status"), "Name:\tx\nVmRSS:\t   41943040 kB\n").unwrap();
        assert!(placement(&root, 7, false).unwrap().memory.unwrap_err().starts_with("40 GiB resident"));
        assert!(placement(&root, 7, true).unwrap().memory.is_ok());
    }

    #[test]
    fn a_gpu_is_named_where_the_process_holds_one_alone() {
        let (folder, root) = tree();
        let gpus = folder.path().join("proc/driver/nvidia/gpus");
        for (address, minor) in [("0000:19:00.0", 0), ("0000:3b:00.0", 1)] {
            fs::create_dir_all(gpus.join(address)).unwrap();
            let text = format!("Model: \t\t NVIDIA H100\nDevice Minor: \t {minor}\n");
            fs::write(gpus.join(address).join("information"), text).unwrap();
        }
        let fd = folder.path().join("proc/7/fd");
        fs::create_dir_all(&fd).unwrap();
        symlink("/dev/nvidiactl", fd.join("3")).unwrap();
        symlink("/dev/nvidia1", fd.join("4")).unwrap();
        assert_eq!(placement(&root, 7, false).unwrap().gpu.as_deref(), Some("0000:3b:00.0"));
        symlink("/dev/nvidia0", fd.join("5")).unwrap();
        assert_eq!(placement(&root, 7, false).unwrap().gpu, None);
    }

    #[test]
    fn who_started_whom_is_known_and_a_process_that_is_gone_is_said() {
        let (_folder, root) = tree();
        assert_eq!(parents(&root), [(7, 3)].into());
        assert_eq!(placement(&root, 8, false).unwrap_err(), "there is no process 8");
    }
}
