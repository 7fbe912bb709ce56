//! What a NIC counts of the traffic that it carries.

use super::world::{Counter, Grows};
use probes::model::{LegFrame, LoadOp};

/// Headers that mlx5 counts with each packet of a READ response or a WRITE, bytes: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4.
const PACKET_HEADERS: u64 = 58;
/// The same of a READ request, which has an RETH of 16 and no payload (IBTA 1.4, 9.3).
const REQUEST_BYTES: u64 = 74;
/// An acknowledgement: the same headers and an AETH of 4.
const ACKNOWLEDGEMENT_BYTES: u64 = 62;
/// What a port counts on top of each packet: its frame check sequence.
const FCS_BYTES: u64 = 4;

/// Messages on one leg of a rail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Messages {
    /// Direction of the load.
    pub(super) op: LoadOp,
    /// Size of one.
    pub(super) size_bytes: u64,
    /// Path MTU.
    pub(super) path_mtu: u64,
    /// Payload so far.
    pub(super) payload_bytes: u64,
    /// READ requests or acknowledgements so far, the other way.
    pub(super) requests: u64,
    /// What the leg had counted before, received and sent.
    pub(super) before_bytes: [u64; 2],
}

impl Messages {
    /// What the leg shows of them.
    pub(super) fn counted(self) -> LegFrame {
        let Self { size_bytes, path_mtu, payload_bytes: payload, requests, .. } = self;
        // a message's last packet is its own, however short it is
        let whole = payload / size_bytes * size_bytes.div_ceil(path_mtu);
        let packets = whole + payload % size_bytes / path_mtu;
        let data = payload + packets * PACKET_HEADERS;
        // what goes the other way: requests for data, or word that they came
        let (rx, tx, rx_packets, tx_packets) = match self.op {
            LoadOp::Read => (data, requests * REQUEST_BYTES, packets, requests),
            LoadOp::Write => (requests * ACKNOWLEDGEMENT_BYTES, data, requests, packets),
        };
        let (rx, tx) = (self.before_bytes[0] + rx, self.before_bytes[1] + tx);
        LegFrame {
            rx_rdma_bytes: Some(rx),
            tx_rdma_bytes: Some(tx),
            rx_port_bytes: Some(rx + rx_packets * FCS_BYTES),
            tx_port_bytes: Some(tx + tx_packets * FCS_BYTES),
            link_up: Some(true),
            active: Some(true),
        }
    }
}

impl Counter {
    /// What it shows after so many gigabytes of a rail that this holds back.
    pub(super) fn after(&self, gb: f64, held_by: Option<Grows>) -> u64 {
        if self.grows != Grows::Always && Some(self.grows) != held_by {
            return self.before;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some hundred a gigabyte"
        )]
        let more = (gb * self.per_gb) as u64;
        self.before + more
    }
}
