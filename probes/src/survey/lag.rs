//! What mlx5's firmware makes of a bond.

use super::Probe;
use crate::model::{Lag, Topology};
use crate::root::{ReadError, Root};

/// Reads `/sys/kernel/debug/mlx5/<function>/lag`; that it is unreadable is said by the probe of bonds.
///
/// Source: drivers/net/ethernet/mellanox/mlx5/core/lag/debugfs.c.
pub(super) struct Lags;

impl Probe for Lags {
    fn name(&self) -> &'static str {
        "lag"
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        for rail in &mut topology.rails {
            let (Some(bond), Some(path)) = (&mut rail.bond, &rail.pcie) else { continue };
            bond.lag = lag(root, &format!("sys/kernel/debug/mlx5/{}/lag", path.address));
        }
        Ok(())
    }
}

/// `None` without debugfs. Without an active LAG most files answer EINVAL, and only the state is known.
fn lag(root: &Root, folder: &str) -> Option<Lag> {
    let word = |file: &str| root.text(format!("{folder}/{file}")).ok().filter(|text| !text.is_empty());
    let lines = |file: &str| word(file).map(|text| text.lines().map(|line| line.trim().to_owned()).collect());
    let lag = Lag {
        state: word("state"),
        kind: word("type"),
        mapping: lines("mapping").unwrap_or_default(),
        members: lines("members").unwrap_or_default(),
        flags: lines("flags").unwrap_or_default(),
    };
    (lag != Lag::default()).then_some(lag)
}

#[cfg(test)]
mod tests {
    use super::Lags;
    use crate::model::{Bond, Lag, PciePath, Rail, Topology};
    use crate::survey::Probe;
    use crate::survey::testing::Tree;

    const FOLDER: &str = "sys/kernel/debug/mlx5/0000:41:00.0/lag";

    fn survey(tree: &Tree) -> Option<Lag> {
        let pcie = Some(PciePath { address: "0000:41:00.0".into(), ..PciePath::default() });
        let rail = Rail { bond: Some(Bond::default()), pcie, ..Rail::default() };
        let mut topology = Topology { rails: vec![rail], ..Topology::default() };
        Lags.survey(&tree.root(), &mut topology).unwrap();
        topology.rails.remove(0).bond?.lag
    }

    #[test]
    fn a_leg_that_took_over_the_other_s_queue_pairs_is_seen() {
        let tree = Tree::new();
        tree.files(
            FOLDER,
            &[
                ("state", "active\n"),
                ("type", "roce\n"),
                ("mapping", "1:1\n2:1\n"),
                ("members", "0000:41:00.0\n0000:41:00.1\n"),
                ("flags", "shared_fdb:off\nfdb_selection_mode:affinity\n"),
            ],
        );
        let lag = survey(&tree).unwrap();
        assert_eq!((lag.state.as_deref(), lag.kind.as_deref()), (Some("active"), Some("roce")));
        assert_eq!(lag.mapping, ["1:1", "2:1"]);
        assert_eq!(lag.members, ["0000:41:00.0", "0000:41:00.1"]);
        assert_eq!(lag.flags, ["shared_fdb:off", "fdb_selection_mode:affinity"]);
        assert_eq!(lag.idle_ports(), ["2"]);
    }

    #[test]
    fn a_bond_that_the_firmware_does_not_know_has_its_state_alone() {
        let tree = Tree::new();
        assert_eq!(survey(&tree), None);
        tree.file(&format!("{FOLDER}/state"), "disabled\n");
        let lag = survey(&tree).unwrap();
        assert_eq!((lag.state.as_deref(), lag.mapping.len()), (Some("disabled"), 0));
    }
}
