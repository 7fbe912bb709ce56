//! Which GID index a queue pair should use, and why.

use super::Probe;
use crate::model::{Gid, GidChoice, GidType, LinkLayer, Rail, Topology};
use crate::root::{ReadError, Root};

const NAME: &str = "gid-choice";

/// Recommends an index per rail from its GID table.
///
/// On InfiniBand index 0. On RoCE version 2 before version 1, routable before link-local, the port's own
/// netdev before others, IPv4 before IPv6, then the lowest index: what NCCL picks by default
/// (`ncclIbGetGidIndex` in its `net_ib`), and what Mooncake's and perftest's scores agree on.
pub(super) struct GidChoices;

impl Probe for GidChoices {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, _root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, gaps, .. } = topology;
        for rail in rails {
            match choose(rail) {
                Choice::Use(choice) => rail.gid = Some(choice),
                Choice::NotNeeded => {}
                Choice::None(reason) => gaps.push(crate::model::Gap {
                    probe: NAME.to_owned(),
                    subject: rail.device.clone(),
                    reason: reason.to_owned(),
                }),
            }
        }
        Ok(())
    }
}

/// The entry to use of one rail; `None` where there is none, or none is needed.
#[cfg(feature = "hwloc")]
pub(crate) fn recommended(rail: &Rail) -> Option<GidChoice> {
    match choose(rail) {
        Choice::Use(choice) => Some(choice),
        Choice::NotNeeded | Choice::None(_) => None,
    }
}

enum Choice {
    Use(GidChoice),
    /// iWARP and EFA address their peers otherwise.
    NotNeeded,
    None(&'static str),
}

fn choose(rail: &Rail) -> Choice {
    match rail.link_layer {
        Some(LinkLayer::InfiniBand) => match rail.gids.iter().find(|gid| gid.index == 0) {
            Some(_) => use_index(0, "InfiniBand: the port's own GID"),
            None => Choice::None("GID: entry 0 is empty, the port has no GUID"),
        },
        Some(LinkLayer::Ethernet) if rail.node_type.as_deref() != Some("RNIC") => roce(rail),
        Some(LinkLayer::Ethernet) => Choice::NotNeeded,
        None if rail.driver.as_deref() == Some("efa") => Choice::NotNeeded,
        None => Choice::None("GID: the link layer is not known"),
    }
}

fn roce(rail: &Rail) -> Choice {
    let best = rail.gids.iter().max_by_key(|gid| (rank(gid, rail), std::cmp::Reverse(gid.index)));
    match best {
        Some(gid) if gid.kind.is_none() => untyped(gid, rail),
        Some(gid) => use_index(gid.index, &reason(gid, rail)),
        None => Choice::None("GID: the table is empty; has the netdev an address in this network namespace?"),
    }
}

/// Where the kernel does not tell versions (`gid_attrs` hidden in a container), the later of two equal entries is version
/// 2: each address is added once for each version, in the order of `enum ib_gid_type`.
///
/// Source: `drivers/infiniband/core/roce_gid_mgmt.c`, `update_gid`.
fn untyped(best: &Gid, rail: &Rail) -> Choice {
    let equal = |gid: &&Gid| gid.kind.is_none() && gid.address == best.address && gid.netdev == best.netdev;
    let twins: Vec<&Gid> = rail.gids.iter().filter(equal).collect();
    match twins[..] {
        [only] => use_index(only.index, &reason(only, rail)),
        [_, later] => {
            let reason = format!("{}, but the later of two equal entries is v2", reason(later, rail));
            use_index(later.index, &reason)
        }
        _ => Choice::None("GID: RoCE versions are not told, and more than two entries have the best address"),
    }
}

fn use_index(index: u32, reason: &str) -> Choice {
    Choice::Use(GidChoice { index, reason: reason.to_owned() })
}

/// Compared field by field, the larger the better.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    version: u8,
    routable: bool,
    netdev: u8,
    ipv4: bool,
}

fn rank(gid: &Gid, rail: &Rail) -> Rank {
    Rank {
        version: match gid.kind {
            Some(GidType::RoceV2) => 2,
            None => 1,
            Some(GidType::IbOrRoceV1) => 0,
        },
        routable: is_routable(gid),
        netdev: match &gid.netdev {
            Some(netdev) if Some(netdev) == rail.netdev.as_ref() => 2,
            Some(_) => 1,
            None => 0,
        },
        ipv4: gid.address.to_ipv4_mapped().is_some(),
    }
}

/// Not confined to one link: neither `fe80::/10` nor `169.254.0.0/16`.
fn is_routable(gid: &Gid) -> bool {
    match gid.address.to_ipv4_mapped() {
        Some(ipv4) => !ipv4.is_link_local(),
        None => !gid.address.is_unicast_link_local(),
    }
}

