//! `memlock`, `numa-unknown`, `loopback`: what the host or the peer makes of any measurement.

use super::means::{latest_load, newest_load};
use super::wording::{devices, list, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Load, LoadOrigin, Topology, WorkerPhase};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["memlock", "numa-unknown", "loopback"], check };

/// What a load of ordinary size registers, bytes: without a load, less than this is called too little.
const ORDINARY_NEED_BYTES: u64 = 64 << 20;

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    [memlock(topology, timeline), numa_unknown(topology), loopback(topology, timeline)]
        .into_iter()
        .flatten()
        .collect()
}

/// Registered memory counts against `RLIMIT_MEMLOCK` (`ib_umem_get` in drivers/infiniband/core/umem.c).
fn memlock(topology: &Topology, timeline: &Timeline) -> Option<Finding> {
    let limit = topology.host.memlock_bytes?;
    if topology.host.memlock_unlimited == Some(true) || topology.host.memlock_exempt == Some(true) {
        return None;
    }
    let load = latest_load(timeline);
    if load.is_some_and(|load| load.origin == LoadOrigin::Ours) && has_run(timeline) {
        return None;
    }
    let need = load.and_then(|load| buffers_bytes(load, topology)).unwrap_or(ORDINARY_NEED_BYTES);
    if limit >= need {
        return None;
    }
    let whose = if load.is_some() { "this load's buffers need" } else { "a load of ordinary size needs" };
    Some(
        Finding::new(
            "memlock",
            Severity::Error,
            ["host"],
            format!(
                "locked-memory limit is {}, {whose} {}: registering buffers fails with \"Cannot allocate memory\"",
                mib(limit),
                mib(need)
            ),
        )
        .with("memlock_bytes", limit)
        .with("need_bytes", need)
        .advise(
            "`ulimit -l unlimited` in this shell (as root), or `* - memlock unlimited` in \
             /etc/security/limits.conf, `LimitMEMLOCK=infinity` in a unit, `--ulimit memlock=-1` for a container",
        ),
    )
}

/// Our load moved bytes, so its memory was registered, whatever the limit says (`CAP_IPC_LOCK` is exempt).
fn has_run(timeline: &Timeline) -> bool {
    timeline
        .local()
        .frames()
        .rev()
        .any(|f| f.workers.iter().any(|w| w.bytes > 0 || w.phase == WorkerPhase::Measuring))
}

/// At least one message buffer per queue pair and rail; `None` where the load does not tell.
fn buffers_bytes(load: &Load, topology: &Topology) -> Option<u64> {
    let rails = if load.devices.is_empty() { topology.rails.len() } else { load.devices.len() } as u64;
    load.size_bytes?.checked_mul(u64::from(load.qps?))?.checked_mul(rails)
}

fn mib(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib >= 10.0 || bytes.is_multiple_of(1 << 20) {
        format!("{mib:.0} MiB")
    } else {
        format!("{mib:.2} MiB")
    }
}

fn numa_unknown(topology: &Topology) -> Option<Finding> {
    if topology.numa.len() < 2 {
        return None;
    }
    let unknown = devices(topology.rails.iter().filter(|rail| rail.numa_node.is_none()));
    if unknown.is_empty() {
        return None;
    }
    let message = format!(
        "{} {} no known NUMA node on a machine with {}: no placement can be judged",
        list(unknown.iter().copied()),
        verb(unknown.len(), "has", "have"),
        topology.numa.len(),
    );
    Some(
        Finding::new("numa-unknown", Severity::Info, unknown, message)
            .with("nodes", topology.numa.len())
            .advise(
                "in a virtual machine: have the hypervisor place the function on a virtual node; \
                 on hardware: look for a BIOS setting or update (ACPI _PXM)",
            ),
    )
}

fn loopback(topology: &Topology, timeline: &Timeline) -> Option<Finding> {
    let load = newest_load(timeline).filter(|load| load.loopback)?;
    let devices: Vec<&str> = if load.devices.is_empty() {
        topology.rails.iter().map(|r| r.device.as_str()).collect()
    } else {
        load.devices.iter().map(String::as_str).collect()
    };
    Some(
        Finding::new(
            "loopback",
            Severity::Info,
            devices,
            "the peer is this host: the data cross no fabric, so this is no figure of one",
        )
        .advise("run `railscope serve` on another host"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, described, found, named, rail, two_sockets};
    use super::RULE;
    use probes::model::{LoadOp, Topology};

    fn limited(memlock_bytes: Option<u64>) -> Topology {
        let mut topology = two_sockets(vec![rail("mlx5_0"), rail("mlx5_1")]);
        topology.host.memlock_bytes = memlock_bytes;
        topology
    }

    fn codes(topology: &Topology, traffic: &Traffic) -> Vec<String> {
        named(&found(&RULE, topology, traffic))
    }

    #[test]
    fn a_small_locked_memory_limit_is_an_error() {
        let idle = Traffic::default();
        assert_eq!(codes(&limited(Some(8 << 20)), &idle), ["memlock host"]);
        assert_eq!(codes(&limited(Some(64 << 20)), &idle), Vec::<String>::new());
        assert_eq!(codes(&limited(None), &idle), Vec::<String>::new());
        let mut root = limited(Some(8 << 20));
        root.host.memlock_exempt = Some(true);
        assert_eq!(codes(&root, &idle), Vec::<String>::new());
        let found = found(&RULE, &limited(Some(8 << 20)), &idle);
        assert!(
            found[0].message.contains("8 MiB, a load of ordinary size needs 64 MiB"),
            "{}",
            found[0].message
        );
    }

    #[test]
    fn a_load_says_itself_how_much_it_locks() {
        // 2 rails × 4 queue pairs × 64 KiB
        assert_eq!(codes(&limited(Some(8 << 20)), &Traffic::loaded(&[40.0, 40.0])), Vec::<String>::new());
        assert_eq!(codes(&limited(Some(256 << 10)), &Traffic::loaded(&[40.0, 40.0])), ["memlock host"]);
    }

    #[test]
    fn an_unknown_node_matters_only_where_there_are_several() {
        let mut topology = limited(None);
        topology.rails[1].numa_node = None;
        assert_eq!(codes(&topology, &Traffic::default()), ["numa-unknown mlx5_1"]);
        topology.numa.pop();
        assert_eq!(codes(&topology, &Traffic::default()), Vec::<String>::new());
    }

    #[test]
    fn a_load_to_this_host_is_no_figure_of_the_fabric() {
        let load =
            probes::model::Load { loopback: true, devices: vec!["mlx5_1".into()], ..described(LoadOp::Read) };
        let traffic = Traffic { load: Some(load), ..Traffic::loaded(&[1.0, 1.0]) };
        assert_eq!(codes(&limited(None), &traffic), ["loopback mlx5_1"]);
    }
}
