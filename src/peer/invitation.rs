//! The exact lines to type on the other host.

use probes::addresses::Address;
use std::net::{IpAddr, SocketAddr};

/// A `railscope load` line for each address at which a server that listens at `listen` can be reached.
///
/// `flags` are what such a load needs besides, with a space before. Addresses on the netdevs of rails come last: the control connection is better off where no load runs.
#[must_use]
pub fn lines(listen: SocketAddr, addresses: &[Address], rail_netdevs: &[String], flags: &str) -> Vec<String> {
    let typed = |ip: IpAddr| format!("railscope load {}{flags}", SocketAddr::new(ip, listen.port()));
    if !listen.ip().is_unspecified() {
        return vec![typed(listen.ip())];
    }
    let mut reachable: Vec<&Address> =
        addresses.iter().filter(|a| is_reachable(a.ip) && (a.ip.is_ipv4() || listen.is_ipv6())).collect();
    reachable.sort_by_key(|a| (rail_netdevs.contains(&a.netdev), a.ip.is_ipv6()));
    let mut lines: Vec<String> = reachable.into_iter().map(|a| typed(a.ip)).collect();
    lines.dedup();
    if lines.is_empty() {
        lines.push(format!(
            "{} (from this host only: it has no other address)",
            typed(IpAddr::from([127, 0, 0, 1]))
        ));
    }
    lines
}

fn is_reachable(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::lines;
    use probes::addresses::Address;

    fn addresses() -> Vec<Address> {
        [
            ("bond0", "10.0.0.2"),
            ("eth0", "192.168.1.7"),
            ("eth0", "fd00::7"),
            ("eth0", "fe80::7"),
            ("lo", "127.0.0.1"),
        ]
        .map(|(netdev, ip)| Address { netdev: netdev.to_owned(), ip: ip.parse().unwrap(), prefix_bits: 24 })
        .to_vec()
    }

    fn shown(listen: &str) -> Vec<String> {
        lines(listen.parse().unwrap(), &addresses(), &["bond0".to_owned()], "")
    }

    #[test]
    fn every_reachable_address_is_shown_and_rails_come_last() {
        assert_eq!(
            shown("0.0.0.0:18520"),
            ["railscope load 192.168.1.7:18520", "railscope load 10.0.0.2:18520"]
        );
        assert_eq!(
            shown("[::]:9000"),
            [
                "railscope load 192.168.1.7:9000",
                "railscope load [fd00::7]:9000",
                "railscope load 10.0.0.2:9000"
            ]
        );
    }

    #[test]
    fn a_server_at_one_address_shows_that_one() {
        assert_eq!(shown("10.0.0.2:18520"), ["railscope load 10.0.0.2:18520"]);
    }

    #[test]
    fn a_host_without_addresses_can_reach_itself() {
        let shown = lines("0.0.0.0:18520".parse().unwrap(), &[], &[], " --transport tcp");
        assert_eq!(
            shown,
            ["railscope load 127.0.0.1:18520 --transport tcp (from this host only: it has no other address)"]
        );
    }
}
