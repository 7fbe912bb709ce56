//! Who uses the rails: processes with queue pairs, where they may run, and where their memory is.
//!
//! On the live machine RDMA netlink names the process of every user queue pair; where the kernel does not
//! speak it, processes that hold a rail's verbs file open stand in. In a copied tree
//! `captured/rdma-res-qp.json` holds what `rdma -j res show qp` printed.
//!
//! No privilege is needed for the list itself. Other users' memory placement and open files are theirs
//! and root's alone; a gap says so.

mod captured;
mod gpus;
mod netlink;
mod nldev;
mod numa_maps;
mod open_files;
mod placement;
mod rank;
mod registered;
mod threads;

pub use placement::{Mapped, Placement, ThreadGroup, parents, placement};
pub use registered::{Registered, RegisteredBy, memory_regions_json, registered};

use crate::model::{Gap, Process, ProcessSource, Topology};
use crate::root::Root;
use numa_maps::Residency;
use std::collections::BTreeMap;
use std::path::Path;

/// Name of this probe in gaps.
const PROBE: &str = "processes";

/// Queue pairs of one process on one device; `None` when only its open file is known.
type Users = BTreeMap<(u32, String), Option<u32>>;

/// Who has queue pairs on which device, in the form of `rdma -j res show qp` as far as it is read here.
///
/// # Errors
///
/// RDMA netlink is of no use here, and why.
pub fn queue_pairs_json() -> Result<String, String> {
    let found = netlink::queue_pairs().map_err(|error| error.to_string())?;
    Ok(captured::text(&by_process(&Root::live(), found.users)))
}

/// The same by process: the kernel names the thread that made a queue pair (`task_pid_vnr` in `fill_res_name_pid`,
/// drivers/infiniband/core/nldev.c), and `Tgid` of its status the process. A thread that is gone stays as it is.
fn by_process(root: &Root, users: Users) -> Users {
    let mut all = Users::new();
    for ((thread, device), count) in users {
        let process = process_of(root, thread);
        let sum: &mut Option<u32> = all.entry((process, device)).or_insert(Some(0));
        *sum = sum.zip(count).map(|(sum, count)| sum.saturating_add(count));
    }
    all
}

/// The process of a thread; the thread's own id where it is gone.
fn process_of(root: &Root, thread: u32) -> u32 {
    let status = root.text(format!("proc/{thread}/status")).unwrap_or_default();
    threads::field(&status, "Tgid").and_then(|told| told.parse().ok()).unwrap_or(thread)
}

/// Of a process's file what is read of it here: environments hold passwords and tokens, maps the paths of files.
pub(crate) fn only_what_is_read(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    if !path.starts_with("proc") {
        return bytes;
    }
    match path.file_name().and_then(|name| name.to_str()) {
        Some("environ") => rank::variables(&bytes),
        Some("numa_maps") => numa_maps::without_paths(&String::from_utf8_lossy(&bytes)).into_bytes(),
        _ => bytes,
    }
}

/// Looks up, again and again, which processes use the rails.
#[derive(Debug)]
pub struct Watcher {
    /// Devices, in the order of the rails.
    devices: Vec<String>,
    /// Device by its verbs file, for the fallback.
    verbs_files: BTreeMap<String, String>,
    residency: Residency,
    open_files: open_files::Search,
    registered: registered::Watched,
    gpus: gpus::Gpus,
    last: Option<Vec<Process>>,
}

impl Watcher {
    /// A watcher over the rails of this topology. Looks once, so that what cannot be learnt becomes a gap.
    #[must_use]
    pub fn open(root: &Root, topology: &mut Topology) -> Self {
        let mut devices: Vec<String> = Vec::new();
        let mut verbs_files = BTreeMap::new();
        for rail in &topology.rails {
            if !devices.contains(&rail.device) {
                devices.push(rail.device.clone());
            }
            if let Some(file) = &rail.uverbs {
                verbs_files.insert(file.clone(), rail.device.clone());
            }
        }
        let mut this = Self {
            devices,
            verbs_files,
            residency: Residency::default(),
            open_files: open_files::Search::default(),
            registered: registered::Watched::default(),
            gpus: gpus::Gpus::default(),
            last: None,
        };
        let mut gaps = Vec::new();
        this.find(root, 0, &mut gaps);
        topology.gaps.append(&mut gaps);
        topology.gaps.sort();
        topology.gaps.dedup();
        this
    }

    /// Processes on the rails at `now_ns` of the session; `None` when they cannot be told, or are what they
    /// were at the last call.
    pub fn look(&mut self, root: &Root, now_ns: u64) -> Option<Vec<Process>> {
        let found = self.find(root, now_ns, &mut Vec::new())?;
        if self.last.as_ref() == Some(&found) {
            return None;
        }
        self.last = Some(found.clone());
        Some(found)
    }

