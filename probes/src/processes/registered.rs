//! What processes have registered with the devices: how many memory regions, and how large.
//!
//! The kernel tells no addresses of them. In a copied tree `captured/rdma-res-mr.json` holds what `rdma -j res show mr`
//! printed (rdma-resource(8)).

use super::numa_maps::{LARGE_BYTES, rest_ns};
use super::{netlink, process_of};
use crate::root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

const PATH: &str = "captured/rdma-res-mr.json";

/// Memory regions of one process on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// How many.
    pub regions: u32,
    /// Their bytes; memory that is registered twice counts twice.
    pub bytes: u64,
    /// How many of them are of at least 2 MiB.
    pub large_regions: u32,
    /// The bytes of these.
    pub large_bytes: u64,
}

impl Registered {
    /// One region of this length.
    #[must_use]
    pub fn one(bytes: u64) -> Self {
        let is_large = bytes >= LARGE_BYTES;
        Self {
            regions: 1,
            bytes,
            large_regions: u32::from(is_large),
            large_bytes: if is_large { bytes } else { 0 },
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            regions: self.regions.saturating_add(other.regions),
            bytes: self.bytes.saturating_add(other.bytes),
            large_regions: self.large_regions.saturating_add(other.large_regions),
            large_bytes: self.large_bytes.saturating_add(other.large_bytes),
        }
    }
}

/// By process and device.
pub type RegisteredBy = BTreeMap<(u32, String), Registered>;

/// One region; the kernel's own have no `pid`.
#[derive(Serialize, Deserialize)]
struct Region {
    ifname: String,
    pid: Option<u32>,
    mrlen: Option<u64>,
}

/// What each process has registered with each device.
///
/// # Errors
///
/// Why that is not known: RDMA netlink is of no use here, or the copied tree does not have it.
pub fn registered(root: &Root) -> Result<RegisteredBy, String> {
    let told =
        if root.is_live() { netlink::regions().map_err(|error| error.to_string())? } else { captured(root)? };
    // the kernel names the thread that registered it
    let mut all = RegisteredBy::new();
    for ((thread, device), more) in told {
        let sum = all.entry((process_of(root, thread), device)).or_default();
        *sum = sum.plus(more);
    }
    Ok(all)
}

/// The same in the form of `rdma -j res show mr` as far as it is read here.
///
/// # Errors
///
/// RDMA netlink is of no use here, and why.
pub fn memory_regions_json() -> Result<String, String> {
    Ok(text(registered(&Root::live())?))
}

/// The regions again, one a line, as far as they are known.
fn text(all: RegisteredBy) -> String {
    let lines = all.into_iter().flat_map(|((pid, device), sum)| {
        let large = (u64::from(sum.large_regions), sum.large_bytes);
        let small = (u64::from(sum.regions) - large.0, sum.bytes - large.1);
        // each has its share of those that are large as it is, or small, so that both sums are right
        [large, small].into_iter().flat_map(move |(count, bytes)| {
            let device = device.clone();
            (0..count).map(move |at| {
                let mrlen = bytes / count + u64::from(at < bytes % count);
                Region { ifname: device.clone(), pid: Some(pid), mrlen: Some(mrlen) }
            })
        })
    });
    let lines: Vec<String> = lines.filter_map(|region| serde_json::to_string(&region).ok()).collect();
    format!("[{}]\n", lines.join(",\n"))
}

fn captured(root: &Root) -> Result<RegisteredBy, String> {
    let bytes = root.bytes(PATH).map_err(|error| error.to_string())?;
    let regions: Vec<Region> = serde_json::from_slice(&bytes).map_err(|error| format!("{PATH}: {error}"))?;
    let mut all = RegisteredBy::new();
    for region in regions {
        if let Some(pid) = region.pid.filter(|pid| *pid != 0) {
            let sum: &mut Registered = all.entry((pid, region.ifname)).or_default();
            *sum = sum.plus(Registered::one(region.mrlen.unwrap_or(0)));
        }
    }
    Ok(all)
}

/// What is registered, kept as long as asking again would cost the kernel too much.
#[derive(Debug, Default)]
pub(super) struct Watched {
    told: Option<RegisteredBy>,
    next_ns: u64,
}

impl Watched {
    /// Bytes in large regions of a process on a device; `None` where the kernel does not tell.
    pub(super) fn large_bytes(&self, pid: u32, device: &str) -> Option<u64> {
        let told = self.told.as_ref()?;
        Some(told.get(&(pid, device.to_owned())).map_or(0, |registered| registered.large_bytes))
    }

    /// The same of all devices together.
    pub(super) fn all_large_bytes(&self, pid: u32) -> Option<u64> {
        let of_it = self.told.as_ref()?.iter().filter(|((owner, _), _)| *owner == pid);
        Some(of_it.fold(0, |sum: u64, (_, registered)| sum.saturating_add(registered.large_bytes)))
    }

    /// Asks again where it is time to.
    pub(super) fn look(&mut self, root: &Root, now_ns: u64) {
        if now_ns < self.next_ns {
            return;
        }
        let begin = Instant::now();
        self.told = registered(root).ok();
        self.next_ns = now_ns.saturating_add(rest_ns(root, begin.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::{Registered, registered, text};
    use crate::root::Root;

    #[test]
    fn regions_of_all_threads_of_a_process_are_its_own() {
        let mut root = Root::at("/nowhere");
        root.lay_over("proc/43/status", Some("Name:\tx\nTgid:\t42\n"));
        root.lay_over(
            "captured/rdma-res-mr.json",
            Some(
                r#"[{"ifname":"mlx5_0","mrn":1,"mrlen":4096,"pid":42,"comm":"x"},
                    {"ifname":"mlx5_0","mrn":2,"mrlen":8192,"pid":43,"comm":"x"},
                    {"ifname":"mlx5_0","mrn":3,"mrlen":512,"comm":"[ib_core]"}]"#,
            ),
        );
        let told = registered(&root).unwrap();
        let both = Registered { regions: 2, bytes: 12_288, ..Registered::default() };
        assert_eq!(told, [((42, "mlx5_0".to_owned()), both)].into());
        root.lay_over("captured/rdma-res-mr.json", None);
        assert!(registered(&root).unwrap_err().contains("rdma-res-mr.json"));
    }

    #[test]
    fn what_was_captured_is_read_back_with_its_large_regions() {
        let key = (42, "mlx5_0".to_owned());
        let mut sum = Registered::default();
        for bytes in [4096, 12_289, 64 << 20, 3 << 20] {
            sum = sum.plus(Registered::one(bytes));
        }
        assert_eq!((sum.regions, sum.large_regions, sum.large_bytes), (4, 2, 67 << 20));
        let mut root = Root::at("/nowhere");
        root.lay_over("captured/rdma-res-mr.json", Some(&text([(key.clone(), sum)].into())));
        assert_eq!(registered(&root).unwrap(), [(key, sum)].into());
    }
}
