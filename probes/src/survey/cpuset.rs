//! The CPUs and memory nodes that this process's cgroup may use.

use super::Probe;
use super::look::Look;
use crate::model::{CpuSet, Topology};
use crate::root::{ReadError, Root};

const NAME: &str = "cpuset";
/// Longest path of the kernel (`PATH_MAX`, limits.h); what is longer is none.
const MOST_PATH_BYTES: usize = 4096;
/// Folders that are looked into at most; a real path has a dozen.
const MOST_FOLDERS: usize = 512;

/// Reads the effective cpuset of this process's cgroup, version 2 or 1.
///
/// A plain CPU affinity is no cpuset and is not looked at. Sources: cgroups(7), cpuset(7),
/// Documentation/admin-guide/cgroup-v2.rst ("Cpuset Interface Files").
pub(super) struct Cpuset;

impl Probe for Cpuset {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { host, gaps, .. } = topology;
        let folders = folders(root);
        let read = |what: &str| {
            // version 2, version 1, and version 1 mounted as the old cpuset file system
            let files = [
                format!("cpuset.{what}.effective"),
                format!("cpuset.effective_{what}"),
                format!("cpuset.{what}"),
                what.to_owned(),
            ];
            folders.iter().find_map(|folder| {
                let text = files.iter().find_map(|file| root.text(format!("{folder}/{file}")).ok())?;
                text.parse::<CpuSet>().ok().filter(|set| !set.is_empty())
            })
        };
        host.cpuset_cpus = read("cpus");
        host.cpuset_mems = read("mems").or_else(|| mems_allowed(root));
        let mut look = Look::into(root, NAME, "host", "", gaps);
        let where_looked =
            || folders.first().map_or_else(|| "/sys/fs/cgroup".to_owned(), |f| format!("/{f}"));
        if host.cpuset_cpus.is_none() {
            look.gap(format!("{}: no effective CPU list readable", where_looked()));
        }
        if host.cpuset_mems.is_none() {
            look.gap(format!("{}: no effective memory node list readable", where_looked()));
        }
        Ok(())
    }
}

/// Folders that may hold the files, the process's own cgroup first, then its parents: where a cgroup has
/// no cpuset controller, its parent's holds.
fn folders(root: &Root) -> Vec<String> {
    let own = Own::of(root);
    let mounts = root.text("proc/mounts").unwrap_or_default();
    let mut folders = Vec::new();
    for mount in mounts.lines() {
        let words: Vec<&str> = mount.split(' ').collect();
        let [_, at, kind, options, ..] = words.as_slice() else { continue };
        let cpuset = options.split(',').any(|option| option == "cpuset");
        match *kind {
            "cgroup" if cpuset => folders.extend(upwards(at, &own.v1)),
            "cpuset" => folders.extend(upwards(at, &own.v1)),
            "cgroup2" => folders.extend(upwards(at, &own.v2)),
            _ => {}
        }
        if folders.len() > MOST_FOLDERS {
            break;
        }
    }
    if folders.is_empty() {
        folders.extend(upwards("sys/fs/cgroup/cpuset", &own.v1));
        folders.extend(upwards("sys/fs/cgroup", &own.v2));
    }
    folders.truncate(MOST_FOLDERS);
    folders
}

/// This process's cgroup in the cpuset hierarchy of version 1, and in version 2.
struct Own {
    v1: String,
    v2: String,
}

impl Own {
    /// Reads `/proc/self/cgroup`, in old trees `/proc/self/cpuset`.
    fn of(root: &Root) -> Self {
        let (mut v1, mut v2) = (None, None);
        for line in root.text("proc/self/cgroup").unwrap_or_default().lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(hierarchy), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if hierarchy == "0" && controllers.is_empty() {
                v2 = Some(path.to_owned());
            } else if controllers.split(',').any(|controller| controller == "cpuset") {
                v1 = Some(path.to_owned());
            }
        }
        let cpuset = || root.text("proc/self/cpuset").unwrap_or_default();
        Self { v1: v1.unwrap_or_else(cpuset), v2: v2.unwrap_or_else(cpuset) }
    }
}

