//! Words of the trade that messages use.

use serde::Serialize;

/// A word and what it means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Term {
    /// The word, and others for the same.
    pub words: &'static [&'static str],
    /// What it means.
    pub means: &'static str,
}

/// Every word, in alphabetical order.
pub const TERMS: &[Term] = &[
    Term {
        words: &["ABI"],
        means: "How a library and the kernel talk to each other; where they differ in version, nothing works.",
    },
    Term {
        words: &["ACPI", "PXM"],
        means: "Tables of the firmware that tell the kernel which node each device and CPU is on (its proximity domain, PXM).",
    },
    Term {
        words: &["ACS"],
        means: "Access Control Services: settings of a PCIe switch port; redirect sends traffic between two devices below the \
                switch up to the CPU first.",
    },
    Term {
        words: &["ACTIVE", "INIT", "DOWN"],
        means: "State of a port: ACTIVE carries traffic, INIT has a link and waits for a subnet manager, DOWN has none.",
    },
    Term { words: &["ARP"], means: "How a host finds the MAC address that belongs to an IP address." },
    Term {
        words: &["BMC"],
        means: "The server's own management processor, with a log of its slots and sensors.",
    },
    Term {
        words: &["board id", "PSID"],
        means: "Names a card's model and firmware family; cards with the same one should run the same firmware.",
    },
    Term {
        words: &["bond", "LAG"],
        means: "Several Ethernet ports joined into one netdev. With RoCE LAG the ports of one card also carry one RDMA device.",
    },
    Term {
        words: &["ceiling", "ceil"],
        means: "What a rail could do at most by one of its parts: line (the wire's payload), PCIe (its slowest hop), READ window. \
                The lowest one counts.",
    },
    Term {
        words: &["CNP", "ECN"],
        means: "Switches mark packets when a queue grows (ECN); the receiver then tells the sender by a congestion notification \
                (CNP), and the sender slows down.",
    },
    Term {
        words: &["completion queue", "CQ"],
        means: "Where the card says that a request is done. Programs poll it; an empty poll found nothing.",
    },
    Term {
        words: &["control"],
        means: "In a diagnosis: the healthy rail that is loaded in the same ways as the slow ones, to hold them against.",
    },
    Term {
        words: &["counted"],
        means: "What the counters of a port tell: payload with the headers of its packets, without what is around a packet on the wire.",
    },
    Term {
        words: &["CRC", "FEC"],
        means: "Sums by which the receiver of a link finds damaged packets (CRC), or mends damaged bits (FEC).",
    },
    Term {
        words: &["described"],
        means: "Of a load: told by a file beside a copied tree (captured/load.json), and not run by railscope; it says when which rails \
                were loaded.",
    },
    Term {
        words: &["distance"],
        means: "How far one NUMA node is from another, as the firmware tells it: 10 is the node itself, 20 twice as far.",
    },
    Term { words: &["dmabuf"], means: "The kernel's own way to let a NIC reach a GPU's memory." },
    Term {
        words: &["DSCP", "traffic class"],
        means: "The mark in a packet by which switches and cards put it into a priority.",
    },
    Term {
        words: &["EFA", "iWARP"],
        means: "Other kinds of RDMA on Ethernet: of Amazon (EFA), and over TCP (iWARP). Neither has GIDs as RoCE has them.",
    },
    Term {
        words: &["flow label", "UDP source port"],
        means: "Numbers in a packet that belong to its queue pair. Switches and cards hash them to choose a link or a leg.",
    },
    Term {
        words: &["GID"],
        means: "The address of an RDMA port; a queue pair names it by its index in the port's GID table. On RoCE it is made of \
                an IP address.",
    },
    Term { words: &["goodput"], means: "Payload a second: what is left of the wire's rate without headers." },
    Term { words: &["GUID"], means: "A number that names a card or port for ever, as a MAC address does." },
    Term {
        words: &["H1", "H2", "H3", "H4", "H5", "H6", "H7"],
        means: "The seven causes that a diagnosis tries on a slow rail: H1 one leg of the bond carries everything, H2 a PCIe link \
                shared with other rails, H3 a low PCIe link of its own, H4 placement on another NUMA node, H5 the fabric \
                (congestion, loss, pauses), H6 the READs outstanding or the posting thread, H7 host memory.",
    },
    Term {
        words: &["HDR", "NDR", "EDR"],
        means: "Generations of InfiniBand: 100 (EDR), 200 (HDR) and 400 Gb/s (NDR) over four lanes.",
    },
    Term {
        words: &["heat strip"],
        means: "The line of a rail in the view of rates over time: a cell for each stretch of the session, fuller the more of its ceiling the rail moved in it.",
    },
    Term {
        words: &["hop"],
        means: "One PCIe link on the way from a card to the CPU. The slowest one limits the path.",
    },
    Term {
        words: &["IOMMU"],
        means: "Translates the addresses that a device uses; each translation that is not at hand costs time.",
    },
    Term { words: &["IPC"], means: "Instructions per CPU cycle of the threads that drive the load." },
    Term { words: &["LACP"], means: "How two ends agree which ports of an 802.3ad bond carry traffic." },
    Term {
        words: &["LAG mode", "queue_affinity", "hash"],
        means: "How a card chooses the leg that it sends on: one for each queue pair (queue_affinity), or by a hash of the addresses and UDP source port of each packet.",
    },
    Term { words: &["leg"], means: "One port of a bond." },
    Term {
        words: &["link-local"],
        means: "Addresses that are good on one link only (fe80::/10, 169.254.0.0/16), not behind a router.",
    },
    Term {
        words: &["loopback"],
        means: "Traffic between two queue pairs of one host: it does not go over the fabric.",
    },
    Term {
        words: &["median"],
        means: "The middle one of the rates in order: half of the rails have more, half have less.",
    },
    Term {
        words: &["memlock"],
        means: "RLIMIT_MEMLOCK: how much memory a process may lock. Registering memory with a NIC locks it.",
    },
    Term {
        words: &["MLAG", "port-channel"],
        means: "A switch's side of a bond: ports that it treats as one (port-channel), on two switches (MLAG).",
    },
    Term {
        words: &["MPS", "MaxPayload"],
        means: "Most bytes a PCIe packet carries. Each packet costs some 24 bytes besides, so a small one costs bandwidth.",
    },
    Term { words: &["MRRS", "MaxReadReq"], means: "Most bytes a card asks for in one read of host memory." },
    Term {
        words: &["NAK"],
        means: "A receiver's answer that a packet is missing or out of place; the sender sends again from there.",
    },
    Term {
        words: &["NCCL"],
        means: "NVIDIA's library by which GPUs exchange data; it chooses rails and GIDs by rules of its own.",
    },
    Term {
        words: &["NIC", "card"],
        means: "The network card. One with several ports, or functions, may give several rails.",
    },
    Term {
        words: &["node", "NUMA"],
        means: "CPUs and memory that are near each other. A card is near one node; from other nodes its data cross a link between \
                nodes or sockets.",
    },
    Term { words: &["OpenSM", "UFM"], means: "Subnet managers of InfiniBand." },
    Term { words: &["path MTU"], means: "Most payload bytes in one RDMA packet: 256 to 4096." },
    Term {
        words: &["pause", "PFC"],
        means: "A receiver with full buffers tells the other end of its link to wait; with PFC for one priority only.",
    },
    Term {
        words: &["payload"],
        means: "The bytes that programs ask for. Headers of packets come on top of them, on the wire and over PCIe.",
    },
    Term {
        words: &["PCIe"],
        means: "The links between a card and the CPU's memory, hop by hop. As a ceiling: what the slowest hop carries of payload, \
                whatever the wire could bring.",
    },
    Term {
        words: &["peak"],
        means: "The highest rate of a single interval between two samples in the last minute; a rate beside it is a mean of a second.",
    },
    Term {
        words: &["peermem", "nvidia-peermem"],
        means: "A kernel module that lets a NIC reach a GPU's memory where dmabuf cannot.",
    },
    Term {
        words: &["PIX", "PXB", "PHB", "SYS"],
        means: "How far a GPU and a NIC are from each other: one PCIe switch (PIX), several (PXB), the CPU's root complex (PHB), \
                one node (NODE), across sockets (SYS).",
    },
    Term {
        words: &["QP", "queue pair"],
        means: "A connection's two queues, for what is sent and received. Each keeps a limited number of READs on the wire.",
    },
    Term {
        words: &["rail"],
        means: "One RDMA port with its way to memory: NIC, PCIe path, NUMA node. On a bond all legs are one rail.",
    },
    Term {
        words: &["raw"],
        means: "Of a wire or PCIe link: its rate with all that is on it. Headers take their part of it; what is left is payload.",
    },
    Term {
        words: &["RDMA", "verbs"],
        means: "A card reads and writes the memory of another host without its CPUs; programs ask for it through verbs.",
    },
    Term {
        words: &["READ", "WRITE"],
        means: "RDMA operations: READ fetches from the peer's memory, WRITE puts there; its CPUs take no part.",
    },
    Term {
        words: &["READ depth", "max_rd_atomic"],
        means: "READs that one queue pair may have on the wire at once: the smaller of what the two ends agreed to.",
    },
    Term {
        words: &["READ window"],
        means: "Bytes of READs on the wire at once: queue pairs × READ depth × message size. Divided by the round trip it is a \
                ceiling.",
    },
    Term {
        words: &["registered memory", "MR"],
        means: "Memory that a NIC may reach by itself. Its pages are pinned: they stay on the node where they are.",
    },
    Term {
        words: &["RoCE"],
        means: "RDMA over Ethernet. Version 2 travels in UDP packets and can be routed.",
    },
    Term { words: &["round trip"], means: "Time from asking for a READ to having its answer." },
    Term {
        words: &["SDR", "DDR", "QDR", "FDR", "8b/10b"],
        means: "Generations of InfiniBand before EDR. SDR, DDR and QDR send ten bits for eight of data (8b/10b), FDR 66 for 64; the line told here is what is left for data: 32 of the 40 Gb/s of QDR.",
    },
    Term { words: &["SR-IOV"], means: "How one card gives itself out as several virtual functions (VF)." },
    Term {
        words: &["subnet manager", "SM"],
        means: "The program that sets up an InfiniBand fabric; without one no port becomes ACTIVE.",
    },
    Term { words: &["TID"], means: "Number of one thread of a process, where PID is that of the process." },
    Term {
        words: &["VF", "PF"],
        means: "Virtual and physical function of a card: a VF is a share of it, given to a guest or container.",
    },
    Term {
        words: &["wire", "line"],
        means: "The port's link to the switch; its rate is that of all legs that may carry traffic.",
    },
];
