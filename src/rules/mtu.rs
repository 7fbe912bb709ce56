//! `mtu`, `mtu-differs`: the packet size in use on the wire.
//!
//! A RoCE packet must fit into the netdev's MTU with its headers: 1500 leaves 1024, 4200 is enough for 4096
//! (`iboe_get_mtu` in `include/rdma/ib_addr.h`). Every packet pays 82 bytes on the wire (RoCE v2 over IPv4), so the
//! goodput is MTU / (MTU + 82): 92.6 % at 1024, 98.0 % at 4096. On InfiniBand the subnet manager decides.

use super::wording::{called, list, ports, rounded, verb};
use super::{Finding, Limits, Rule, Severity, read_below_write};
use crate::ceilings;
use crate::timeline::Timeline;
use probes::model::{LinkLayer, Rail, Topology};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["mtu", "mtu-differs"], check };

/// Largest path MTU there is, bytes (IBTA 1.4, 9.7.1).
const LARGEST: u32 = 4096;
/// Smallest round netdev MTU that leaves room for it.
const NETDEV_MTU: u32 = 4200;

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let active: Vec<&Rail> = topology
        .rails_with_id()
        .filter(|(id, rail)| timeline.local().last_state(*id, rail) == Some("ACTIVE"))
        .map(|(_, rail)| rail)
        .collect();
    let all = &topology.rails;
    let lost = (read_below_write::RULE.check)(topology, timeline, limits);
    small(&active, all, &lost).into_iter().chain(differing(&active, all)).collect()
}

/// Rails whose path MTU is below what their port can do, one finding a pair of path and netdev MTU.
/// `lost`: what says that READ loses much by it.
fn small(active: &[&Rail], all: &[Rail], lost: &[Finding]) -> Vec<Finding> {
    let mut alike: BTreeMap<(bool, u32, Option<u32>), Vec<&Rail>> = BTreeMap::new();
    for rail in active {
        let (Some(mtu), Some(max)) = (rail.path_mtu, rail.max_path_mtu) else { continue };
        if mtu < LARGEST && max >= LARGEST {
            let infiniband = rail.link_layer == Some(LinkLayer::InfiniBand);
            // an IPoIB netdev's MTU has nothing to do with it
            let netdev_mtu = rail.netdev_mtu.filter(|_| !infiniband);
            alike.entry((infiniband, mtu, netdev_mtu)).or_default().push(rail);
        }
    }
    alike
        .into_iter()
        .map(|(key, rails)| {
            let much = rails.iter().any(|rail| lost.iter().any(|finding| finding.is_about(rail)));
            let gain = if much {
                "WRITE gains little by it, READ much"
            } else {
                "it is a small gain, not the cause of a large loss"
            };
            too_small(key, &rails, all, gain)
        })
        .collect()
}

fn too_small(
    (infiniband, mtu, netdev_mtu): (bool, u32, Option<u32>),
    rails: &[&Rail],
    all: &[Rail],
    gain: &str,
) -> Finding {
    let goodput = |path_mtu: u32| {
        let rail = Rail { path_mtu: Some(path_mtu), line_gbit_per_s: Some(8.0), ..(*rails[0]).clone() };
        ceilings::line_goodput_gb_per_s(&rail)
    };
    let (now, best) = (goodput(mtu), goodput(LARGEST));
    let cost = match (now, best) {
        (Some(now), Some(best)) => {
            format!("{:.1} % of the wire is payload, {:.1} % would be", now * 100.0, best * 100.0)
        }
        _ => "headers take more of the wire than they need".to_owned(),
    };
    let because = netdev_mtu.map_or(String::new(), |netdev| format!(" (netdev MTU {netdev})"));
    let message = format!(
        "{}: path MTU {mtu}{because}, the port can do {LARGEST}: {cost}",
        ports(rails.iter().copied(), all),
    );
    let netdev = rails[0].netdev.as_deref().unwrap_or("NETDEV");
    let advice = match netdev_mtu {
        _ if infiniband => {
            "the subnet manager sets it: `mtu=5` for the partition in OpenSM's partitions.conf, and \
                            every link on the way must do 4096"
                .to_owned()
        }
        Some(netdev_mtu) if netdev_mtu >= NETDEV_MTU => format!(
            "the netdev's MTU is large enough: see what keeps the RDMA port low, with `ibv_devinfo -d {} -v | grep \
             mtu`",
            rails[0].device
        ),
        _ => format!(
            "`ip link set dev {netdev} mtu {NETDEV_MTU}` (9000 gives no more), at the peer as well, and at least as \
             much on the switch; {gain}"
        ),
    };
    Finding::on_ports("mtu", Severity::Info, rails.iter().copied(), message)
        .with("path_mtu_bytes", mtu)
        .with("port_max_mtu_bytes", rails[0].max_path_mtu)
        .with("netdev_mtu_bytes", netdev_mtu)
        .with("wanted_netdev_mtu_bytes", (!infiniband).then_some(NETDEV_MTU))
        .with("payload_share", now.map(rounded))
        .with("best_payload_share", best.map(rounded))
        .advise(advice)
}

