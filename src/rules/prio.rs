//! `prio`: RDMA rides in a priority that no flow control covers.
//!
//! Fires when, over the session, more than half as many bytes as RDMA received ran in priorities without a
//! pause counter of their own, less than half in those that have one, and there are such. A driver has
//! `rx_prioN_pause` only for priorities with PFC (counters.rst of mlx5: "available only if PFC was enabled on
//! priority N"). Netdevs that show no PFC at all are left alone, since that may be meant so, unless packets are lost there:
//! then the want of flow control is worth knowing.

use super::fabric::names;
use super::growth::Growth;
use super::means::Over;
use super::wording::{called, list, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Rail, Topology};
use std::collections::BTreeSet;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["prio"], check };

/// Share of the RDMA bytes that decides which priority they ride in.
const HALF: f64 = 0.5;
/// Less than this is chatter.
const LEAST_BYTES: f64 = 1e6;

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let local = timeline.local();
    let mut found = Vec::new();
    for ((id, rail), sums) in topology.rails_with_id().zip(&local.sums().rails) {
        let growth = Growth::of(id, rail, local);
        let rides = |direction: &str, bytes: f64| {
            uncovered((rail, &called(rail, &topology.rails)), &growth, direction, bytes)
        };
        found.extend(rides("rx", sums.rx.bytes).or_else(|| rides("tx", sums.tx.bytes)));
    }
    found
}

fn uncovered(
    (rail, name): (&Rail, &str),
    growth: &Growth<'_>,
    direction: &str,
    rdma_bytes: f64,
) -> Option<Finding> {
    if rdma_bytes < LEAST_BYTES {
        return None;
    }
    let covered: BTreeSet<u32> = rail.counters.iter().filter_map(|name| priority(name, "_pause")).collect();
    let paused_as_a_whole = rail.counters.iter().any(|name| names::is_pause_received(name));
    if covered.is_empty() && (paused_as_a_whole || growth.grown(Over::Session, names::is_loss).is_empty()) {
        return None;
    }
    let prefix = format!("eth/{direction}_prio");
    let grown =
        growth.grown(Over::Session, |name| name.starts_with(&prefix) && priority(name, "_bytes").is_some());
    let bytes_in = |is_covered: bool| -> u64 {
        let which = |name: &str| priority(name, "_bytes").is_some_and(|p| covered.contains(&p) == is_covered);
        grown.iter().filter(|grown| which(grown.name)).map(|grown| grown.by).sum()
    };
    let (safe, bare) = (bytes_in(true) as f64, bytes_in(false) as f64);
    if safe >= HALF * rdma_bytes || bare < HALF * rdma_bytes {
        return None;
    }
    // most growth comes first
    let busiest = grown.iter().find_map(|g| priority(g.name, "_bytes").filter(|p| !covered.contains(p)))?;
    let where_pfc_is = match covered.len() {
        0 => "no priority has PFC".to_owned(),
        _ => format!("PFC is on {}", list(covered.iter().map(u32::to_string))),
    };
    let netdev = rail.netdev.as_deref().unwrap_or("NETDEV");
    let message = format!(
        "{name}: RDMA rides in priority {busiest}, which has no flow control ({where_pfc_is}): {:.1} GB there, \
         {:.1} GB where PFC is",
        bare / 1e9,
        safe / 1e9,
    );
    Some(
        Finding::on_ports("prio", Severity::Info, [rail], message)
            .with("priority", busiest)
            .with("pfc_priorities", covered.iter().copied().collect::<Vec<u32>>())
            .with("gb_without_pfc", rounded(bare / 1e9))
            .with("gb_with_pfc", rounded(safe / 1e9))
            .advise(format!(
                "have the sender mark its traffic for a lossless priority (traffic class of the queue pair, or \
                 `cma_roce_tos -d {} -t TOS`), trust DSCP (`mlnx_qos -i {netdev} --trust dscp`), and hold it \
                 against `dcb pfc show dev {netdev}`",
                rail.device
            )),
    )
}

/// `3` of `eth/rx_prio3_bytes`.
fn priority(name: &str, end: &str) -> Option<u32> {
    let (_, rest) = name.strip_suffix(end)?.split_once("_prio")?;
    rest.trim_start_matches('_').parse().ok().filter(|priority| *priority < 8)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{counted, found_in, named, rail, two_sockets};
    use super::RULE;
    use probes::model::Rail;

    /// Findings when 2 GB of RDMA arrive a second and these bytes are counted per priority.
    fn codes(names: &[&str], bytes_a_second: &[u64]) -> Vec<String> {
        let counters = names.iter().map(|name| format!("eth/{name}")).collect();
        let topology = two_sockets(vec![Rail { counters, ..rail("mlx5_0") }]);
        let rows: Vec<Vec<u64>> =
            (0..4).map(|second| bytes_a_second.iter().map(|bytes| bytes * second).collect()).collect();
        named(&found_in(&RULE, &topology, &counted(&topology, &rows)))
    }

    const NAMES: [&str; 3] = ["rx_prio0_bytes", "rx_prio3_bytes", "rx_prio3_pause"];

    #[test]
    fn bytes_outside_the_lossless_priority_are_named() {
        assert_eq!(codes(&NAMES, &[2_100_000_000, 0, 0]), ["prio mlx5_0"]);
    }

    #[test]
    fn bytes_in_the_lossless_priority_are_fine_whatever_else_is_on_the_wire() {
        assert_eq!(codes(&NAMES, &[2_100_000_000, 2_100_000_000, 0]), Vec::<String>::new());
        assert_eq!(codes(&NAMES, &[3000, 2_100_000_000, 0]), Vec::<String>::new());
    }

    #[test]
    fn without_any_pfc_it_is_worth_knowing_where_packets_are_lost() {
        let lossy = |counters: [&str; 3]| {
            let topology =
                two_sockets(vec![Rail { counters: counters.map(str::to_owned).into(), ..rail("mlx5_0") }]);
            let rows: Vec<Vec<u64>> =
                (0..4).map(|second| vec![2_100_000_000 * second, 0, 900 * second]).collect();
            found_in(&RULE, &topology, &counted(&topology, &rows))
        };
        let found = lossy(["eth/rx_prio4_bytes", "eth/rx_prio0_bytes", "hw/out_of_sequence"]);
        assert_eq!(named(&found), ["prio mlx5_0"]);
        assert!(
            found[0].message.contains("priority 4, which has no flow control (no priority has PFC)"),
            "{found:?}"
        );
        let paused = lossy(["eth/rx_prio4_bytes", "eth/rx_pause_ctrl_phy", "hw/out_of_sequence"]);
        assert_eq!(named(&paused), Vec::<String>::new());
    }

    #[test]
    fn without_any_pfc_or_any_bytes_per_priority_nothing_is_said() {
        assert_eq!(codes(&["rx_prio0_bytes", "rx_prio3_bytes"], &[2_100_000_000, 0]), Vec::<String>::new());
        assert_eq!(codes(&["rx_prio3_pause"], &[0]), Vec::<String>::new());
    }
}
