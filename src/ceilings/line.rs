//! The wire: raw rate and what is left of it for payload.

use probes::model::{GidType, LinkLayer, Load, Rail};
use std::borrow::Cow;
use std::net::Ipv6Addr;

/// Ethernet around every packet: header 14, FCS 4, preamble and inter-packet gap 20 (IEEE 802.3).
const ETHERNET: u32 = 14 + 4 + 20;
/// InfiniBand transport: BTH 12, ICRC 4 (IBTA 1.4, 9.2).
const TRANSPORT: u32 = 12 + 4;
const UDP: u32 = 8;
const IPV4: u32 = 20;
const IPV6: u32 = 40;
/// RoCE version 1 and InfiniBand with a global route carry a GRH (IBTA 1.4, 8.3).
const GRH: u32 = 40;
/// InfiniBand link: LRH 8, VCRC 2 (IBTA 1.4, 7.7).
const INFINIBAND: u32 = 8 + 2;

/// Raw rate of the wire, GB/s; `None` without a known rate.
#[must_use]
pub fn line_raw_gb_per_s(rail: &Rail) -> Option<f64> {
    rail.line_gbit_per_s.and_then(|gbit| super::possible(gbit / 8.0))
}

/// Share of the wire left for payload at this path MTU. Long messages are assumed: one header a packet.
#[must_use]
pub fn goodput_share(path_mtu: u32, overhead_bytes: u32) -> f64 {
    f64::from(path_mtu) / (f64::from(path_mtu) + f64::from(overhead_bytes))
}

/// Payload the wire can carry, GB/s; `None` when rate, path MTU or link layer is unknown.
#[must_use]
pub fn line_goodput_gb_per_s(rail: &Rail) -> Option<f64> {
    super::possible(line_raw_gb_per_s(rail)? * goodput_share(rail.path_mtu?, overhead_bytes(rail)?))
}

/// Bytes of the wire that a packet takes beside its payload; `None` without a known link layer.
fn overhead_bytes(rail: &Rail) -> Option<u32> {
    Some(match rail.link_layer? {
        LinkLayer::InfiniBand => INFINIBAND + TRANSPORT,
        LinkLayer::Ethernet => ETHERNET + TRANSPORT + network_header(rail),
    })
}

/// Bytes of a packet that its port does not count: on Ethernet preamble, gap and check sequence, on `InfiniBand` the VCRC.
///
/// Source: IBTA 1.4, 16.1.3.5, `PortRcvData`: octets between the start delimiter and the VCRC; on Ethernet the octets of
/// `received_ib_unicast` of mlx5 likewise begin with the Ethernet header.
fn uncounted_bytes(layer: LinkLayer) -> u32 {
    if layer == LinkLayer::InfiniBand { 2 } else { 20 + 4 }
}

/// What a port counts for each byte of payload, in long messages: headers that belong to a packet are in it. `None` when path
/// MTU or link layer is unknown.
#[must_use]
pub fn counted_per_payload(rail: &Rail) -> Option<f64> {
    let counted = overhead_bytes(rail)?.saturating_sub(uncounted_bytes(rail.link_layer?));
    let mtu = rail.path_mtu.filter(|mtu| *mtu > 0)?;
    Some(1.0 + f64::from(counted) / f64::from(mtu))
}

/// What a port counts of a wire full of long messages, GB/s: payload with the headers that belong to a packet, without the
/// preamble and gap and check sequence around it. `None` as in [`line_goodput_gb_per_s`].
#[must_use]
pub fn line_counted_gb_per_s(rail: &Rail) -> Option<f64> {
    Some(line_goodput_gb_per_s(rail)? * counted_per_payload(rail)?)
}

/// Payload the wire can carry in messages of this size, GB/s: below the path MTU each has a packet of its own, and more
/// of the wire goes to headers. `None` as in [`line_goodput_gb_per_s`].
#[must_use]
pub fn line_goodput_of_messages_gb_per_s(rail: &Rail, size_bytes: u64) -> Option<f64> {
    let (raw, mtu) = (line_raw_gb_per_s(rail)?, f64::from(rail.path_mtu?));
    let goodput = line_goodput_gb_per_s(rail)?;
    if size_bytes > 0 && size_bytes.is_multiple_of(u64::from(rail.path_mtu?)) {
        return Some(goodput);
    }
    let overhead = mtu * (raw / goodput - 1.0);
    let size = size_bytes as f64;
    let packets = (size / mtu).ceil();
    (size > 0.0 && goodput > 0.0).then(|| raw * size / (size + packets * overhead))
}

/// The same, or the raw rate of the wire where headers or path MTU are not known: what bounds payload in any case.
#[must_use]
pub fn line_of_messages_gb_per_s(rail: &Rail, size_bytes: u64) -> Option<f64> {
    line_goodput_of_messages_gb_per_s(rail, size_bytes).or_else(|| line_raw_gb_per_s(rail))
}

