//! `gid-none`, `gid-link-local`, `gid-index-differs`: the address that a RoCE queue pair must name by index.
//!
//! Only ports that are ACTIVE and speak RoCE are judged: iWARP and EFA address their peers otherwise, and
//! InfiniBand always has index 0. Source: InfiniBand Architecture Specification, annexes A16 (RoCE) and A17
//! (RoCE v2); Documentation/ABI/stable/sysfs-class-infiniband, `gids`, `gid_attrs`.

use super::wording::{called, list, ports, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Gid, GidType, LinkLayer, Rail, Topology};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["gid-none", "gid-link-local", "gid-index-differs"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let rails: Vec<&Rail> = topology
        .rails_with_id()
        .filter(|(id, rail)| timeline.local().last_state(*id, rail) == Some("ACTIVE") && speaks_roce(rail))
        .map(|(_, rail)| rail)
        .collect();
    let all = &topology.rails;
    [none(&rails, all), link_local(&rails, all), index_differs(&rails, all)].into_iter().flatten().collect()
}

/// Drivers of iWARP and of protocols of their own, for ports whose node type is not told.
const NO_ROCE: [&str; 6] = ["efa", "cxgb4", "iw_cxgb4", "i40e", "siw", "erdma"];

/// Whether queue pairs of the port need a GID: RoCE, with a node type of `CA` or none told.
pub(super) fn speaks_roce(rail: &Rail) -> bool {
    rail.link_layer == Some(LinkLayer::Ethernet)
        && rail.node_type.as_deref().is_none_or(|kind| kind == "CA")
        && rail.driver.as_deref().is_none_or(|driver| !NO_ROCE.contains(&driver))
}

/// The GID table was read and holds no address at all.
fn none(rails: &[&Rail], all: &[Rail]) -> Option<Finding> {
    let empty: Vec<&Rail> =
        rails.iter().copied().filter(|rail| rail.gid_table_read && rail.gids.is_empty()).collect();
    let first = empty.first()?;
    let message = format!(
        "{}: ACTIVE, Ethernet, and no usable GID in this network namespace: no RoCE queue pair can be connected",
        ports(empty.iter().copied(), all),
    );
    let netdevs: Map<String, Value> =
        empty.iter().map(|rail| (called(rail, all), rail.netdev.clone().into())).collect();
    let advice = match &first.netdev {
        Some(netdev) => format!(
            "the port is fine, its netdev has no address: `ip link set dev {netdev} up; ip addr add \
             ADDRESS/PREFIX dev {netdev}`, then look again with `railscope probe`"
        ),
        None => "the port is fine; this namespace has no netdev of the card: attach the container or pod to the \
                 RDMA network (a second interface: Multus with macvlan, host-device or SR-IOV), or run it in the \
                 host's network; `rdma system` tells whether namespaces are shared"
            .to_owned(),
    };
    Some(
        Finding::on_ports("gid-none", Severity::Error, empty, message)
            .with("gids", 0)
            .with("netdevs", netdevs)
            .advise(advice),
    )
}

/// All version 2 entries are confined to one link (`fe80::/10`, 169.254.0.0/16).
fn link_local(rails: &[&Rail], all: &[Rail]) -> Option<Finding> {
    let confined: Vec<&Rail> = rails
        .iter()
        .copied()
        .filter(|rail| {
            let mut v2 = rail.gids.iter().filter(|gid| gid.kind == Some(GidType::RoceV2)).peekable();
            let told = rail.gids.iter().all(|gid| gid.kind.is_some());
            told && v2.peek().is_some() && v2.all(is_link_local)
        })
        .collect();
    let netdev = confined.first()?.netdev.as_deref().unwrap_or("NETDEV");
    let message = format!(
        "{}: only link-local RoCE v2 GIDs (fe80::/10 or 169.254.0.0/16): {} only peers on the same link, and \
         most programs pass these entries over",
        ports(confined.iter().copied(), all),
        verb(confined.len(), "reaches", "reach"),
    );
    let indices: Map<String, Value> = confined
        .iter()
        .map(|rail| (called(rail, all), rail.gid.as_ref().map(|choice| choice.index).into()))
        .collect();
    Some(
        Finding::on_ports("gid-link-local", Severity::Warning, confined.iter().copied(), message)
            .with("recommended_index", indices)
            .advise(format!(
                "give the netdev a routable address: `ip addr add ADDRESS/PREFIX dev {netdev}`; a new RoCE v2 \
                 entry appears by itself"
            )),
    )
}

