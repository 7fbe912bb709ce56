//! Codes about PCIe links and settings.

use super::Explanation;

const LINKS: &str =
    "PCI Express Base Specification 5.0, 4.2 and 7.5.3; Documentation/ABI/testing/sysfs-bus-pci";

pub(super) const CODES: &[Explanation] = &[
    Explanation {
        code: "pcie-downgraded",
        severity: "warning",
        means: "The card's own link runs below what both of its ends can do: it was trained low.",
        fires: "Speed or width of the card's hop is below min(card, port above it).",
        silent: "Where the best of either end is not known.",
        mend: "Reseat the card; check slot, riser and the BIOS link setting; look again with `lspci -vvs ADDRESS | grep -E \
               'LnkCap:|LnkSta:'`.",
        source: LINKS,
    },
    Explanation {
        code: "pcie-path-degraded",
        severity: "warning",
        means: "A link further up (a switch, a riser) runs below what both of its ends can do. Everything below it shares \
                what is left.",
        fires: "Speed or width of a hop above the card's is below min(both ends).",
        silent: "Where the best of either end is not known.",
        mend: "Look at that hop, not at the card: `lspci -vvs ADDRESS | grep -E 'LnkCap:|LnkSta:'`; cable, riser or switch.",
        source: LINKS,
    },
    Explanation {
        code: "pcie-capped-by-slot",
        severity: "info",
        means: "The link does what the slot can; the card could do more. Nothing is broken.",
        fires: "The link runs at min(both ends), and that is below the card's own best.",
        silent: "Where the best of either end is not known.",
        mend: "Move the card to a slot of its generation and width, if there is one.",
        source: LINKS,
    },
    Explanation {
        code: "pcie-limit",
        severity: "info",
        means: "The PCIe path is in order and still carries less than the wire: PCIe is this rail's ceiling.",
        fires: "lanes × rate × encoding × MPS / (MPS + 24) of the slowest hop is more than 2 % below the wire's payload, rate \
                × MTU / (MTU + headers).",
        silent: "Where a link trained low: `pcie-downgraded` or `pcie-path-degraded` names that.",
        mend: "Nothing is broken; a faster slot, or a port at the rate that the slot can carry.",
        source: "PCI Express Base Specification 5.0, 2.2 and 4.2",
    },
    Explanation {
        code: "pcie-unknown",
        severity: "info",
        means: "Speed or width of the card's link is not known, so there is no PCIe ceiling and no PCIe verdict.",
        fires: "The link's files are not there, say Unknown, or hold nothing that a link can be.",
        silent: "For software devices, which have no link.",
        mend: "`lspci -vv -s ADDRESS` as root; in a virtual machine ask the host.",
        source: LINKS,
    },
    Explanation {
        code: "shared-pcie",
        severity: "info",
        means: "Several rails sit below one PCIe link that cannot carry them all at once.",
        fires: "What the rails below a link bring together (each at the least of its wire and the links below) is more than \
                2 % above what that link carries.",
        silent: "Where speed or width of the link is not known.",
        mend: "Loads on all of them at once reach the link's figure, not the sum; spread what runs at the same time over \
               different links.",
        source: "PCI Express Base Specification 5.0, 2.2 and 4.2",
    },
    Explanation {
        code: "mrrs",
        severity: "warning",
        means: "The card reads host memory in small requests, so it may not keep enough data under way to fill its wire.",
        fires: "MaxReadReq is below 4096 bytes on a port of 100 Gb/s or more.",
        silent: "Where config space beyond 64 bytes is not readable (it needs root), and for virtual functions.",
        mend: "`setpci -s ADDRESS CAP_EXP+8.w` shows it; bits 14:12 = 5 mean 4096. Set it in the BIOS, or with setpci and a \
               look at every other bit.",
        source: "PCI Express Base Specification 5.0, 7.5.3.4",
    },
    Explanation {
        code: "relaxed-ordering",
        severity: "warning",
        means: "Data that arrive are written to host memory in strict order, which some memory controllers do slowly.",
        fires: "Relaxed ordering is off, by the load or by the card's control register, while a READ load (this host's memory \
                is written) leaves the rail below {far-below-share} of its lowest ceiling.",
        silent: "Where neither is known, for WRITE loads, and for virtual functions.",
        mend: "Register memory with IBV_ACCESS_RELAXED_ORDERING (NCCL: `NCCL_IB_PCI_RELAXED_ORDERING=1`); enable it in the \
               card's firmware and the BIOS.",
        source: "PCI Express Base Specification 5.0, 2.4 and 7.5.3.4; ibv_reg_mr(3)",
    },
    Explanation {
        code: "acs",
        severity: "warning",
        means: "A switch port between a GPU and a NIC below the same switch sends their traffic up to the CPU and down again.",
        fires: "Request or completion redirect is on at a port on the way of a pair that stays below the CPU (PIX, PXB).",
        silent: "Where the port's config space is not readable (it needs root).",
        mend: "Turn ACS off for that port in the BIOS, or with `setpci`; not where devices are given to virtual machines.",
        source: "PCI Express Base Specification 5.0, 7.7.8",
    },
];
