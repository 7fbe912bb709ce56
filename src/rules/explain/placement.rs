//! Codes about NUMA nodes, CPUs and memory.

use super::Explanation;

pub(super) const CODES: &[Explanation] = &[
    Explanation {
        code: "cross-numa",
        severity: "info on the same socket, warning on another",
        means: "A process, a thread of a load or a buffer sits on another NUMA node than the rail it uses: with its memory elsewhere the data cross from node to node, with its CPUs alone the completions do.",
        fires: "None of the CPUs it may run on (of a process whose threads differ: that one of them may run on) is on the rail's node, or its buffers were put elsewhere, or more than \
                {far-memory-share} of its large mappings lie elsewhere; where the kernel tells how much it registered, more than that of it has no room in the mappings on the rail's node.",
        silent: "Without such evidence: a slow rail alone proves nothing about placement. Mappings below 2 MiB together are \
                 left out, and so are those that are more than 8 times what it registered in regions of 2 MiB or more: they are a heap, and where its buffers are is not known.",
        mend: "Start it under `numactl --cpunodebind=NODE --membind=NODE`. `taskset` moves CPUs of a running process only: \
               registered pages are pinned and stay where they are.",
        source: "numactl(8), set_mempolicy(2), taskset(1); ACPI 6.4, 5.2.17 (distances)",
    },
    Explanation {
        code: "numa-cpuset",
        severity: "warning",
        means: "The cgroup's cpuset leaves out the rail's node, so nothing in it can be placed there and a binding must fail.",
        fires: "The effective cpuset (where unreadable, Mems_allowed) has neither memory, or no CPUs, of the rail's node.",
        silent: "About a plain CPU affinity, which a process can change by itself.",
        mend: "Extend the cpuset from outside by the rail's node and start again (pages that are registered stay where they are): `--cpuset-cpus`, `--cpuset-mems` of the container; in Kubernetes CPU manager and memory manager `static` with a Guaranteed pod; the job's allocation.",
        source: "cpuset(7); Documentation/admin-guide/cgroup-v2.rst",
    },
    Explanation {
        code: "numa-no-memory",
        severity: "warning",
        means: "The rail's node has no memory, or no CPUs, so a binding to it cannot work.",
        fires: "The node's `meminfo` or `cpulist` says so.",
        silent: "Where the cpuset is the reason: that is `numa-cpuset`.",
        mend: "Bind to the nearest node that has both; the finding names it.",
        source: "Documentation/ABI/stable/sysfs-devices-node",
    },
    Explanation {
        code: "numa-inconsistent",
        severity: "warning",
        means: "The machine's own descriptions of CPUs and nodes contradict each other, so placement by node is a guess.",
        fires: "A CPU is on two nodes, the threads of a core are on two, or a package and a node overlap without one holding \
                the other.",
        silent: "Where either description is missing.",
        mend: "Virtual machines with a made-up topology show this: give the guest the host's nodes.",
        source: "Documentation/ABI/stable/sysfs-devices-node, sysfs-devices-system-cpu",
    },
    Explanation {
        code: "numa-conflict",
        severity: "info",
        means: "The device's node and its list of near CPUs do not agree.",
        fires: "`numa_node` and `local_cpulist` of one device name different CPUs.",
        silent: "Where one of them is missing.",
        mend: "The kernel makes both from one value, so a container, a virtual machine or CPUs that are switched off stand between. Measure both placements.",
        source: "Documentation/ABI/testing/sysfs-bus-pci",
    },
    Explanation {
        code: "numa-unknown",
        severity: "info",
        means: "The machine has several NUMA nodes, and which one the rail is on is not known, so nothing is said about \
                placement.",
        fires: "`numa_node` is -1 or missing, on a machine with more than one node.",
        silent: "On a machine with one node.",
        mend: "The BIOS does not describe the slot; in a virtual machine give the guest's PCI bridge a node.",
        source: "Documentation/ABI/testing/sysfs-bus-pci",
    },
    Explanation {
        code: "not-pinned",
        severity: "info",
        means: "A process that uses a rail may run near it, and may as well run far from it.",
        fires: "It has queue pairs, and the CPUs it may run on are on its rails' nodes and on others too.",
        silent: "For a process with rails on every node that it may run on: its threads may well be bound one by one.",
        mend: "`numactl --cpunodebind=NODE --membind=NODE COMMAND`; for now `taskset -a -cp CPUS PID`, which undoes what its threads were bound to one by one.",
        source: "numactl(8), taskset(1)",
    },
    Explanation {
        code: "numa-balancing",
        severity: "info",
        means: "The kernel may move pages and threads between nodes while something uses the rails. Registered memory is \
                pinned and stays, so this costs faults and gains nothing.",
        fires: "`kernel.numa_balancing` is on while a load runs or a process has queue pairs.",
        silent: "Where nothing uses the rails.",
        mend: "`sysctl kernel.numa_balancing=0`, or start the process under `numactl --membind`.",
        source: "Documentation/admin-guide/sysctl/kernel.rst",
    },
    Explanation {
        code: "irq-on-poll-core",
        severity: "warning",
        means: "A thread that polls a completion queue shares its CPU with the interrupts of the card it drives, and may lose time to them: to those of the netdev's traffic, since a queue that is polled raises none.",
        fires: "Every CPU that a thread of a load may run on takes interrupts of its card (`effective_affinity_list`), and \
                another CPU of the node takes none.",
        silent: "Where the affinity is not readable, where interrupts go to every CPU of the node, and about processes that \
                 are no load: they may wait for these interrupts on purpose.",
        mend: "Bind the thread to another CPU of the node; or spread the interrupts over the others (`/proc/irq/N/smp_affinity_list` for each number in `msi_irqs` of the card) with irqbalance kept off them.",
        source: "Documentation/core-api/irq/irq-affinity.rst",
    },
    Explanation {
        code: "shared-core",
        severity: "warning",
        means: "Several users of rails are bound to one CPU: if they poll, each waits while another does.",
        fires: "Two threads of a load, or two processes with queue pairs, may run on one and the same CPU only, and the CPU's \
                node has one that none of them is bound to.",
        silent: "Where the CPUs are not known, or every CPU of the node has its poller.",
        mend: "One core for each polling thread: `taskset -cp CPU THREAD`; a load of ours chooses by itself with `--place local`.",
        source: "sched_setaffinity(2)",
    },
    Explanation {
        code: "shared-rail",
        severity: "info",
        means: "Two ranks of one job use one rail while another is used by none of them; or a process uses rails that are far from its GPU while one is near.",
        fires: "Processes of one job with queue pairs, ranks as their launcher wrote them or as equal command lines tell them \
                (`--local_rank`, `--rank`), are on one rail, and an ACTIVE rail is free. Or a process that holds one GPU alone uses no rail below the GPU's own switch (PIX, PXB), though there is one.",
        silent: "Where every ACTIVE rail is in use by the job: then there are more ranks than rails. Of a process that holds several GPUs, or whose way to a rail is not known.",
        mend: "Give each rank the rail nearest to its GPU (`NCCL_IB_HCA`, `UCX_NET_DEVICES`): `railscope export --format env`.",
        source: "environment of Open MPI, Slurm, PyTorch and MPICH launchers",
    },
];
