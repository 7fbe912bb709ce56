//! Software of the RDMA stack: rdma-core, out-of-tree drivers.

use super::Probe;
use super::look::Look;
use crate::model::Topology;
use crate::root::{ReadError, Root};

const NAME: &str = "software";

/// Reads versions from files; no program is started.
pub(super) struct Software;

impl Probe for Software {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { host, gaps, .. } = topology;
        let mut look = Look::into(root, NAME, "host", "", gaps);
        host.rdma_core = rdma_core(root);
        if host.rdma_core.is_none() {
            look.gap("rdma-core: no libibverbs.so.1 in the library folders");
        }
        host.ofed = ofed_info(&look).or_else(|| module_version(&look));
        Ok(())
    }
}

/// Where distributions put shared libraries.
const LIBRARY_FOLDERS: [&str; 8] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib/powerpc64le-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "lib64",
    "usr/local/lib",
    "opt/mellanox/lib64",
];

/// `libibverbs.so.1` is a link to `libibverbs.so.1.14.44.0`, whose end is rdma-core's version.
///
/// Source: rdma-core, CMakeLists.txt, `rdma_library(... VERSION 1.14.${PACKAGE_VERSION})`.
fn rdma_core(root: &Root) -> Option<String> {
    LIBRARY_FOLDERS.iter().find_map(|folder| {
        let library = root.link_name(format!("{folder}/libibverbs.so.1")).ok()?;
        let numbers: Vec<&str> = library.strip_prefix("libibverbs.so.")?.split('.').collect();
        let [_, _, major, minor] = numbers.as_slice() else { return None };
        Some(format!("{major}.{minor}"))
    })
}

/// `ofed_info` is a script that carries the version in its text: `MLNX_OFED_LINUX-5.8-2.0.3.0 (OFED-5.8-2.0.3):`.
fn ofed_info(look: &Look<'_>) -> Option<String> {
    let script = look.maybe("usr/bin/ofed_info")?;
    let at = script.find("MLNX_OFED_LINUX-").or_else(|| script.find("OFED-internal-"))?;
    let version =
        script.get(at..)?.split(|c: char| c.is_whitespace() || matches!(c, ':' | '"' | '\'')).next()?;
    Some(version.to_owned())
}

/// Out-of-tree mlx5 drivers carry a version of their own; the kernel's own said `5.0-0` and before that
/// `3.0-1` until they dropped it (`DRIVER_VERSION` in `mlx5_core.h`).
fn module_version(look: &Look<'_>) -> Option<String> {
    let version = look.maybe("sys/module/mlx5_core/version")?;
    let in_tree = version == "5.0-0" || version == "3.0-1";
    (!in_tree).then(|| format!("mlx5_core {version}"))
}

#[cfg(test)]
mod tests {
    use super::Software;
    use crate::model::Host;
    use crate::survey::Probe;
    use crate::survey::testing::Tree;
    use std::os::unix::fs::symlink;

    fn host(tree: &Tree) -> Host {
        let mut topology = crate::model::Topology::default();
        Software.survey(&tree.root(), &mut topology).unwrap();
        topology.host
    }

    #[test]
    fn rdma_core_s_version_is_in_the_name_of_its_library() {
        let tree = Tree::new();
        tree.file("usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0", "");
        let link = tree.root().base().join("usr/lib/x86_64-linux-gnu/libibverbs.so.1");
        symlink("libibverbs.so.1.14.44.0", link).unwrap();
        assert_eq!(host(&tree).rdma_core.as_deref(), Some("44.0"));
        assert_eq!(host(&Tree::new()).rdma_core, None);
    }

    #[test]
    fn an_out_of_tree_stack_is_named_and_the_kernel_s_own_is_not() {
        let tree = Tree::new();
        assert_eq!(host(&tree).ofed, None);
        tree.file("sys/module/mlx5_core/version", "5.0-0\n");
        assert_eq!(host(&tree).ofed, None);
        tree.file("sys/module/mlx5_core/version", "23.10-0.5.5\n");
        assert_eq!(host(&tree).ofed.as_deref(), Some("mlx5_core 23.10-0.5.5"));
        tree.file(
            "usr/bin/ofed_info",
            "#!/bin/bash\ncat <<EOF\nMLNX_OFED_LINUX-5.8-2.0.3.0 (OFED-5.8-2.0.3):\n",
        );
        assert_eq!(host(&tree).ofed.as_deref(), Some("MLNX_OFED_LINUX-5.8-2.0.3.0"));
    }
}
