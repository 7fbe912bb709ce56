//! What one end tells the other about its rails: enough to match them, nothing that identifies a card.

use super::link::printable_name;
use probes::addresses::Address;
use probes::model::{Gid, GidType, LinkLayer, Rail, Topology};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Most GIDs told per rail: a container host may have hundreds on one port.
const MOST_GIDS: usize = 16;

/// An address of a rail that queue pairs can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedGid {
    /// Position in the GID table of its host.
    pub index: u32,
    /// The 128 bits.
    pub address: Ipv6Addr,
    /// RoCE version; `None` when the kernel does not tell.
    pub kind: Option<GidType>,
    /// Bits of the subnet on the netdev; `None` when the address is on no netdev that we know.
    pub prefix_bits: Option<u8>,
}

/// One rail as told to the peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// RDMA device name.
    pub device: String,
    /// Port number, from 1.
    pub port: u32,
    /// Netdev of the port.
    pub netdev: Option<String>,
    /// Link layer.
    pub link_layer: Option<LinkLayer>,
    /// Port state word: `ACTIVE`, `DOWN`.
    pub state: Option<String>,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// Active path MTU, bytes.
    pub path_mtu: Option<u32>,
    /// READ requests a queue pair may have outstanding as initiator.
    pub max_read_depth: Option<u32>,
    /// Addresses, the one to prefer first.
    pub gids: Vec<OfferedGid>,
}

impl Offer {
    /// Whether the port carries traffic.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.state.as_deref() == Some("ACTIVE")
    }

    /// The same with words that may stand in a terminal: it came from a peer.
    #[must_use]
    pub(super) fn printable(mut self) -> Self {
        self.device = printable_name(&self.device);
        self.netdev = self.netdev.as_deref().map(printable_name);
        self.state = self.state.as_deref().map(printable_name);
        self
    }
}

/// One line for people: `mlx5_0 10.0.0.2/24, node 0`.
impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.device)?;
        if self.port != 1 {
            write!(f, " port {}", self.port)?;
        }
        if !self.is_active() {
            return write!(f, " is {}: not offered", self.state.as_deref().unwrap_or("in an unknown state"));
        }
        match self.gids.first() {
            Some(gid) => write!(f, " {}", plain(gid.address))?,
            None => f.write_str(" has no usable GID")?,
        }
        if let Some(bits) = self.gids.first().and_then(|gid| gid.prefix_bits) {
            write!(f, "/{bits}")?;
        }
        match self.numa_node {
            Some(node) => write!(f, ", node {node}"),
            None => f.write_str(", node unknown"),
        }
    }
}

/// A rail that was asked for and cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// There is no such rail.
    #[error("no rail `{name}` on this host; it has {known}")]
    Unknown {
        /// As asked for.
        name: String,
        /// The rails there are.
        known: String,
    },
    /// Its port is not ACTIVE.
    #[error(
        "{device} port {port} is {state}, not ACTIVE: check its cable and the switch port, or leave it out of --rails"
    )]
    NotActive {
        /// RDMA device.
        device: String,
        /// Port.
        port: u32,
        /// Port state word.
        state: String,
    },
    /// No rail carries traffic.
    #[error("no rail of this host is ACTIVE: {states}")]
    NoneActive {
        /// Each rail with its state.
        states: String,
    },
    /// The GID index that was asked for is empty on a rail.
    #[error("{device} port {port} has nothing at GID index {index}; it has {known}")]
    NoSuchGid {
        /// RDMA device.
        device: String,
        /// Port.
        port: u32,
        /// As asked for.
        index: u32,
        /// Entries there are.
        known: String,
    },
}

