//! The character devices through which programs reach the RDMA devices.

use super::Probe;
use super::look::Look;
use super::order::natural;
use crate::model::Topology;
use crate::root::{ReadError, Root};

const NAME: &str = "uverbs";
const CLASS: &str = "sys/class/infiniband_verbs";

/// Reads `/sys/class/infiniband_verbs` and looks for the device nodes.
///
/// Source: Documentation/ABI/stable/sysfs-class-infiniband, `infiniband_verbs/uverbsN`.
pub(super) struct Uverbs;

impl Probe for Uverbs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, gaps, .. } = topology;
        if rails.is_empty() {
            return Ok(());
        }
        let is_uverbs = |name: &String| name.starts_with("uverbs");
        let nodes = root.names("dev/infiniband").ok();
        let no_node = nodes.is_some_and(|nodes| !nodes.iter().any(is_uverbs));
        let mut names = match root.names(CLASS) {
            Ok(names) => names,
            Err(error) if error.is_missing() && no_node => Vec::new(),
            Err(error) => return Err(error),
        };
        names.retain(is_uverbs);
        names.sort_by(|a, b| natural(a, b));
        let devices: Vec<(String, String)> = names
            .into_iter()
            .filter_map(|name| Some((root.text(format!("{CLASS}/{name}/ibdev")).ok()?, name)))
            .collect();
        for rail in rails {
            let mut look = Look::into(root, NAME, &rail.device, "", gaps);
            let Some((_, name)) = devices.iter().find(|(device, _)| *device == rail.device) else {
                look.gap(format!("/{CLASS}: no uverbs device for it"));
                if devices.is_empty() && no_node {
                    rail.missing_uverbs = Some("/dev/infiniband/uverbs*".to_owned());
                }
                continue;
            };
            let node = format!("dev/infiniband/{name}");
            if root.exists(&node) {
                rail.uverbs = Some(format!("/{node}"));
            } else {
                // a copied tree without any /dev says nothing about the devices of its machine
                rail.missing_uverbs = root.exists("dev").then(|| format!("/{node}"));
                look.gap(format!("/{node}: no such file (a container that was not given the device?)"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Uverbs;
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    fn survey(tree: &Tree) -> Topology {
        let mut topology = Topology::default();
        Rails.survey(&tree.root(), &mut topology).unwrap();
        Uverbs.survey(&tree.root(), &mut topology).unwrap();
        topology
    }

    #[test]
    fn where_neither_the_kernel_nor_dev_has_any_node_one_is_missing() {
        let tree = Tree::with_nic();
        tree.file("dev/infiniband/rdma_cm", "");
        assert_eq!(survey(&tree).rails[0].missing_uverbs.as_deref(), Some("/dev/infiniband/uverbs*"));
        tree.file("sys/class/infiniband_verbs/abi_version", "6\n");
        assert_eq!(survey(&tree).rails[0].missing_uverbs.as_deref(), Some("/dev/infiniband/uverbs*"));
        tree.file("dev/infiniband/uverbs0", "");
        assert_eq!(survey(&tree).rails[0].missing_uverbs, None);
    }

    #[test]
    fn a_node_that_is_not_there_is_a_gap() {
        let tree = Tree::with_nic();
        tree.file("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
        let topology = survey(&tree);
        assert_eq!(topology.rails[0].uverbs, None);
        assert!(topology.gaps[0].reason.starts_with("/dev/infiniband/uverbs0: no such file"));
        assert_eq!(topology.rails[0].missing_uverbs, None);
        tree.file("dev/infiniband/rdma_cm", "");
        assert_eq!(survey(&tree).rails[0].missing_uverbs.as_deref(), Some("/dev/infiniband/uverbs0"));
        tree.file("dev/infiniband/uverbs0", "");
        assert_eq!(survey(&tree).rails[0].uverbs.as_deref(), Some("/dev/infiniband/uverbs0"));
    }
}