fn is_link_local(gid: &Gid) -> bool {
    match gid.address.to_ipv4_mapped() {
        Some(ipv4) => ipv4.is_link_local(),
        None => gid.address.is_unicast_link_local(),
    }
}

/// The recommended index is not the same on all rails, or the commonest one is empty on a rail: a fixed index
/// (`NCCL_IB_GID_INDEX`, `ib_read_bw -x`) then fails there. Software devices beside cards are left out, since
/// their tables are filled otherwise.
fn index_differs(rails: &[&Rail], all: &[Rail]) -> Option<Finding> {
    let software = |rail: &Rail| rail.driver.as_deref() == Some("rdma_rxe");
    let any_card = rails.iter().any(|rail| !software(rail));
    // a table that could not be read, or without versions, tells nothing
    let rails: Vec<&Rail> = rails
        .iter()
        .copied()
        .filter(|rail| rail.gid_table_read && !(any_card && software(rail)))
        .filter(|rail| rail.gids.iter().all(|gid| gid.kind.is_some()))
        .collect();
    let mut by_index: BTreeMap<u32, Vec<&Rail>> = BTreeMap::new();
    for rail in &rails {
        if let Some(choice) = &rail.gid {
            by_index.entry(choice.index).or_default().push(rail);
        }
    }
    let most = by_index.values().map(Vec::len).max()?;
    let mut commonest = by_index.iter().filter(|(_, rails)| rails.len() == most).map(|(index, _)| *index);
    // of several equally common ones none is the node's
    let (usual, tie) = (commonest.next()?, commonest.next().is_some());
    let others: Vec<&Rail> = rails
        .iter()
        .copied()
        .filter(|rail| tie || rail.gid.as_ref().is_none_or(|choice| choice.index != usual))
        .collect();
    if others.is_empty() || rails.len() < 2 {
        return None;
    }
    let each = list(others.iter().map(|rail| {
        let best = match &rail.gid {
            Some(choice) => format!("{} has {}", called(rail, all), choice.index),
            None => format!("{} has none", called(rail, all)),
        };
        let there = rail.gids.iter().find(|gid| gid.index == usual);
        let usual_there = match there {
            _ if tie => String::new(),
            None => format!(" (its {usual} is empty)"),
            Some(gid) => format!(" (its {usual} is {})", described(gid)),
        };
        format!("{best}{usual_there}")
    }));
    let message = if tie {
        format!("the recommended GID index differs between rails: {each}; no fixed index fits all")
    } else {
        format!(
            "GID index {usual} is recommended on {most} of {} rails, and not on all: {each}; a fixed index fails \
             there",
            rails.len()
        )
    };
    let indices: Map<String, Value> = rails
        .iter()
        .map(|rail| (called(rail, all), rail.gid.as_ref().map(|choice| choice.index).into()))
        .collect();
    Some(
        Finding::on_ports("gid-index-differs", Severity::Warning, others, message)
            .with("recommended_index", indices)
            .with("commonest_index", (!tie).then_some(usual))
            .with("rails_with_it", most)
            .advise(
                "leave NCCL_IB_GID_INDEX and `-x` unset, so that each rail's index is looked up; or take the \
                 addresses off and add them again in the same order on every netdev (an index moves when an \
                 address is added anew)",
            ),
    )
}