/// The rails of a host to offer: all, or exactly those named, which then must be ACTIVE.
///
/// `gid_index` replaces the recommended GID on every ACTIVE rail.
///
/// # Errors
///
/// A named rail is not there or not ACTIVE, no rail is ACTIVE, or a rail has nothing at `gid_index`.
pub fn offers(
    topology: &Topology,
    addresses: &[Address],
    only: Option<&[String]>,
    gid_index: Option<u32>,
) -> Result<Vec<Offer>, OfferError> {
    let mut offered = Vec::new();
    if let Some(names) = only {
        for name in names {
            let before = offered.len();
            offered.extend(topology.rails.iter().filter(|r| r.device == *name));
            let Some(rail) = offered.get(before) else {
                let known: Vec<&str> = topology.rails.iter().map(|r| r.device.as_str()).collect();
                return Err(OfferError::Unknown { name: name.clone(), known: listed(&known, "none") });
            };
            if !offered[before..].iter().any(|r| r.is_active()) {
                let (device, port) = (rail.device.clone(), rail.port);
                return Err(OfferError::NotActive { device, port, state: state_of(rail) });
            }
        }
    } else {
        offered.extend(&topology.rails);
    }
    if !offered.iter().any(|r| r.is_active()) {
        let states: Vec<String> =
            offered.iter().map(|r| format!("{} is {}", r.device, state_of(r))).collect();
        return Err(OfferError::NoneActive { states: listed(&states, "there is none") });
    }
    offered.into_iter().map(|rail| offer(rail, addresses, gid_index)).collect()
}

fn offer(rail: &Rail, addresses: &[Address], gid_index: Option<u32>) -> Result<Offer, OfferError> {
    let gids = match gid_index {
        Some(index) if rail.is_active() => {
            let gid = rail.gids.iter().find(|g| g.index == index).ok_or_else(|| {
                let known: Vec<u32> = rail.gids.iter().map(|g| g.index).collect();
                let (device, port) = (rail.device.clone(), rail.port);
                OfferError::NoSuchGid { device, port, index, known: listed(&known, "no entries") }
            })?;
            vec![offered_gid(gid, addresses)]
        }
        _ => preferred_first(rail).into_iter().map(|gid| offered_gid(gid, addresses)).collect(),
    };
    Ok(Offer {
        device: rail.device.clone(),
        port: rail.port,
        netdev: rail.netdev.clone(),
        link_layer: rail.link_layer,
        state: rail.state.clone(),
        numa_node: rail.numa_node,
        path_mtu: rail.path_mtu,
        max_read_depth: rail.max_read_depth,
        gids,
    })
}

/// The recommended GID, then RoCE v2, then the rest, each in order of index.
fn preferred_first(rail: &Rail) -> Vec<&Gid> {
    let recommended = rail.gid.as_ref().map(|choice| choice.index);
    let mut gids: Vec<&Gid> = rail.gids.iter().collect();
    gids.sort_by_key(|g| (Some(g.index) != recommended, g.kind != Some(GidType::RoceV2), g.index));
    gids.truncate(MOST_GIDS);
    gids
}

fn offered_gid(gid: &Gid, addresses: &[Address]) -> OfferedGid {
    let ip = plain(gid.address);
    let on = |a: &&Address| a.ip == ip && (gid.netdev.is_none() || gid.netdev.as_deref() == Some(&a.netdev));
    OfferedGid {
        index: gid.index,
        address: gid.address,
        kind: gid.kind,
        prefix_bits: addresses.iter().find(on).map(|a| a.prefix_bits),
    }
}

/// The IP address of a GID: an IPv4 one is written `::ffff:a.b.c.d`.
#[must_use]
pub fn plain(gid: Ipv6Addr) -> IpAddr {
    gid.to_ipv4_mapped().map_or(IpAddr::V6(gid), IpAddr::V4)
}

fn state_of(rail: &Rail) -> String {
    rail.state.clone().unwrap_or_else(|| "in an unknown state".to_owned())
}

/// The words with commas between, or `none` when there are none.
pub(super) fn listed(words: &[impl ToString], none: &str) -> String {
    if words.is_empty() {
        return none.to_owned();
    }
    words.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
