use super::HostBlock;
use crate::model::Topology;
use crate::root::Root;
use crate::survey::Probe;
use crate::survey::testing::Tree;

fn survey(root: &Root) -> Topology {
    let mut topology = Topology::default();
    HostBlock.survey(root, &mut topology).unwrap();
    topology
}

fn machine() -> Tree {
    let tree = Tree::new();
    tree.files(
        "proc",
        &[
            ("sys/kernel/hostname", "n1\n"),
            ("sys/kernel/osrelease", "6.1.0-13-amd64\n"),
            ("sys/kernel/numa_balancing", "1\n"),
            (
                "cpuinfo",
                "processor\t: 0\nmodel name\t: EPYC 9K84\n\nprocessor\t: 1\nmodel name\t: EPYC 9K84\n",
            ),
            ("meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n"),
            (
                "self/limits",
                "Limit   Soft Limit  Hard Limit  Units\nMax locked memory  8388608  8388608  bytes\n",
            ),
        ],
    );
    tree.file("etc/os-release", "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
    for (cpu, package) in [(0, "0\n"), (1, "1\n")] {
        tree.file(&format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), package);
    }
    tree
}

#[test]
fn a_copied_tree_tells_the_host() {
    let topology = survey(&machine().root());
    let host = &topology.host;
    assert_eq!((host.hostname.as_deref(), host.kernel.as_deref()), (Some("n1"), Some("6.1.0-13-amd64")));
    assert_eq!(
        (host.cpu_model.as_deref(), host.os.as_deref()),
        (Some("EPYC 9K84"), Some("Debian GNU/Linux 12"))
    );
    assert_eq!((host.cpus, host.sockets, host.memory_bytes), (Some(2), Some(2), Some(2048 * 1024)));
    assert_eq!((host.memlock_bytes, host.memlock_unlimited), (Some(8_388_608), Some(false)));
    assert_eq!(host.numa_balancing, Some(true));
    assert_eq!(topology.gaps, []);
}

#[test]
fn a_cpu_that_is_switched_off_does_not_count() {
    let tree = machine();
    tree.file("proc/cpuinfo", "processor : 0\nprocessor : 1\nprocessor : 2\nmodel name : x\n");
    tree.file("sys/devices/system/cpu/cpu2/online", "0\n");
    assert_eq!(survey(&tree.root()).host.cpus, Some(2));
    tree.file("sys/devices/system/cpu/online", "0\n").file("sys/devices/system/cpu/present", "0-2\n");
    tree.file("sys/devices/system/cpu/cpu1/online", "1\n");
    assert_eq!(super::offline_cpus(&tree.root()).to_string(), "2", "a container's list switches nothing off");
}

#[test]
fn unlimited_locked_memory_has_no_number_of_bytes() {
    let tree = machine();
    tree.file(
        "proc/self/limits",
        "Max locked memory         unlimited            unlimited            bytes\n",
    );
    let host = survey(&tree.root()).host;
    assert_eq!((host.memlock_bytes, host.memlock_unlimited), (None, Some(true)));
}

#[test]
fn root_may_lock_more_than_the_limit() {
    let tree = machine();
    assert_eq!(survey(&tree.root()).host.memlock_exempt, None);
    tree.file("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
    assert_eq!(survey(&tree.root()).host.memlock_exempt, Some(true));
    tree.file("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
    assert_eq!(survey(&tree.root()).host.memlock_exempt, Some(false));
}

#[test]
fn an_empty_tree_gives_gaps_and_no_numbers() {
    let topology = survey(&Tree::new().root());
    assert_eq!(topology.host, crate::model::Host::default());
    let has = |reason: &str| topology.gaps.iter().any(|gap| gap.reason == reason);
    assert!(
        has("proc/meminfo: no such file") && has("proc/self/limits: no such file"),
        "{:?}",
        topology.gaps
    );
}

#[test]
fn this_machine_has_a_kernel_and_memory() {
    let host = survey(&Root::live()).host;
    assert!(host.kernel.is_some() && host.memory_bytes.is_some_and(|bytes| bytes > 0));
}
