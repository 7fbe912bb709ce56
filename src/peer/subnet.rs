//! Whether two GIDs are in one subnet.

use super::offer::{OfferedGid, plain};
use probes::model::LinkLayer;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of an IPv4 subnet whose prefix neither end knows: the size nearly all of them have.
const USUAL_IPV4_BITS: u8 = 24;

/// Bits of an IPv6 subnet, RFC 4291 section 2.5.4; also of an InfiniBand subnet prefix.
const USUAL_IPV6_BITS: u8 = 64;

/// How two addresses stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// In one subnet.
    Same,
    /// The addresses do not tell: link-local, or the default InfiniBand subnet prefix.
    Untold,
    /// In two subnets.
    Different,
}

/// How two GIDs stand to each other; `None` when no queue pair can connect them (RoCE version or
/// address family differ).
///
/// The longer of the two known prefixes decides. Link-local addresses (RFC 3927, RFC 4291 section
/// 2.5.6) and the default InfiniBand subnet prefix `fe80::/64` are the same everywhere and tell nothing.
#[must_use]
pub fn relation(layer: Option<LinkLayer>, a: &OfferedGid, b: &OfferedGid) -> Option<Relation> {
    if layer == Some(LinkLayer::InfiniBand) {
        return Some(compare_v6(a.address, b.address, USUAL_IPV6_BITS));
    }
    if let (Some(a), Some(b)) = (a.kind, b.kind)
        && a != b
    {
        return None;
    }
    let known = a.prefix_bits.into_iter().chain(b.prefix_bits).max();
    match (plain(a.address), plain(b.address)) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Some(compare_v4(a, b, known.unwrap_or(USUAL_IPV4_BITS))),
        (IpAddr::V6(a), IpAddr::V6(b)) => Some(compare_v6(a, b, known.unwrap_or(USUAL_IPV6_BITS))),
        _ => None,
    }
}

fn compare_v4(a: Ipv4Addr, b: Ipv4Addr, bits: u8) -> Relation {
    let network =
        |ip: Ipv4Addr| ip.to_bits() & u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
    if a.is_link_local() && b.is_link_local() {
        Relation::Untold
    } else if network(a) == network(b) {
        Relation::Same
    } else {
        Relation::Different
    }
}

fn compare_v6(a: Ipv6Addr, b: Ipv6Addr, bits: u8) -> Relation {
    let network =
        |ip: Ipv6Addr| ip.to_bits() & u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
    if a.is_unicast_link_local() && b.is_unicast_link_local() {
        Relation::Untold
    } else if network(a) == network(b) {
        Relation::Same
    } else {
        Relation::Different
    }
}

/// The subnet of an address as people write it: `10.0.0.0/24`.
#[derive(Clone, Copy, Debug)]
pub struct Subnet<'a>(pub &'a OfferedGid);

impl fmt::Display for Subnet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gid = self.0;
        match plain(gid.address) {
            IpAddr::V4(ip) => {
                let bits = gid.prefix_bits.unwrap_or(USUAL_IPV4_BITS).min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                write!(f, "{}/{bits}", Ipv4Addr::from_bits(ip.to_bits() & mask))
            }
            IpAddr::V6(ip) => {
                let bits = gid.prefix_bits.unwrap_or(USUAL_IPV6_BITS).min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                write!(f, "{}/{bits}", Ipv6Addr::from_bits(ip.to_bits() & mask))
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Relation, Subnet, relation};
    use crate::peer::offer::OfferedGid;
    use probes::model::{GidType, LinkLayer};

    /// `10.0.0.1/24`, `10.0.0.1` (prefix unknown), `fe80::1`.
    pub fn gid(text: &str) -> OfferedGid {
        let (ip, bits) = text.split_once('/').map_or((text, None), |(ip, b)| (ip, Some(b.parse().unwrap())));
        let address = if ip.contains(':') { ip.to_owned() } else { format!("::ffff:{ip}") };
        OfferedGid {
            index: 3,
            address: address.parse().unwrap(),
            kind: Some(GidType::RoceV2),
            prefix_bits: bits,
        }
    }

    #[test]
    fn subnets_are_compared_by_the_longer_known_prefix() {
        use Relation::{Different, Same, Untold};
        for (a, b, expected) in [
            ("10.0.0.1/24", "10.0.0.2/24", Some(Same)),
            ("10.0.0.1/24", "10.0.1.2/24", Some(Different)),
            ("10.0.0.1/16", "10.0.1.2/16", Some(Same)),
            ("10.0.0.1/16", "10.0.1.2/24", Some(Different)),
            ("10.0.0.0/31", "10.0.0.1/31", Some(Same)),
            ("10.0.0.1/31", "10.0.0.2/31", Some(Different)),
            ("10.0.0.1", "10.0.0.2", Some(Same)),
            ("10.0.0.1", "10.0.1.2", Some(Different)),
            ("10.0.0.1/0", "192.168.0.1/0", Some(Same)),
            ("169.254.3.1", "169.254.3.2", Some(Untold)),
            ("fe80::1", "fe80::2", Some(Untold)),
            ("fd00::1/64", "fd00::2/64", Some(Same)),
            ("fd00::1", "fd00:0:0:1::2", Some(Different)),
            ("10.0.0.1/24", "fd00::2/64", None),
        ] {
            assert_eq!(relation(Some(LinkLayer::Ethernet), &gid(a), &gid(b)), expected, "{a} {b}");
        }
    }

    #[test]
    fn roce_versions_do_not_mix() {
        let old = OfferedGid { kind: Some(GidType::IbOrRoceV1), ..gid("10.0.0.2/24") };
        assert_eq!(relation(Some(LinkLayer::Ethernet), &gid("10.0.0.1/24"), &old), None);
        let untold = OfferedGid { kind: None, ..old };
        assert_eq!(relation(Some(LinkLayer::Ethernet), &gid("10.0.0.1/24"), &untold), Some(Relation::Same));
    }

    #[test]
    fn infiniband_is_compared_by_subnet_prefix() {
        let ib = Some(LinkLayer::InfiniBand);
        assert_eq!(relation(ib, &gid("fec0::1"), &gid("fec0::2")), Some(Relation::Same));
        assert_eq!(relation(ib, &gid("fec0::1"), &gid("fec0:0:0:1::2")), Some(Relation::Different));
        assert_eq!(relation(ib, &gid("fe80::1"), &gid("fe80::2")), Some(Relation::Untold));
    }

    #[test]
    fn a_subnet_is_written_as_people_do() {
        assert_eq!(Subnet(&gid("10.0.1.7/20")).to_string(), "10.0.0.0/20");
        assert_eq!(Subnet(&gid("10.0.1.7")).to_string(), "10.0.1.0/24");
        assert_eq!(Subnet(&gid("fd00::7/64")).to_string(), "fd00::/64");
    }
}
