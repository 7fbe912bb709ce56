//! Which value stands for which: permutations under a random key, so that nothing needs to be looked up.

use super::forms::Id;
use super::key::{Key, is_v4_of_no_one, is_v6_of_no_one, low_half};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::RandomState;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The originals that were met, and what stands for each.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// `None` while originals are only collected.
    key: Option<RandomState>,
    macs: BTreeSet<[u8; 6]>,
    guids: BTreeSet<u64>,
    v4: BTreeSet<Ipv4Addr>,
    v6: BTreeSet<Ipv6Addr>,
    uuids: BTreeSet<u128>,
    serials: BTreeSet<String>,
    /// Names of jobs and of other hosts.
    names: BTreeSet<String>,
    containers: BTreeSet<String>,
}

impl Table {
    /// Replaces nothing yet.
    pub(super) fn collecting() -> Self {
        Self::default()
    }

    /// The same originals under a new key.
    pub(super) fn with_new_key(self) -> Self {
        Self { key: Some(RandomState::new()), ..self }
    }

    /// Whether no value stands for another that is itself in the tree.
    pub(super) fn leaves_no_original(&self) -> bool {
        let Some(key) = &self.key else { return false };
        let key = Key(key);
        self.macs.iter().all(|mac| !self.macs.contains(&key.mac(*mac)))
            && self.guids.iter().all(|guid| !self.guids.contains(&key.guid(*guid)))
            && self.v4.iter().all(|address| !self.v4.contains(&key.v4(*address)))
            && self.v6.iter().all(|address| !self.v6.contains(&key.v6(*address)))
            && self.uuids.iter().all(|uuid| !self.uuids.contains(&key.uuid(*uuid)))
            && self.serials.iter().all(|serial| !self.serials.contains(&key.serial(serial)))
            && self.names.iter().all(|name| !self.names.contains(&key.serial(name)))
            && self.containers.iter().all(|id| !self.containers.contains(&key.container(id)))
    }

