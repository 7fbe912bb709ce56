//! `ecn-cnp`, `retransmit`, `rx-pause`, `tx-pause`, `link-errors`: what counters say about the fabric.
//!
//! All of them fire on growth during the session only: totals since boot prove nothing. What can happen now and then on a
//! healthy fabric fires from one in ten million packets on, or by any amount where nothing tells the packets. One lost in
//! so many stalls a queue pair for a few thousandths of a percent of the time, one pause (at most 65535 quanta of 512 bits,
//! IEEE 802.3, 31B: 1024 packets of 4 KiB) takes a hundredth of a percent. Damage is never ordinary, so any amount counts.
//!
//! What each counter means: counters.rst of mlx5 (`Documentation/networking/device_drivers/ethernet/mellanox`),
//! the `rdma_stat_desc` tables of the other drivers in drivers/infiniband, IBTA 1.4, 16.1.3.5.

pub(crate) mod names;

pub use names::{Strain, strain_of};

use super::gids::speaks_roce;
use super::growth::{Grown, Growth};
use super::means::{self, OVER, Over};
use super::wording::{list, one_in};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::{Event, HostTimeline, Timeline};
use probes::model::{Rail, RailId, Topology};
use serde_json::{Map, Value};

/// The rules of this file.
pub(super) const RULE: Rule =
    Rule { codes: &["ecn-cnp", "retransmit", "rx-pause", "tx-pause", "link-errors"], check };

/// One kind of trouble.
struct Trouble {
    code: &'static str,
    /// What it means, before the counters.
    says: &'static str,
    /// Which counters tell of it.
    tells: fn(&str) -> bool,
    /// Whether a few in a great many packets are ordinary life.
    few_are_ordinary: bool,
    advice: fn(&Rail) -> String,
}

const TROUBLES: &[Trouble] = &[
    Trouble {
        code: "ecn-cnp",
        says: "the fabric signals congestion (ECN marks, CNPs)",
        tells: names::is_congestion,
        few_are_ordinary: true,
        advice: |_| {
            "find the crowded link: many senders to one receiver, or two flows hashed onto one uplink; look at \
             the switch's ECN counters along the path"
                .to_owned()
        },
    },
    Trouble {
        code: "retransmit",
        says: "packets were lost and sent again",
        tells: names::is_loss,
        few_are_ordinary: true,
        advice: |rail| match (&rail.netdev, speaks_roce(rail)) {
            (Some(netdev), true) => {
                let or = if rail.driver.as_deref().is_some_and(|driver| driver.starts_with("mlx")) {
                    format!("`mlnx_qos -i {netdev}` or ")
                } else {
                    String::new()
                };
                format!(
                    "check that PFC covers the priority RDMA rides in, at both ends and on every switch: \
                     {or}`dcb pfc show dev {netdev}`; look for drops on the switch ports, and for bad cables"
                )
            }
            _ => "look for drops and errors on the switch ports of both ends, and for bad cables".to_owned(),
        },
    },
    Trouble {
        code: "rx-pause",
        says: "pause frames were received: the switch or the peer throttles what this host sends",
        tells: names::is_pause_received,
        few_are_ordinary: true,
        advice: |rail| {
            format!(
                "find who cannot keep up: follow the pauses from the switch port; {}",
                statistics(rail, "grep pause")
            )
        },
    },
    Trouble {
        code: "tx-pause",
        says: "this host cannot take what arrives and says so (pauses sent, packets discarded)",
        tells: names::is_pause_sent,
        few_are_ordinary: true,
        advice: |rail| {
            format!(
                "look at this host, not at the fabric: PCIe link, placement (buffers on the rail's node), IOMMU, \
                 memory bandwidth; {}",
                statistics(rail, "grep -E 'pause|discard|stalled'")
            )
        },
    },
    Trouble {
        code: "link-errors",
        says: "the link damages packets (symbol, FEC or CRC errors)",
        tells: names::is_damage,
        few_are_ordinary: false,
        advice: |rail| {
            let mut looks = Vec::new();
            if speaks_roce(rail) {
                looks.extend(rail.netdev.as_ref().map(|netdev| format!("`ethtool -m {netdev}`")));
            }
            if rail.driver.as_deref().is_some_and(|driver| driver.starts_with("mlx")) {
                looks.push(format!("`mlxlink -d {} -c`", rail.device));
            }
            looks.push("the same at the switch port".to_owned());
            format!("clean or change cable and transceiver; look with {}", list(looks))
        },
    },
];

