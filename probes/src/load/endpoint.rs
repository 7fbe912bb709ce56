//! What two ends must know of each other before their queue pairs can talk.

use super::{Memory, Params, TcpEnd};
use crate::model::{GidType, LinkLayer, LoadOp, Registered};
use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

/// Which end of the load this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Posts the work requests; its threads spin. It began the load.
    Reader,
    /// Registers memory and answers in hardware; its threads sleep, unless the load is bidirectional.
    Target,
}

impl Role {
    /// Whether this end posts work requests.
    #[must_use]
    pub fn posts(self, params: &Params) -> bool {
        self == Self::Reader || params.bidirectional
    }

    /// Whether the other end posts work requests.
    #[must_use]
    pub fn answers(self, params: &Params) -> bool {
        self == Self::Target || params.bidirectional
    }

    /// Whether this end's queue pairs send the data: answering READs, or posting WRITEs.
    #[must_use]
    pub fn sends(self, params: &Params) -> bool {
        match params.op {
            LoadOp::Read => self.answers(params),
            LoadOp::Write => self.posts(params),
        }
    }
}

/// One end of one rail: everything the other end needs to connect its queue pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// RDMA device.
    pub device: String,
    /// Port number, from 1.
    pub port: u32,
    /// Link layer; both ends must have the same.
    pub link_layer: LinkLayer,
    /// InfiniBand local id; 0 on Ethernet.
    pub lid: u16,
    /// Address the queue pairs use.
    pub gid: Ipv6Addr,
    /// Position of [`Endpoint::gid`] in this end's table.
    pub gid_index: u32,
    /// What the GID speaks; `None` when the kernel does not tell.
    pub gid_type: Option<GidType>,
    /// Largest path MTU this end can use, bytes.
    pub path_mtu: u32,
    /// Queue pairs, in order: the n-th here talks to the n-th there.
    pub qps: Vec<QpAddress>,
    /// READ requests a queue pair may have outstanding as initiator (`max_qp_init_rd_atom`).
    pub max_initiator_depth: u32,
    /// READ requests a queue pair can answer at a time (`max_qp_rd_atom`).
    pub max_responder_depth: u32,
    /// Memory the other end may read and write; `None` where it does neither.
    pub buffer: Option<RemoteBuffer>,
    /// Its TCP address, of a load over TCP.
    #[serde(default)]
    pub tcp: Option<TcpEnd>,
    /// Whose memory its data lie in.
    #[serde(default)]
    pub memory: Memory,
    /// In which way memory of a GPU was made known to the device; `None` of the host's.
    #[serde(default)]
    pub registered: Option<Registered>,
}

/// Address of one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QpAddress {
    /// Queue pair number, 24 bits.
    pub qpn: u32,
    /// First packet sequence number it sends, 24 bits.
    pub psn: u32,
}

/// Memory that the other end may read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteBuffer {
    /// Virtual address in its owner.
    pub address: u64,
    /// Key of its registration.
    pub rkey: u32,
    /// Length, bytes.
    pub bytes: u64,
}
