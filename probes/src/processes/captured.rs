//! `captured/rdma-res-qp.json`: what `rdma -j res show qp` printed when the tree was copied.

use super::Users;
use crate::root::Root;
use serde::{Deserialize, Serialize};

const PATH: &str = "captured/rdma-res-qp.json";

/// One queue pair; the kernel's own have no `pid`. See rdma-resource(8).
#[derive(Serialize, Deserialize)]
struct QueuePair {
    ifname: String,
    pid: Option<u32>,
}

/// The text of the file for these users: one entry per queue pair.
pub(super) fn text(users: &Users) -> String {
    let entries = users.iter().flat_map(|((pid, device), count)| {
        let one = || QueuePair { ifname: device.clone(), pid: Some(*pid) };
        std::iter::repeat_with(one).take(count.unwrap_or(1) as usize)
    });
    let lines: Vec<String> = entries.filter_map(|qp| serde_json::to_string(&qp).ok()).collect();
    format!("[{}]\n", lines.join(",\n"))
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

#[cfg(test)]
mod tests {
    use super::{Users, text, users};
    use crate::root::Root;

    #[test]
    fn what_is_written_reads_back() {
        let told: Users = [((42, "mlx5_0".to_owned()), Some(3)), ((7, "mlx5_1".to_owned()), Some(1))].into();
        let mut root = Root::at("/nowhere");
        root.lay_over("captured/rdma-res-qp.json", Some(&text(&told)));
        assert_eq!(users(&root), Ok(told));
        root.lay_over("captured/rdma-res-qp.json", Some(&text(&Users::new())));
        assert_eq!(users(&root), Ok(Users::new()));
    }
}
