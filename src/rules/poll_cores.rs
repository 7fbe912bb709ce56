//! `shared-core`, `irq-on-poll-core`: a thread that polls shares its CPU with another one, or with interrupts.
//!
//! Both are said only where it could be otherwise: where the CPU's node has a CPU that none of the pollers is bound to,
//! or one that takes none of the card's interrupts. `shared-core` is about threads of a load of ours and processes with
//! queue pairs that may run on one and the same CPU only. `irq-on-poll-core` is about threads of a load, ours or a
//! described one, since other processes may well wait for their interrupts on purpose. Sources: `sched_setaffinity(2)`;
//! Documentation/core-api/irq/irq-affinity.rst, `effective_affinity`.

use super::means::latest_load;
use super::wording::list;
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{CpuSet, Load, LoadOrigin, Process, ProcessSource, Topology};
use std::collections::BTreeMap;

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["shared-core", "irq-on-poll-core"], check };

/// Who polls.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Poller {
    title: String,
    devices: Vec<String>,
    cpus: CpuSet,
    /// `None` of threads of our load.
    pid: Option<u32>,
}

impl Poller {
    /// The one CPU it is bound to.
    fn only_cpu(&self) -> Option<u32> {
        let mut cpus = self.cpus.iter();
        cpus.next().filter(|_| cpus.next().is_none())
    }
}

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let load = latest_load(timeline);
    let threads = load.map(threads_of).unwrap_or_default();
    let mut all = threads.clone();
    // our own process is known thread by thread
    for process in timeline.local().processes().unwrap_or_default() {
        if process.source == ProcessSource::QueuePairs && !all.iter().any(|one| one.pid == Some(process.pid))
        {
            all.extend(of_process(process, timeline.local().processes().unwrap_or_default()));
        }
    }
    let mut found = shared(topology, &all);
    found.extend(threads.iter().filter_map(|thread| interrupted(topology, thread)));
    found
}

/// Threads of a load of ours; the process of a described one. A thread that drives several rails is one.
fn threads_of(load: &Load) -> Vec<Poller> {
    if load.origin == LoadOrigin::Described {
        let described = load.cpus.clone().map(|cpus| Poller {
            title: load.pid.map_or_else(|| "the load".to_owned(), |pid| format!("the load (PID {pid})")),
            devices: load.devices.clone(),
            cpus,
            pid: load.pid,
        });
        return described.into_iter().collect();
    }
    let mut threads: Vec<Poller> = Vec::new();
    let mut by_number: BTreeMap<u32, usize> = BTreeMap::new();
    for worker in &load.workers {
        let Some(cpus) = worker.cpus.clone() else { continue };
        // in the striped shape one thread posts on every rail: the numbers are those of threads then
        let number = worker.number.unwrap_or(1);
        if load.batch.is_some()
            && let Some(at) = by_number.get(&number)
        {
            threads[*at].devices.push(worker.device.clone());
            continue;
        }
        by_number.insert(number, threads.len());
        let title = format!("{worker} of our load");
        threads.push(Poller { title, devices: vec![worker.device.clone()], cpus, pid: None });
    }
    threads
}

fn of_process(process: &Process, all: &[Process]) -> Option<Poller> {
    let devices = all.iter().filter(|other| other.pid == process.pid).map(|other| other.device.clone());
    Some(Poller {
        title: format!("{} (PID {})", process.name, process.pid),
        devices: devices.collect(),
        cpus: process.cpus_allowed.clone()?,
        pid: Some(process.pid),
    })
}

/// One finding a CPU that several pollers have to share.
fn shared(topology: &Topology, all: &[Poller]) -> Vec<Finding> {
    let mut by_cpu: BTreeMap<u32, Vec<&Poller>> = BTreeMap::new();
    for poller in all {
        if let Some(cpu) = poller.only_cpu() {
            by_cpu.entry(cpu).or_default().push(poller);
        }
    }
    let is_free = |cpu: u32| !by_cpu.contains_key(&cpu);
    by_cpu
        .iter()
        .filter(|(_, pollers)| pollers.len() > 1)
        .filter_map(|(cpu, pollers)| {
            let node = topology.node_of_cpu(*cpu)?;
            let free: CpuSet =
                topology.node(node)?.cpus.as_ref()?.iter().filter(|cpu| is_free(*cpu)).collect();
            (!free.is_empty()).then(|| crowded(*cpu, pollers, &free))
        })
        .collect()
}