/// The commands that print these of the drivers' statistics: a bond has none itself, its legs have.
fn statistics(rail: &Rail, filter: &str) -> String {
    let netdevs: Vec<&str> = match &rail.bond {
        Some(bond) if !bond.legs.is_empty() => bond.legs.iter().map(|leg| leg.netdev.as_str()).collect(),
        _ => vec![rail.netdev.as_deref().unwrap_or("NETDEV")],
    };
    list(netdevs.into_iter().map(|netdev| format!("`ethtool -S {netdev} | {filter}`")))
}

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let local = timeline.local();
    let mut found = Vec::new();
    for (id, rail) in topology.rails_with_id() {
        let growth = Growth::of(id, rail, local);
        // what is lost with a link is told by the finding on the link, where there is one
        let growth = if tells_of_its_link(rail, local) { growth.without_link_changes() } else { growth };
        let packets = |over| packets(id, rail, timeline, &growth, over);
        found.extend(TROUBLES.iter().filter_map(|trouble| trouble.judge(rail, &growth, limits, packets)));
    }
    found
}

/// Packets of RDMA that the rail moved in both directions: counted, or the fewest that its bytes make; `None` where neither
/// is known, or nothing moved.
fn packets(id: RailId, rail: &Rail, timeline: &Timeline, growth: &Growth<'_>, over: Over) -> Option<f64> {
    let counted: u64 = growth
        .grown(over, |name| matches!(name, "port/port_rcv_packets" | "port/port_xmit_packets"))
        .iter()
        .map(|grown| grown.by)
        .sum();
    if counted > 0 {
        return Some(counted as f64);
    }
    let mtu = f64::from(timeline.local().at_path_mtu(rail).path_mtu?);
    let moved = means::counted(timeline.local(), id, over);
    Some((moved.rx.bytes + moved.tx.bytes) / mtu).filter(|packets| *packets >= 1.0)
}

/// Whether the link of this rail, or a leg of its bond, was seen to go down: `link-down`, `bond-leg-down` or `flap` says so.
fn tells_of_its_link(rail: &Rail, local: &HostTimeline) -> bool {
    let went_down = |event: &Event| matches!(event.what.as_str(), "link-down" | "leg-down");
    local.sums().events.iter().any(|event| event.device == rail.device && went_down(event))
}

/// More names than this make a message unreadable; the evidence has them all.
const MOST_NAMED: usize = 4;

impl Trouble {
    fn judge(
        &self,
        rail: &Rail,
        growth: &Growth<'_>,
        limits: &Limits,
        packets: impl Fn(Over) -> Option<f64>,
    ) -> Option<Finding> {
        let (over, grown) = [Over::Window, Over::Session].into_iter().find_map(|over| {
            let grown = growth.grown(over, self.tells);
            let matters = self.matters(&grown, packets(over), limits);
            (!grown.is_empty() && matters).then_some((over, grown))
        })?;
        let (packets, seconds) = (packets(over), growth.seconds(over));
        let each = |grown: &Grown<'_>| {
            let share = packets.filter(|_| !is_time(grown.name)).map(|packets| grown.by as f64 / packets);
            let rates = [per_second(grown.by, seconds), share.and_then(one_in)];
            let rates: Vec<String> = rates.into_iter().flatten().collect();
            let rates = if rates.is_empty() { String::new() } else { format!(" ({})", rates.join(", ")) };
            format!("{} +{}{rates}", grown.short(), grown.by)
        };
        let mut named: Vec<String> = grown.iter().take(MOST_NAMED).map(each).collect();
        if let Some(more) = grown.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            named.push(format!("{more} more"));
        }
        let past = if over == Over::Session { OVER } else { "" };
        let message = format!("{}: {}: {}{past}", rail.device, self.says, list(named));
        let growths: Map<String, Value> =
            grown.iter().map(|grown| (grown.short().to_owned(), grown.by.into())).collect();
        let mut finding = Finding::new(self.code, Severity::Warning, [&rail.device], message)
            .with("growth", growths)
            .with("seconds", super::wording::rounded(seconds))
            .with("limit_growth", 0)
            .advise((self.advice)(rail));
        if self.few_are_ordinary {
            finding = finding
                .with("packets", packets.map(f64::round))
                .with("limit_packet_share", limits.packet_share);
        }
        Some(finding)
    }

    /// Whether there is more of it than the few that are ordinary; yes where the packets are not known.
    fn matters(&self, grown: &[Grown<'_>], packets: Option<f64>, limits: &Limits) -> bool {
        let events = grown.iter().filter(|grown| !is_time(grown.name)).map(|grown| grown.by).max();
        match (events, packets) {
            (Some(events), Some(packets)) if self.few_are_ordinary => {
                events as f64 >= limits.packet_share * packets
            }
            _ => true,
        }
    }
}

/// Whether a counter tells microseconds, not how often (`rx_prio3_pause_duration`).
fn is_time(name: &str) -> bool {
    name.ends_with("duration")
}

/// `5200/s`; nothing below one a second.
fn per_second(by: u64, seconds: f64) -> Option<String> {
    let rate = by as f64 / seconds;
    (rate >= 1.0 && rate.is_finite()).then(|| format!("{rate:.0}/s"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bonded, counted, found_in, named, rail, session, two_sockets};
    use super::RULE;
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
            timeline.push(Frame {
                seq: at,
                at_ns: at * 1_000_000_000,
                rails: vec![rail],
                ..Frame::default()
            });
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
}
