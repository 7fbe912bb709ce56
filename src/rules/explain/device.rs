//! Codes about cards and what the host lets them do.

use super::Explanation;

pub(super) const CODES: &[Explanation] = &[
    Explanation {
        code: "dead-hca",
        severity: "error",
        means: "A card is there and gives neither an RDMA device nor a netdev.",
        fires: "A physical function bound to its RDMA driver, or to none, has neither.",
        silent: "For virtual functions, functions given away (vfio-pci), and the second function of a bonded card.",
        mend: "`dmesg | grep ADDRESS`; load the driver or its RDMA module (`modprobe mlx5_ib`); a firmware fault needs a power \
               cycle.",
        source: "Documentation/ABI/testing/sysfs-bus-pci",
    },
    Explanation {
        code: "rail-missing",
        severity: "warning",
        means: "By what its sibling functions and the rest of the node show there should be one more rail.",
        fires: "A function has a netdev and no RDMA device though its card's other function has one; or eight and more rails of \
                one model spread evenly over the nodes but for one; or every GPU but one has a rail below its switch.",
        silent: "About a bond's other leg, and gaps in device numbers, which prove nothing.",
        mend: "Look whether the card is seen at all (`lspci | grep -i -E 'mellanox|infiniband'`) and what the kernel says of it.",
        source: "counting",
    },
    Explanation {
        code: "no-dev-node",
        severity: "warning",
        means: "The kernel has the device, and programs cannot open it: usual in containers.",
        fires: "There is a uverbs device in /sys/class/infiniband_verbs and no node for it in /dev/infiniband.",
        silent: "Where /dev is not part of what was captured.",
        mend: "Give the container the device: `--device=/dev/infiniband/uverbsN`, the RDMA device plug-in of Kubernetes.",
        source: "Documentation/infiniband/user_verbs.rst",
    },
    Explanation {
        code: "verbs-abi",
        severity: "error",
        means: "The verbs library and the kernel's driver do not speak the same version, so no program can open the device.",
        fires: "The library, or its part for a driver, refused the kernel's ABI.",
        silent: "Where nothing tried to open it.",
        mend: "Install rdma-core and driver from one source (both the distribution's, or both the vendor's).",
        source: "rdma-core, libibverbs/init.c",
    },
    Explanation {
        code: "vf-no-guid",
        severity: "error",
        means: "The InfiniBand virtual function has no GUID, so the subnet manager leaves its port down.",
        fires: "Its node GUID reads as zero, or its port has none.",
        silent: "On Ethernet.",
        mend: "On the host: `ip link set PF vf NUM node_guid GUID port_guid GUID`.",
        source: "ip-link(8); Documentation/ABI/testing/sysfs-class-infiniband",
    },
    Explanation {
        code: "memlock",
        severity: "error",
        means: "A process may lock too little memory to register what a load needs.",
        fires: "RLIMIT_MEMLOCK is below the load's buffers; without a load, below 64 MiB.",
        silent: "Where our own load moved bytes: then it was enough.",
        mend: "`ulimit -l unlimited`, `memlock unlimited` in /etc/security/limits.conf, `LimitMEMLOCK=infinity` of the unit, \
               `--ulimit memlock=-1` of the container.",
        source: "drivers/infiniband/core/umem.c; getrlimit(2)",
    },
    Explanation {
        code: "fw-differs",
        severity: "warning",
        means: "Cards of one board id (PSID) run different firmware, so they may behave differently.",
        fires: "Two rails with the same board id and different firmware versions.",
        silent: "Across different board ids.",
        mend: "Bring them to one version: `mlxfwmanager --query`, `flint -d DEVICE q`.",
        source: "Documentation/ABI/stable/sysfs-class-infiniband, board_id, fw_ver",
    },
    Explanation {
        code: "shared-port",
        severity: "info",
        means: "Two functions in two slots show one and the same physical port, so their rates share one wire.",
        fires: "One image GUID and one function number in two slots (Socket Direct, multi-host cards).",
        silent: "For virtual functions, which share by design.",
        mend: "Count the wire once; give each socket its own function. Where the PCIe link of one function carries less than \
               the wire, it takes all of them to fill it.",
        source: "Documentation/ABI/stable/sysfs-class-infiniband, sys_image_guid",
    },
    Explanation {
        code: "gpudirect",
        severity: "info",
        means: "There is a GPU, and neither way for a NIC to reach its memory is proven ready. Host memory needs neither.",
        fires: "Neither a peer-memory module nor dmabuf is shown to work.",
        silent: "Without a GPU, and where a load of ours has used it.",
        mend: "`modprobe nvidia-peermem`; or the open GPU kernel module 515 or newer with kernel 5.12 and rdma-core 34 or newer.",
        source: "ibv_reg_dmabuf_mr(3); Documentation/driver-api/dma-buf.rst",
    },
];