/// What is left of the wire for payload while this load runs: at the path MTU of its queue pairs and in messages of its
/// size, GB/s. `None` as in [`line_goodput_gb_per_s`], without a known size, and of TCP, which makes its own packets.
#[must_use]
pub fn line_goodput_under_gb_per_s(rail: &Rail, load: &Load) -> Option<f64> {
    let size_bytes = load.size_bytes.filter(|_| !load.is_functional_check())?;
    line_goodput_of_messages_gb_per_s(&with_path_mtu_of(rail, load), size_bytes)
}

/// The rail with the path MTU that its queue pairs in this load agreed on, never more than the port's.
#[must_use]
pub fn with_path_mtu_of<'a>(rail: &'a Rail, load: &Load) -> Cow<'a, Rail> {
    match (rail.path_mtu, load.path_mtu_on(&rail.device)) {
        (Some(port), Some(agreed)) if agreed < port => {
            Cow::Owned(Rail { path_mtu: Some(agreed), ..rail.clone() })
        }
        (None, Some(agreed)) => Cow::Owned(Rail { path_mtu: Some(agreed), ..rail.clone() }),
        _ => Cow::Borrowed(rail),
    }
}

/// Header between Ethernet and the transport. Without a recommended GID: RoCE v2 over IPv4, the commonest.
fn network_header(rail: &Rail) -> u32 {
    let chosen = rail.gid.as_ref().and_then(|choice| rail.gids.iter().find(|g| g.index == choice.index));
    match chosen {
        Some(gid) if gid.kind == Some(GidType::IbOrRoceV1) => GRH,
        Some(gid) if is_ipv6(gid.address) => UDP + IPV6,
        _ => UDP + IPV4,
    }
}

fn is_ipv6(address: Ipv6Addr) -> bool {
    address.to_ipv4_mapped().is_none()
}

#[cfg(test)]
mod tests {
    use super::{counted_per_payload, line_goodput_gb_per_s, line_goodput_of_messages_gb_per_s};
    use probes::model::{LinkLayer, Rail};

    #[test]
    fn a_400g_roce_rail_carries_49_gb_per_s() {
        let rail = |mtu| Rail {
            line_gbit_per_s: Some(400.0),
            path_mtu: Some(mtu),
            link_layer: Some(LinkLayer::Ethernet),
            ..Rail::default()
        };
        let at = |mtu| (line_goodput_gb_per_s(&rail(mtu)).unwrap() * 100.0).round() / 100.0;
        assert_eq!(at(4096), 49.02);
        assert_eq!(at(1024), 46.29);
        assert_eq!(line_goodput_gb_per_s(&Rail::default()), None);
    }

    #[test]
    fn a_rate_that_can_be_none_is_unknown() {
        let goodput = |gbit, mtu| {
            let link_layer = Some(LinkLayer::Ethernet);
            line_goodput_gb_per_s(&Rail {
                line_gbit_per_s: Some(gbit),
                path_mtu: Some(mtu),
                link_layer,
                ..Rail::default()
            })
        };
        let rates = [goodput(-12.0, 4096), goodput(f64::INFINITY, 4096), goodput(f64::NAN, 1024)];
        assert_eq!(rates, [None; 3]);
        assert_eq!([goodput(0.0, 4096), goodput(400.0, 0)], [None; 2]);
        assert!(goodput(400.0, u32::MAX).is_some());
    }

    #[test]
    fn a_port_counts_the_headers_of_a_packet_and_not_what_is_around_it() {
        let rail = |layer, mtu| Rail { link_layer: Some(layer), path_mtu: Some(mtu), ..Rail::default() };
        let of = |layer, mtu| (counted_per_payload(&rail(layer, mtu)).unwrap() * 1e4).round() / 1e4;
        // 14 + 20 + 8 + 12 + 4 of RoCE v2 over IPv4; 8 + 12 + 4 of InfiniBand
        assert_eq!((of(LinkLayer::Ethernet, 4096), of(LinkLayer::Ethernet, 1024)), (1.0142, 1.0566));
        assert_eq!(of(LinkLayer::InfiniBand, 4096), 1.0059);
        assert_eq!(counted_per_payload(&Rail::default()), None);
    }

    #[test]
    fn small_messages_pay_a_header_each() {
        let rail = Rail {
            line_gbit_per_s: Some(400.0),
            path_mtu: Some(4096),
            link_layer: Some(LinkLayer::Ethernet),
            ..Rail::default()
        };
        let of = |size| (line_goodput_of_messages_gb_per_s(&rail, size).unwrap() * 100.0).round() / 100.0;
        assert_eq!([of(1024), of(4096), of(6144), of(1 << 20)], [46.29, 49.02, 48.7, 49.02]);
        assert_eq!(line_goodput_of_messages_gb_per_s(&rail, 0), None);
    }
}
