//! GIDs: the addresses of a port, one of which a RoCE queue pair must name by index.

use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

/// What a GID table entry speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GidType {
    /// InfiniBand, or RoCE version 1 (the kernel has one text for both: `IB/RoCE v1`).
    #[serde(rename = "IB/RoCE v1")]
    IbOrRoceV1,
    /// RoCE version 2: UDP, routable.
    #[serde(rename = "RoCE v2")]
    RoceV2,
}

/// One entry of a port's GID table that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gid {
    /// Position in the table, as `ib_read_bw -x` and `NCCL_IB_GID_INDEX` take it.
    pub index: u32,
    /// The 128 bits, as an IPv6 address (an IPv4 GID is `::ffff:a.b.c.d`).
    pub address: Ipv6Addr,
    /// `None` when the kernel does not tell (old kernels, entries that answer EINVAL).
    pub kind: Option<GidType>,
    /// The netdev the entry belongs to; `None` on InfiniBand and where the kernel does not tell.
    pub netdev: Option<String>,
}

impl Gid {
    /// Its address as people write it: an IPv4 address without its prefix (`10.0.0.1` for `::ffff:10.0.0.1`).
    #[must_use]
    pub fn written(&self) -> String {
        self.address.to_ipv4_mapped().map_or_else(|| self.address.to_string(), |v4| v4.to_string())
    }
}

/// The GID index that a queue pair on this port should use, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GidChoice {
    /// Position in the table.
    pub index: u32,
    /// One phrase for people: "RoCE v2, routable IPv4, on this device's netdev".
    pub reason: String,
}
