//! What processes have registered with the devices: how many memory regions, and how large.
//!
//! The kernel tells no addresses of them. In a copied tree `captured/rdma-res-mr.json` holds what `rdma -j res show mr`
//! printed (rdma-resource(8)).

use super::{netlink, process_of};
use crate::root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const PATH: &str = "captured/rdma-res-mr.json";

/// Memory regions of one process on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// How many.
    pub regions: u32,
    /// Their bytes; memory that is registered twice counts twice.
    pub bytes: u64,
}

impl Registered {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            regions: self.regions.saturating_add(other.regions),
            bytes: self.bytes.saturating_add(other.bytes),
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
    let all = registered(&Root::live())?;
    let lines = all.into_iter().flat_map(|((pid, device), sum)| {
        let bytes = sum.bytes;
        // each has its share, so that the sum is right
        (0..u64::from(sum.regions)).map(move |at| {
            let count = u64::from(sum.regions);
            let mrlen = bytes / count + u64::from(at < bytes % count);
            Region { ifname: device.clone(), pid: Some(pid), mrlen: Some(mrlen) }
        })
    });
    let lines: Vec<String> = lines.filter_map(|region| serde_json::to_string(&region).ok()).collect();
    Ok(format!("[{}]\n", lines.join(",\n")))
}

fn captured(root: &Root) -> Result<RegisteredBy, String> {
    let bytes = root.bytes(PATH).map_err(|error| error.to_string())?;
    let regions: Vec<Region> = serde_json::from_slice(&bytes).map_err(|error| format!("{PATH}: {error}"))?;
    let mut all = RegisteredBy::new();
    for region in regions {
        if let Some(pid) = region.pid.filter(|pid| *pid != 0) {
            let sum: &mut Registered = all.entry((pid, region.ifname)).or_default();
            *sum = sum.plus(Registered { regions: 1, bytes: region.mrlen.unwrap_or(0) });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{Registered, registered};
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
        assert_eq!(told, [((42, "mlx5_0".to_owned()), Registered { regions: 2, bytes: 12_288 })].into());
        root.lay_over("captured/rdma-res-mr.json", None);
        assert!(registered(&root).unwrap_err().contains("rdma-res-mr.json"));
    }
}
