use super::{ProbeText, WideProbeText};
use probes::model::{
    Acs, Bond, CpuSet, Gid, GidChoice, GidType, Gpu, GpuPath, Hop, Host, HugePages, Interrupts, Lag, Leg,
    LinkErrors, LinkLayer, LostCard, NumaNode, PathClass, PathPort, PciePath, Rail, Readiness, Topology,
};

fn hop(address: &str, upstream: &str, now: (f64, u32), can: (f64, u32), above: (f64, u32)) -> Hop {
    Hop {
        address: address.into(),
        upstream: Some(upstream.into()),
        current_gt_per_s: Some(now.0),
        current_width: Some(now.1),
        max_gt_per_s: Some(can.0),
        max_width: Some(can.1),
        upstream_max_gt_per_s: Some(above.0),
        upstream_max_width: Some(above.1),
        raw_gb_per_s: None,
        max_payload_bytes: Some(512),
    }
}

fn gpu_path(device: &str, class: Option<PathClass>) -> GpuPath {
    let acs = Acs { request_redirect: true, completion_redirect: true };
    let port = PathPort { address: "0000:17:02.0".into(), acs: Some(acs) };
    let ports = if class.is_some() { vec![port] } else { Vec::new() };
    GpuPath { device: device.into(), class, ports }
}

fn bonded_rail() -> Rail {
    let gid = |index, address: &str, kind| Gid {
        index,
        address: address.parse().unwrap(),
        kind: Some(kind),
        netdev: Some("bond1".into()),
    };
    let leg = |netdev: &str, address: &str, active| Leg {
        netdev: netdev.into(),
        pci_address: Some(address.into()),
        speed_gbit_per_s: Some(200.0),
        link_up: Some(true),
        active: Some(active),
        actor_port_state: Some(if active { 63 } else { 7 }),
        partner_port_state: Some(if active { 63 } else { 13 }),
        ..Leg::default()
    };
    Rail {
        device: "mlx5_bond_1".into(),
        port: 1,
        netdev: Some("bond1".into()),
        driver: Some("mlx5_core".into()),
        link_layer: Some(LinkLayer::Ethernet),
        state: Some("ACTIVE".into()),
        phys_state: Some("LinkUp".into()),
        numa_node: Some(0),
        firmware: Some("28.39.1002".into()),
        board_id: Some("MT_0000000834".into()),
        line_gbit_per_s: Some(200.0),
        path_mtu: Some(4096),
        netdev_mtu: Some(4200),
        gids: vec![
            gid(0, "fe80::ff:fe00:101", GidType::IbOrRoceV1),
            gid(1, "fe80::ff:fe00:101", GidType::RoceV2),
            gid(2, "::ffff:198.51.100.11", GidType::IbOrRoceV1),
            gid(3, "::ffff:198.51.100.11", GidType::RoceV2),
        ],
        gid: Some(GidChoice { index: 3, reason: "RoCE v2, routable IPv4, on this device's netdev".into() }),
        pcie: Some(PciePath {
            address: "0000:1a:00.0".into(),
            hops: vec![
                hop("0000:1a:00.0", "0000:17:02.0", (32.0, 16), (32.0, 16), (32.0, 16)),
                hop("0000:16:00.0", "0000:15:01.0", (16.0, 8), (32.0, 16), (32.0, 16)),
            ],
            max_read_request_bytes: Some(4096),
            errors: vec![LinkErrors {
                address: "0000:1a:00.0".into(),
                correctable: [("BadTLP".to_owned(), 3)].into(),
                ..LinkErrors::default()
            }],
            relaxed_ordering: Some(true),
            ..PciePath::default()
        }),
        bond: Some(Bond {
            netdev: "bond1".into(),
            mode: Some("802.3ad".into()),
            xmit_hash_policy: Some("layer3+4".into()),
            lag_port_select: Some("queue_affinity".into()),
            lag: Some(Lag {
                state: Some("active".into()),
                kind: Some("roce".into()),
                mapping: vec!["1:1".into(), "2:1".into()],
                flags: vec!["shared_fdb:off".into()],
                ..Lag::default()
            }),
            legs: vec![leg("eth0", "0000:1a:00.0", true), leg("eth1", "0000:1a:00.1", false)],
            ..Bond::default()
        }),
        max_read_depth: Some(16),
        local_cpus: "0-95,192-287".parse().ok(),
        interrupts: Some(Interrupts {
            count: 65,
            allowed: "0-383".parse().ok(),
            effective: "0-63".parse().ok(),
        }),
        ..Rail::default()
    }
}

