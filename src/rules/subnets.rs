//! `same-subnet`: several Ethernet rails on different netdevs are in one IP subnet.
//!
//! The kernel then answers ARP for every address on every netdev, and sends everything for the subnet out of
//! one of them: connections meant for one rail arrive on another, or not at all. Link-local networks are left
//! out. Source: Documentation/networking/ip-sysctl.rst, `arp_ignore`, `arp_announce`, `rp_filter`.

use super::wording::{list, ports};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{LinkLayer, RailId, Subnet, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["same-subnet"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    // network → netdevs in it → rails on each
    let mut networks: BTreeMap<&str, BTreeMap<&str, Vec<RailId>>> = BTreeMap::new();
    for (id, rail) in topology.rails_with_id() {
        let up = timeline.local().last_state(id, rail) == Some("ACTIVE");
        if up && rail.link_layer == Some(LinkLayer::Ethernet) {
            for Subnet { netdev, network } in &rail.subnets {
                networks.entry(network).or_default().entry(netdev).or_default().push(id);
            }
        }
    }
    // rails that meet in several networks are said once
    let mut groups: BTreeMap<Meeting<'_>, Vec<&str>> = BTreeMap::new();
    for (network, netdevs) in &networks {
        let rails: BTreeSet<RailId> = netdevs.values().flatten().copied().collect();
        if netdevs.len() > 1 && rails.len() > 1 {
            let meeting = Meeting { rails, netdevs: netdevs.keys().copied().collect() };
            groups.entry(meeting).or_default().push(network);
        }
    }
    groups.into_iter().map(|(meeting, networks)| finding(topology, &meeting, &networks)).collect()
}

/// Rails that meet in a network, and over which netdevs.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Meeting<'a> {
    rails: BTreeSet<RailId>,
    netdevs: Vec<&'a str>,
}

fn finding(topology: &Topology, meeting: &Meeting<'_>, networks: &[&str]) -> Finding {
    let Meeting { rails, netdevs } = meeting;
    let rails = || rails.iter().map(|id| &topology.rails[id.0]);
    let message = format!(
        "{} are on {} netdevs ({}) in one subnet, {}: the kernel may answer and send for one rail over another",
        ports(rails(), &topology.rails),
        netdevs.len(),
        list(netdevs.iter().copied()),
        list(networks.iter().copied()),
    );
    Finding::on_ports("same-subnet", Severity::Warning, rails(), message)
        .with("subnets", networks.to_vec())
        .with("netdevs", netdevs.clone())
        .advise(
            "give each rail a subnet of its own; or keep the subnet with one routing table a netdev (`ip rule add \
             from ADDRESS table N`) and `sysctl -w net.ipv4.conf.all.arp_ignore=1 \
             net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2`",
        )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{LinkLayer, Rail, Subnet};

    fn on(device: &str, netdev: &str, networks: &[&str]) -> Rail {
        let subnet = |network: &&str| Subnet { netdev: netdev.into(), network: (*network).to_owned() };
        Rail { netdev: Some(netdev.into()), subnets: networks.iter().map(subnet).collect(), ..rail(device) }
    }

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn rails_in_one_subnet_are_named_once_a_group() {
        let found = findings(vec![
            on("mlx5_0", "eth0", &["10.0.0.0/24", "2001:db8::/64"]),
            on("mlx5_1", "eth1", &["10.0.0.0/24", "2001:db8::/64"]),
            on("mlx5_2", "eth2", &["10.2.0.0/24"]),
        ]);
        assert_eq!(named(&found), ["same-subnet mlx5_0,mlx5_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_0 and mlx5_1 are on 2 netdevs (eth0 and eth1) in one subnet, 10.0.0.0/24 and 2001:db8::/64: the \
             kernel may answer and send for one rail over another"
        );
    }

    #[test]
    fn two_rails_below_one_bond_share_its_netdev_and_not_a_subnet() {
        let mut second = on("mlx5_1", "bond0", &["10.0.0.0/24"]);
        second.netdev = Some("eth1".into());
        let first = Rail { netdev: Some("eth0".into()), ..on("mlx5_0", "bond0", &["10.0.0.0/24"]) };
        assert_eq!(named(&findings(vec![first, second])), Vec::<String>::new());
        // but a rail on the bond and one beside it do
        let beside =
            vec![on("mlx5_bond_0", "bond0", &["10.0.0.0/24"]), on("mlx5_2", "eth2", &["10.0.0.0/24"])];
        assert_eq!(named(&findings(beside)), ["same-subnet mlx5_bond_0,mlx5_2"]);
    }

    #[test]
    fn own_subnets_one_netdev_infiniband_and_ports_that_are_down_are_fine() {
        let first = on("mlx5_0", "eth0", &["10.0.0.0/24"]);
        for second in [
            on("mlx5_1", "eth1", &["10.1.0.0/24"]),
            on("mlx5_1", "eth0", &["10.0.0.0/24"]),
            Rail { link_layer: Some(LinkLayer::InfiniBand), ..on("mlx5_1", "ib0", &["10.0.0.0/24"]) },
            Rail { state: Some("DOWN".into()), ..on("mlx5_1", "eth1", &["10.0.0.0/24"]) },
            on("mlx5_1", "eth1", &[]),
        ] {
            assert_eq!(named(&findings(vec![first.clone(), second])), Vec::<String>::new());
        }
    }
}
