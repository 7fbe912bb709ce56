//! The cards of simulated machines: what is the same of each, and in order.

use probes::model::{Bond, Gid, GidChoice, GidType, Hop, Leg, LinkLayer, PciePath, Rail};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Rail `number`, from 1, with all that is known of a ConnectX-7 wherever it sits and however fast it is.
pub(super) fn rail(device: String, number: u32, netdev: String) -> Rail {
    Rail {
        device,
        port: 1,
        driver: Some("mlx5_core".into()),
        is_vf: Some(false),
        link_layer: Some(LinkLayer::Ethernet),
        node_type: Some("CA".into()),
        state: Some("ACTIVE".into()),
        phys_state: Some("LinkUp".into()),
        firmware: Some("28.39.1002".into()),
        system_image_guid: Some(format!("5c25:7303:00a0:{number:02x}00")),
        path_mtu: Some(4096),
        max_path_mtu: Some(4096),
        netdev_mtu: Some(4200),
        gid_table_read: true,
        gids: gids(number, &netdev),
        gid: Some(GidChoice { index: 3, reason: "RoCE v2, routable IPv4, on this device's netdev".into() }),
        max_read_depth: Some(16),
        uverbs: Some(format!("/dev/infiniband/uverbs{}", number - 1)),
        netdev: Some(netdev),
        ..Rail::default()
    }
}

/// A bond in which each leg may carry traffic, and that is a RoCE LAG.
pub(super) fn bond(netdev: String, legs: Vec<Leg>) -> Bond {
    Bond {
        netdev,
        mode: Some("802.3ad".into()),
        xmit_hash_policy: Some("layer3+4".into()),
        lag_port_select: Some("hash".into()),
        lag: None,
        carries_rdma: Some(true),
        active_aggregator_id: None,
        legs,
    }
}

/// A leg of it: one function of the card on this bus.
pub(super) fn leg(bus: u32, function: u32, speed_gbit_per_s: f64) -> Leg {
    Leg {
        netdev: format!("enp{bus}s0f{function}np{function}"),
        pci_address: Some(format!("0000:{bus:02x}:00.{function}")),
        speed_gbit_per_s: Some(speed_gbit_per_s),
        link_up: Some(true),
        active: Some(true),
        aggregator_id: Some(1),
        // active, short timeout, aggregatable, in sync, collecting, distributing (IEEE 802.1AX)
        actor_port_state: Some(63),
        partner_port_state: Some(63),
    }
}

/// The way up from the card, with its settings in order.
pub(super) fn path(address: String, hops: Vec<Hop>) -> PciePath {
    PciePath {
        address,
        vendor: Some("15b3".into()),
        device: Some("1021".into()),
        hops,
        max_read_request_bytes: Some(4096),
        relaxed_ordering: Some(true),
        errors: Vec::new(),
    }
}

/// A Gen5 x16 link in order.
pub(super) fn full_hop(address: &str, port: &str) -> Hop {
    let (gen5, lanes) = (Some(32.0), Some(16));
    Hop {
        address: address.to_owned(),
        upstream: Some(port.to_owned()),
        current_gt_per_s: gen5,
        current_width: lanes,
        max_gt_per_s: gen5,
        max_width: lanes,
        upstream_max_gt_per_s: gen5,
        upstream_max_width: lanes,
        raw_gb_per_s: None,
        max_payload_bytes: Some(256),
    }
}

/// Link-local and IPv4, each as RoCE v1 and v2: what mlx5 fills a table with once the netdev has its address.
fn gids(number: u32, netdev: &str) -> Vec<Gid> {
    let group = u16::try_from(number).unwrap_or_default();
    let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0x5e25, 0x73ff, 0xfea0, group << 8);
    let routable = Ipv4Addr::new(10, 0, u8::try_from(number).unwrap_or_default(), 1).to_ipv6_mapped();
    let entry =
        |index, address, kind| Gid { index, address, kind: Some(kind), netdev: Some(netdev.to_owned()) };
    vec![
        entry(0, link_local, GidType::IbOrRoceV1),
        entry(1, link_local, GidType::RoceV2),
        entry(2, routable, GidType::IbOrRoceV1),
        entry(3, routable, GidType::RoceV2),
    ]
}
