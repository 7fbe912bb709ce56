//! The IP subnets that the rails' netdevs are in.

use super::Probe;
use super::look::Look;
use crate::model::{LinkLayer, Rail, Subnet, Topology};
use crate::root::{ReadError, Root};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

const NAME: &str = "subnets";

/// Reads the directly connected networks of this network namespace and gives each rail those of its netdevs.
///
/// IPv4 from the routing table (`/proc/net/route`, `fib_route_seq_show` in `net/ipv4/fib_trie.c`), IPv6 from the
/// addresses (`/proc/net/if_inet6`, `if6_seq_show` in `net/ipv6/addrconf.c`).
pub(super) struct Subnets;

impl Probe for Subnets {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, gaps, .. } = topology;
        let wanted = |rail: &Rail| rail.link_layer == Some(LinkLayer::Ethernet);
        if !rails.iter().any(wanted) {
            return Ok(());
        }
        let mut look = Look::into(root, NAME, "host", "", gaps);
        let routes = look.text("proc/net/route").unwrap_or_default();
        // without IPv6 there is no such file, and nothing is missing
        let addresses = look.maybe("proc/net/if_inet6").unwrap_or_default();
        let connected: BTreeSet<Subnet> =
            routes.lines().filter_map(ipv4).chain(addresses.lines().filter_map(ipv6)).collect();
        for rail in rails.iter_mut().filter(|rail| wanted(rail)) {
            let named = rail.gids.iter().filter_map(|gid| gid.netdev.as_deref());
            let netdevs: BTreeSet<&str> = named.chain(rail.netdev.as_deref()).collect();
            let of_rail = connected.iter().filter(|subnet| netdevs.contains(subnet.netdev.as_str()));
            rail.subnets = of_rail.cloned().collect();
        }
        Ok(())
    }
}

/// `RTF_UP` and `RTF_GATEWAY` of include/uapi/linux/route.h.
const UP: u32 = 1;
const GATEWAY: u32 = 2;

/// `eth0 006433C6 00000000 0001 0 0 100 00FFFFFF 0 0 0`: a network without a gateway in between.
///
/// Addresses are hexadecimal numbers in the byte order of the machine that printed them; all that run Linux
/// with RDMA are little-endian but s390x, whose trees are then read wrongly and match no address of a rail.
fn ipv4(line: &str) -> Option<Subnet> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [netdev, to, _, flags, _, _, _, mask, ..] = words.as_slice() else { return None };
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let (to, flags, mask) = (hex(to)?.swap_bytes(), hex(flags)?, hex(mask)?.swap_bytes());
    let bits = mask.leading_ones();
    let is_network = mask.count_ones() == bits && (1..32).contains(&bits);
    let connected = flags & UP != 0 && flags & GATEWAY == 0;
    let to = Ipv4Addr::from(to & mask);
    (connected && is_network && !to.is_link_local())
        .then(|| Subnet { netdev: (*netdev).to_owned(), network: format!("{to}/{bits}") })
}

/// `20010db8000000000000000000000001 02 40 00 80     eth0`: address, interface number, prefix length, scope.
fn ipv6(line: &str) -> Option<Subnet> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [address, _, bits, _, _, netdev] = words.as_slice() else { return None };
    let address = u128::from_str_radix(address, 16).ok().filter(|_| address.len() == 32)?;
    let bits = u32::from_str_radix(bits, 16).ok().filter(|bits| (1..128).contains(bits))?;
    let network = Ipv6Addr::from(address & (u128::MAX << (128 - bits)));
    (!network.is_unicast_link_local())
        .then(|| Subnet { netdev: (*netdev).to_owned(), network: format!("{network}/{bits}") })
}

#[cfg(test)]
mod tests {
    use super::{Subnets, ipv4, ipv6};
    use crate::model::Topology;
    use crate::survey::Probe;
    use crate::survey::gids::Gids;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    fn survey(tree: &Tree) -> Topology {
        let mut topology = Topology::default();
        for probe in [&Rails as &dyn Probe, &Gids, &Subnets] {
            probe.survey(&tree.root(), &mut topology).unwrap();
        }
        topology
    }

    #[test]
    fn a_connected_network_is_told_from_a_route_over_a_gateway() {
        let route = |line| ipv4(line).map(|subnet| format!("{} {}", subnet.netdev, subnet.network));
        assert_eq!(
            route("eth0\t006433C6\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0").as_deref(),
            Some("eth0 198.51.100.0/24")
        );
        for other in [
            "eth0\t00000000\t016433C6\t0003\t0\t0\t100\t00000000\t0\t0\t0",
            "eth0\t00000000\t00000000\t0001\t0\t0\t100\t00000000\t0\t0\t0",
            "eth0\t0A6433C6\t00000000\t0005\t0\t0\t100\tFFFFFFFF\t0\t0\t0",
            "eth0\t0000FEA9\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0",
            "eth0\t006433C6\t00000000\t0001\t0\t0\t100\tFF00FFFF\t0\t0\t0",
            "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT",
            "",
        ] {
            assert_eq!(route(other), None, "{other}");
        }
    }

    #[test]
    fn an_ipv6_address_names_its_network_unless_it_is_link_local() {
        let address = |line| ipv6(line).map(|subnet| format!("{} {}", subnet.netdev, subnet.network));
        assert_eq!(
            address("20010db8000000010000000000000001 02 40 00 80     eth0").as_deref(),
            Some("eth0 2001:db8:0:1::/64")
        );
        for other in [
            "fe80000000000000000000fffe000101 02 40 20 80     eth0",
            "00000000000000000000000000000001 01 80 10 80       lo",
            "2001 02 40 00 80 eth0",
            "20010db8000000010000000000000001 02 00 00 80 eth0",
        ] {
            assert_eq!(address(other), None, "{other}");
        }
    }

    #[test]
    fn a_rail_has_the_networks_of_its_netdev_and_of_the_vlans_in_its_gid_table() {
        let tree = Tree::with_nic();
        let port = "sys/class/infiniband/mlx5_0/ports/1";
        tree.file(&format!("{port}/gids/5"), "0000:0000:0000:0000:0000:ffff:0a09:0001\n")
            .file(&format!("{port}/gid_attrs/types/5"), "RoCE v2\n")
            .file(&format!("{port}/gid_attrs/ndevs/5"), "eth0.9\n");
        let route =
            |netdev: &str, to: &str| format!("{netdev}\t{to}\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
        tree.file(
            "proc/net/route",
            [
                "Iface\n".to_owned(),
                route("eth0", "006433C6"),
                route("eth0.9", "0000090A"),
                route("eth7", "0000080A"),
            ]
            .concat(),
        );
        tree.file("proc/net/if_inet6", "20010db8000000010000000000000001 02 40 00 80     eth0\n");
        let subnets = &survey(&tree).rails[0].subnets;
        let subnets: Vec<String> = subnets.iter().map(|s| format!("{} {}", s.netdev, s.network)).collect();
        assert_eq!(subnets, ["eth0 198.51.100.0/24", "eth0 2001:db8:0:1::/64", "eth0.9 10.9.0.0/24"]);
    }

    #[test]
    fn without_a_routing_table_there_is_a_gap() {
        let topology = survey(&Tree::with_nic());
        assert!(topology.rails[0].subnets.is_empty());
        assert!(
            topology.gaps.iter().any(|g| g.reason == "proc/net/route: no such file"),
            "{:?}",
            topology.gaps
        );
    }
}
