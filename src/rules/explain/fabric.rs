//! Codes about the fabric and the link.

use super::Explanation;

const COUNTERS: &str =
    "counters.rst of mlx5; rdma_stat_desc tables of drivers/infiniband; IBTA 1.4, 16.1.3.5";

pub(super) const CODES: &[Explanation] = &[
    Explanation {
        code: "no-sm",
        severity: "error",
        means: "The InfiniBand port waits for a subnet manager, so nothing can be sent over it.",
        fires: "The port is in INIT with the link up.",
        silent: "On Ethernet.",
        mend: "Start one (`systemctl start opensm` on one host, or on the switch); `sminfo` shows whether it is there.",
        source: "IBTA 1.4, 14.3",
    },
    Explanation {
        code: "link-down",
        severity: "warning",
        means: "The port is enabled, tries to get a link, and has none.",
        fires: "At the last sample the port is not ACTIVE and its physical state is Polling or Training.",
        silent: "For a port that is Disabled, which is somebody's decision.",
        mend: "Cable, transceiver, switch port: `mlxlink -d DEVICE`, `ethtool NETDEV`.",
        source: "IBTA 1.4, 14.2.5.6 (PortPhysicalState)",
    },
    Explanation {
        code: "flap",
        severity: "warning",
        means: "The link went down and came back while it was watched. Connections over it were lost or waited.",
        fires: "The state was seen to leave ACTIVE and return, or a count of lost links grew.",
        silent: "About what happened before the session.",
        mend: "Clean or change cable and transceiver; compare `ethtool -S NETDEV | grep -i link_down` over an hour.",
        source: COUNTERS,
    },
    Explanation {
        code: "link-errors",
        severity: "warning",
        means: "Symbols, blocks or packets arrive damaged: the cable, the transceiver or dirt.",
        fires: "Symbol errors, uncorrectable FEC blocks or CRC errors grew during the session.",
        silent: "About totals since boot, and corrected errors, which are ordinary at these rates.",
        mend: "Clean or change cable and transceiver; `mlxlink -d DEVICE -c` shows the bit error rate.",
        source: COUNTERS,
    },
    Explanation {
        code: "retransmit",
        severity: "warning",
        means: "Packets were lost, or came out of order: every loss stalls its queue pair.",
        fires: "Counts of packets out of sequence, of timeouts or of NAKs grew during the session, by {packet-share} of the \
                packets or more (by any amount where the packets are not known).",
        silent: "Where the driver has no such counter, and about a few in a great many: they cost nothing that shows.",
        mend: "Look for `link-errors` and for drops on the switch ports; have PFC cover RDMA's priority at both ends and every switch; with adaptive routing some out of order is ordinary.",
        source: COUNTERS,
    },
    Explanation {
        code: "ecn-cnp",
        severity: "warning",
        means: "The fabric signals congestion, and senders slow down by it: a switch queue grew, by several senders to one port, flows hashed onto one link, a slower port, or a receiver that pauses.",
        fires: "Packets marked by ECN or congestion notifications grew during the session, by {packet-share} of the packets or \
                more (by any amount where the packets are not known).",
        silent: "Where the driver has no such counter, and about a few in a great many: they cost nothing that shows.",
        mend: "Look at what else goes to the same port; spread, or pace the load with `--rate`.",
        source: COUNTERS,
    },
    Explanation {
        code: "rx-pause",
        severity: "warning",
        means: "The switch or the peer tells this port to wait.",
        fires: "Received pause frames, or the time spent waiting for them, grew during the session, by {packet-share} of the \
                packets or more (a pause lasts for at most the time of 1024 full packets).",
        silent: "Where the driver has no such counter, and about a few in a great many.",
        mend: "The cause is further on: a slow receiver or a full link behind the switch.",
        source: COUNTERS,
    },
    Explanation {
        code: "tx-pause",
        severity: "warning",
        means: "This host tells the switch to wait: it cannot take data as fast as they come.",
        fires: "Sent pause frames, or packets discarded for want of room, grew during the session, by {packet-share} of the \
                packets or more (a pause lasts for at most the time of 1024 full packets).",
        silent: "Where the driver has no such counter, and about a few in a great many.",
        mend: "The cause is usually here: PCIe link, placement of buffers, IOMMU, memory, relaxed ordering.",
        source: COUNTERS,
    },
    Explanation {
        code: "link-width",
        severity: "warning",
        means: "The InfiniBand link runs on fewer lanes than it has.",
        fires: "1X on a port that has four lanes.",
        silent: "About 2X, which is how HDR and NDR ports are split, and on Ethernet, whose rate tells nothing of lanes.",
        mend: "Reseat or change the cable; `iblinkinfo` shows both ends.",
        source: "IBTA 1.4, volume 2, 5.1",
    },
    Explanation {
        code: "prio",
        severity: "info",
        means: "RDMA rides in a priority that no flow control covers, so it is lost when a buffer is full.",
        fires: "More than half as many bytes as RDMA received ran in priorities without a pause counter of their own, while \
                other priorities have one.",
        silent: "Where no priority has flow control and nothing is lost: that may be meant so.",
        mend: "Set the traffic class (`--tclass`, `NCCL_IB_TC`) and the trust mode so that RDMA falls into the priority with \
               PFC: `mlnx_qos -i NETDEV`.",
        source: "counters.rst of mlx5",
    },
];
