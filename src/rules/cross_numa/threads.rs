//! Threads that are bound far from the rails of their process, while others of it are near.

use super::{distance, same_socket};
use crate::rules::cross_numa::users::User;
use crate::rules::wording::{devices, list, nodes};
use crate::rules::{Finding, Severity};
use probes::model::{BoundThreads, CpuSet, Topology};
use std::collections::BTreeSet;

/// One finding for those threads of a process that may run far from all of its rails only, and are known to do something, or
/// not known to do nothing. `None` where all of its threads are far: that is said of the process.
pub(super) fn far(topology: &Topology, user: &User) -> Option<Finding> {
    let rails = || user.rails.iter().map(|id| &topology.rails[id.0]);
    let near: BTreeSet<u32> = rails().map(|rail| rail.numa_node).collect::<Option<_>>()?;
    let near_cpus: CpuSet = near
        .iter()
        .map(|node| topology.node(*node)?.cpus.as_ref().filter(|cpus| !cpus.is_empty()))
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .flat_map(CpuSet::iter)
        .collect();
    let is_far = |threads: &&BoundThreads| !threads.cpus.is_empty() && !threads.cpus.intersects(&near_cpus);
    let far: Vec<&BoundThreads> =
        user.bound.iter().filter(is_far).filter(|threads| threads.works != Some(false)).collect();
    if far.is_empty() || user.bound.iter().all(|threads| is_far(&threads)) {
        return None;
    }
    let cpus: CpuSet = far.iter().flat_map(|threads| threads.cpus.iter()).collect();
    let far_nodes = topology.nodes_of_cpus(&cpus);
    let node = *near.first()?;
    let is_mild = same_socket(topology, &far_nodes, node);
    let severity = if is_mild { Severity::Info } else { Severity::Warning };
    let far_away = distance(topology, &far_nodes, node);
    let devices = devices(rails());
    let each = list(far.iter().map(|threads| in_words(topology, threads)));
    let near: Vec<u32> = near.into_iter().collect();
    let message = format!(
        "{} uses {} on {}, and not all of its threads are near: {each}{}; {}",
        user.title(),
        list(devices.iter().copied()),
        nodes(&near),
        far_away.map_or(String::new(), |distance| format!("; distance {distance}")),
        if is_mild { "the same socket" } else { "another socket" },
    );
    let first = far.first()?;
    Some(
        Finding::new("cross-numa", severity, devices, message)
            .with("pid", user.pid)
            .with("process", user.name.clone())
            .with("thread", first.name.clone())
            .with("tid", first.busiest)
            .with("threads", far.iter().map(|threads| threads.count).sum::<u32>())
            .with("cpus", cpus.to_string())
            .with("cpu_nodes", far_nodes.into_iter().collect::<Vec<_>>())
            .with("rail_node", node)
            .with("distance", far_away)
            .with("same_socket", is_mild)
            .advise(format!(
                "if that thread posts, polls or fills buffers, bind it near: `taskset -cp {near_cpus} {}` moves it, and no memory; \
                 whoever binds the threads of this program decides (its own setting, a library, a wrapper)",
                first.busiest
            )),
    )
}

/// `thread poll (TID 778) may run on CPU 20 (node 5) only`.
fn in_words(topology: &Topology, threads: &BoundThreads) -> String {
    let on: Vec<u32> = topology.nodes_of_cpus(&threads.cpus).into_iter().collect();
    let cpus = threads.cpus.to_string();
    let cpu = if cpus.contains([',', '-']) { "CPUs" } else { "CPU" };
    let who = match threads.count {
        1 => format!("thread {} (TID {})", threads.name, threads.busiest),
        several => format!("{several} threads ({}, TID {}, and others)", threads.name, threads.busiest),
    };
    format!("{who} may run on {cpu} {cpus} ({}) only", nodes(&on))
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{Traffic, found, named, process, rail, two_sockets};
    use crate::rules::{Finding, not_pinned};
    use probes::model::{BoundThreads, Process};

    fn kind(cpus: &str, busiest: u32, works: Option<bool>) -> BoundThreads {
        BoundThreads { cpus: cpus.parse().unwrap(), count: 1, busiest, name: "poll".into(), works }
    }

    fn traffic(kinds: &[BoundThreads]) -> Traffic {
        let all = kinds.iter().flat_map(|kind| kind.cpus.iter()).collect();
        let user = Process {
            bound_threads: kinds.to_vec(),
            cpus_allowed: Some(all),
            name: "srv".into(),
            ..process(777, "mlx5_0", "0")
        };
        Traffic { processes: Some(vec![user]), ..Traffic::default() }
    }

    fn findings(kinds: &[BoundThreads]) -> Vec<Finding> {
        found(&super::super::RULE, &two_sockets(vec![rail("mlx5_0")]), &traffic(kinds))
    }

    #[test]
    fn a_thread_that_is_bound_far_from_the_rail_is_named() {
        let kinds = [kind("0-3", 777, None), kind("5", 778, None)];
        let found = findings(&kinds);
        assert_eq!(named(&found), ["cross-numa mlx5_0"]);
        assert_eq!(
            found[0].message,
            "srv (PID 777) uses mlx5_0 on node 0, and not all of its threads are near: thread poll (TID 778) may run on CPU \
             5 (node 1) only; distance 32; another socket"
        );
        assert!(found[0].advice.contains("`taskset -cp 0-3 778`"), "{}", found[0].advice);
        let topology = two_sockets(vec![rail("mlx5_0")]);
        let unbound = crate::rules::testing::found(&not_pinned::RULE, &topology, &traffic(&kinds));
        assert_eq!(named(&unbound), Vec::<String>::new(), "every thread is bound somewhere");
    }

    #[test]
    fn threads_that_are_near_do_nothing_or_have_a_choice_are_no_matter() {
        let near = || kind("0-3", 777, Some(true));
        for other in [kind("1", 778, None), kind("5", 778, Some(false)), kind("0-7", 778, None)] {
            assert_eq!(named(&findings(&[near(), other])), Vec::<String>::new());
        }
        // all of them far: the process is
        let far = findings(&[kind("4-7", 777, None), kind("5", 778, None)]);
        assert_eq!(named(&far), ["cross-numa mlx5_0"]);
        assert!(far[0].message.contains("runs on CPUs 4-7 (node 1)"), "{}", far[0].message);
    }
}
