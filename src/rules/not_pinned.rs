//! `not-pinned`: a process that uses rails may run near them, and may as well run far from them.
//!
//! Fires when a process with queue pairs (or a described load) may run on CPUs of a node that none of its rails
//! is on, besides CPUs of theirs. A process that may run on far nodes only is `cross-numa`. Silent where the node
//! of one of its rails is unknown, and for a process with rails on every node it may run on: its threads may well
//! be bound one by one.

use super::cross_numa::users::{self, User};
use super::means::latest_load;
use super::wording::{devices, list, nodes, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{CpuSet, Process, ProcessSource, Topology};
use std::collections::BTreeSet;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["not-pinned"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    if topology.numa.len() < 2 {
        return Vec::new();
    }
    let processes = timeline.local().processes().unwrap_or_default();
    users::all(topology, processes, latest_load(timeline))
        .iter()
        .filter(|user| uses_rails(user, processes))
        .filter_map(|user| judge(topology, user))
        .collect()
}

/// An open verbs file alone is no use of a rail: monitors hold it too.
fn uses_rails(user: &User, processes: &[Process]) -> bool {
    let mut of_user = processes.iter().filter(|process| Some(process.pid) == user.pid).peekable();
    of_user.peek().is_none() || of_user.any(|process| process.source != ProcessSource::OpenFile)
}

fn judge(topology: &Topology, user: &User) -> Option<Finding> {
    let cpus = user.cpus_of(&user.rails)?;
    let rails = || user.rails.iter().map(|id| &topology.rails[id.0]);
    let near: BTreeSet<u32> = rails().map(|rail| rail.numa_node).collect::<Option<_>>()?;
    // a list of CPUs names those that are possible; those that are not there are on no node
    let may = topology.nodes_of_cpus(&cpus);
    let far: Vec<u32> = may.difference(&near).copied().collect();
    if far.is_empty() || may.is_disjoint(&near) {
        return None;
    }
    // threads that are bound one by one are near or far, and the far ones are named
    let stays = |cpus: &CpuSet| {
        let nodes = topology.nodes_of_cpus(cpus);
        nodes.is_subset(&near) || nodes.is_disjoint(&near)
    };
    if !user.bound.is_empty() && user.bound.iter().all(|threads| stays(&threads.cpus)) {
        return None;
    }
    let devices = devices(rails());
    let near: Vec<u32> = near.into_iter().collect();
    let message = format!(
        "{} uses {} on {}, and may run on {far_nodes} as well: nothing keeps it near {}",
        user.title(),
        list(devices.iter().copied()),
        nodes(&near),
        verb(devices.len(), "its rail", "its rails"),
        far_nodes = nodes(&far),
    );
    Some(
        Finding::new("not-pinned", Severity::Info, devices, message)
            .with("pid", user.pid)
            .with("process", user.name.clone())
            .with("cpus", cpus.to_string())
            .with("rail_nodes", near.clone())
            .with("far_nodes", far)
            .advise(advice(topology, user, &near)),
    )
}

fn advice(topology: &Topology, user: &User, near: &[u32]) -> String {
    if user.ours {
        return "`railscope load PEER --place local` binds each thread to its rail's node".to_owned();
    }
    let numbers = near.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let start = format!("start it under `numactl --cpunodebind={numbers} --membind={numbers}`");
    let cpus: CpuSet =
        near.iter().filter_map(|node| topology.node(*node)?.cpus.as_ref()).flat_map(CpuSet::iter).collect();
    match user.pid {
        Some(pid) => {
            format!("{start}; for now `taskset -a -cp {cpus} {pid}` moves its threads, not its memory")
        }
        None => start,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, process, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{Process, ProcessSource, Rail, Topology};

    fn topology() -> Topology {
        let far = Rail { numa_node: Some(1), ..rail("mlx5_1") };
        let unknown = Rail { numa_node: None, ..rail("mlx5_2") };
        two_sockets(vec![rail("mlx5_0"), far, unknown])
    }

    fn findings(processes: Vec<Process>) -> Vec<Finding> {
        found(&RULE, &topology(), &Traffic { processes: Some(processes), ..Traffic::default() })
    }

    #[test]
    fn a_process_that_may_run_on_every_node_is_not_pinned() {
        let found = findings(vec![process(4242, "mlx5_0", "0-63")]);
        assert_eq!(named(&found), ["not-pinned mlx5_0"]);
        assert_eq!(
            found[0].message,
            "ib_read_bw (PID 4242) uses mlx5_0 on node 0, and may run on node 1 as well: nothing keeps it near \
             its rail"
        );
        assert!(found[0].advice.contains("`numactl --cpunodebind=0 --membind=0`"), "{found:?}");
        assert!(found[0].advice.contains("`taskset -a -cp 0-3 4242`"), "{found:?}");
    }

    #[test]
    fn a_bound_process_and_one_that_is_far_altogether_are_other_matters() {
        let quiet = Vec::<String>::new();
        assert_eq!(named(&findings(vec![process(1, "mlx5_0", "0-3")])), quiet);
        assert_eq!(named(&findings(vec![process(1, "mlx5_0", "4-7")])), quiet);
    }

    #[test]
    fn rails_on_every_node_an_unknown_node_and_a_monitor_prove_nothing() {
        let quiet = Vec::<String>::new();
        let both = vec![process(1, "mlx5_0", "0-7"), process(1, "mlx5_1", "0-7")];
        assert_eq!(named(&findings(both)), quiet);
        assert_eq!(named(&findings(vec![process(1, "mlx5_2", "0-7")])), quiet);
        let monitor =
            Process { source: ProcessSource::OpenFile, queue_pairs: None, ..process(1, "mlx5_0", "0-7") };
        assert_eq!(named(&findings(vec![monitor])), quiet);
    }
}
