//! Codes about GIDs, subnets and packet sizes.

use super::Explanation;

pub(super) const CODES: &[Explanation] = &[
    Explanation {
        code: "gid-none",
        severity: "error",
        means: "The port is up and has no address that a queue pair could use, so no connection over it can be made.",
        fires: "An ACTIVE RoCE port whose GID table was read and holds no usable entry.",
        silent: "For iWARP and EFA, which address their peers otherwise, and where the table could not be read (in some \
                 containers).",
        mend: "Give the netdev an IP address: `ip addr add ADDRESS/PREFIX dev NETDEV`; the driver then makes the GID.",
        source: "InfiniBand Architecture Specification, annexes A16 and A17; \
                 Documentation/ABI/stable/sysfs-class-infiniband",
    },
    Explanation {
        code: "gid-link-local",
        severity: "warning",
        means: "The port has RoCE v2 addresses of its own link only (fe80::/10, 169.254.0.0/16): peers behind a router cannot \
                be reached, and many programs pass these over.",
        fires: "An ACTIVE RoCE port whose version 2 entries are all link-local.",
        silent: "Where any routable entry is there.",
        mend: "Give the netdev a routable IP address: `ip addr add ADDRESS/PREFIX dev NETDEV`.",
        source: "InfiniBand Architecture Specification, annex A17; RFC 4291, RFC 3927",
    },
    Explanation {
        code: "gid-index-differs",
        severity: "warning",
        means: "The recommended GID stands at different places on the rails. A fixed index (`NCCL_IB_GID_INDEX`, `ib_read_bw \
                -x`) then names another address, or none, on some of them.",
        fires: "The recommended index differs between rails, or the index that most rails recommend is empty on one.",
        silent: "For software devices beside cards, whose tables are filled otherwise.",
        mend: "Leave the index to the program (NCCL from 2.21 on finds it when the variable is unset), or give every netdev its addresses in \
               the same order; `railscope export --format env` prints what fits each rail.",
        source: "NCCL, src/transport/net_ib; perftest, src/perftest_communication.c (choice of a GID)",
    },
    Explanation {
        code: "same-subnet",
        severity: "warning",
        means: "Several Ethernet rails are in one IP subnet. The kernel answers ARP for every address on every netdev and \
                answers for each with any of their MAC addresses, so peers may send to one rail what is meant for another.",
        fires: "Two rails on different netdevs with addresses in one IPv4 or IPv6 network (link-local ones left out).",
        silent: "Where addresses or prefixes are not known.",
        mend: "One subnet a rail; or, if that must stay, `arp_ignore=1`, `arp_announce=2` and a source-based route per rail.",
        source: "Documentation/networking/ip-sysctl.rst, arp_ignore, arp_announce, rp_filter",
    },
    Explanation {
        code: "mtu",
        severity: "info",
        means: "Packets are smaller than the port could send, and each pays 82 bytes of headers (RoCE v2 over IPv4): 92.6 % of \
                the wire is payload at 1024, 98.0 % at 4096.",
        fires: "The path MTU of an ACTIVE port is below 4096 though the port can do 4096.",
        silent: "Where the port's largest MTU is not known.",
        mend: "`ip link set NETDEV mtu 4200` or more on the hosts, with the switch ports at least as large; on InfiniBand the \
               subnet manager decides.",
        source: "include/rdma/ib_addr.h, iboe_get_mtu; IBTA 1.4, 9.7.1",
    },
    Explanation {
        code: "mtu-differs",
        severity: "warning",
        means: "Rails of one kind have different path MTU: one of them was forgotten.",
        fires: "Rails alike in link layer, driver, line rate and in being virtual or not differ in path MTU.",
        silent: "About rails that are not ACTIVE.",
        mend: "Set the same netdev MTU on all of them, hosts and switch.",
        source: "include/rdma/ib_addr.h, iboe_get_mtu",
    },
];
