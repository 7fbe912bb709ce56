//! Where a process may run and where its threads ran last, from `/proc/PID` (proc(5)).

use crate::model::{BoundThreads, CpuSet};
use crate::root::Root;
use std::collections::BTreeMap;

/// CPUs of the busiest threads that are kept.
const MOST_CPUS: usize = 16;

/// Threads that are looked at; the rest of a larger process is taken to be like these.
const MOST_THREADS: usize = 1024;

/// Kinds of threads, by the CPUs they may run on, that are kept.
const MOST_KINDS: usize = 8;

/// Less work than this (clock ticks of mostly 10 ms) does not tell who does it.
const LEAST_TICKS: u64 = 20;

/// Threads with less than this share of a process's work are no part of it that matters.
const WORKS: f64 = 0.1;

/// What all threads of a process have in common or add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Threads {
    /// CPUs that any thread may run on.
    pub(super) cpus_allowed: Option<CpuSet>,
    /// Threads by the CPUs they may run on; empty where all may run on the same.
    pub(super) bound: Vec<BoundThreads>,
    /// Nodes that any thread may take memory from.
    pub(super) mems_allowed: Option<CpuSet>,
    /// Where the busiest threads ran last.
    pub(super) last_cpus: Vec<u32>,
    /// Start of the process in clock ticks since boot: tells it from a later one with the same id.
    pub(super) started: Option<u64>,
    /// Resident memory without hugetlb pages, bytes.
    pub(super) resident_bytes: Option<u64>,
}

/// Reads all threads of a process; its own words alone where a copied tree has no list of them.
///
/// # Errors
///
/// The file that is not readable, and why.
pub(super) fn read(root: &Root, pid: u32) -> Result<Threads, String> {
    let folder = format!("proc/{pid}/task");
    let status = root.text(format!("proc/{pid}/status")).map_err(|error| error.to_string())?;
    let Ok(names) = root.names(&folder) else { return Ok(main_thread(root, pid, &status)) };
    let mut threads = Threads { resident_bytes: kilobytes(&status, "VmRSS"), ..Threads::default() };
    let mut ran: Vec<(u64, u32)> = Vec::new();
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    for thread in names.iter().take(MOST_THREADS) {
        // a thread may end while we look
        let Ok(status) = root.text(format!("{folder}/{thread}/status")) else { continue };
        let cpus = list(&status, "Cpus_allowed_list");
        unite(&mut threads.mems_allowed, list(&status, "Mems_allowed_list"));
        let stat = root.text(format!("{folder}/{thread}/stat")).ok().as_deref().and_then(stat);
        if let (Some(cpus), Ok(id)) = (&cpus, thread.parse()) {
            let ticks = stat.as_ref().map_or(0, |stat| stat.busy_ticks);
            kinds.entry(cpus.to_string()).or_insert_with(|| Kind::of(cpus)).add(id, ticks);
        }
        unite(&mut threads.cpus_allowed, cpus);
        if let Some(stat) = stat {
            ran.push((stat.busy_ticks, stat.last_cpu));
            if *thread == pid.to_string() {
                threads.started = Some(stat.started);
            }
        }
    }
    // the sort is stable: threads that did equally much stay in order
    ran.sort_by_key(|(busy_ticks, _)| std::cmp::Reverse(*busy_ticks));
    threads.last_cpus = ran.into_iter().map(|(_, cpu)| cpu).take(MOST_CPUS).collect();
    if kinds.len() > 1 {
        threads.bound = bound(root, &folder, kinds.into_values().collect());
    }
    Ok(threads)
}

/// What a process says of itself, which is what its main thread does (`/proc/PID/status` and `stat`).
fn main_thread(root: &Root, pid: u32, status: &str) -> Threads {
    let stat = root.text(format!("proc/{pid}/stat")).ok().as_deref().and_then(stat);
    Threads {
        cpus_allowed: list(status, "Cpus_allowed_list"),
        mems_allowed: list(status, "Mems_allowed_list"),
        last_cpus: stat.iter().map(|stat| stat.last_cpu).collect(),
        started: stat.map(|stat| stat.started),
        resident_bytes: kilobytes(status, "VmRSS"),
        ..Threads::default()
    }
}

/// Threads that may run on the same CPUs.
struct Kind {
    cpus: CpuSet,
    count: u32,
    ticks: u64,
    /// The one that did most, and how much.
    busiest: Option<(u64, u32)>,
}

impl Kind {
    fn of(cpus: &CpuSet) -> Self {
        Self { cpus: cpus.clone(), count: 0, ticks: 0, busiest: None }
    }

    fn add(&mut self, id: u32, ticks: u64) {
        self.count += 1;
        self.ticks = self.ticks.saturating_add(ticks);
        if self.busiest.is_none_or(|(most, _)| ticks > most) {
            self.busiest = Some((ticks, id));
        }
    }
}

