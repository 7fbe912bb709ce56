//! Codes about rates under load.

use super::Explanation;

pub(super) const CODES: &[Explanation] = &[
    Explanation {
        code: "rail-imbalance",
        severity: "warning",
        means: "Under load one rail is far below the others that could do as much. It tells that, and not why.",
        fires: "A rail / median of the other rails that could do the same (within 2 %) is below {imbalance-share}, over at \
                least {hold-s} while watching. What a rail could do is its lowest ceiling, or its fair share of a PCIe link \
                or port that it shares with rails that move something too.",
        silent: "Without a load, for rails whose ceiling is not known, for one that has its fair share of what it shares, and while \
                 the others move less than {moving-share} of what they could.",
        mend: "See what else is found on the rail (legs, PCIe, placement); load it alone: `railscope load PEER --rails DEVICE`.",
        source: "arithmetic",
    },
    Explanation {
        code: "slow-unexplained",
        severity: "warning",
        means: "The rail is far below what it could do, and nothing that was found says why.",
        fires: "The mean in the load's direction is below {far-below-share} of the rail's lowest ceiling under load (or of its \
                fair share of what it shares with other rails), and no finding on the rail is a reason. That it is slower \
                than others is none.",
        silent: "For software devices, ports that are not ACTIVE, and loads that keep too little outstanding to tell.",
        mend: "`railscope diagnose PEER` loads each rail alone and all together: what is fast alone shares something. By \
               hand one thing at a time: other rail of the peer, more queue pairs, larger messages, one leg, the other node.",
        source: "arithmetic",
    },
    Explanation {
        code: "unstable",
        severity: "warning",
        means: "Under one steady load the rate swings.",
        fires: "Standard deviation / mean is above {variation} over at least 4 good intervals (gathered to a second each while \
                watching) of one unchanged load.",
        silent: "For software devices, rails below {moving-share} of their ceiling, and intervals in which the link went away.",
        mend: "Look for what comes and goes with it: pauses, congestion, other traffic, CPU frequency.",
        source: "arithmetic",
    },
    Explanation {
        code: "implausible",
        severity: "warning",
        means: "More than the PCIe path can carry at all: a measurement error, such as windows that do not fit together. It \
                is left out of means and of comparisons.",
        fires: "The rate is above 1.02 × the raw rate of the slowest PCIe hop, in all intervals or in some, which are then left out.",
        silent: "Where speed or width of the PCIe path is not known, and about blips of less than half a second together.",
        mend: "Do not quote it. Measure again with one clock: `railscope load PEER`.",
        source: "PCI Express Base Specification 5.0, 4.2",
    },
    Explanation {
        code: "above-port",
        severity: "info",
        means: "More than the wire carries and less than PCIe does: some of it never left this host (loopback inside the card).",
        fires: "The rate is above 1.02 × the line's raw rate and within the PCIe path's.",
        silent: "Where the PCIe path is not known.",
        mend: "Quote the port's own bytes (`rx_bytes_phy`) as the fabric's figure.",
        source: "counters.rst of mlx5",
    },
    Explanation {
        code: "line-limit",
        severity: "info",
        means: "The rail is at its wire: only a faster port would do more.",
        fires: "The payload of our own load is at or above {line-share} of the line's payload, rate × MTU / (MTU + headers), or \
                what the NIC counted, headers included, is so of what it can count of a full line.",
        silent: "Where the line rate is not known.",
        mend: "Nothing to mend.",
        source: "IBTA 1.4, 5.2; RoCE v2 annex A17",
    },
    Explanation {
        code: "read-window",
        severity: "info",
        means: "The READs on the wire, not the wire, are the limit: each queue pair waits for answers before it may ask again.",
        fires: "The rail's READ rate is at or above 90 % of queue pairs × READ depth × message size / measured round trip, and \
                that is the rail's lowest ceiling.",
        silent: "Where no round trip was measured, and for WRITE.",
        mend: "More queue pairs, a greater READ depth at both ends, or larger messages.",
        source: "IBTA 1.4, 9.4.4 (outstanding READs)",
    },
    Explanation {
        code: "read-depth",
        severity: "warning",
        means: "Each queue pair keeps few READs on the wire although the device can do more.",
        fires: "A READ load uses a depth below 8, and the device can do more than it uses.",
        silent: "Where the depth in use is not known, or where size, queue pairs and the measured round trip show that so few \
                 bring twice what the rail could carry.",
        mend: "Set max_rd_atomic and max_dest_rd_atomic to the device's maximum at both ends (`ib_read_bw -o 16`, `railscope \
               load --read-depth 16`).",
        source: "IBTA 1.4, 9.4.4; ibv_modify_qp(3)",
    },
    Explanation {
        code: "read-below-write",
        severity: "warning",
        means: "READ is far slower than WRITE on the same rail, at a small path MTU, which is one thing that may cost READ more.",
        fires: "READ / WRITE on one rail, both seen in the last minute, is below 0.6, and the path MTU is below 4096.",
        silent: "Where only one of them was seen, or WRITE is below {moving-share} of what the rail could do.",
        mend: "First READ depth and queue pairs (`read-depth`, `read-window`), relaxed ordering here, MaxReadReq at the peer; then the path MTU: `ip link set NETDEV mtu 4200` at both ends and the switch.",
        source: "IBTA 1.4, 9.7.5.1",
    },
    Explanation {
        code: "cpu-bound",
        severity: "info",
        means: "The thread that posts and polls is the limit, not the wire.",
        fires: "`railscope diagnose`: with twice the threads the rail does more than 10 % more, and fewer than 5 % of polls \
                found nothing.",
        silent: "Without an experiment: a busy thread alone proves nothing, since polling is always busy.",
        mend: "More threads (`--workers`), larger messages, fewer completions (`--cq-mod`), a CPU that is not shared.",
        source: "arithmetic",
    },
    Explanation {
        code: "memory-bound",
        severity: "info",
        means: "Buffers that are walked through are slower than those used again and again: the memory of one end, its caches or its address translation do not keep up.",
        fires: "`railscope diagnose`: over twice the last-level caches, at both ends, the rail is slower than over a buffer used again and again, by 10 % and by more than its own noise.",
        silent: "Without an experiment.",
        mend: "Spread buffers over the channels of the rail's node, use huge pages, keep other users of that memory off; look \
               at DIMM population and at `numastat`.",
        source: "IEEE 802.1Qbb (pauses); arithmetic",
    },
    Explanation {
        code: "gpu-link-limit",
        severity: "info",
        means: "All data go to, or come from, one GPU, and its PCIe link is the limit of all rails together.",
        fires: "The load's rails together reach {far-below-share} of what the GPU's link carries, and could bring more than it.",
        silent: "Where the GPU's link is not known.",
        mend: "Spread the load over several GPUs.",
        source: "PCI Express Base Specification 5.0, 4.2",
    },
    Explanation {
        code: "loopback",
        severity: "info",
        means: "The peer is this host, so the figures are the card's and the memory's, not the fabric's.",
        fires: "The load's peer has an address of this host.",
        silent: "Where there is no load.",
        mend: "Run `railscope serve` on another host.",
        source: "arithmetic",
    },
];
