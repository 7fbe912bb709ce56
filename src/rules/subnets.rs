//! `same-subnet`: several Ethernet rails on different netdevs are in one IP subnet.
//!
//! The kernel then answers ARP for every address on every netdev, and sends everything for the subnet out of
//! one of them: connections meant for one rail arrive on another, or not at all. Link-local networks are left
//! out. Source: Documentation/networking/ip-sysctl.rst, `arp_ignore`, `arp_announce`, `rp_filter`.

use super::wording::list;
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{LinkLayer, Rail, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["same-subnet"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let mut subnets: BTreeMap<&str, Vec<&Rail>> = BTreeMap::new();
    for (id, rail) in topology.rails_with_id() {
        let up = timeline.local().last_state(id, rail) == Some("ACTIVE");
        if up && rail.link_layer == Some(LinkLayer::Ethernet) {
            for subnet in &rail.subnets {
                subnets.entry(subnet).or_default().push(rail);
            }
        }
    }
    // rails that meet in several subnets are said once
    let mut groups: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for (subnet, rails) in &subnets {
        let netdevs: BTreeSet<&str> = rails.iter().filter_map(|rail| rail.netdev.as_deref()).collect();
        if netdevs.len() > 1 {
            groups.entry(rails.iter().map(|rail| rail.device.as_str()).collect()).or_default().push(subnet);
        }
    }
    groups.into_iter().map(|(devices, subnets)| finding(topology, &devices, &subnets)).collect()
}

fn finding(topology: &Topology, devices: &[&str], subnets: &[&str]) -> Finding {
    let netdevs: BTreeSet<&str> =
        devices.iter().filter_map(|device| topology.rail(device)?.1.netdev.as_deref()).collect();
    let netdevs: Vec<&str> = netdevs.into_iter().collect();
    let message = format!(
        "{} are on {} netdevs ({}) in one subnet, {}: the kernel may answer and send for one rail over another",
        list(devices.iter().copied()),
        netdevs.len(),
        list(netdevs.iter().copied()),
        list(subnets.iter().copied()),
    );
    Finding::new("same-subnet", Severity::Warning, devices.iter().copied(), message)
        .with("subnets", subnets.to_vec())
        .with("netdevs", netdevs)
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
    use probes::model::{LinkLayer, Rail};

    fn on(device: &str, netdev: &str, subnets: &[&str]) -> Rail {
        Rail {
            netdev: Some(netdev.into()),
            subnets: subnets.iter().map(|subnet| (*subnet).to_owned()).collect(),
            ..rail(device)
        }
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