fn node(number: u32, cpus: &str, gib: u64, far: u32) -> NumaNode {
    NumaNode {
        node: number,
        cpus: Some(cpus.parse::<CpuSet>().unwrap()),
        memory_bytes: Some(gib << 30),
        memory_free_bytes: Some(gib << 29),
        socket: Some(number),
        distances: [(number, 10), (far, 32)].into(),
        hugepages: Some(vec![
            HugePages { page_bytes: 2 << 20, total: if number == 0 { 1024 } else { 0 }, free: 1000 },
            HugePages { page_bytes: 1 << 30, total: 0, free: 0 },
        ]),
    }
}

#[test]
fn a_node_is_a_tree_of_rails() {
    let host = Host {
        hostname: Some("n1".into()),
        kernel: Some("5.15.0-105-generic".into()),
        os: Some("Ubuntu 22.04.4 LTS".into()),
        cpu_model: Some("AMD EPYC 9K84 96-Core Processor".into()),
        sockets: Some(2),
        cpus: Some(384),
        memory_bytes: Some(2268 << 30),
        rdma_core: Some("44.0".into()),
        memlock_unlimited: Some(true),
        numa_balancing: Some(true),
        cpu_governors: Some(
            [
                ("performance".to_owned(), "0-382".parse().unwrap()),
                ("powersave".to_owned(), "383".parse().unwrap()),
            ]
            .into(),
        ),
        energy_preferences: Some([("performance".to_owned(), "0-383".parse().unwrap())].into()),
        iommu: Some("passthrough".into()),
        cpuset_cpus: "0-383".parse().ok(),
        cpuset_mems: "0-1".parse().ok(),
        ..Host::default()
    };
    let virtual_function = Rail {
        device: "mlx5_4".into(),
        port: 2,
        is_vf: Some(true),
        state: Some("DOWN".into()),
        phys_state: Some("Polling".into()),
        pcie: Some(PciePath {
            address: "0000:06:00.0".into(),
            hops: vec![Hop { address: "0000:06:00.0".into(), ..Hop::default() }],
            ..PciePath::default()
        }),
        ..Rail::default()
    };
    let mut topology = Topology {
        host,
        numa: vec![node(0, "0-95,192-287", 1134, 1), node(1, "", 0, 0)],
        rails: vec![bonded_rail(), virtual_function],
        gpus: vec![Gpu {
            name: "gpu0".into(),
            numa_node: Some(0),
            pcie: PciePath {
                address: "0000:17:00.0".into(),
                vendor: Some("10de".into()),
                device: Some("2330".into()),
                hops: vec![hop("0000:17:00.0", "0000:15:01.0", (2.5, 16), (32.0, 16), (32.0, 16))],
                ..PciePath::default()
            },
            model: Some("NVIDIA H100 80GB HBM3".into()),
            driver: Some("nvidia".into()),
            paths: vec![gpu_path("mlx5_bond_1", Some(PathClass::Pxb)), gpu_path("mlx5_4", None)],
            peermem: Some(Readiness { ready: Some(true), reason: "module nvidia_peermem is loaded".into() }),
            dmabuf: Some(Readiness {
                ready: Some(false),
                reason: "nvidia 550.54.15 is the proprietary kernel module, dmabuf needs the open one".into(),
            }),
        }],
        lost_cards: vec![LostCard { address: "0000:51:00.0".into(), ..LostCard::default() }],
        ..Topology::default()
    };
    topology.gap("rails", "mlx5_4", "numa_node: -1: the platform does not tell");
    let text = ProbeText(&topology).to_string();
    insta::assert_snapshot!(text);
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_machine_without_anything_is_described_without_numbers() {
    let mut topology = Topology::default();
    topology.gap("rails", "host", "/sys/class/infiniband: no such folder: no RDMA driver is loaded");
    insta::assert_snapshot!(ProbeText(&topology).to_string());
}

#[test]
fn a_wide_terminal_shows_rails_beside_each_other_and_who_shares_a_root_port() {
    let other = Rail { device: "mlx5_bond_2".into(), ..bonded_rail() };
    let mut other = Rail { bond: None, ..other };
    let path = other.pcie.as_mut().unwrap();
    path.address = "0000:1b:00.0".into();
    path.hops[0].address = "0000:1b:00.0".into();
    let topology = Topology {
        numa: vec![node(0, "0-95,192-287", 1134, 1)],
        rails: vec![bonded_rail(), other],
        ..Topology::default()
    };
    let text = WideProbeText { topology: &topology, columns: 200 }.to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 162));
    assert!(
        text.lines().any(|line| line.contains("mlx5_bond_1 |") && line.contains("mlx5_bond_2 |")),
        "{text}"
    );
    let shared = "  root port 0000:15:01.0, 15.8 GB/s, is shared by mlx5_bond_1, mlx5_bond_2";
    assert!(text.lines().any(|line| line == shared), "{text}");
    assert_eq!(
        WideProbeText { topology: &topology, columns: 100 }.to_string(),
        ProbeText(&topology).to_string()
    );
}
