//! How much the last-level caches of the machine hold.

use crate::root::Root;
use std::collections::BTreeMap;

const CPUS: &str = "sys/devices/system/cpu";

/// Bytes of all last-level caches together; `None` when the kernel does not tell.
///
/// Source: Documentation/ABI/testing/sysfs-devices-system-cpu, `cache/index*`.
#[must_use]
pub fn last_level_bytes(root: &Root) -> Option<u64> {
    // caches of the highest level by the CPUs that share them
    let mut caches: BTreeMap<u32, BTreeMap<String, u64>> = BTreeMap::new();
    for cpu in root.names(CPUS).ok()?.into_iter().filter(|name| is_cpu(name)) {
        let folder = format!("{CPUS}/{cpu}/cache");
        for index in root.names(&folder).unwrap_or_default() {
            let file = |name: &str| root.text(format!("{folder}/{index}/{name}")).ok();
            let (Some(level), Some(size)) = (file("level"), file("size")) else { continue };
            let (Ok(level), Some(bytes)) = (level.trim().parse(), bytes(size.trim())) else { continue };
            if file("type").is_none_or(|kind| kind.trim() != "Instruction") {
                let shared = file("shared_cpu_list").unwrap_or_else(|| cpu.clone());
                caches.entry(level).or_default().insert(shared, bytes);
            }
        }
    }
    let (_, last) = caches.pop_last()?;
    Some(last.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)))
}

/// Bytes of a rail's working set that is cold: twice what all last-level caches hold, as another rail's data may lie
/// there too, and at least 256 MiB; 1 GiB where the caches are not known.
#[must_use]
pub fn cold_bytes(last_level_bytes: Option<u64>) -> u64 {
    last_level_bytes.map_or(1 << 30, |bytes| bytes.saturating_mul(2).max(256 << 20))
}

fn is_cpu(name: &str) -> bool {
    name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// `33792K`, as the kernel writes it.
fn bytes(size: &str) -> Option<u64> {
    let (number, unit) = match size.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (size.strip_suffix('M')?, 1 << 20),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::{cold_bytes, last_level_bytes};
    use crate::root::Root;
    use std::fs;

    #[test]
    fn each_last_level_cache_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, shared) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")] {
            for (index, level, kind, size, shared) in [
                (0, 1, "Data", "32K", cpu.to_string()),
                (2, 2, "Unified", "1024K", cpu.to_string()),
                (3, 3, "Unified", "32768K", shared.to_owned()),
            ] {
                let at = folder.path().join(format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}"));
                fs::create_dir_all(&at).unwrap();
                for (file, text) in [
                    ("level", level.to_string()),
                    ("type", kind.into()),
                    ("size", size.into()),
                    ("shared_cpu_list", shared),
                ] {
                    fs::write(at.join(file), format!("{text}\n")).unwrap();
                }
            }
        }
        assert_eq!(last_level_bytes(&Root::at(folder.path())), Some(64 << 20));
    }

    #[test]
    fn a_machine_that_does_not_tell_has_unknown_caches() {
        assert_eq!(last_level_bytes(&Root::at("/nowhere")), None);
    }

    #[test]
    fn cold_is_well_beyond_the_caches() {
        assert_eq!([None, Some(32 << 20), Some(768 << 20)].map(cold_bytes), [1 << 30, 256 << 20, 1536 << 20]);
    }
}
