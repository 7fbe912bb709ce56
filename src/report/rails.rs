//! The rows of the rails.

use super::number::known;
use super::{CeilingsRow, GidEntry, GidRow, HeldAgainst, LatencyRow};
use crate::ceilings;
use crate::timeline::{HostTimeline, LegSums, RailSums};
use probes::model::{Bond, CpuSet, Hop, Interrupts, Lag, LinkErrors, LinkLayer, PciePath, Rail, RailId};
use serde::Serialize;

/// One rail: what it is, what it moved, what it could move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RailRow {
    /// RDMA device.
    pub device: String,
    /// Port, from 1.
    pub port: u32,
    /// Netdev of the port.
    pub netdev: Option<String>,
    /// Kernel driver.
    pub driver: Option<String>,
    /// Whether it is a virtual function.
    pub is_vf: Option<bool>,
    /// `Ethernet` or `InfiniBand`.
    pub link_layer: Option<LinkLayer>,
    /// Port state word as last read.
    pub state: Option<String>,
    /// Physical state word as last read.
    pub phys_state: Option<String>,
    /// Whether the device was gone at the end.
    pub lost: bool,
    /// InfiniBand local id.
    pub lid: Option<u16>,
    /// LID of the subnet manager.
    pub sm_lid: Option<u16>,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// Firmware version.
    pub firmware: Option<String>,
    /// Board id (PSID).
    pub board_id: Option<String>,
    /// Rate of the wire, legs of a bond together; null unless the port is ACTIVE.
    pub line_gbit_per_s: Option<f64>,
    /// Node type: `CA`, `RNIC`.
    pub node_type: Option<String>,
    /// GUID that functions of one card share.
    pub system_image_guid: Option<String>,
    /// Rate and lanes as sysfs prints them; a placeholder on a port that is DOWN, one leg's on a bond.
    pub rate_text: Option<String>,
    /// Active MTU of the port, bytes.
    pub path_mtu: Option<u32>,
    /// Largest path MTU the port can do, bytes.
    pub max_path_mtu: Option<u32>,
    /// MTU of the netdev, bytes.
    pub netdev_mtu: Option<u32>,
    /// The GID to use; null when no entry is usable.
    pub gid: Option<GidRow>,
    /// The GID table without its empty entries.
    pub gids: Vec<GidEntry>,
    /// PCIe path; null for a device without one.
    pub pcie: Option<PcieRow>,
    /// Bond; null when it is none.
    pub bond: Option<BondRow>,
    /// READ requests a queue pair may have outstanding.
    pub max_read_depth: Option<u32>,
    /// Interrupts of the function and the CPUs they go to.
    pub interrupts: Option<Interrupts>,
    /// CPUs the platform calls local to the function.
    pub local_cpus: Option<CpuSet>,
    /// Character device of the verbs library.
    pub uverbs: Option<String>,
    /// Mean received, as the NIC counted.
    pub rx_gb_per_s: Option<f64>,
    /// Mean sent, as the NIC counted.
    pub tx_gb_per_s: Option<f64>,
    /// Mean payload of our own load.
    pub load_gb_per_s: Option<f64>,
    /// Latency of our own load's operations; null without samples.
    pub latency_us: Option<LatencyRow>,
    /// The fastest of a few READs made before our load, one at a time; null where none was timed.
    pub round_trip_us: Option<f64>,
    /// What it could do.
    pub ceilings_gb_per_s: CeilingsRow,
    /// What it moved beside what it could: the same bytes, and the limits of the same time; null without a rate or a ceiling.
    pub held_against: Option<HeldAgainst>,
}

/// PCIe path in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PcieRow {
    /// PCI address of the function.
    pub address: String,
    /// Vendor id.
    pub vendor: Option<String>,
    /// Device id.
    pub device: Option<String>,
    /// Name of the card, where its ids are known.
    pub model: Option<&'static str>,
    /// Largest read request of the function, bytes; null where config space is not readable.
    pub max_read_request_bytes: Option<u32>,
    /// Whether relaxed ordering is enabled.
    pub relaxed_ordering: Option<bool>,
    /// Negotiated rate of the card's own link.
    pub current_gt_per_s: Option<f64>,
    /// Negotiated lanes of the card's own link.
    pub current_width: Option<u32>,
    /// What the card could do.
    pub max_gt_per_s: Option<f64>,
    /// Lanes the card has.
    pub max_width: Option<u32>,
    /// Raw rate of the slowest hop.
    pub limit_gb_per_s: Option<f64>,
    /// Lower end of the slowest hop.
    pub limited_by: Option<String>,
    /// PCIe errors since boot of the functions on the way; empty where the kernel counts none.
    pub errors: Vec<LinkErrors>,
    /// Every link on the way up, the card's own first.
    pub hops: Vec<Hop>,
}

/// The bond under a rail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BondRow {
    /// Netdev of the bond.
    pub netdev: String,
    /// Bonding mode.
    pub mode: Option<String>,
    /// Transmit hash policy.
    pub xmit_hash_policy: Option<String>,
    /// How mlx5 spreads queue pairs over the legs.
    pub lag_port_select: Option<String>,
    /// What mlx5's firmware makes of the bond.
    pub lag: Option<Lag>,
    /// Legs, in the driver's order.
    pub legs: Vec<LegRow>,
}

