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
use super::wording::{called, list, one_in};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::{HostTimeline, Timeline};
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
            _ if rail.driver.as_deref() == Some("efa") => format!(
                "the switches are the provider's: hold the same counters of the other ends against these (`rdma statistic \
                 show link {}/{}`): one end that all lose to is the one to replace",
                rail.device, rail.port
            ),
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
                looks.extend(netdevs(rail).map(|netdev| format!("`ethtool -m {netdev}`")));
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
    let mut netdevs: Vec<&str> = netdevs(rail).collect();
    if netdevs.is_empty() {
        netdevs.push("NETDEV");
    }
    list(netdevs.into_iter().map(|netdev| format!("`ethtool -S {netdev} | {filter}`")))
}

/// The netdevs that have a driver and a module of their own: a bond has none, its legs have.
fn netdevs(rail: &Rail) -> impl Iterator<Item = &str> {
    let legs = rail.bond.iter().flat_map(|bond| &bond.legs).map(|leg| leg.netdev.as_str());
    let is_bond = rail.bond.as_ref().is_some_and(|bond| !bond.legs.is_empty());
    legs.chain(rail.netdev.as_deref().filter(|_| !is_bond))
}

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let local = timeline.local();
    let mut found = Vec::new();
    for (id, rail) in topology.rails_with_id() {
        let growth = Growth::of(id, rail, local);
        // what is lost with a link is told by the finding on the link, where there is one
        let growth = if tells_of_its_link(rail, local) { growth.without_link_changes() } else { growth };
        let packets = |over| packets(id, rail, timeline, &growth, over);
        let name = called(rail, &topology.rails);
        found.extend(
            TROUBLES.iter().filter_map(|trouble| trouble.judge((rail, &name), &growth, limits, packets)),
        );
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
    local.sums().events.iter().any(|event| event.is_of(rail) && event.is_link_loss())
}

/// More names than this make a message unreadable; the evidence has them all.
const MOST_NAMED: usize = 4;

impl Trouble {
    fn judge(
        &self,
        (rail, name): (&Rail, &str),
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
        let message = format!("{name}: {}: {}{past}", self.says, list(named));
        let growths: Map<String, Value> =
            grown.iter().map(|grown| (grown.short().to_owned(), grown.by.into())).collect();
        let mut finding = Finding::on_ports(self.code, Severity::Warning, [rail], message)
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
mod tests;
