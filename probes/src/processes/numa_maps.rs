//! On which nodes a process's large mappings lie, from `/proc/PID/numa_maps` (numa(7)).

use super::placement::Mapped;
use crate::model::Process;
use crate::root::Root;
use crate::times::nanoseconds;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Smaller mappings are stacks and libraries: no buffer of a load.
pub(super) const LARGE_BYTES: u64 = 2 << 20;

/// Above this much resident memory the file is not read unasked: the kernel walks every page table entry
/// and holds the process's memory map meanwhile.
const MOST_RESIDENT_BYTES: u64 = 32 << 30;

/// The next reading waits this many times as long as the last one took: at most one percent of the time.
const REST: u32 = 100;

/// Least time between two readings of one process, nanoseconds.
const LEAST_REST_NS: u64 = 1_000_000_000;

type BytesByNode = BTreeMap<u32, u64>;

#[derive(Debug)]
struct Reading {
    started: Option<u64>,
    bytes_by_node: Result<BytesByNode, String>,
    next_ns: u64,
}

/// Readings of `numa_maps`, kept as long as reading again would cost the process too much.
#[derive(Debug, Default)]
pub(super) struct Residency {
    readings: BTreeMap<u32, Reading>,
}

impl Residency {
    /// Resident bytes of large mappings by node.
    ///
    /// # Errors
    ///
    /// Why they are not known.
    pub(super) fn read(
        &mut self,
        root: &Root,
        pid: u32,
        started: Option<u64>,
        resident_bytes: Option<u64>,
        now_ns: u64,
    ) -> Result<BytesByNode, String> {
        cheap_enough(resident_bytes)?;
        if let Some(reading) = self.readings.get(&pid)
            && reading.started == started
            && now_ns < reading.next_ns
        {
            return reading.bytes_by_node.clone();
        }
        let begin = Instant::now();
        let bytes_by_node = read(root, pid);
        let next_ns = now_ns.saturating_add(rest_ns(root, begin.elapsed()));
        let reading = Reading { started, bytes_by_node: bytes_by_node.clone(), next_ns };
        self.readings.insert(pid, reading);
        bytes_by_node
    }

    /// Forgets processes that are gone.
    pub(super) fn forget_others(&mut self, processes: &[Process]) {
        self.readings.retain(|pid, _| processes.iter().any(|process| process.pid == *pid));
    }
}

/// How long to leave the kernel alone after a question that took it this long; a copied tree costs nobody anything.
pub(super) fn rest_ns(root: &Root, took: Duration) -> u64 {
    if root.is_live() { nanoseconds(took * REST).max(LEAST_REST_NS) } else { 0 }
}

fn cheap_enough(resident_bytes: Option<u64>) -> Result<(), String> {
    match resident_bytes {
        Some(bytes) if bytes > MOST_RESIDENT_BYTES => {
            let (has, most) = (bytes >> 30, MOST_RESIDENT_BYTES >> 30);
            Err(format!("{has} GiB resident; numa_maps is not read unasked above {most} GiB"))
        }
        _ => Ok(()),
    }
}

/// Large mappings by the policy they were placed under, in its order.
///
/// # Errors
///
/// Why they are not known; more resident memory than is read unasked among it, where that is given.
pub(super) fn by_policy(root: &Root, pid: u32, resident_bytes: Option<u64>) -> Result<Vec<Mapped>, String> {
    cheap_enough(resident_bytes)?;
    let mut by_policy: BTreeMap<String, BytesByNode> = BTreeMap::new();
    for line in text(root, pid)?.lines() {
        let Some(mapping) = mapping(line) else { continue };
        let policy = line.split_ascii_whitespace().nth(1).unwrap_or_default();
        let bytes_by_node = by_policy.entry(policy.to_owned()).or_default();
        for (node, bytes) in mapping {
            *bytes_by_node.entry(node).or_default() += bytes;
        }
    }
    Ok(by_policy.into_iter().map(|(policy, bytes_by_node)| Mapped { policy, bytes_by_node }).collect())
}

fn text(root: &Root, pid: u32) -> Result<String, String> {
    root.text(format!("proc/{pid}/numa_maps")).map_err(|error| {
        let hint = match error.cause.kind() {
            std::io::ErrorKind::PermissionDenied => "; run as root to see where its memory is",
            _ => "",
        };
        format!("{error}{hint}")
    })
}

fn read(root: &Root, pid: u32) -> Result<BytesByNode, String> {
    let text = text(root, pid)?;
    let mut total = BytesByNode::new();
    for mapping in text.lines().filter_map(mapping) {
        for (node, bytes) in mapping {
            *total.entry(node).or_default() += bytes;
        }
    }
    Ok(total)
}

