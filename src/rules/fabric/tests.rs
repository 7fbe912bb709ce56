//! Counters that grow, and what is said of them.

use super::RULE;
use crate::rules::testing::{bonded, counted, found_in, named, rail, session, two_sockets};
use crate::rules::{Finding, Limits};
use crate::timeline::Timeline;
use probes::model::{Frame, LegFrame, Rail, RailFrame};
use std::sync::Arc;

/// Findings on one rail whose counter takes these values, a second apart.
fn grows(name: &str, values: &[u64]) -> Vec<Finding> {
    let rail = Rail { counters: vec![name.to_owned()], netdev: Some("eth0".into()), ..rail("mlx5_0") };
    let topology = two_sockets(vec![rail]);
    let rows: Vec<Vec<u64>> = values.iter().map(|&value| vec![value]).collect();
    found_in(&RULE, &topology, &counted(&topology, &rows))
}

fn code(name: &str) -> String {
    named(&grows(name, &[7, 8])).join(" ")
}

#[test]
fn each_counter_that_grows_has_its_meaning() {
    for (name, said) in [
        ("hw/np_cnp_sent", "ecn-cnp mlx5_0"),
        ("hw/rx_ecn_marked_pkts", "ecn-cnp mlx5_0"),
        ("hw/out_of_sequence", "retransmit mlx5_0"),
        ("hw/local_ack_timeout_err", "retransmit mlx5_0"),
        ("hw/to_retransmits", "retransmit mlx5_0"),
        ("eth/rx_prio3_pause", "rx-pause mlx5_0"),
        ("eth/rx_pause_ctrl_phy", "rx-pause mlx5_0"),
        ("eth/tx_prio3_pause", "tx-pause mlx5_0"),
        ("eth/rx_discards_phy", "tx-pause mlx5_0"),
        ("port/symbol_error", "link-errors mlx5_0"),
        ("eth/rx_crc_errors_phy", "link-errors mlx5_0"),
    ] {
        assert_eq!(code(name), said, "{name}");
    }
}

#[test]
fn counters_of_ordinary_life_are_no_trouble() {
    for name in [
        "hw/rx_read_requests",
        "hw/lifespan",
        "hw/rnr_nak_retry_err",
        "eth/rx_corrected_bits_phy",
        "eth/rx_err_lane_0_phy",
        "eth/rx_prio3_bytes",
        "eth/rx_prio3_pause_transition",
        "port/port_xmit_wait",
        "port/port_rcv_packets",
    ] {
        assert_eq!(code(name), "", "{name}");
    }
}

#[test]
fn totals_since_boot_prove_nothing() {
    assert_eq!(named(&grows("hw/out_of_sequence", &[6_140_236; 4])), Vec::<String>::new());
}

/// A bond that loses a packet in each of these seconds, and whose first leg is up or down in each.
fn beside_a_leg(seconds: &[(u64, bool)]) -> Vec<String> {
    let rail = Rail { counters: vec!["hw/out_of_sequence".into()], ..bonded("mlx5_bond_0") };
    let mut timeline = Timeline::new(Arc::new(session(two_sockets(vec![rail]))));
    let mut lost = 0;
    for (at, (more, up)) in (0..).zip(seconds) {
        lost += more;
        let leg = |up| LegFrame { link_up: Some(up), active: Some(up), ..LegFrame::default() };
        let rail = RailFrame {
            counters: vec![Some(lost)],
            legs: vec![leg(*up), leg(true)],
            state: Some("ACTIVE".into()),
            ..RailFrame::default()
        };
        timeline.push(Frame { seq: at, at_ns: at * 1_000_000_000, rails: vec![rail], ..Frame::default() });
    }
    let found = crate::rules::diagnose(timeline.topology(), &timeline, &Limits::default());
    let wrong = found.into_iter().filter(|found| found.severity > crate::rules::Severity::Info);
    named(&wrong.collect::<Vec<_>>())
}

