//! The legs of a bond: what each has moved, and whether it may carry traffic.

use super::file::CountFile;
use super::statistics::{Statistics, tells_of_trouble};
use crate::model::{Gap, LegFrame};
use crate::root::Root;
use crate::survey::bonding;

/// RDMA bytes of a leg, received and sent; see counters.rst of mlx5: `rx_vport_unicast_bytes` leaves RDMA
/// out, these count it.
const RDMA: (&str, &str) = ("rx_vport_rdma_unicast_bytes", "tx_vport_rdma_unicast_bytes");

/// All bytes of a leg's port, with Ethernet headers; mlx5 and ice names.
const PORT: &[(&str, &str)] = &[("rx_bytes_phy", "tx_bytes_phy"), ("rx_bytes.nic", "tx_bytes.nic")];

fn is_wanted(name: &str) -> bool {
    let pair = |(rx, tx): &(&str, &str)| name == *rx || name == *tx;
    pair(&RDMA) || PORT.iter().any(pair) || tells_of_trouble(name)
}

/// One netdev under a rail: a leg of its bond, or its only netdev.
#[derive(Debug)]
pub(super) struct NetSource {
    statistics: Option<Statistics>,
    values: Vec<Option<u64>>,
    mii_status: CountFile,
    bond_state: CountFile,
    lacp: Lacp,
    /// The kernel's own statistics, where the leg's driver counts nothing of RDMA because software does it.
    stack_bytes: Option<(CountFile, CountFile)>,
}

/// What 802.3ad says of one leg; in other modes the files say "N/A".
#[derive(Debug)]
struct Lacp {
    port_state: CountFile,
    aggregator: CountFile,
    active_aggregator: CountFile,
}

impl Lacp {
    /// Whether LACP keeps a leg out that the driver calls active, as the survey has it.
    fn is_out(&mut self, root: &Root) -> bool {
        let elsewhere = self.aggregator.number(root).zip(self.active_aggregator.number(root));
        let lacp = bonding::Lacp {
            elsewhere: elsewhere.map(|(own, active)| own != active),
            port_state: self.port_state.number(root).and_then(|bits| u32::try_from(bits).ok()),
            opened: true,
        };
        lacp.lets_carry() == Some(false)
    }
}

/// Whether the host's network stack carries the rail's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// The card itself.
    Card,
    /// The kernel, packet by packet.
    NetworkStack,
}

impl NetSource {
    /// Looks what the netdev's driver counts; leaves a gap for a leg whose RDMA bytes nothing counts.
    pub(super) fn open(root: &Root, netdev: &str, carrier: Carrier, gaps: &mut Vec<Gap>) -> Self {
        let file = |name: &str| CountFile::new(format!("sys/class/net/{netdev}/{name}"));
        let stack_bytes = (carrier == Carrier::NetworkStack)
            .then(|| (file("statistics/rx_bytes"), file("statistics/tx_bytes")));
        let statistics = match Statistics::open(root, netdev, is_wanted) {
            Ok(statistics) => Some(statistics),
            Err(error) => {
                if carrier == Carrier::Card {
                    let reason = format!(
                        "ethtool statistics: {error}; its pauses, discards and RDMA bytes are not known"
                    );
                    gaps.push(Gap { probe: "counters".into(), subject: netdev.to_owned(), reason });
                }
                None
            }
        };
        Self {
            statistics,
            values: Vec::new(),
            mii_status: file("bonding_slave/mii_status"),
            bond_state: file("bonding_slave/state"),
            lacp: Lacp {
                port_state: file("bonding_slave/ad_actor_oper_port_state"),
                aggregator: file("bonding_slave/ad_aggregator_id"),
                active_aggregator: file("master/bonding/ad_aggregator"),
            },
            stack_bytes,
        }
    }

    /// Names of the statistics that are further counters of the rail.
    pub(super) fn trouble_names(&self) -> impl Iterator<Item = &str> {
        let chosen = self.statistics.iter().flat_map(Statistics::chosen).map(String::as_str);
        chosen.filter(|name| tells_of_trouble(name))
    }

    /// Reads the driver's statistics once for this sample.
    pub(super) fn refresh(&mut self, root: &Root) {
        self.values = self.statistics.as_mut().map(|s| s.read(root)).unwrap_or_default();
    }

    /// What [`NetSource::refresh`] read under this name.
    pub(super) fn value(&self, name: &str) -> Option<u64> {
        let at = self.statistics.as_ref()?.chosen().iter().position(|chosen| chosen == name)?;
        *self.values.get(at)?
    }

    /// Whether the driver has a statistic of this name at all.
    pub(super) fn has(&self, name: &str) -> bool {
        self.statistics.as_ref().is_some_and(|s| s.chosen().iter().any(|chosen| chosen == name))
    }

    /// The leg as it is now, from what [`NetSource::refresh`] read and the bonding driver's own files.
    pub(super) fn leg(&mut self, root: &Root) -> LegFrame {
        // Documentation/ABI/testing/sysfs-class-net: mii_status is "up" or "down", state "active" or "backup"
        let link_up = self.mii_status.text(root).ok().map(|text| text == "up");
        let may_carry =
            self.bond_state.text(root).ok().map(|text| text == "active" && !self.lacp.is_out(root));
        let mut leg = LegFrame {
            rx_rdma_bytes: self.value(RDMA.0),
            tx_rdma_bytes: self.value(RDMA.1),
            rx_port_bytes: PORT.iter().find_map(|(rx, _)| self.value(rx)),
            tx_port_bytes: PORT.iter().find_map(|(_, tx)| self.value(tx)),
            link_up,
            active: may_carry.map(|may| may && link_up != Some(false)),
        };
        if let Some((rx, tx)) = &mut self.stack_bytes {
            // as for the rail itself: the stack's bytes are all there is
            let (rx, tx) = (rx.number(root), tx.number(root));
            leg.rx_rdma_bytes = rx;
            leg.tx_rdma_bytes = tx;
            leg.rx_port_bytes = leg.rx_port_bytes.or(rx);
            leg.tx_port_bytes = leg.tx_port_bytes.or(tx);
        }
        leg
    }
}
