//! `numa-balancing`: the kernel may move pages and threads between nodes while something uses the rails.
//!
//! Automatic NUMA balancing unmaps pages to see who touches them; registered memory is pinned and stays, so it
//! costs faults and gains nothing. Memory bound with a policy is left alone. Source:
//! Documentation/admin-guide/sysctl/kernel.rst, `numa_balancing`; `set_mempolicy(2)`.

use super::means::latest_load;
use super::wording::list;
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{LoadOrigin, Topology};
use std::collections::BTreeMap;

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["numa-balancing"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    if topology.host.numa_balancing != Some(true) || topology.numa.len() < 2 || topology.rails.is_empty() {
        return Vec::new();
    }
    let users = users(timeline);
    if users.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "the kernel's NUMA balancing is on while {} {} the rails: it may move threads and unbound pages between nodes",
        list(users.iter().cloned()),
        super::wording::verb(users.len(), "uses", "use"),
    );
    vec![
        Finding::new("numa-balancing", Severity::Info, ["host"], message)
            .with("numa_balancing", true)
            .with("users", users)
            .advise(
                "`sysctl -w kernel.numa_balancing=0` for the time of a measurement, or bind CPUs and memory",
            ),
    ]
}

/// Whoever uses the rails: a load, and processes with queue pairs or an open device.
fn users(timeline: &Timeline) -> Vec<String> {
    let load = latest_load(timeline).map(|load| match (load.origin, load.pid) {
        (LoadOrigin::Ours, _) => "our load".to_owned(),
        (LoadOrigin::Described, Some(pid)) => format!("PID {pid}"),
        (LoadOrigin::Described, None) => "a load".to_owned(),
    });
    if let Some(load) = load {
        return vec![load];
    }
    let processes: BTreeMap<u32, &str> =
        timeline.local().processes().unwrap_or_default().iter().map(|p| (p.pid, p.name.as_str())).collect();
    processes.iter().map(|(pid, name)| format!("{name} (PID {pid})")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, process, rail, two_sockets};
    use super::RULE;
    use probes::model::Topology;

    fn machine(balancing: Option<bool>) -> Topology {
        let mut topology = two_sockets(vec![rail("mlx5_0")]);
        topology.host.numa_balancing = balancing;
        topology
    }

    #[test]
    fn balancing_under_a_load_or_an_rdma_process_is_worth_knowing() {
        let loaded = found(&RULE, &machine(Some(true)), &Traffic::loaded(&[40.0]));
        assert_eq!(named(&loaded), ["numa-balancing host"]);
        let traffic = Traffic {
            processes: Some(vec![process(7, "mlx5_0", "0-3")]),
            rx_gb_per_s: vec![vec![0.0]],
            ..Traffic::default()
        };
        let used = found(&RULE, &machine(Some(true)), &traffic);
        assert_eq!(
            used[0].message,
            "the kernel's NUMA balancing is on while ib_read_bw (PID 7) uses the rails: it may move threads and \
             unbound pages between nodes"
        );
    }

    #[test]
    fn off_unknown_unused_and_on_one_node_it_does_not_matter() {
        let loaded = Traffic::loaded(&[40.0]);
        for balancing in [Some(false), None] {
            assert_eq!(named(&found(&RULE, &machine(balancing), &loaded)), Vec::<String>::new());
        }
        assert_eq!(named(&found(&RULE, &machine(Some(true)), &Traffic::default())), Vec::<String>::new());
        let mut single = machine(Some(true));
        single.numa.pop();
        assert_eq!(named(&found(&RULE, &single, &loaded)), Vec::<String>::new());
    }
}
