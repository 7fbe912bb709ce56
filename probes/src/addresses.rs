//! The IP addresses of this machine: what a peer can connect to, and which rails are in one subnet.

use std::net::IpAddr;

/// One IP address of a netdev.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Netdev that holds it.
    pub netdev: String,
    /// The address.
    pub ip: IpAddr,
    /// Bits of its subnet: 24 for `10.0.0.1/24`.
    pub prefix_bits: u8,
}

/// Every address of this machine (of this network namespace), in order of netdev; loopback included.
///
/// Empty when the system does not tell: then prefixes are unknown and nothing else changes.
/// Source: getifaddrs(3).
#[must_use]
pub fn addresses() -> Vec<Address> {
    let Ok(networks) = sysinfo::Networks::new_with_refreshed_list() else {
        return Vec::new();
    };
    let mut all: Vec<Address> = networks
        .iter()
        .flat_map(|(netdev, network)| {
            network.ip_networks().iter().map(|a| Address {
                netdev: netdev.to_string_lossy().into_owned(),
                ip: a.addr,
                prefix_bits: a.prefix,
            })
        })
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::addresses;
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn the_loopback_address_has_its_prefix() {
        let all = addresses();
        let loopback = all.iter().find(|a| a.ip == IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert_eq!(loopback.map(|a| a.prefix_bits), Some(8), "{all:?}");
    }
}