/// `base/a/b`, `base/a`, `base` for `/a/b`.
fn upwards(base: &str, path: &str) -> Vec<String> {
    let base = base.trim_start_matches('/');
    let mut folders = Vec::new();
    let mut at = if path.len() > MOST_PATH_BYTES { "" } else { path.trim_matches('/') };
    while !at.is_empty() {
        folders.push(format!("{base}/{at}"));
        at = at.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    folders.push(base.to_owned());
    folders
}

/// What the kernel lets this process take memory from, which only cpusets narrow (proc(5), `Mems_allowed`).
fn mems_allowed(root: &Root) -> Option<CpuSet> {
    let status = root.text("proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:"))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Cpuset;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::testing::Tree;

    fn sets(tree: &Tree) -> (Option<String>, Option<String>) {
        let mut topology = Topology::default();
        Cpuset.survey(&tree.root(), &mut topology).unwrap();
        let host = topology.host;
        (host.cpuset_cpus.map(String::from), host.cpuset_mems.map(String::from))
    }

    fn some(cpus: &str, mems: &str) -> (Option<String>, Option<String>) {
        (Some(cpus.to_owned()), Some(mems.to_owned()))
    }

    #[test]
    fn the_nearest_cgroup_with_a_cpuset_holds() {
        let tree = Tree::new();
        tree.file("proc/self/cgroup", "0::/pods/a/b\n")
            .files(
                "sys/fs/cgroup/pods",
                &[("cpuset.cpus.effective", "0-7\n"), ("cpuset.mems.effective", "0\n")],
            )
            .files(
                "sys/fs/cgroup",
                &[("cpuset.cpus.effective", "0-15\n"), ("cpuset.mems.effective", "0-1\n")],
            );
        assert_eq!(sets(&tree), some("0-7", "0"));
        // a container's own root stands at the top of what it sees
        tree.remove("proc/self/cgroup");
        assert_eq!(sets(&tree), some("0-15", "0-1"));
    }

    #[test]
    fn version_1_has_other_names() {
        let tree = Tree::new();
        tree.file("proc/self/cgroup", "9:cpu,cpuacct:/x\n4:cpuset:/pod\n").files(
            "sys/fs/cgroup/cpuset/pod",
            &[("cpuset.effective_cpus", "2-3\n"), ("cpuset.effective_mems", "1\n")],
        );
        assert_eq!(sets(&tree), some("2-3", "1"));
    }

    #[test]
    fn the_hierarchies_are_found_where_they_are_mounted() {
        let tree = Tree::new();
        tree.file(
            "proc/mounts",
            "none /cgroup/memory cgroup rw,memory 0 0\nnone /cgroup/unified cgroup2 rw 0 0\n",
        )
        .file("proc/self/cpuset", "/job/step\n")
        .files("cgroup/unified/job", &[("cpuset.cpus.effective", "4-7\n"), ("cpuset.mems.effective", "1\n")]);
        assert_eq!(sets(&tree), some("4-7", "1"));
        let tree = Tree::new();
        tree.file("proc/mounts", "none /dev/cpuset cgroup rw,relatime,cpuset,noprefix 0 0\n")
            .file("proc/self/cpuset", "/dummy\n")
            .files("dev/cpuset/dummy", &[("cpus", "2-6\n"), ("mems", "1-3\n")]);
        assert_eq!(sets(&tree), some("2-6", "1-3"));
    }

    #[test]
    fn without_a_readable_cgroup_the_allowed_nodes_stand_in_but_an_affinity_does_not() {
        let tree = Tree::new();
        tree.file("proc/self/status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n");
        assert_eq!(sets(&tree), (None, Some("0".to_owned())));
    }

    #[test]
    fn a_path_that_no_kernel_has_is_none_and_the_root_s_cpuset_holds() {
        let tree = Tree::new();
        tree.file("proc/self/cpuset", "/a".repeat(200_000))
            .files("sys/fs/cgroup", &[("cpuset.cpus.effective", "0-3\n"), ("cpuset.mems.effective", "0\n")]);
        assert_eq!(sets(&tree), some("0-3", "0"));
        tree.file("proc/mounts", "none /x cgroup2 rw 0 0\n".repeat(2000))
            .file("proc/self/cpuset", "/a".repeat(2000));
        assert_eq!(sets(&tree), (None, None));
    }
}
