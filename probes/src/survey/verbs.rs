//! What only the verbs library tells of a live device: path MTU in use, READ depth.

use super::Probe;
use super::look::Look;
use crate::ffi::verbs;
use crate::model::Topology;
use crate::root::{ReadError, Root};

const NAME: &str = "verbs";

/// Opens every device of this machine once, asks, and closes it.
pub(super) struct Verbs;

impl Probe for Verbs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        if !root.is_live() {
            return Ok(());
        }
        let Topology { rails, gaps, .. } = topology;
        // a machine without rails need not have the library
        if rails.is_empty() {
            return Ok(());
        }
        let devices = verbs::Devices::list();
        for rail in rails {
            let facts = devices.as_ref().map_err(ToString::to_string).and_then(|devices| {
                verbs::facts(devices, &rail.device, rail.port).map_err(|error| error.to_string())
            });
            match facts {
                Ok(facts) => {
                    rail.path_mtu = facts.port.active_mtu;
                    rail.max_path_mtu = facts.port.max_mtu;
                    let depth = facts.limits.max_initiator_depth;
                    rail.max_read_depth = (depth > 0).then_some(depth);
                }
                Err(error) => {
                    let mut look = Look::into(root, NAME, &rail.device, "", gaps);
                    look.gap(format!("READ depth: {error}"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Verbs;
    use crate::survey::Probe;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    #[test]
    fn the_library_of_this_machine_is_not_asked_about_a_copied_tree() {
        let tree = Tree::with_nic();
        let mut topology = crate::model::Topology::default();
        Rails.survey(&tree.root(), &mut topology).unwrap();
        Verbs.survey(&tree.root(), &mut topology).unwrap();
        assert_eq!((topology.rails[0].path_mtu, topology.gaps), (None, vec![]));
    }
}
