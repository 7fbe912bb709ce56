//! Bonds: two or more cabled ports under one rail.

use serde::{Deserialize, Serialize};

/// The bond under a rail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bond {
    /// Netdev of the bond.
    pub netdev: String,
    /// Bonding mode as the kernel names it: `802.3ad`, `active-backup`, `balance-xor`; `None` unknown.
    pub mode: Option<String>,
    /// Transmit hash policy (`layer3+4`).
    pub xmit_hash_policy: Option<String>,
    /// How mlx5 spreads queue pairs over the legs: `queue_affinity` or `hash`; `None` without debugfs.
    pub lag_port_select: Option<String>,
    /// What mlx5's firmware makes of it; `None` without debugfs, and for other drivers.
    #[serde(default)]
    pub lag: Option<Lag>,
    /// 802.3ad aggregator that carries the traffic (`ad_aggregator`); `None` in other modes and unknown.
    #[serde(default)]
    pub active_aggregator_id: Option<u32>,
    /// Whether the RDMA device sends and receives over every leg (`RoCE` LAG, or a software device on the bond).
    /// `Some(false)`: over its own port alone. `None` where the legs' functions are not known.
    #[serde(default)]
    pub carries_rdma: Option<bool>,
    /// The legs, in the bonding driver's order.
    pub legs: Vec<Leg>,
}

/// Link aggregation in the firmware of mlx5, as debugfs shows it.
///
/// Source: drivers/net/ethernet/mellanox/mlx5/core/lag/debugfs.c.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lag {
    /// `active`, or `disabled` when the bond is not one of this card's own ports.
    pub state: Option<String>,
    /// `roce`, `switchdev`, `multipath`, `multiport_eswitch`.
    pub kind: Option<String>,
    /// Under `queue_affinity` `1:1`, `2:2`: which port carries the queue pairs of which (`2:1` after port 2
    /// failed); under `hash` the numbers of the ports that send.
    pub mapping: Vec<String>,
    /// PCI addresses of the functions.
    pub members: Vec<String>,
    /// Switches such as `shared_fdb:on`.
    pub flags: Vec<String>,
}

impl Bond {
    /// Number of the port of the card, from 1, that the leg at this place is: the functions in the order of their PCI
    /// addresses, and where one is not known the legs as the bonding driver has them.
    ///
    /// Source: drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c numbers the ports by function.
    #[must_use]
    pub fn port_of_leg(&self, at: usize) -> u32 {
        let addresses: Option<Vec<&str>> = self.legs.iter().map(|leg| leg.pci_address.as_deref()).collect();
        let place = match addresses.as_deref().map(|all| (all, all.get(at))) {
            Some((all, Some(own))) => all.iter().filter(|other| *other < own).count(),
            _ => at,
        };
        u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1)
    }
}

impl Lag {
    /// Number of the port that sends everything; `None` where several do, or where it is not told.
    #[must_use]
    pub fn only_port(&self) -> Option<u32> {
        let sender = |entry: &String| entry.rsplit(':').next()?.parse().ok();
        let senders: Vec<u32> = self.mapping.iter().map(sender).collect::<Option<_>>()?;
        let first = *senders.first()?;
        senders.iter().all(|sender| *sender == first).then_some(first)
    }

    /// Ports whose queue pairs another one carries.
    #[must_use]
    pub fn idle_ports(&self) -> Vec<&str> {
        let moved = |entry: &'_ str| entry.split_once(':').is_some_and(|(own, by)| own != by);
        let entries = self.mapping.iter().filter(|entry| moved(entry));
        entries.filter_map(|entry| Some(entry.split_once(':')?.0)).collect()
    }
}

/// One leg of a bond: a netdev with a cable of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// Netdev name.
    pub netdev: String,
    /// PCI address of its function.
    pub pci_address: Option<String>,
    /// Link speed; `None` while the link is down or on devices without a speed.
    pub speed_gbit_per_s: Option<f64>,
    /// Link detected (MII status up).
    pub link_up: Option<bool>,
    /// The bonding driver lets it carry traffic now.
    pub active: Option<bool>,
    /// 802.3ad aggregator the leg is in.
    pub aggregator_id: Option<u32>,
    /// LACP actor port state bits (IEEE 802.1AX: 8 in sync, 16 collecting, 32 distributing).
    pub actor_port_state: Option<u32>,
    /// LACP partner port state bits.
    pub partner_port_state: Option<u32>,
}