    /// What stands for each name of a job, a host or a process that was met.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, String)> {
        let masked =
            |name: &str| self.key.as_ref().map_or_else(|| name.to_owned(), |key| Key(key).serial(name));
        self.names.iter().map(move |name| (name.as_str(), masked(name)))
    }

    /// How many different values of each kind.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, usize> {
        let counts = [
            ("MAC addresses", self.macs.len()),
            ("GUIDs", self.guids.len()),
            ("IP addresses", self.v4.len() + self.v6.len()),
            ("UUIDs", self.uuids.len()),
            ("serial numbers", self.serials.len()),
            ("job and host names", self.names.len()),
            ("container ids", self.containers.len()),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    pub(super) fn knows_mac(&self, mac: [u8; 6]) -> bool {
        self.macs.contains(&mac)
    }

    pub(super) fn knows_guid(&self, guid: u64) -> bool {
        self.guids.contains(&guid)
    }

    pub(super) fn knows_v4(&self, address: Ipv4Addr) -> bool {
        self.v4.contains(&address)
    }

    pub(super) fn knows_v6(&self, address: Ipv6Addr) -> bool {
        self.v6.contains(&address)
    }

    /// What stands for it; itself while collecting, and where it is no one's (zero, multicast).
    pub(super) fn id(&mut self, id: Id) -> Id {
        match id {
            Id::Mac(mac) => Id::Mac(self.mac(mac)),
            Id::InfiniBandMac(head, gid) => Id::InfiniBandMac(head, self.v6(gid)),
            Id::Guid(guid) => Id::Guid(self.guid(guid)),
            Id::V4(address) => Id::V4(self.v4(address)),
            Id::V6(address) => Id::V6(self.v6(address)),
            Id::Uuid(uuid) => Id::Uuid(self.uuid(uuid)),
        }
    }

    fn mac(&mut self, mac: [u8; 6]) -> [u8; 6] {
        let is_group = mac[0] & 1 == 1;
        if is_group || mac == [0; 6] {
            return mac;
        }
        self.macs.insert(mac);
        self.key.as_ref().map_or(mac, |key| Key(key).mac(mac))
    }

    fn guid(&mut self, guid: u64) -> u64 {
        if guid == 0 || guid == u64::MAX {
            return guid;
        }
        self.guids.insert(guid);
        self.key.as_ref().map_or(guid, |key| Key(key).guid(guid))
    }

    fn v4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        if is_v4_of_no_one(address) {
            return address;
        }
        self.v4.insert(address);
        self.key.as_ref().map_or(address, |key| Key(key).v4(address))
    }

    fn v6(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        if let Some(v4) = address.to_ipv4_mapped() {
            return self.v4(v4).to_ipv6_mapped();
        }
        let low = low_half(address);
        // the prefix of an empty entry is nobody's
        if is_v6_of_no_one(address) || (address.to_bits() >> 64 == 0xfe80 << 48 && low == 0) {
            return address;
        }
        self.v6.insert(address);
        self.key.as_ref().map_or(address, |key| Key(key).v6(address))
    }

    fn uuid(&mut self, uuid: u128) -> u128 {
        if uuid == 0 {
            return uuid;
        }
        self.uuids.insert(uuid);
        self.key.as_ref().map_or(uuid, |key| Key(key).uuid(uuid))
    }

    /// What stands for a serial number.
    pub(super) fn serial(&mut self, serial: &str) -> String {
        self.serials.insert(serial.to_owned());
        self.key.as_ref().map_or_else(|| serial.to_owned(), |key| Key(key).serial(serial))
    }

    /// What stands for the name of a job or of another host.
    pub(super) fn name(&mut self, name: &str) -> String {
        self.names.insert(name.to_owned());
        self.key.as_ref().map_or_else(|| name.to_owned(), |key| Key(key).serial(name))
    }

    /// What stands for a container's id of 64 digits.
    pub(super) fn container(&mut self, id: &str) -> String {
        let id = id.to_ascii_lowercase();
        self.containers.insert(id.clone());
        self.key.as_ref().map_or_else(|| id.clone(), |key| Key(key).container(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::super::forms::Id;
    use super::Table;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn table() -> Table {
        Table::collecting().with_new_key()
    }

    fn common_prefix(a: u32, b: u32) -> u32 {
        (a ^ b).leading_zeros()
    }

    #[test]
    fn addresses_keep_the_length_of_every_common_prefix_and_their_kind() {
        let mut table = table();
        let texts = [
            "10.0.0.1",
            "10.0.0.2",
            "10.0.1.1",
            "10.9.0.1",
            "192.168.3.4",
            "172.16.0.9",
            "172.40.0.9",
            "8.8.8.8",
        ];
        let originals: Vec<Ipv4Addr> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let masked: Vec<Ipv4Addr> = originals.iter().map(|address| table.v4(*address)).collect();
        for (a, a_masked) in originals.iter().zip(&masked) {
            assert_eq!(a.is_private(), a_masked.is_private(), "{a} {a_masked}");
            for (b, b_masked) in originals.iter().zip(&masked) {
                let before = common_prefix(a.to_bits(), b.to_bits());
                assert_eq!(before, common_prefix(a_masked.to_bits(), b_masked.to_bits()), "{a} {b}");
            }
        }
    }

    #[test]
    fn a_gid_made_from_a_mac_becomes_the_gid_of_the_masked_mac() {
        let mut table = table();
        let mac = table.mac([0xb8, 0x59, 0x9f, 0xa7, 0x12, 0x34]);
        let eui = |mac: [u8; 6]| {
            u64::from_be_bytes([mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]])
        };
        let original: Ipv6Addr = "fe80::ba59:9fff:fea7:1234".parse().unwrap();
        let gid = table.v6(original);
        assert_eq!(gid.to_bits(), 0xfe80 << 112 | u128::from(eui(mac)));
        let of_card = table.guid(0xb859_9f03_00a7_1234);
        assert_eq!(of_card, u64::from_be_bytes([0xb8, 0x59, 0x9f, 3, 0, mac[3], mac[4], mac[5]]));
        assert_ne!(mac[3..], [0xa7, 0x12, 0x34]);
        assert_eq!(mac[..3], [0xb8, 0x59, 0x9f]);
    }

    #[test]
    fn an_infiniband_gid_keeps_its_port_s_masked_guid() {
        let mut table = table();
        let of_port = table.guid(0xaaaa_0000_0000_0001);
        let address = table.v6("fe80::aaaa:0:0:1".parse().unwrap());
        assert_eq!(address.to_bits(), 0xfe80 << 112 | u128::from(of_port));
    }

    #[test]
    fn what_is_no_one_s_stays() {
        let mut table = table();
        for id in [
            Id::Mac([0; 6]),
            Id::Mac([0x01, 0x80, 0xc2, 0, 0, 2]),
            Id::Guid(0),
            Id::V4(Ipv4Addr::LOCALHOST),
            Id::V4(Ipv4Addr::new(255, 255, 255, 0)),
            Id::V6(Ipv6Addr::LOCALHOST),
            Id::V6("fe80::".parse().unwrap()),
        ] {
            assert_eq!(table.id(id), id);
        }
        assert_eq!(table.counts(), [].into());
    }

    #[test]
    fn two_originals_never_share_a_mask() {
        let mut table = table();
        let guids: std::collections::BTreeSet<u64> =
            (0..2000).map(|n| table.guid(0xaaaa_0000_0000_0001 + n)).collect();
        assert_eq!(guids.len(), 2000);
        let macs: std::collections::BTreeSet<[u8; 6]> =
            (0..2000_u16).map(|n| table.mac([2, 0, 0, 0, n.to_be_bytes()[0], n.to_be_bytes()[1]])).collect();
        assert_eq!(macs.len(), 2000);
    }
}
