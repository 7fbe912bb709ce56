//! What a counter means, in some words.
//!
//! Sources: Documentation/ABI/stable/sysfs-class-infiniband, drivers/infiniband/hw/mlx5/counters.c, and for classes of names the rules that judge them.

use crate::rules::fabric::names;

/// Whether growth is a sign of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It is.
    Bad,
    /// It is ordinary, or worth knowing at most.
    Ordinary,
}

/// Counters by their own names.
const KNOWN: &[(&str, Weight, &str)] = &[
    ("hw/out_of_sequence", Weight::Bad, "packets came out of order: loss, or paths mixed"),
    ("hw/packet_seq_err", Weight::Bad, "the peer asked again for what it lacked (NAK)"),
    ("hw/implied_nak_seq_err", Weight::Bad, "a READ response was missing and asked for again"),
    ("hw/local_ack_timeout_err", Weight::Bad, "no answer in time: requests sent again"),
    ("hw/duplicate_request", Weight::Bad, "the peer sent requests again: its timer ran out"),
    ("hw/out_of_buffer", Weight::Bad, "packets dropped: no receive was posted"),
    ("hw/rnr_nak_retry_err", Weight::Bad, "the peer was not ready to receive, too often"),
    ("hw/req_cqe_error", Weight::Bad, "own requests that ended in an error"),
    ("hw/req_cqe_flush_error", Weight::Ordinary, "own requests thrown out behind an error or a close"),
    ("hw/resp_cqe_error", Weight::Bad, "receives that ended in an error"),
    ("hw/resp_cqe_flush_error", Weight::Ordinary, "receives thrown out behind an error or a close"),
    ("hw/req_remote_access_errors", Weight::Bad, "the peer refused the memory that was asked for"),
    ("hw/req_remote_invalid_request", Weight::Bad, "the peer calls a request invalid"),
    ("hw/resp_remote_access_errors", Weight::Bad, "a peer asked for memory it may not have"),
    ("hw/resp_local_length_error", Weight::Bad, "a message longer than its receive"),
    ("hw/np_cnp_sent", Weight::Bad, "congestion told to senders (CNP): marks came in"),
    ("hw/np_ecn_marked_roce_packets", Weight::Bad, "packets that a switch marked as congested (ECN)"),
    ("hw/rp_cnp_handled", Weight::Bad, "congestion told by a receiver: this rail sends slower"),
    ("hw/rp_cnp_ignored", Weight::Bad, "congestion told and not obeyed"),
    ("hw/roce_slow_restart", Weight::Bad, "sending began anew, slowly, after loss"),
    ("hw/roce_slow_restart_cnps", Weight::Bad, "congestion told while starting anew"),
    ("hw/roce_slow_restart_trans", Weight::Bad, "times that sending began anew, slowly"),
    ("hw/roce_adp_retrans", Weight::Bad, "sent again by adaptive timers"),
    ("hw/roce_adp_retrans_to", Weight::Bad, "adaptive timers that ran out"),
    ("hw/rx_icrc_encapsulated", Weight::Bad, "RoCE packets damaged on the way (ICRC)"),
    ("hw/rx_read_requests", Weight::Ordinary, "READs that peers asked of this host"),
    ("hw/rx_write_requests", Weight::Ordinary, "WRITEs that came from peers"),
    ("hw/rx_atomic_requests", Weight::Ordinary, "atomics that came from peers"),
    ("hw/rx_dct_connect", Weight::Ordinary, "dynamic connections made by peers"),
    ("hw/lifespan", Weight::Ordinary, "how long the device may cache counters, ms"),
    ("port/symbol_error", Weight::Bad, "damaged symbols on the wire: cable or transceiver"),
    ("port/link_error_recovery", Weight::Bad, "the link mended itself after errors"),
    ("port/link_downed", Weight::Bad, "the link went down"),
    ("port/port_rcv_errors", Weight::Bad, "packets with an error came in"),
    ("port/port_rcv_remote_physical_errors", Weight::Bad, "packets marked bad further away"),
    ("port/port_rcv_switch_relay_errors", Weight::Bad, "packets that a switch could not pass on"),
    ("port/port_rcv_constraint_errors", Weight::Bad, "packets refused on the way in"),
    ("port/port_xmit_constraint_errors", Weight::Bad, "packets refused on the way out"),
    ("port/port_xmit_discards", Weight::Bad, "packets thrown away on the way out"),
    ("port/local_link_integrity_errors", Weight::Bad, "more link errors than the port allows"),
    ("port/excessive_buffer_overrun_errors", Weight::Bad, "the receive buffer ran over"),
    ("port/VL15_dropped", Weight::Bad, "subnet management packets thrown away"),
    ("port/port_xmit_wait", Weight::Ordinary, "ticks with data to send and no credit to send it"),
    ("port/port_xmit_packets", Weight::Ordinary, "packets sent"),
    ("port/port_rcv_packets", Weight::Ordinary, "packets received"),
    ("port/unicast_xmit_packets", Weight::Ordinary, "unicast packets sent"),
    ("port/unicast_rcv_packets", Weight::Ordinary, "unicast packets received"),
    ("port/multicast_xmit_packets", Weight::Ordinary, "multicast packets sent"),
    ("port/multicast_rcv_packets", Weight::Ordinary, "multicast packets received"),
];

/// Its weight and its meaning; of a name that is not known by itself, those of its class.
pub fn of(name: &str) -> (Weight, &'static str) {
    if let Some((_, weight, means)) = KNOWN.iter().find(|(known, ..)| *known == name) {
        return (*weight, means);
    }
    if names::is_congestion(name) {
        (Weight::Bad, "congestion marked or told")
    } else if names::is_loss(name) {
        (Weight::Bad, "packets lost, late or sent again")
    } else if names::is_pause_received(name) {
        (Weight::Bad, "paused by the switch or the peer (PFC, pause frames)")
    } else if names::is_pause_sent(name) {
        (Weight::Bad, "this host could not keep up: paused the sender, or dropped")
    } else if names::is_damage(name) {
        (Weight::Bad, "packets damaged on the wire")
    } else {
        (Weight::Ordinary, "")
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, Weight, of};

    #[test]
    fn a_counter_is_known_by_itself_or_by_its_class() {
        assert_eq!(of("port/port_rcv_packets"), (Weight::Ordinary, "packets received"));
        assert_eq!(of("eth/rx_prio3_pause").1, "paused by the switch or the peer (PFC, pause frames)");
        assert_eq!(of("hw/RetransSegs"), (Weight::Bad, "packets lost, late or sent again"));
        assert_eq!(of("hw/something_new"), (Weight::Ordinary, ""));
    }

    #[test]
    fn no_counter_stands_there_twice() {
        for (at, (name, ..)) in KNOWN.iter().enumerate() {
            assert!(KNOWN[at + 1..].iter().all(|(other, ..)| other != name), "{name}");
        }
    }
}