/// A leg and its share of the traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LegRow {
    /// Netdev.
    pub netdev: String,
    /// Link speed.
    pub speed_gbit_per_s: Option<f64>,
    /// PCI address of its function.
    pub pci_address: Option<String>,
    /// Whether the bonding driver lets it carry traffic now.
    pub active: Option<bool>,
    /// 802.3ad aggregator it is in.
    pub aggregator_id: Option<u32>,
    /// LACP port state bits of this host.
    pub actor_port_state: Option<u32>,
    /// LACP port state bits of the switch.
    pub partner_port_state: Option<u32>,
    /// Link detected, as last read.
    pub link_up: Option<bool>,
    /// Mean received, RDMA bytes.
    pub rx_gb_per_s: Option<f64>,
    /// Mean sent, RDMA bytes.
    pub tx_gb_per_s: Option<f64>,
}

impl RailRow {
    /// What is left for this rail while all move.
    pub(super) fn shares(mut self, together_gb_per_s: Option<f64>) -> Self {
        self.ceilings_gb_per_s.together = known(together_gb_per_s);
        self
    }

    pub(super) fn of(id: RailId, rail: &Rail, timeline: &HostTimeline) -> Self {
        let none = RailSums::default();
        let sums = timeline.sums().rails.get(id.0).unwrap_or(&none);
        let rail = &timeline.last_seen(id, rail);
        let ceilings = timeline.ceilings(id, rail);
        Self {
            device: rail.device.clone(),
            port: rail.port,
            netdev: rail.netdev.clone(),
            driver: rail.driver.clone(),
            is_vf: rail.is_vf,
            link_layer: rail.link_layer,
            state: rail.state.clone(),
            phys_state: rail.phys_state.clone(),
            lost: timeline.is_lost(id),
            lid: rail.lid,
            sm_lid: rail.sm_lid,
            numa_node: rail.numa_node,
            firmware: rail.firmware.clone(),
            board_id: rail.board_id.clone(),
            line_gbit_per_s: known(rail.line_gbit_per_s),
            node_type: rail.node_type.clone(),
            system_image_guid: rail.system_image_guid.clone(),
            rate_text: rail.rate_text.clone(),
            path_mtu: rail.path_mtu,
            max_path_mtu: rail.max_path_mtu,
            netdev_mtu: rail.netdev_mtu,
            gid: GidRow::of(rail),
            gids: rail.gids.iter().map(GidEntry::of).collect(),
            pcie: rail.pcie.as_ref().map(PcieRow::of),
            bond: rail.bond.as_ref().map(|bond| BondRow::of(bond, &sums.legs)),
            max_read_depth: rail.max_read_depth,
            interrupts: rail.interrupts.clone(),
            local_cpus: rail.local_cpus.clone(),
            uverbs: rail.uverbs.clone(),
            rx_gb_per_s: known(sums.rx_gb_per_s()),
            tx_gb_per_s: known(sums.tx_gb_per_s()),
            load_gb_per_s: known(timeline.load_gb_per_s(id)),
            latency_us: (!sums.latency.is_empty()).then(|| LatencyRow::of(&sums.latency)),
            round_trip_us: known(timeline.round_trip_ns(id).map(|ns| ns as f64 / 1e3)),
            ceilings_gb_per_s: CeilingsRow::of(&ceilings, rail),
            held_against: HeldAgainst::of(id, rail, sums, timeline),
        }
    }
}

/// Name of a card, where its ids are known.
pub(super) fn model(path: &PciePath) -> Option<&'static str> {
    probes::cards::model(path.vendor.as_deref()?, path.device.as_deref()?)
}

impl PcieRow {
    fn of(path: &PciePath) -> Self {
        let own = path.hops.first();
        let slowest = ceilings::slowest_hop(path);
        Self {
            address: path.address.clone(),
            vendor: path.vendor.clone(),
            device: path.device.clone(),
            model: model(path),
            max_read_request_bytes: path.max_read_request_bytes,
            relaxed_ordering: path.relaxed_ordering,
            current_gt_per_s: own.and_then(|hop| hop.current_gt_per_s),
            current_width: own.and_then(|hop| hop.current_width),
            max_gt_per_s: own.and_then(|hop| hop.max_gt_per_s),
            max_width: own.and_then(|hop| hop.max_width),
            limit_gb_per_s: known(slowest.map(|(_, raw)| raw)),
            limited_by: slowest.map(|(hop, _)| hop.address.clone()),
            errors: path.errors.clone(),
            hops: path.hops.clone(),
        }
    }
}

impl BondRow {
    fn of(bond: &Bond, sums: &[LegSums]) -> Self {
        let legs = bond.legs.iter().enumerate().map(|(at, leg)| LegRow {
            netdev: leg.netdev.clone(),
            speed_gbit_per_s: known(leg.speed_gbit_per_s),
            pci_address: leg.pci_address.clone(),
            active: leg.active,
            aggregator_id: leg.aggregator_id,
            actor_port_state: leg.actor_port_state,
            partner_port_state: leg.partner_port_state,
            link_up: leg.link_up,
            rx_gb_per_s: known(sums.get(at).and_then(|s| s.rx.mean_gb_per_s())),
            tx_gb_per_s: known(sums.get(at).and_then(|s| s.tx.mean_gb_per_s())),
        });
        Self {
            netdev: bond.netdev.clone(),
            mode: bond.mode.clone(),
            xmit_hash_policy: bond.xmit_hash_policy.clone(),
            lag_port_select: bond.lag_port_select.clone(),
            lag: bond.lag.clone(),
            legs: legs.collect(),
        }
    }
}
