//! How many queue pairs a bond's users have: one of them keeps to one leg, many of them do not by themselves.

use crate::rules::Finding;
use crate::rules::wording::list;
use probes::model::{Process, ProcessSource, Rail};

/// Adds who uses the bond with how many queue pairs, where that is known of every user; our own load tells its own.
///
/// A queue pair is one flow (one UDP source port on RoCE v2), and hash policies keep a flow on one leg
/// (Documentation/networking/bonding.rst, `xmit_hash_policy`).
pub(super) fn with_flows(mut found: Finding, rail: &Rail, processes: &[Process]) -> Finding {
    let here = || processes.iter().filter(|process| process.device == rail.device);
    if here().any(|process| process.source == ProcessSource::OurLoad) {
        return found;
    }
    let users: Option<Vec<_>> =
        here().map(|user| Some((user, user.queue_pairs.filter(|count| *count > 0)?))).collect();
    let Some(users) = users.filter(|users| !users.is_empty()) else { return found };
    let count: u32 = users.iter().map(|(_, count)| count).sum();
    let told = users.iter().map(|(user, count)| {
        let pairs = if *count == 1 { "one queue pair".to_owned() } else { format!("{count} queue pairs") };
        format!("{} (PID {}) has {pairs} there", user.name, user.pid)
    });
    let why = if count == 1 { ", and a queue pair keeps to one leg" } else { "" };
    let told = list(told);
    found.message = format!("{}; {told}{why}", found.message);
    found.advice =
        format!("{}; see the queue pairs with `rdma resource show qp link {}/-`", found.advice, rail.device);
    let pids: Vec<u32> = users.iter().map(|(user, _)| user.pid).collect();
    found.with("queue_pairs", count).with("pids", pids)
}

#[cfg(test)]
mod tests {
    use crate::rules::Finding;
    use crate::rules::testing::{Traffic, bonded, found, process, two_sockets};
    use probes::model::{Process, ProcessSource};

    fn with(processes: Vec<Process>) -> Finding {
        let traffic = Traffic {
            legs_rx_gb_per_s: vec![24.5, 0.1],
            processes: Some(processes),
            ..Traffic::loaded(&[24.6])
        };
        found(&super::super::RULE, &two_sockets(vec![bonded("mlx5_bond_1")]), &traffic).remove(0)
    }

    fn user(pid: u32, queue_pairs: Option<u32>) -> Process {
        Process { queue_pairs, source: ProcessSource::QueuePairs, ..process(pid, "mlx5_bond_1", "0-3") }
    }

    #[test]
    fn one_queue_pair_is_told_as_the_reason() {
        let found = with(vec![user(9, Some(1))]);
        assert!(
            found.message.ends_with(
                "could carry 49.7 GB/s together; ib_read_bw (PID 9) has one queue pair there, and a queue pair keeps to one leg"
            ),
            "{}",
            found.message
        );
        assert!(found.advice.ends_with("`rdma resource show qp link mlx5_bond_1/-`"), "{}", found.advice);
        assert_eq!(found.evidence["queue_pairs"], 1);
    }

    #[test]
    fn many_queue_pairs_are_told_without_that_reason() {
        let found = with(vec![user(9, Some(8)), user(10, Some(1))]);
        assert!(
            found.message.ends_with(
                "ib_read_bw (PID 9) has 8 queue pairs there and ib_read_bw (PID 10) has one queue pair there"
            ),
            "{}",
            found.message
        );
        assert_eq!(found.evidence["queue_pairs"], 9);
    }

    #[test]
    fn where_one_users_queue_pairs_are_not_known_nothing_is_said() {
        let found = with(vec![user(9, Some(1)), user(10, None)]);
        assert!(found.message.ends_with("together"), "{}", found.message);
        assert!(!found.evidence.contains_key("queue_pairs"));
    }
}