    fn find(&mut self, root: &Root, now_ns: u64, gaps: &mut Vec<Gap>) -> Option<Vec<Process>> {
        if self.devices.is_empty() {
            return None;
        }
        let (users, source) = self.users(root, now_ns, gaps)?;
        if !users.is_empty() {
            self.registered.look(root, now_ns);
        }
        let mut processes = Vec::new();
        for ((pid, device), queue_pairs) in users {
            if self.devices.contains(&device)
                && let Some(process) = self.process(root, now_ns, pid, &device, gaps)
            {
                let is_ours = root.is_live() && pid == std::process::id();
                let source = if is_ours { ProcessSource::OurLoad } else { source };
                processes.push(Process { queue_pairs, source, ..process });
            }
        }
        let position = |p: &Process| self.devices.iter().position(|device| *device == p.device);
        processes.sort_by_key(|p| (p.pid, position(p)));
        self.residency.forget_others(&processes);
        self.gpus.forget_others(&processes);
        Some(processes)
    }

    /// Who uses which device, by the best source there is.
    fn users(&mut self, root: &Root, now_ns: u64, gaps: &mut Vec<Gap>) -> Option<(Users, ProcessSource)> {
        let mut gap = |reason: String| {
            gaps.push(Gap { probe: PROBE.into(), subject: "host".into(), reason });
        };
        if !root.is_live() {
            let users = captured::users(root).map_err(|reason| {
                gap(format!("{reason}; which processes use the rails is not known"));
            });
            return Some((by_process(root, users.ok()?), ProcessSource::QueuePairs));
        }
        match netlink::queue_pairs() {
            Ok(found) => {
                if found.hidden > 0 {
                    gap(format!(
                        "{} queue pairs belong to processes of another PID namespace; run railscope on the host \
                         to see them",
                        found.hidden
                    ));
                }
                Some((by_process(root, found.users), ProcessSource::QueuePairs))
            }
            Err(error) if self.verbs_files.is_empty() => {
                gap(format!("{error}; which processes use the rails is not known"));
                None
            }
            Err(error) => {
                let searched = self.open_files.users(root, &self.verbs_files, now_ns);
                let unseen = match searched.unreadable {
                    0 => String::new(),
                    count => {
                        format!("; open files of {count} processes are not readable, run as root to see them")
                    }
                };
                gap(format!(
                    "{error}; processes are found by their open verbs files, which says nothing of queue pairs{unseen}"
                ));
                Some((searched.users, ProcessSource::OpenFile))
            }
        }
    }

    /// `None` when the process ended meanwhile.
    fn process(
        &mut self,
        root: &Root,
        now_ns: u64,
        pid: u32,
        device: &str,
        gaps: &mut Vec<Gap>,
    ) -> Option<Process> {
        let folder = format!("proc/{pid}");
        if root.is_live() && !root.exists(&folder) {
            return None;
        }
        let name = root.text(format!("{folder}/comm")).unwrap_or_default();
        let mut gap = |reason: String| {
            let reason = format!("process {pid} ({name}): {reason}");
            gaps.push(Gap { probe: PROBE.into(), subject: device.to_owned(), reason });
        };
        let threads = threads::read(root, pid).unwrap_or_else(|reason| {
            gap(reason);
            threads::Threads::default()
        });
        let bytes_by_node = self.residency.read(root, pid, threads.started, threads.resident_bytes, now_ns);
        let rank = rank::read(root, pid);
        let gpu = self.gpus.of(root, pid, threads.started, now_ns);
        let registered_large_bytes = self.registered.large_bytes(pid, device);
        let mapped: u64 = bytes_by_node.iter().flat_map(BTreeMap::values).sum();
        let registered = self.registered.all_large_bytes(pid);
        if !Process::mappings_tell(mapped, registered) {
            gap(format!(
                "{} MiB in large mappings, and {} MiB registered in regions as large: where its buffers are is not known",
                mapped >> 20,
                registered.unwrap_or(0) >> 20
            ));
        }
        Some(Process {
            pid,
            rank,
            gpu,
            registered_large_bytes,
            device: device.to_owned(),
            queue_pairs: None,
            source: ProcessSource::QueuePairs,
            cpus_allowed: threads.cpus_allowed,
            bound_threads: threads.bound,
            mems_allowed: threads.mems_allowed,
            last_cpus: threads.last_cpus,
            large_mapping_bytes_by_node: bytes_by_node.map_err(&mut gap).ok(),
            name,
        })
    }
}

#[cfg(test)]
mod tests;
