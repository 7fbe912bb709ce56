//! What stands for a value: permutations of each kind under a random key.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Middle of a GUID that was made from a MAC (RFC 4291, Appendix A).
const EUI64: u64 = 0xfffe;
/// Middle of the GUIDs that Mellanox makes from MACs.
const MELLANOX: u64 = 0x0300;

/// Address ranges that mean something; bits that decide on being in one are never changed.
///
/// Source: IANA IPv4 Special-Purpose Address Registry; RFC 1112 and RFC 1166 (224/3).
const V4_KINDS: [(u32, u32); 8] = [
    (0x0000_0000, 8),
    (0x0a00_0000, 8),
    (0x6440_0000, 10),
    (0x7f00_0000, 8),
    (0xa9fe_0000, 16),
    (0xac10_0000, 12),
    (0xc0a8_0000, 16),
    (0xe000_0000, 3),
];

/// Source: IANA IPv6 Special-Purpose Address Registry; RFC 4291, RFC 3879 (`fec0::/10`), RFC 4193.
const V6_KINDS: [(u128, u32); 6] = [
    (0, 8),
    (0x2000 << 112, 3),
    (0xfc00 << 112, 7),
    (0xfe80 << 112, 64),
    (0xfec0 << 112, 10),
    (0xff00 << 112, 8),
];

pub(super) fn is_v4_of_no_one(address: Ipv4Addr) -> bool {
    matches!(address.octets()[0], 0 | 127 | 224..)
}

pub(super) fn is_v6_of_no_one(address: Ipv6Addr) -> bool {
    address.is_unspecified() || address.is_loopback() || address.is_multicast()
}

pub(super) fn low_half(address: Ipv6Addr) -> u64 {
    u64::try_from(address.to_bits() & u128::from(u64::MAX)).expect("64 bits")
}

/// Permutations of each kind of value.
pub(super) struct Key<'a>(pub(super) &'a RandomState);

impl Key<'_> {
    fn hash(&self, what: impl std::hash::Hash) -> u64 {
        self.0.hash_one(what)
    }

    /// A permutation of numbers of `2 * half` bits, under a further key (Feistel network, four rounds).
    fn permuted(&self, value: u64, half: u32, tweak: u64) -> u64 {
        let mask = (1 << half) - 1;
        let (mut left, mut right) = (value >> half & mask, value & mask);
        for round in 0..4_u8 {
            (left, right) = (right, left ^ self.hash((round, half, tweak, right)) & mask);
        }
        left << half | right
    }

    /// The vendor's half stays, and the bit that says whether it is one.
    pub(super) fn mac(&self, mac: [u8; 6]) -> [u8; 6] {
        // the same card's GUID may have that bit turned
        let vendor = u64::from_be_bytes([0, 0, 0, 0, 0, mac[0] & !2, mac[1], mac[2]]);
        let own = u64::from_be_bytes([0, 0, 0, 0, 0, mac[3], mac[4], mac[5]]);
        let [.., a, b, c] = self.permuted(own, 12, vendor).to_be_bytes();
        [mac[0], mac[1], mac[2], a, b, c]
    }

    pub(super) fn guid(&self, guid: u64) -> u64 {
        let middle = guid >> 24 & 0xffff;
        if middle == EUI64 || middle == MELLANOX {
            let bytes = guid.to_be_bytes();
            let mac = self.mac([bytes[0], bytes[1], bytes[2], bytes[5], bytes[6], bytes[7]]);
            let own = u64::from_be_bytes([0, 0, 0, 0, 0, mac[3], mac[4], mac[5]]);
            return guid >> 24 << 24 | own;
        }
        let vendor = guid >> 40;
        let mut own = guid & ((1 << 40) - 1);
        loop {
            own = self.permuted(own, 20, vendor);
            // never one of those made from a MAC, or two originals could meet
            if !matches!(own >> 24, EUI64 | MELLANOX) {
                return vendor << 40 | own;
            }
        }
    }

    pub(super) fn v4(&self, address: Ipv4Addr) -> Ipv4Addr {
        if is_v4_of_no_one(address) {
            return address;
        }
        let kinds = V4_KINDS.map(|(bits, length)| (u128::from(bits) << 96, length));
        let bits = self.prefix_kept(u128::from(address.to_bits()) << 96, 32, &kinds);
        Ipv4Addr::from_bits(u32::try_from(bits >> 96).expect("the upper 32 bits"))
    }

    pub(super) fn v6(&self, address: Ipv6Addr) -> Ipv6Addr {
        if is_v6_of_no_one(address) {
            return address;
        }
        let bits = address.to_bits();
        let low = low_half(address);
        let is_link_local = bits >> 64 == 0xfe80 << 48;
        let middle = low >> 24 & 0xffff;
        if is_link_local || middle == EUI64 || middle == MELLANOX {
            let high = self.prefix_kept(bits, 64, &V6_KINDS) >> 64 << 64;
            return Ipv6Addr::from_bits(high | u128::from(self.guid(low)));
        }
        Ipv6Addr::from_bits(self.prefix_kept(bits, 128, &V6_KINDS))
    }

    /// Turns each of the first `count` bits or not, by the bits before it: what agreed in its first n bits
    /// agrees in them again (the idea of Crypto-PAn, Xu et al., ICNP 2002).
    fn prefix_kept(&self, bits: u128, count: u32, kinds: &[(u128, u32)]) -> u128 {
        let mut kept = bits;
        for at in 0..count {
            let before = if at == 0 { 0 } else { bits >> (128 - at) };
            let decides =
                kinds.iter().any(|(kind, length)| at < *length && (at == 0 || kind >> (128 - at) == before));
            if !decides && self.hash((at, before)) & 1 == 1 {
                kept ^= 1 << (127 - at);
            }
        }
        kept
    }

    pub(super) fn uuid(&self, uuid: u128) -> u128 {
        u128::from(self.hash(("uuid", 0, uuid))) << 64 | u128::from(self.hash(("uuid", 1, uuid)))
    }

    pub(super) fn serial(&self, serial: &str) -> String {
        format!("masked-{:08x}", self.hash(serial) >> 32)
    }

    pub(super) fn container(&self, id: &str) -> String {
        [0_u8, 1, 2, 3].map(|part| format!("{:016x}", self.hash(("container", part, id)))).concat()
    }
}