fn described(gid: &Gid) -> String {
    let version = if gid.kind == Some(GidType::RoceV2) { "RoCE v2" } else { "RoCE v1" };
    match gid.address.to_ipv4_mapped() {
        Some(ipv4) => format!("{version}, {ipv4}"),
        None => format!("{version}, {}", gid.address),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::{Gid, GidChoice, GidType, LinkLayer, Rail};

    /// A rail with version 2 entries at these indices, the last of them recommended.
    fn with(device: &str, entries: &[(u32, &str)]) -> Rail {
        let gid = |(index, address): &(u32, &str)| Gid {
            index: *index,
            address: address.parse().unwrap(),
            kind: Some(GidType::RoceV2),
            netdev: Some("eth0".into()),
        };
        Rail {
            node_type: Some("CA".into()),
            gid_table_read: true,
            gids: entries.iter().map(gid).collect(),
            gid: entries.last().map(|(index, _)| GidChoice { index: *index, reason: String::new() }),
            ..rail(device)
        }
    }

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn an_active_roce_port_without_any_gid_is_an_error() {
        let found = findings(vec![with("mlx5_0", &[]), with("mlx5_1", &[])]);
        assert_eq!(named(&found), ["gid-none mlx5_0,mlx5_1"]);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].advice.contains("attach the container or pod"), "{}", found[0].advice);
        let named_netdev = Rail { netdev: Some("eth0".into()), ..with("mlx5_0", &[]) };
        assert!(findings(vec![named_netdev])[0].advice.contains("ip addr add ADDRESS/PREFIX dev eth0"));
    }

    #[test]
    fn ports_that_need_no_gid_or_whose_table_is_not_known_are_silent() {
        let empty = || with("x0", &[]);
        for silent in [
            Rail { gid_table_read: false, ..empty() },
            Rail { state: Some("DOWN".into()), ..empty() },
            Rail { node_type: Some("RNIC".into()), ..empty() },
            Rail { node_type: None, driver: Some("efa".into()), ..empty() },
            Rail { link_layer: Some(LinkLayer::InfiniBand), ..empty() },
            Rail { link_layer: None, ..empty() },
        ] {
            assert_eq!(named(&findings(vec![silent])), Vec::<String>::new());
        }
    }

    #[test]
    fn link_local_entries_alone_are_a_warning() {
        let found = findings(vec![with("mlx5_0", &[(5, "::ffff:169.254.1.1"), (1, "fe80::1")])]);
        assert_eq!(named(&found), ["gid-link-local mlx5_0"]);
        assert_eq!(found[0].severity, Severity::Warning);
        let routable = with("mlx5_0", &[(1, "fe80::1"), (3, "2001:db8::1")]);
        assert_eq!(named(&findings(vec![routable])), Vec::<String>::new());
        let mut untold = with("mlx5_0", &[(1, "fe80::1"), (3, "::ffff:10.0.0.1")]);
        untold.gids[1].kind = None;
        assert_eq!(named(&findings(vec![untold])), Vec::<String>::new());
    }

    #[test]
    fn a_rail_with_another_index_is_named() {
        let usual = |device| with(device, &[(1, "fe80::1"), (3, "::ffff:10.0.0.1")]);
        let moved = with("mlx5_2", &[(1, "fe80::1"), (8, "::ffff:10.2.0.1")]);
        let found = findings(vec![usual("mlx5_0"), usual("mlx5_1"), moved.clone()]);
        assert_eq!(named(&found), ["gid-index-differs mlx5_2"]);
        assert_eq!(
            found[0].message,
            "GID index 3 is recommended on 2 of 3 rails, and not on all: mlx5_2 has 8 (its 3 is empty); a fixed \
             index fails there"
        );
        assert_eq!(found[0].evidence["recommended_index"]["mlx5_2"], 8);
        // one of each: no index is the node's
        let tie = findings(vec![usual("mlx5_0"), moved]);
        assert_eq!(named(&tie), ["gid-index-differs mlx5_0,mlx5_2"]);
        assert!(tie[0].message.ends_with("mlx5_0 has 3 and mlx5_2 has 8; no fixed index fits all"));
    }

    #[test]
    fn equal_indices_infiniband_ports_that_are_down_and_software_do_not_differ() {
        let usual = |device| with(device, &[(3, "::ffff:10.0.0.1")]);
        let moved = || with("mlx5_2", &[(8, "::ffff:10.2.0.1")]);
        for other in [
            usual("mlx5_2"),
            Rail { link_layer: Some(LinkLayer::InfiniBand), ..moved() },
            Rail { state: Some("DOWN".into()), ..moved() },
            Rail { driver: Some("rdma_rxe".into()), ..moved() },
            Rail { node_type: Some("RNIC".into()), ..moved() },
        ] {
            assert_eq!(named(&findings(vec![usual("mlx5_0"), usual("mlx5_1"), other])), Vec::<String>::new());
        }
        assert_eq!(named(&findings(vec![usual("mlx5_0")])), Vec::<String>::new());
    }
}