fn crowded(cpu: u32, pollers: &[&Poller], free: &CpuSet) -> Finding {
    let mut devices: Vec<&str> = pollers.iter().flat_map(|one| &one.devices).map(String::as_str).collect();
    devices.sort_unstable();
    devices.dedup();
    let message = format!(
        "{} may run on CPU {cpu} only: if they poll, each waits for the other; CPUs {free} of the same node are free of them",
        list(pollers.iter().map(|one| one.title.as_str())),
    );
    let ours = pollers.iter().all(|one| one.pid.is_none());
    let advice = match pollers.iter().rev().find_map(|one| one.pid) {
        Some(pid) => {
            let first = free.iter().next().unwrap_or_default();
            format!(
                "one core for each polling thread: `taskset -cp {first} {pid}` moves the first thread of that process, not its memory"
            )
        }
        None if ours => {
            "leave the choice to `railscope load PEER --place local`, or name a CPU for each thread"
                .to_owned()
        }
        None => String::new(),
    };
    Finding::new("shared-core", Severity::Warning, devices, message)
        .with("cpu", cpu)
        .with("pollers", pollers.iter().map(|one| one.title.clone()).collect::<Vec<_>>())
        .with("pids", pollers.iter().filter_map(|one| one.pid).collect::<Vec<_>>())
        .with("free_cpus", free.to_string())
        .advise(advice)
}

