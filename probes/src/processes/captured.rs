//! `captured/rdma-res-qp.json`: what `rdma -j res show qp` printed when the tree was copied.

use super::Users;
use crate::root::Root;
use serde::Deserialize;

const PATH: &str = "captured/rdma-res-qp.json";

/// One queue pair; the kernel's own have no `pid`. See rdma-resource(8).
#[derive(Deserialize)]
struct QueuePair {
    ifname: String,
    pid: Option<u32>,
}

/// Who has queue pairs on which device.
///
/// # Errors
///
/// The file, and why it is no help.
pub(super) fn users(root: &Root) -> Result<Users, String> {
    let bytes = root.bytes(PATH).map_err(|error| error.to_string())?;
    let queue_pairs: Vec<QueuePair> =
        serde_json::from_slice(&bytes).map_err(|error| format!("{PATH}: {error}"))?;
    let mut users = Users::new();
    for qp in queue_pairs {
        if let Some(pid) = qp.pid.filter(|pid| *pid != 0) {
            let count = users.entry((pid, qp.ifname)).or_default();
            *count = Some(count.unwrap_or(0) + 1);
        }
    }
    Ok(users)
}
