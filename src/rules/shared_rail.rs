//! `shared-rail`: two ranks of one job use one rail, while another rail is used by none of them; or a process uses rails that
//! are far from its GPU, while another rail is near.
//!
//! Ranks and jobs are those that the launcher wrote into the environment of processes with queue pairs. Silent
//! where every rail that is ACTIVE is in use by the job: then there are more ranks than rails, and sharing is meant.

mod far_gpu;

use super::wording::{devices, list};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{ProcessSource, Rail, RailId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["shared-rail"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let mut jobs: BTreeMap<&str, BTreeMap<&str, BTreeSet<u32>>> = BTreeMap::new();
    for process in timeline.local().processes().unwrap_or_default() {
        if let Some(rank) = process.rank.as_ref().filter(|_| process.source == ProcessSource::QueuePairs) {
            jobs.entry(&rank.job).or_default().entry(&process.device).or_default().insert(rank.rank);
        }
    }
    let is_active = |(id, rail): &(RailId, &Rail)| timeline.local().last_seen(*id, rail).is_active();
    let active = devices(topology.rails_with_id().filter(is_active).map(|(_, rail)| rail));
    let processes = timeline.local().processes().unwrap_or_default();
    let far = far_gpu::check(topology, processes);
    jobs.values().flat_map(|ranks_by_device| judge(&active, ranks_by_device)).chain(far).collect()
}

fn judge(active: &[&str], ranks_by_device: &BTreeMap<&str, BTreeSet<u32>>) -> Vec<Finding> {
    let idle: Vec<&str> =
        active.iter().copied().filter(|device| !ranks_by_device.contains_key(device)).collect();
    if idle.is_empty() {
        return Vec::new();
    }
    let shared = ranks_by_device.iter().filter(|(_, ranks)| ranks.len() > 1);
    shared
        .map(|(device, ranks)| {
            let names = list(ranks.iter().map(u32::to_string));
            let message = format!(
                "{device}: ranks {names} of one job share it, while none of its ranks uses {}",
                list(idle.iter().copied())
            );
            Finding::new("shared-rail", Severity::Info, [*device], message)
                .with("ranks", ranks.iter().copied().collect::<Vec<u32>>())
                .with("idle_rails", idle.clone())
                .advise(
                    "give each rank the rail nearest to its GPU: `NCCL_IB_HCA` or `UCX_NET_DEVICES` per rank, and see \
                     `railscope probe` for what is near what",
                )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, process, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{Process, Rank};

    fn ranks(ranks: &[(u32, &str, &str)]) -> Vec<Finding> {
        let processes = ranks.iter().map(|(rank, job, device)| Process {
            rank: Some(Rank { job: (*job).to_owned(), rank: *rank }),
            ..process(1000 + rank, device, "0-3")
        });
        let traffic = Traffic { processes: Some(processes.collect()), ..Traffic::default() };
        found(&RULE, &two_sockets(["mlx5_0", "mlx5_1", "mlx5_2"].map(rail).into()), &traffic)
    }

    #[test]
    fn two_ranks_on_one_rail_are_named_while_another_rail_is_free() {
        let found = ranks(&[(0, "77", "mlx5_0"), (1, "77", "mlx5_0"), (2, "77", "mlx5_1")]);
        assert_eq!(named(&found), ["shared-rail mlx5_0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0: ranks 0 and 1 of one job share it, while none of its ranks uses mlx5_2"
        );
    }

    #[test]
    fn ranks_of_two_jobs_and_more_ranks_than_rails_are_meant_so() {
        let quiet = Vec::<String>::new();
        assert_eq!(named(&ranks(&[(0, "77", "mlx5_0"), (1, "78", "mlx5_0")])), quiet);
        let full = [(0, "77", "mlx5_0"), (1, "77", "mlx5_0"), (2, "77", "mlx5_1"), (3, "77", "mlx5_2")];
        assert_eq!(named(&ranks(&full)), quiet);
    }
}
