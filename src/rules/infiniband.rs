//! `no-sm`, `vf-no-guid`: InfiniBand ports that nobody has set up.

use super::wording::{ports, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{LinkLayer, Rail, Topology};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["no-sm", "vf-no-guid"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let mut unset = Vec::new();
    let mut nameless = Vec::new();
    for (id, rail) in
        topology.rails_with_id().filter(|(_, rail)| rail.link_layer == Some(LinkLayer::InfiniBand))
    {
        if lacks_guid(rail) {
            nameless.push(rail);
        } else if timeline.local().last_state(id, rail) == Some("INIT") {
            unset.push(rail);
        }
    }
    [no_sm(&unset, &topology.rails), vf_no_guid(&nameless, &topology.rails)].into_iter().flatten().collect()
}

/// The link is up, and no subnet manager has given the port a LID and made it ACTIVE (IBTA 1.4, 14.3).
fn no_sm(unset: &[&Rail], all: &[Rail]) -> Option<Finding> {
    let first = unset.first()?;
    let message = format!(
        "{}: the link is up and the port stays in INIT: no subnet manager has set it up, so it carries nothing",
        ports(unset.iter().copied(), all),
    );
    let omni_path = first.driver.as_deref() == Some("hfi1");
    let advice = if omni_path {
        "see that the fabric manager runs (`systemctl status opafm` on its node) and that this switch is in its \
         fabric; look with `opainfo`"
            .to_owned()
    } else {
        format!(
            "see that a subnet manager runs for this subnet (OpenSM, UFM or the switch's own) and reaches this port: \
             `ibstat {0}`, `sminfo -C {0} -P {1}`",
            first.device, first.port
        )
    };
    Some(
        Finding::on_ports("no-sm", Severity::Error, unset.iter().copied(), message)
            .with("state", "INIT")
            .with("sm_lid", first.sm_lid)
            .advise(advice),
    )
}

/// A virtual function whose node GUID reads as zero, or whose port has none (GID entry 0 is its prefix alone).
pub(super) fn lacks_guid(rail: &Rail) -> bool {
    let no_port_guid = rail.gid_table_read && rail.gids.iter().all(|gid| gid.index != 0);
    let virtual_port = rail.is_vf == Some(true) && rail.link_layer == Some(LinkLayer::InfiniBand);
    virtual_port && (rail.has_guid == Some(false) || no_port_guid)
}

/// The host must give a virtual function its GUIDs; until then the subnet manager leaves its port down.
///
/// Source: Documentation/ABI/testing/sysfs-class-infiniband for `sriov`; ip-link(8), `vf NUM node_guid`.
fn vf_no_guid(nameless: &[&Rail], all: &[Rail]) -> Option<Finding> {
    let message = format!(
        "{}: InfiniBand virtual {} without a GUID: the subnet manager will not bring {} up",
        ports(nameless.iter().copied(), all),
        verb(nameless.len(), "function", "functions"),
        verb(nameless.len(), "it", "them"),
    );
    let address = nameless.first()?.pcie.as_ref().map_or("ADDRESS", |path| path.address.as_str());
    Some(
        Finding::on_ports("vf-no-guid", Severity::Error, nameless.iter().copied(), message)
            .with("node_guid_set", nameless[0].has_guid)
            .advise(format!(
                "on the host: `ip link set dev IB_NETDEV vf N node_guid GUID` and the same with `port_guid` \
                 (unique ones), then bind it anew: `echo {address} > /sys/bus/pci/drivers/mlx5_core/unbind`, and \
                 the same into `bind`"
            )),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::{Gid, LinkLayer, Rail};

    fn port(device: &str, state: &str) -> Rail {
        Rail { link_layer: Some(LinkLayer::InfiniBand), state: Some(state.into()), ..rail(device) }
    }

    fn vf(state: &str, has_guid: Option<bool>) -> Rail {
        Rail { is_vf: Some(true), has_guid, ..port("mlx5_4", state) }
    }

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn a_port_that_stays_in_init_has_no_subnet_manager() {
        let found = findings(vec![port("mlx5_0", "INIT"), port("mlx5_1", "ACTIVE")]);
        assert_eq!(named(&found), ["no-sm mlx5_0"]);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].advice.contains("`ibstat mlx5_0`"), "{}", found[0].advice);
    }

    #[test]
    fn ports_that_are_down_and_ethernet_ports_in_init_are_other_matters() {
        let ethernet = Rail { link_layer: Some(LinkLayer::Ethernet), ..port("mlx5_1", "INIT") };
        assert_eq!(named(&findings(vec![port("mlx5_0", "DOWN"), ethernet])), Vec::<String>::new());
    }

    #[test]
    fn a_virtual_function_without_a_guid_is_an_error_and_not_the_subnet_manager_s() {
        for state in ["DOWN", "INIT"] {
            assert_eq!(named(&findings(vec![vf(state, Some(false))])), ["vf-no-guid mlx5_4"]);
        }
        let no_port_guid = Rail { gid_table_read: true, ..vf("DOWN", Some(true)) };
        assert_eq!(named(&findings(vec![no_port_guid])), ["vf-no-guid mlx5_4"]);
    }

    #[test]
    fn guids_that_are_set_or_not_known_and_physical_functions_are_silent() {
        let gid = Gid { index: 0, address: "fe80::aaaa:0:0:1".parse().unwrap(), kind: None, netdev: None };
        for silent in [
            vf("DOWN", None),
            Rail { gid_table_read: true, gids: vec![gid], ..vf("ACTIVE", Some(true)) },
            Rail { is_vf: Some(false), ..vf("DOWN", Some(false)) },
            Rail { is_vf: None, ..vf("DOWN", Some(false)) },
            Rail { link_layer: Some(LinkLayer::Ethernet), ..vf("ACTIVE", Some(false)) },
        ] {
            assert_eq!(named(&findings(vec![silent])), Vec::<String>::new());
        }
    }
}
