//! Which GPU a process holds open.

use super::numa_maps::rest_ns;
use super::threads;
use crate::model::Process;
use crate::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The one GPU whose device node the process holds open, by the minor number that the driver tells
/// (`/proc/driver/nvidia/gpus/ADDRESS/information`).
pub(super) fn held_alone(root: &Root, pid: u32) -> Option<String> {
    let folder = root.base().join("proc").join(pid.to_string()).join("fd");
    let targets = std::fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        // the link's text is the path that was opened; it is never followed
        std::fs::read_link(entry.path()).ok()
    });
    let minors: BTreeSet<u32> =
        targets.filter_map(|path| path.to_str()?.strip_prefix("/dev/nvidia")?.parse().ok()).collect();
    let (Some(minor), 1) = (minors.first(), minors.len()) else { return None };
    let gpus = "proc/driver/nvidia/gpus";
    root.names(gpus).ok()?.into_iter().find(|address| {
        let text = root.text(format!("{gpus}/{address}/information")).unwrap_or_default();
        threads::field(&text, "Device Minor").and_then(|told| told.parse().ok()) == Some(*minor)
    })
}

/// What was found of a process.
#[derive(Debug)]
struct Looked {
    started: Option<u64>,
    gpu: Option<String>,
    next_ns: u64,
}

/// GPUs of processes, kept as long as looking again would cost too much: a process may hold many files.
#[derive(Debug, Default)]
pub(super) struct Gpus(BTreeMap<u32, Looked>);

impl Gpus {
    /// The one GPU that a process holds open, as [`held_alone`] finds it.
    pub(super) fn of(&mut self, root: &Root, pid: u32, started: Option<u64>, now_ns: u64) -> Option<String> {
        if let Some(looked) = self.0.get(&pid)
            && looked.started == started
            && now_ns < looked.next_ns
        {
            return looked.gpu.clone();
        }
        let begin = Instant::now();
        let gpu = held_alone(root, pid);
        let next_ns = now_ns.saturating_add(rest_ns(root, begin.elapsed()));
        self.0.insert(pid, Looked { started, gpu: gpu.clone(), next_ns });
        gpu
    }

    /// Forgets processes that are gone.
    pub(super) fn forget_others(&mut self, processes: &[Process]) {
        self.0.retain(|pid, _| processes.iter().any(|process| process.pid == *pid));
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Rail, Topology};
    use crate::processes::Watcher;
    use crate::root::Root;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_process_on_a_rail_is_told_with_the_gpu_that_it_holds_alone() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("captured/rdma-res-qp.json", r#"[{"ifname":"mlx5_0","pid":7},{"ifname":"mlx5_0","pid":8}]"#);
        put("proc/driver/nvidia/gpus/0000:3b:00.0/information", "Device Minor: \t 1\n");
        for pid in [7, 8] {
            put(&format!("proc/{pid}/comm"), "train\n");
            put(&format!("proc/{pid}/status"), "Name:\ttrain\n");
            fs::create_dir_all(folder.path().join(format!("proc/{pid}/fd"))).unwrap();
        }
        symlink("/dev/nvidia1", folder.path().join("proc/7/fd/4")).unwrap();
        let root = Root::at(folder.path());
        let rails = vec![Rail { device: "mlx5_0".into(), port: 1, ..Rail::default() }];
        let mut topology = Topology { rails, ..Topology::default() };
        let processes = Watcher::open(&root, &mut topology).look(&root, 0).unwrap();
        let gpus: Vec<Option<&str>> = processes.iter().map(|process| process.gpu.as_deref()).collect();
        assert_eq!(gpus, [Some("0000:3b:00.0"), None]);
    }
}
