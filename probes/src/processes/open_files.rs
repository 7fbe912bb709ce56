//! Processes that hold a rail's verbs file open: what is left where RDMA netlink is not spoken.

use super::Users;
use crate::root::Root;
use std::collections::BTreeMap;

/// Walking every open file of every process is dear, so it is done this seldom.
const EVERY_NS: u64 = 10_000_000_000;

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) users: Users,
    /// Processes whose open files only root may see.
    pub(super) unreadable: u32,
}

/// The newest walk, kept until it is too old.
#[derive(Debug, Default)]
pub(super) struct Search {
    newest: Option<(u64, Found)>,
}

impl Search {
    /// Who holds one of `verbs_files` open, as of at most ten seconds ago.
    pub(super) fn users(
        &mut self,
        root: &Root,
        verbs_files: &BTreeMap<String, String>,
        now_ns: u64,
    ) -> Found {
        let is_new = |at: u64| now_ns.saturating_sub(at) < EVERY_NS;
        match &self.newest {
            Some((at, found)) if is_new(*at) => found.clone(),
            _ => {
                let found = walk(root, verbs_files);
                self.newest = Some((now_ns, found.clone()));
                found
            }
        }
    }
}

fn walk(root: &Root, verbs_files: &BTreeMap<String, String>) -> Found {
    let mut found = Found::default();
    if verbs_files.is_empty() {
        return found;
    }
    let proc = root.base().join("proc");
    for pid in root.names("proc").unwrap_or_default().iter().filter_map(|name| name.parse::<u32>().ok()) {
        let entries = match std::fs::read_dir(proc.join(pid.to_string()).join("fd")) {
            Ok(entries) => entries,
            Err(error) => {
                found.unreadable += u32::from(error.kind() == std::io::ErrorKind::PermissionDenied);
                continue;
            }
        };
        for entry in entries.flatten() {
            // the link's text is the path that was opened; it is never followed
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            if let Some(device) = target.to_str().and_then(|path| verbs_files.get(path)) {
                found.users.insert((pid, device.clone()), None);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::walk;
    use crate::root::Root;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_process_that_holds_a_verbs_file_is_found() {
        let dir = tempfile::tempdir().unwrap();
        for pid in ["41", "42", "self"] {
            std::fs::create_dir_all(dir.path().join("proc").join(pid).join("fd")).unwrap();
        }
        symlink("/dev/infiniband/uverbs0", dir.path().join("proc/42/fd/7")).unwrap();
        symlink("/dev/null", dir.path().join("proc/41/fd/0")).unwrap();
        let files = [("/dev/infiniband/uverbs0".to_owned(), "mlx5_0".to_owned())].into();
        let found = walk(&Root::at(dir.path()), &files);
        assert_eq!(found.users, [((42, "mlx5_0".to_owned()), None)].into());
        assert_eq!(found.unreadable, 0);
    }
}