/// Bytes by node of one mapping; `None` for small ones and for ordinary files (programs and libraries lie
/// where whoever read them first happened to run).
///
/// Counts are in pages of `kernelpagesize_kB`, which is 2048 or more for hugetlb mappings.
fn mapping(line: &str) -> Option<BytesByNode> {
    let mut by_node = BTreeMap::new();
    let mut page_kb = None;
    let mut is_huge = false;
    let mut file = None;
    for word in line.split_ascii_whitespace().skip(2) {
        match word.split_once('=') {
            None => is_huge |= word == "huge",
            Some(("file", path)) => file = Some(path),
            Some(("kernelpagesize_kB", kb)) => page_kb = kb.parse::<u64>().ok(),
            Some((name, pages)) => {
                if let Some(node) = name.strip_prefix('N')
                    && let (Ok(node), Ok(pages)) = (node.parse::<u32>(), pages.parse::<u64>())
                {
                    by_node.insert(node, pages);
                }
            }
        }
    }
    let is_ordinary_file = file.is_some_and(|path| !is_huge && !is_memory(path));
    let page_bytes = page_kb?.checked_mul(1024)?;
    for pages in by_node.values_mut() {
        *pages = pages.checked_mul(page_bytes)?;
    }
    let total = by_node.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    (!is_ordinary_file && total >= LARGE_BYTES).then_some(by_node)
}

/// The same without the paths of mapped files: of each stays what says whether it is memory.
pub(super) fn without_paths(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        let words = line.split_ascii_whitespace().map(|word| match word.strip_prefix("file=") {
            Some(path) => match BEGINNINGS.iter().find(|beginning| path.starts_with(**beginning)) {
                Some(beginning) => format!("file={beginning}"),
                None => "file=/".to_owned(),
            },
            None => word.to_owned(),
        });
        kept.push_str(&words.collect::<Vec<_>>().join(" "));
        kept.push('\n');
    }
    kept
}

/// How the paths begin of files that are memory under a name: shared memory, memfd, hugetlbfs.
const BEGINNINGS: [&str; 7] =
    ["/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage", "/dev/zero", "/dev/hugepages", "/run/shm/"];

/// Whether a mapped file is memory under a name.
fn is_memory(path: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| path.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::{Residency, mapping, without_paths};
    use crate::root::Root;

    #[test]
    fn pages_are_counted_in_their_own_size() {
        let small = "7f20 default anon=262144 dirty=262144 active=0 N0=262144 kernelpagesize_kB=4";
        assert_eq!(mapping(small), Some([(0, 1 << 30)].into()));
        let huge = "7f40 bind:1 file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N0=1 N1=3 kernelpagesize_kB=2048";
        assert_eq!(mapping(huge), Some([(0, 2 << 20), (1, 6 << 20)].into()));
    }

    #[test]
    fn small_mappings_and_libraries_are_left_out() {
        for line in [
            "7f20 default stack anon=5 dirty=5 N0=5 kernelpagesize_kB=4",
            "7f20 default file=/usr/lib/libcuda.so.1 mapped=9000 N1=9000 kernelpagesize_kB=4",
            "7f20 default",
            "7f20 default N0=x kernelpagesize_kB=4",
            "7f20 default N0=18446744073709551615 kernelpagesize_kB=4",
            "",
        ] {
            assert_eq!(mapping(line), None, "{line}");
        }
    }

    #[test]
    fn without_its_paths_a_mapping_is_the_same() {
        for (line, kept) in [
            (
                "7f20 default file=/home/bob/secret.so mapped=9000 N1=9000 kernelpagesize_kB=4",
                "7f20 default file=/ mapped=9000 N1=9000 kernelpagesize_kB=4\n",
            ),
            (
                "7f20 bind:1 file=/dev/shm/bob huge dirty=9000 N1=9000 kernelpagesize_kB=4",
                "7f20 bind:1 file=/dev/shm/ huge dirty=9000 N1=9000 kernelpagesize_kB=4\n",
            ),
        ] {
            assert_eq!(without_paths(line), kept);
            assert_eq!(mapping(kept), mapping(line));
        }
    }

    #[test]
    fn a_very_large_process_is_not_walked_unasked() {
        let mut root = Root::at("/nowhere");
        root.lay_over("proc/7/numa_maps", Some("7f20 default anon=1024 N0=1024 kernelpagesize_kB=4"));
        let mut residency = Residency::default();
        assert_eq!(residency.read(&root, 7, None, Some(1 << 30), 0), Ok([(0, 4 << 20)].into()));
        let error = residency.read(&root, 7, None, Some(40 << 30), 0).unwrap_err();
        assert_eq!(error, "40 GiB resident; numa_maps is not read unasked above 32 GiB");
    }
}