fn bound(root: &Root, folder: &str, mut kinds: Vec<Kind>) -> Vec<BoundThreads> {
    let all: u64 = kinds.iter().map(|kind| kind.ticks).sum();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.ticks));
    let of_kind = |kind: Kind| {
        let (_, busiest) = kind.busiest?;
        Some(BoundThreads {
            cpus: kind.cpus,
            count: kind.count,
            busiest,
            name: root.text(format!("{folder}/{busiest}/comm")).unwrap_or_default(),
            works: (all >= LEAST_TICKS).then_some(kind.ticks as f64 >= WORKS * all as f64),
        })
    };
    kinds.into_iter().take(MOST_KINDS).filter_map(of_kind).collect()
}

fn unite(all: &mut Option<CpuSet>, more: Option<CpuSet>) {
    *all = match (all.take(), more) {
        (Some(all), Some(more)) if all == more => Some(all),
        (Some(all), Some(more)) => Some(all.iter().chain(more.iter()).collect()),
        (all, more) => all.or(more),
    };
}

/// The text behind this name in a file of `Name: text` lines.
pub(super) fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

/// A list of CPUs or nodes.
pub(super) fn list(status: &str, name: &str) -> Option<CpuSet> {
    field(status, name)?.parse().ok()
}

/// A number of kilobytes, as bytes.
pub(super) fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let number = field(status, name)?.strip_suffix("kB")?.trim();
    number.parse::<u64>().ok()?.checked_mul(1024)
}

/// What is read of a thread's `stat`.
pub(super) struct Stat {
    /// User and system time, clock ticks.
    pub(super) busy_ticks: u64,
    started: u64,
    /// Where it ran last.
    pub(super) last_cpu: u32,
}

/// Fields 14, 15 (user and system time), 22 (start) and 39 (last CPU) of `proc_pid_stat(5)`.
pub(super) fn stat(text: &str) -> Option<Stat> {
    // the name in parentheses may hold spaces and parentheses itself
    let (_, after_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        busy_ticks: field(14)?.saturating_add(field(15)?),
        started: field(22)?,
        last_cpu: u32::try_from(field(39)?).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{read, stat};
    use crate::root::Root;

    fn stat_line(name: &str, ticks: u64, cpu: u32) -> String {
        format!(
            "7 ({name}) S 1 7 7 0 -1 0 0 0 0 0 {ticks} 1 0 0 20 0 1 0 555 0 0{} {cpu} 0 0",
            " 0".repeat(14)
        )
    }

    #[test]
    fn a_name_with_spaces_and_parentheses_shifts_no_field() {
        let stat = stat(&stat_line("a) b (c", 40, 9)).unwrap();
        assert_eq!((stat.busy_ticks, stat.started, stat.last_cpu), (41, 555, 9));
    }

    #[test]
    fn a_copied_process_without_its_threads_is_taken_by_its_own_word() {
        let mut root = Root::at("/nowhere");
        let status = "Name:\tx\nVmRSS:\t2048 kB\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n";
        root.lay_over("proc/7/status", Some(status));
        root.lay_over("proc/7/stat", Some(&stat_line("x", 1, 3)));
        let threads = read(&root, 7).unwrap();
        assert_eq!(threads.cpus_allowed.unwrap().to_string(), "0-3");
        assert_eq!(threads.mems_allowed.unwrap().to_string(), "0-1");
        assert_eq!(
            (threads.last_cpus, threads.started, threads.resident_bytes),
            (vec![3], Some(555), Some(2 << 20))
        );
        assert!(read(&root, 8).is_err());
    }

    #[test]
    fn threads_add_up_and_the_busiest_come_first() {
        let mut root = Root::at("/nowhere");
        let mut lay = |path: &str, text: &str| root.lay_over(path, Some(text));
        lay("proc/7/status", "Name:\tx\nVmRSS:\t   2048 kB\n");
        lay("proc/7/task/7/status", "Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n");
        lay("proc/7/task/7/stat", &stat_line("x", 1, 0));
        lay("proc/7/task/8/status", "Cpus_allowed_list:\t4\nMems_allowed_list:\t0\n");
        lay("proc/7/task/8/stat", &stat_line("x", 90, 4));
        let threads = read(&root, 7).unwrap();
        assert_eq!(threads.cpus_allowed.unwrap().to_string(), "0-1,4");
        assert_eq!(threads.mems_allowed.unwrap().to_string(), "0");
        assert_eq!(threads.last_cpus, [4, 0]);
        let kinds: Vec<_> =
            threads.bound.iter().map(|kind| (kind.cpus.to_string(), kind.busiest, kind.works)).collect();
        assert_eq!(kinds, [("4".to_owned(), 8, Some(true)), ("0-1".to_owned(), 7, Some(false))]);
        assert_eq!((threads.resident_bytes, threads.started), (Some(2 << 20), Some(555)));
    }

    #[test]
    fn a_process_that_is_gone_is_an_error_with_its_file() {
        let error = read(&Root::at("/nowhere"), 7).unwrap_err();
        assert!(error.starts_with("proc/7/status: "), "{error}");
    }
}