/// What rails must have in common to be of one kind.
type Kind<'a> = (bool, Option<&'a str>, Option<bool>, Option<u64>);

/// Rails of one kind (link layer, driver, virtual or not, line rate) with different path MTU.
fn differing(active: &[&Rail], all: &[Rail]) -> Vec<Finding> {
    let mut kinds: BTreeMap<Kind<'_>, Vec<(&Rail, u32)>> = BTreeMap::new();
    for rail in active {
        let (Some(link_layer), Some(mtu)) = (rail.link_layer, rail.path_mtu) else { continue };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rates are small and positive"
        )]
        let mbit_per_s = rail.line_gbit_per_s.map(|gbit| (gbit * 1000.0).round() as u64);
        let kind = (link_layer == LinkLayer::InfiniBand, rail.driver.as_deref(), rail.is_vf, mbit_per_s);
        kinds.entry(kind).or_default().push((rail, mtu));
    }
    kinds.values().filter_map(|rails| differ(rails, all)).collect()
}

fn differ(rails: &[(&Rail, u32)], all: &[Rail]) -> Option<Finding> {
    let mut by_mtu: BTreeMap<u32, Vec<&Rail>> = BTreeMap::new();
    for (rail, mtu) in rails {
        by_mtu.entry(*mtu).or_default().push(rail);
    }
    if by_mtu.len() < 2 {
        return None;
    }
    // of equally common ones the largest is the usual one
    let usual = *by_mtu.iter().max_by_key(|(_, rails)| rails.len())?.0;
    let odd: Vec<&Rail> = by_mtu
        .iter()
        .filter(|(mtu, _)| **mtu != usual)
        .flat_map(|(_, rails)| rails.iter().copied())
        .collect();
    let each = list(by_mtu.iter().filter(|(mtu, _)| **mtu != usual).map(|(mtu, rails)| {
        format!("{} {} {mtu}", ports(rails.iter().copied(), all), verb(rails.len(), "has", "have"))
    }));
    let message = format!(
        "path MTU differs between rails of one kind: {each}, {} {} {usual}",
        match by_mtu[&usual].as_slice() {
            [one] => called(one, all),
            several => format!("the other {}", several.len()),
        },
        verb(by_mtu[&usual].len(), "has", "have"),
    );
    let mtus: Map<String, Value> =
        rails.iter().map(|(rail, mtu)| (called(rail, all), (*mtu).into())).collect();
    let advice = match odd.first()?.netdev.as_deref() {
        Some(netdev) if rails[0].0.link_layer == Some(LinkLayer::Ethernet) => format!(
            "set the same MTU on every rail's netdev and its switch port: `ip link show {netdev}`, `ip link set dev \
             {netdev} mtu {NETDEV_MTU}`"
        ),
        _ => "have the subnet manager give all of them the same MTU (same partition, same switch settings)"
            .to_owned(),
    };
    Some(
        Finding::on_ports("mtu-differs", Severity::Warning, odd, message)
            .with("path_mtu_bytes", mtus)
            .with("commonest_path_mtu_bytes", usual)
            .advise(advice),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Severity};
    use probes::model::{LinkLayer, Rail};

    fn at(device: &str, path_mtu: u32, netdev_mtu: u32) -> Rail {
        Rail {
            netdev: Some("eth0".into()),
            path_mtu: Some(path_mtu),
            max_path_mtu: Some(4096),
            netdev_mtu: Some(netdev_mtu),
            ..rail(device)
        }
    }

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn a_netdev_left_at_1500_is_worth_knowing() {
        let found = findings(vec![at("mlx5_0", 1024, 1500), at("mlx5_1", 1024, 1500)]);
        assert_eq!(named(&found), ["mtu mlx5_0,mlx5_1"]);
        assert_eq!(found[0].severity, Severity::Info);
        assert_eq!(
            found[0].message,
            "mlx5_0 and mlx5_1: path MTU 1024 (netdev MTU 1500), the port can do 4096: 92.6 % of the wire is \
             payload, 98.0 % would be"
        );
        assert!(found[0].advice.starts_with("`ip link set dev eth0 mtu 4200`"), "{}", found[0].advice);
    }

    #[test]
    fn the_largest_mtu_ports_that_cannot_do_more_and_ports_that_are_down_are_fine() {
        for fine in [
            at("mlx5_0", 4096, 9000),
            Rail { max_path_mtu: Some(2048), ..at("hfi1_0", 2048, 2044) },
            Rail { max_path_mtu: None, ..at("x0", 1024, 1500) },
            Rail { state: Some("DOWN".into()), ..at("mlx5_0", 1024, 1500) },
        ] {
            assert_eq!(named(&findings(vec![fine])), Vec::<String>::new());
        }
    }

    #[test]
    fn infiniband_asks_for_the_subnet_manager_and_not_for_the_netdev() {
        let found =
            findings(vec![Rail { link_layer: Some(LinkLayer::InfiniBand), ..at("mlx5_0", 2048, 2044) }]);
        assert_eq!(named(&found), ["mtu mlx5_0"]);
        assert!(found[0].advice.contains("subnet manager") && !found[0].message.contains("netdev"));
    }

    #[test]
    fn one_rail_with_another_mtu_is_named() {
        let found =
            findings(vec![at("mlx5_0", 4096, 4200), at("mlx5_1", 4096, 4200), at("mlx5_2", 1024, 1500)]);
        assert_eq!(named(&found), ["mtu mlx5_2", "mtu-differs mlx5_2"]);
        assert_eq!(
            found[1].message,
            "path MTU differs between rails of one kind: mlx5_2 has 1024, the other 2 have 4096"
        );
        // one of each: the smaller one is the odd one
        let pair = findings(vec![at("mlx5_0", 1024, 1500), at("mlx5_1", 4096, 4200)]);
        assert_eq!(named(&pair)[1], "mtu-differs mlx5_0");
    }

    #[test]
    fn of_a_card_with_two_ports_the_odd_one_is_named_with_its_own_netdev() {
        let first = Rail { netdev: Some("eth0".into()), ..at("mlx4_0", 4096, 4200) };
        let second = Rail { port: 2, netdev: Some("eth1".into()), ..at("mlx4_0", 1024, 1500) };
        let found = findings(vec![first, second]);
        assert_eq!(named(&found), ["mtu mlx4_0", "mtu-differs mlx4_0"]);
        assert!(found[0].message.starts_with("mlx4_0 port 2: path MTU 1024"), "{}", found[0].message);
        assert_eq!(
            found[1].message,
            "path MTU differs between rails of one kind: mlx4_0 port 2 has 1024, mlx4_0 port 1 has 4096"
        );
        assert!(found[1].advice.contains("`ip link set dev eth1 mtu 4200`"), "{}", found[1].advice);
        assert_eq!(found[1].evidence["path_mtu_bytes"]["mlx4_0 port 2"], 1024);
    }

    #[test]
    fn rails_of_other_kinds_may_differ() {
        let usual = at("mlx5_0", 4096, 4200);
        for other in [
            Rail { line_gbit_per_s: Some(25.0), ..at("mlx5_1", 1024, 1500) },
            Rail { driver: Some("bnxt_en".into()), ..at("bnxt_re0", 1024, 1500) },
            Rail { link_layer: Some(LinkLayer::InfiniBand), ..at("mlx5_1", 2048, 2044) },
            Rail { is_vf: Some(true), ..at("mlx5_1", 1024, 1500) },
            Rail { state: Some("DOWN".into()), ..at("mlx5_1", 1024, 1500) },
        ] {
            let found = findings(vec![usual.clone(), other]);
            assert!(found.iter().all(|f| f.code != "mtu-differs"), "{found:?}");
        }
    }
}