/// A thread of which every CPU takes interrupts of a card it drives.
fn interrupted(topology: &Topology, thread: &Poller) -> Option<Finding> {
    let rails = topology.rails.iter().filter(|rail| thread.devices.contains(&rail.device));
    rails.into_iter().find_map(|rail| {
        let busy = rail.interrupts.as_ref()?.effective.as_ref()?;
        let mut cpus = thread.cpus.iter().peekable();
        let first = *cpus.peek()?;
        if !cpus.all(|cpu| busy.contains(cpu)) {
            return None;
        }
        let node = topology.node_of_cpu(first)?;
        let quiet: CpuSet =
            topology.node(node)?.cpus.as_ref()?.iter().filter(|cpu| !busy.contains(*cpu)).collect();
        if quiet.is_empty() {
            return None;
        }
        let message = format!(
            "{} polls on CPU {}, where interrupts of {} are served; CPUs {quiet} of node {node} serve none of them",
            thread.title, thread.cpus, rail.device,
        );
        Some(
            Finding::new("irq-on-poll-core", Severity::Warning, [&rail.device], message)
                .with("cpus", thread.cpus.to_string())
                .with("interrupt_cpus", busy.to_string())
                .with("interrupts", rail.interrupts.as_ref()?.count)
                .with("free_cpus", quiet.to_string())
                .advise(format!(
                    "let it poll on one of {quiet}, or spread the interrupts over these: their numbers are in \
                     /sys/class/infiniband/{}/device/msi_irqs, their CPUs in /proc/irq/N/smp_affinity_list",
                    rail.device,
                )),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, described, found, named, process, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{CpuSet, Interrupts, Load, LoadOp, LoadOrigin, Process, Rail, Topology, Worker};

    const QUIET: Vec<String> = Vec::new();

    fn cpus(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    /// A rail of which two interrupts go to CPU 2.
    fn served(device: &str) -> Rail {
        let interrupts = Interrupts { count: 2, effective: Some(cpus("2")), ..Interrupts::default() };
        Rail { interrupts: Some(interrupts), ..rail(device) }
    }

    fn findings(topology: &Topology, load: Option<Load>, processes: Vec<Process>) -> Vec<Finding> {
        let traffic = Traffic { load, processes: Some(processes), ..Traffic::loaded(&[1.0, 1.0]) };
        found(&RULE, topology, &traffic)
    }

    /// A load of ours with a thread on each of these CPUs, on two rails in turn.
    fn ours(places: &[&str]) -> Load {
        let worker = |(at, place): (usize, &&str)| Worker {
            device: format!("mlx5_{}", at % 2),
            number: Some(u32::try_from(at / 2 + 1).unwrap()),
            cpus: Some(cpus(place)),
            ..Worker::default()
        };
        let workers = places.iter().enumerate().map(worker).collect();
        Load { origin: LoadOrigin::Ours, workers, ..described(LoadOp::Read) }
    }

    fn two_rails() -> Topology {
        two_sockets(vec![served("mlx5_0"), served("mlx5_1")])
    }

    #[test]
    fn two_processes_bound_to_one_cpu_are_named_with_a_free_one() {
        let both = vec![process(11, "mlx5_0", "1"), process(12, "mlx5_1", "1")];
        let found = findings(&two_rails(), None, both);
        assert_eq!(named(&found), ["shared-core mlx5_0,mlx5_1"]);
        assert_eq!(
            found[0].message,
            "ib_read_bw (PID 11) and ib_read_bw (PID 12) may run on CPU 1 only: if they poll, each waits for the other; CPUs 0,2-3 of the same node are free of them"
        );
        assert!(found[0].advice.contains("`taskset -cp 0 12`"), "{found:?}");
    }

    #[test]
    fn one_process_on_two_rails_and_two_with_a_choice_share_nothing() {
        let one = vec![process(11, "mlx5_0", "1"), process(11, "mlx5_1", "1")];
        assert_eq!(named(&findings(&two_rails(), None, one)), QUIET);
        let wide = vec![process(11, "mlx5_0", "0-1"), process(12, "mlx5_1", "0-1")];
        assert_eq!(named(&findings(&two_rails(), None, wide)), QUIET);
    }

    #[test]
    fn two_threads_of_a_load_on_one_cpu_are_named_and_not_where_no_cpu_is_left() {
        let found = findings(&two_rails(), Some(ours(&["1", "1"])), Vec::new());
        assert_eq!(named(&found), ["shared-core mlx5_0,mlx5_1"]);
        let crowded = ours(&["0", "1", "3", "3", "2", "0"]);
        let found = findings(&two_sockets(vec![rail("mlx5_0"), rail("mlx5_1")]), Some(crowded), Vec::new());
        assert_eq!(named(&found), QUIET, "every CPU of the node has its poller");
    }

    #[test]
    fn a_thread_that_drives_several_rails_is_one_thread() {
        let striped = Load { batch: Some(32), ..ours(&["1", "1"]) };
        assert_eq!(named(&findings(&two_rails(), Some(striped), Vec::new())), QUIET);
    }

    #[test]
    fn a_thread_that_polls_where_its_card_is_served_is_named() {
        let found = findings(&two_rails(), Some(ours(&["2", "1"])), Vec::new());
        assert_eq!(named(&found), ["irq-on-poll-core mlx5_0"]);
        assert!(
            found[0]
                .message
                .starts_with("worker 1 of mlx5_0 of our load polls on CPU 2, where interrupts of mlx5_0"),
            "{found:?}"
        );
        let described = Load { cpus: Some(cpus("2")), pid: Some(9), ..described(LoadOp::Read) };
        let of_one = Load { devices: vec!["mlx5_1".into()], ..described };
        assert_eq!(named(&findings(&two_rails(), Some(of_one), Vec::new())), ["irq-on-poll-core mlx5_1"]);
    }

    #[test]
    fn interrupts_on_every_cpu_of_the_node_and_a_thread_that_can_move_are_nobodys_fault() {
        let everywhere = Interrupts { count: 8, effective: Some(cpus("0-3")), ..Interrupts::default() };
        let rail = Rail { interrupts: Some(everywhere), ..rail("mlx5_0") };
        assert_eq!(named(&findings(&two_sockets(vec![rail]), Some(ours(&["2"])), Vec::new())), QUIET);
        assert_eq!(named(&findings(&two_rails(), Some(ours(&["2-3"])), Vec::new())), QUIET);
    }
}