fn reason(gid: &Gid, rail: &Rail) -> String {
    let version = match gid.kind {
        Some(GidType::RoceV2) => "RoCE v2",
        Some(GidType::IbOrRoceV1) => "RoCE v1 (there is no v2)",
        None => "RoCE version not told",
    };
    let family = if gid.address.to_ipv4_mapped().is_some() { "IPv4" } else { "IPv6" };
    let reach =
        if is_routable(gid) { format!("routable {family}") } else { format!("link-local {family} only") };
    let netdev = match &gid.netdev {
        Some(netdev) if Some(netdev) == rail.netdev.as_ref() => "on this device's netdev".to_owned(),
        Some(netdev) => format!("on {netdev}"),
        None => "netdev not told".to_owned(),
    };
    format!("{version}, {reach}, {netdev}")
}

#[cfg(test)]
mod tests {
    use super::{Choice, choose};
    use crate::model::{Gid, GidType, LinkLayer, Rail};

    const V1: Option<GidType> = Some(GidType::IbOrRoceV1);
    const V2: Option<GidType> = Some(GidType::RoceV2);

    fn rail(gids: &[(u32, &str, Option<GidType>, &str)]) -> Rail {
        let gid = |(index, address, kind, netdev): &(u32, &str, Option<GidType>, &str)| Gid {
            index: *index,
            address: address.parse().unwrap(),
            kind: *kind,
            netdev: (!netdev.is_empty()).then(|| (*netdev).to_owned()),
        };
        Rail {
            link_layer: Some(LinkLayer::Ethernet),
            node_type: Some("CA".to_owned()),
            netdev: Some("eth0".to_owned()),
            gids: gids.iter().map(gid).collect(),
            ..Rail::default()
        }
    }

    fn chosen(rail: &Rail) -> (u32, String) {
        match choose(rail) {
            Choice::Use(choice) => (choice.index, choice.reason),
            Choice::NotNeeded => (u32::MAX, "not needed".to_owned()),
            Choice::None(reason) => (u32::MAX, reason.to_owned()),
        }
    }

    #[test]
    fn version_2_with_a_routable_address_on_the_own_netdev_wins() {
        let table = rail(&[
            (0, "fe80::1", V1, "eth0"),
            (1, "fe80::1", V2, "eth0"),
            (2, "::ffff:10.0.0.1", V1, "eth0"),
            (3, "::ffff:10.0.0.1", V2, "eth0"),
            (4, "2001:db8::1", V2, "eth0"),
            (5, "::ffff:10.9.0.1", V2, "eth0.9"),
        ]);
        assert_eq!(chosen(&table), (3, "RoCE v2, routable IPv4, on this device's netdev".to_owned()));
    }

    #[test]
    fn where_versions_are_not_told_the_later_of_two_equal_entries_is_taken() {
        let untold = |count: u32| {
            let entries: Vec<_> =
                (2..2 + count).map(|index| (index, "::ffff:10.0.0.1", None, "eth0")).collect();
            chosen(&rail(&entries))
        };
        assert_eq!(
            untold(1),
            (2, "RoCE version not told, routable IPv4, on this device's netdev".to_owned())
        );
        let (index, reason) = untold(2);
        assert_eq!(index, 3);
        assert!(reason.ends_with("the later of two equal entries is v2"), "{reason}");
        assert_eq!(untold(3).0, u32::MAX, "no guess among three");
    }

    #[test]
    fn an_ipv6_only_fabric_gets_its_routable_ipv6() {
        let table = rail(&[
            (1, "fe80::1", V2, "eth0"),
            (2, "2001:db8::1", V1, "eth0"),
            (3, "2001:db8::1", V2, "eth0"),
        ]);
        assert_eq!(chosen(&table), (3, "RoCE v2, routable IPv6, on this device's netdev".to_owned()));
    }

    #[test]
    fn a_vlan_s_address_serves_where_the_port_itself_has_only_link_local_ones() {
        let table = rail(&[
            (1, "fe80::1", V2, "eth0"),
            (3, "::ffff:169.254.1.1", V2, "eth0"),
            (5, "::ffff:10.9.0.1", V2, "eth0.9"),
        ]);
        assert_eq!(chosen(&table), (5, "RoCE v2, routable IPv4, on eth0.9".to_owned()));
        let table = rail(&[(0, "fe80::1", V1, "eth0"), (1, "fe80::1", V2, "eth0")]);
        assert_eq!(chosen(&table).1, "RoCE v2, link-local IPv6 only, on this device's netdev");
    }

    #[test]
    fn infiniband_uses_index_0_and_a_port_without_guid_has_none() {
        let mut ib = rail(&[(0, "fe80::aaaa:0:0:1", V1, "")]);
        ib.link_layer = Some(LinkLayer::InfiniBand);
        assert_eq!(chosen(&ib).0, 0);
        ib.gids.clear();
        assert_eq!(chosen(&ib).1, "GID: entry 0 is empty, the port has no GUID");
    }

    #[test]
    fn iwarp_and_efa_need_no_gid_and_an_empty_roce_table_is_a_gap() {
        let mut rnic = rail(&[(0, "200:0:1::", V1, "")]);
        rnic.node_type = Some("RNIC".to_owned());
        assert_eq!(chosen(&rnic).1, "not needed");
        let efa = Rail { driver: Some("efa".to_owned()), ..Rail::default() };
        assert_eq!(chosen(&efa).1, "not needed");
        assert!(chosen(&rail(&[])).1.starts_with("GID: the table is empty"));
    }
}
