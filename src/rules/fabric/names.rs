//! Which counter tells of what, by the names that drivers give.

use std::fmt;

/// Whether a counter tells of any trouble of the fabric.
pub(crate) fn tells_of_trouble(name: &str) -> bool {
    [is_congestion, is_loss, is_pause_received, is_pause_sent, is_damage].iter().any(|tells| tells(name))
}

/// ECN marks seen, congestion notifications sent, received and obeyed: mlx5, `bnxt_re`, irdma, hns, ionic, mana.
pub(crate) fn is_congestion(name: &str) -> bool {
    matches!(
        name,
        "hw/np_ecn_marked_roce_packets"
            | "hw/np_cnp_sent"
            | "hw/rp_cnp_handled"
            | "hw/rp_cnp_ignored"
            | "hw/cc_rx_ce_pkts"
            | "hw/cc_rx_cnp_pkts"
            | "hw/cc_tx_cnp_pkts"
            | "hw/rx_ecn_marked_pkts"
            | "hw/rx_cnp_pkts"
            | "hw/tx_cnp_pkts"
            | "hw/rx_cnp_pkt"
            | "hw/tx_cnp_pkt"
            | "hw/cnpHandled"
            | "hw/cnpIgnored"
            | "hw/cnpSent"
            | "hw/RxECNMrkd"
            | "hw/rx_rdma_cnp_pkts"
            | "hw/tx_rdma_cnp_pkts"
            | "hw/rx_rdma_ecn_pkts"
            | "hw/received_cnps"
    )
}

/// Those of [`is_congestion`] that tell of data which came in: marks seen on them, and notifications sent to their sender.
/// The others tell of data that went out: notifications received and obeyed.
///
/// Source: `np_*` (notification point) and `rp_*` (reaction point), counters.rst of mlx5; the other drivers as above.
pub(crate) fn is_congestion_of_arrivals(name: &str) -> bool {
    matches!(
        name,
        "hw/np_ecn_marked_roce_packets"
            | "hw/np_cnp_sent"
            | "hw/cc_rx_ce_pkts"
            | "hw/cc_tx_cnp_pkts"
            | "hw/rx_ecn_marked_pkts"
            | "hw/tx_cnp_pkts"
            | "hw/tx_cnp_pkt"
            | "hw/cnpSent"
            | "hw/RxECNMrkd"
            | "hw/tx_rdma_cnp_pkts"
            | "hw/rx_rdma_ecn_pkts"
    )
}

/// Gaps, NAKs for them, timeouts, and what was sent again: mlx5, mlx4, `bnxt_re`, irdma, efa, mana, ionic, hfi1, rxe.
///
/// A receiver that is not ready (RNR) is no loss, and what EFA sends again on another path (`retrans_pkts`) is how
/// it works.
pub(crate) fn is_loss(name: &str) -> bool {
    matches!(
        name,
        "hw/out_of_sequence"
            | "hw/packet_seq_err"
            | "hw/implied_nak_seq_err"
            | "hw/local_ack_timeout_err"
            | "hw/duplicate_request"
            | "hw/req_transport_retries_exceeded"
            | "hw/roce_adp_retrans"
            | "hw/roce_adp_retrans_to"
            | "hw/rq_num_oos"
            | "hw/sq_num_oos"
            | "hw/rq_num_dup"
            | "hw/sq_num_to"
            | "hw/sq_num_tree"
            | "hw/to_retransmits"
            | "hw/seq_err_naks_rcvd"
            | "hw/max_retry_exceeded"
            | "hw/missing_resp"
            | "hw/dup_req"
            | "hw/oos_drop_count"
            | "hw/res_oos_drop_count"
            | "hw/tcpRetransSegs"
            | "hw/RetransSegs"
            | "hw/Nak Sequence Error"
            | "hw/Nak Sequence Error Implied"
            | "hw/RTO"
            | "hw/Rcvd Out of order packets"
            | "hw/retrans_timeout_events"
            | "hw/requester_timeout"
            | "hw/requester_oos_nak"
            | "hw/requester_implicit_nak"
            | "hw/requester_retries_exceeded"
            | "hw/responder_oos"
            | "hw/responder_dup_request"
            | "hw/tx_rdma_retx_pkts"
            | "hw/tx_rdma_ack_timeout"
            | "hw/RcTimeOut"
            | "hw/RcResend"
            | "hw/RcSeqNak"
            | "hw/out_of_seq_request"
            | "hw/rcvd_seq_err"
            | "hw/completer_retry_err"
            | "hw/retry_exceeded_err"
    )
}

/// Those of [`is_loss`] that count a timer which ran out.
fn is_timeout(name: &str) -> bool {
    matches!(
        name,
        "hw/local_ack_timeout_err"
            | "hw/roce_adp_retrans_to"
            | "hw/sq_num_to"
            | "hw/RTO"
            | "hw/retrans_timeout_events"
            | "hw/requester_timeout"
            | "hw/tx_rdma_ack_timeout"
            | "hw/RcTimeOut"
    )
}

/// What a growing counter says about the strain on the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strain {
    /// Pause frames, in either direction.
    Pauses,
    /// Timers of queue pairs that ran out.
    Timeouts,
    /// Packets that were lost or sent again.
    Retransmits,
}

impl fmt::Display for Strain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pauses => "pauses",
            Self::Timeouts => "timeouts",
            Self::Retransmits => "retransmits",
        })
    }
}

/// The strain that a counter of this name tells of; `None` of most.
#[must_use]
pub fn strain_of(name: &str) -> Option<Strain> {
    if is_timeout(name) {
        Some(Strain::Timeouts)
    } else if is_loss(name) {
        Some(Strain::Retransmits)
    } else {
        (is_pause_received(name) || is_pause_sent(name)).then_some(Strain::Pauses)
    }
}

/// Pause frames of the port that came in, of the whole port or of one priority.
pub(crate) fn is_pause_received(name: &str) -> bool {
    pauses(name, "rx")
}

/// Pause frames that went out, storms of them, and packets the port had no room for.
pub(crate) fn is_pause_sent(name: &str) -> bool {
    let discards = || {
        let name = name.strip_prefix("eth/").unwrap_or_default();
        name == "rx_discards_phy"
            || (name.starts_with("rx_prio")
                && (name.ends_with("_discards") || name.ends_with("_buf_discard")))
    };
    pauses(name, "tx") || discards()
}

fn pauses(name: &str, direction: &str) -> bool {
    let Some(name) = name.strip_prefix("eth/") else { return false };
    let paused = ["pause", "xoff", "pfc"].iter().any(|word| name.contains(word));
    // how often pausing began, and settings that are counted along
    let other = ["transition", "xon", "config"].iter().any(|word| name.contains(word));
    paused && !other && name.split(['_', '.', '-']).any(|part| part == direction)
}

/// Errors that reach packets: what FEC corrected is ordinary life on fast links (`rx_corrected_bits_phy`,
/// `rx_err_lane_N_phy`), what it could not correct is not.
pub(crate) fn is_damage(name: &str) -> bool {
    match name.split_once('/') {
        Some(("port", name)) => {
            matches!(
                name,
                "symbol_error" | "link_error_recovery" | "port_rcv_errors" | "local_link_integrity_errors"
            )
        }
        Some(("hw", name)) => name == "rx_icrc_encapsulated",
        Some(("eth", name)) => {
            let uncorrected = name.contains("fec") && name.contains("uncorrect");
            let damage = ["crc_err", "symbol_err", "fcs_err"].iter().any(|word| name.contains(word));
            (damage || uncorrected) && !name.starts_with("tx")
        }
        _ => false,
    }
}
