//! Codes about bonds and their legs.

use super::Explanation;

pub(super) const CODES: &[Explanation] = &[
    Explanation {
        code: "bond-leg-imbalance",
        severity: "warning",
        means: "One leg of the bond carries nearly all RDMA bytes, so the rail runs at one leg's rate though both legs may \
                carry.",
        fires: "One leg's share of the legs' RDMA bytes, in the load's direction, is above {leg-share}, while at least \
                {moving-share} of the line moves and the bonding mode lets every leg carry (802.3ad, balance-rr, \
                balance-xor, balance-alb).",
        silent: "Without per-leg RDMA counters (`ethtool -S`, `rx_vport_rdma_unicast_bytes` on mlx5): then `half-rate` is all \
                 that can be said. Where a leg is down or kept out, other codes say so.",
        mend: "Use at least 4 queue pairs a leg with different UDP source ports, and spread each batch over all of them. \
               Which leg receives is chosen by the sender's leg and by the switch: have the switch hash layer 3+4, and look \
               at the same bond on the peer.",
        source: "Documentation/networking/bonding.rst; drivers/infiniband/hw/mlx5/qp.c (leg of a queue pair); \
                 counters.rst of mlx5",
    },
    Explanation {
        code: "bond-leg-down",
        severity: "warning",
        means: "A leg of the bond has no link while the bond is up, so the rail has lost that leg's bandwidth.",
        fires: "A leg's link is down at the last sample and another leg of the same bond has one.",
        silent: "Where the state of the legs' links is not readable.",
        mend: "Look at the cable, the transceiver and the switch port of that leg: `ethtool LEG`, `ip -s link show LEG`.",
        source: "Documentation/networking/bonding.rst, MII monitoring",
    },
    Explanation {
        code: "lacp-leg-out",
        severity: "warning",
        means: "A leg has a link, and LACP keeps it out of the bond, so it carries nothing.",
        fires: "In 802.3ad: the leg is in another aggregator than the active one, or its port state, or its partner's, lacks \
                in sync (8), collecting (16) or distributing (32). Of a partner's state only where its packets were heard.",
        silent: "Where `/proc/net/bonding` is not readable.",
        mend: "Put both switch ports into one LACP group (over two switches: one MLAG), with the same rate and key; legs of two speeds are \
               never joined; look with \
               `cat /proc/net/bonding/BOND`.",
        source: "IEEE 802.1AX, 6.4.2.3 (port state); Documentation/networking/bonding.rst",
    },
    Explanation {
        code: "active-backup",
        severity: "info",
        means: "The bond uses one leg and keeps the other for the case that it fails: the ceiling is one leg.",
        fires: "The bonding mode is active-backup.",
        silent: "In every other mode.",
        mend: "Nothing, if that is meant; `802.3ad` uses both legs where the switch has a LACP group for them.",
        source: "Documentation/networking/bonding.rst, mode",
    },
    Explanation {
        code: "bond-spans-cards",
        severity: "warning",
        means: "The legs sit on two cards. RoCE LAG joins the ports of one card only, so RDMA stays on each card's own port \
                and does not move when it fails.",
        fires: "Legs of one bond belong to cards with different image GUIDs, or in different slots where no GUID is known.",
        silent: "Where the PCI functions of the legs are not known.",
        mend: "Bond the two ports of one card, or leave RDMA unbonded and let the application use both rails.",
        source: "drivers/net/ethernet/mellanox/mlx5/core/lag/",
    },
    Explanation {
        code: "lag-mode",
        severity: "info",
        means: "How the card chooses the leg that a queue pair sends on: by the queue pair (queue_affinity) or by a hash over \
                its addresses and UDP source port (hash).",
        fires: "The driver tells the mode (debugfs `lag/type`, `lag/port_sel_mode`).",
        silent: "Without debugfs, which only root can read.",
        mend: "With queue_affinity one queue pair stays on one leg: open at least one a leg. With hash vary the UDP source \
               port, which follows the flow label.",
        source: "drivers/net/ethernet/mellanox/mlx5/core/lag/debugfs.c",
    },
    Explanation {
        code: "half-rate",
        severity: "warning",
        means: "A bond of two legs runs at about half of what both could carry, and the legs' own bytes cannot be read: one \
                leg doing all the work is likely, and not proven.",
        fires: "42 to 54 % of the bond's goodput under load, for at least {hold-s} while watching.",
        silent: "Where the legs' bytes are readable (`bond-leg-imbalance` judges them) and where the PCIe path explains the \
                 rate.",
        mend: "Read the legs yourself during a load: `ethtool -S LEG | grep -i rdma`; load each leg alone with `railscope load \
               PEER --rails DEVICE --leg 1` and `--leg 2`.",
        source: "arithmetic: one of two equal legs is 50 % of the goodput",
    },
];