#[test]
fn what_is_lost_with_a_leg_is_told_by_the_leg_and_not_blamed_on_the_fabric() {
    let (quiet, goes, lost) = ((0, true), (2, false), (0, false));
    assert_eq!(beside_a_leg(&[quiet, quiet, goes, lost, (1, false)]), ["bond-leg-down mlx5_bond_0"]);
    assert_eq!(beside_a_leg(&[quiet, goes, lost, (1, true), quiet]), ["flap mlx5_bond_0"]);
    let late = [[quiet, goes].as_slice(), &[lost; 12], &[(3, false)]].concat();
    assert_eq!(beside_a_leg(&late), ["bond-leg-down mlx5_bond_0", "retransmit mlx5_bond_0"]);
    let hours_later = [[quiet, goes].as_slice(), &[lost; 100]].concat();
    assert_eq!(beside_a_leg(&hours_later), ["bond-leg-down mlx5_bond_0"]);
    assert_eq!(beside_a_leg(&[(0, true), (2, true)]), ["retransmit mlx5_bond_0"]);
}

#[test]
fn a_few_in_a_great_many_packets_are_ordinary_life_and_damage_is_not() {
    // three in a minute at 40 GB/s are one in 195 million packets of 4 KiB
    let grows = |name: &str, by: u64, seconds: u64| {
        let rail = Rail { counters: vec![name.to_owned()], ..rail("mlx5_0") };
        let topology = two_sockets(vec![rail]);
        let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
        for second in 0..=seconds {
            let read = RailFrame {
                rx_bytes: Some(second * 40_000_000_000),
                tx_bytes: Some(0),
                counters: vec![Some(if second > 0 { by } else { 0 })],
                ..RailFrame::default()
            };
            let at_ns = second * 1_000_000_000;
            timeline.push(Frame { seq: second, at_ns, rails: vec![read], ..Frame::default() });
        }
        named(&found_in(&RULE, &topology, &timeline)).join(" ")
    };
    for name in ["hw/np_cnp_sent", "hw/out_of_sequence", "eth/rx_prio3_pause", "eth/tx_prio3_pause"] {
        assert_eq!(grows(name, 3, 60), "", "{name}");
        assert_ne!(grows(name, 60, 60), "", "{name}");
        assert_ne!(grows(name, 3, 2), "", "{name}");
    }
    assert_eq!(grows("port/symbol_error", 3, 60), "link-errors mlx5_0");
}

#[test]
fn growth_is_told_with_its_rate_and_whether_it_is_over() {
    let found = grows("hw/out_of_sequence", &[120_000, 125_200, 130_400]);
    assert_eq!(
        found[0].message,
        "mlx5_0: packets were lost and sent again: out_of_sequence +10400 (5200/s, 1 in 94 packets)"
    );
    assert_eq!(found[0].evidence["growth"]["out_of_sequence"], 10400);
    let mut values = vec![5, 9];
    values.extend([9; 70]);
    let found = grows("hw/out_of_sequence", &values);
    assert!(
        found[0]
            .message
            .ends_with("+4 (1 in 8666992 packets), over the whole session, not in its last minute"),
        "{found:?}"
    );
}

#[test]
fn nobody_is_sent_to_the_switches_of_a_provider() {
    let rail =
        Rail { counters: vec!["hw/retrans_timeout_events".into()], netdev: None, ..rail("rdmap16s27") };
    let rail = Rail { driver: Some("efa".into()), ..rail };
    let topology = two_sockets(vec![rail]);
    let found = found_in(&RULE, &topology, &counted(&topology, &[vec![7], vec![90], vec![190]]));
    assert_eq!(named(&found), ["retransmit rdmap16s27"]);
    assert!(found[0].advice.contains("`rdma statistic show link rdmap16s27/1`"), "{}", found[0].advice);
    assert!(!found[0].advice.contains("switch ports"), "{}", found[0].advice);
}
