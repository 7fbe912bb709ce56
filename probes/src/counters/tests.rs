//! What is read from small trees.

use super::Sampler;
use crate::model::{Bond, Leg, Rail, RailFrame, Topology};
use crate::root::Root;

struct Tree {
    dir: tempfile::TempDir,
    root: Root,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let tree = Self { dir, root };
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_dir_all(self.dir.path().join(path)).unwrap();
    }
}

fn topology(rail: Rail) -> Topology {
    Topology { rails: vec![Rail { port: 1, ..rail }], ..Topology::default() }
}

fn mlx5() -> Topology {
    topology(Rail { device: "mlx5_0".into(), driver: Some("mlx5_core".into()), ..Rail::default() })
}

fn everything(sampler: &mut Sampler, root: &Root) -> RailFrame {
    let mut frames = sampler.bytes(root, |_| true);
    sampler.further(root, &mut frames);
    frames.remove(0)
}

const MLX5: &[(&str, &str)] = &[
    ("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
    ("sys/class/infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n"),
    ("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "1000\n"),
    ("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "500\n"),
    ("sys/class/infiniband/mlx5_0/ports/1/counters/unicast_rcv_packets", "9\n"),
    ("sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "2\n"),
    ("sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan", "10\n"),
    ("sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "7\n"),
];

#[test]
fn port_data_are_words_of_four_bytes() {
    let tree = Tree::new(MLX5);
    let mut topology = mlx5();
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    assert_eq!((frame.rx_bytes, frame.tx_bytes), (Some(4000), Some(2000)));
    assert_eq!((frame.state.as_deref(), frame.phys_state.as_deref()), (Some("ACTIVE"), Some("LinkUp")));
    assert_eq!(topology.rails[0].counters, ["port/link_downed", "hw/out_of_sequence"]);
    assert_eq!(frame.counters, [Some(2), Some(7)]);
    assert!(!frame.lost);
}

#[test]
fn a_rail_that_is_not_wanted_is_not_read() {
    let tree = Tree::new(MLX5);
    let mut sampler = Sampler::open(&tree.root, &mut mlx5());
    assert_eq!(sampler.bytes(&tree.root, |_| false), [RailFrame::default()]);
}

#[test]
fn a_counter_that_says_not_available_is_unknown_and_the_gap_quotes_it() {
    let tree = Tree::new(&[
        ("sys/class/infiniband/i40iw0/ports/1/counters/port_rcv_data", "N/A (no PMA)\n"),
        ("sys/class/infiniband/i40iw0/ports/1/counters/port_xmit_data", "N/A (no PMA)\n"),
    ]);
    let mut topology = topology(Rail { device: "i40iw0".into(), ..Rail::default() });
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    assert_eq!((frame.rx_bytes, frame.tx_bytes), (None, None));
    assert_eq!(topology.gaps.len(), 1);
    assert!(topology.gaps[0].reason.contains("N/A (no PMA)"), "{:?}", topology.gaps);
}

#[test]
fn drivers_that_count_bytes_themselves_are_not_multiplied() {
    let hw = "sys/class/infiniband/efa_0/ports/1/hw_counters";
    let tree = Tree::new(&[
        (&format!("{hw}/rx_bytes"), "1000\n"),
        (&format!("{hw}/tx_bytes"), "30\n"),
        (&format!("{hw}/rdma_read_bytes"), "900\n"),
    ]);
    let mut topology = topology(Rail { device: "efa_0".into(), ..Rail::default() });
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    assert_eq!((frame.rx_bytes, frame.tx_bytes), (Some(1000), Some(30)));
    assert_eq!(topology.rails[0].counters, ["hw/rdma_read_bytes"]);
    assert_eq!(topology.gaps, []);
}

#[test]
fn octets_of_both_ip_versions_add_up_and_a_part_that_goes_missing_is_unknown() {
    // irdma keeps them at the device, not at the port
    let hw = "sys/class/infiniband/irdma0/hw_counters";
    let tree = Tree::new(&[
        (&format!("{hw}/ip4InOctets"), "100"),
        (&format!("{hw}/ip6InOctets"), "20"),
        (&format!("{hw}/ip4OutOctets"), "3"),
        (&format!("{hw}/ip6OutOctets"), "4"),
    ]);
    let mut topology = topology(Rail { device: "irdma0".into(), ..Rail::default() });
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    assert_eq!((frame.rx_bytes, frame.tx_bytes), (Some(120), Some(7)));
    std::fs::remove_file(tree.dir.path().join(hw).join("ip6InOctets")).unwrap();
    assert_eq!(everything(&mut sampler, &tree.root).rx_bytes, None);
}

#[test]
fn octets_of_the_one_ip_version_that_a_driver_counts_are_all_there_is() {
    let hw = "sys/class/infiniband/irdma0/hw_counters";
    let tree = Tree::new(&[(&format!("{hw}/ip4InOctets"), "100"), (&format!("{hw}/ip4OutOctets"), "3")]);
    let mut topology = topology(Rail { device: "irdma0".into(), ..Rail::default() });
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    assert_eq!((frame.rx_bytes, frame.tx_bytes), (Some(100), Some(3)));
}

#[test]
fn software_rdma_shows_its_netdevs_bytes_and_says_so() {
    let tree = Tree::new(&[
        ("sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts", "5"),
        ("sys/class/net/eth0/statistics/rx_bytes", "8000"),
        ("sys/class/net/eth0/statistics/tx_bytes", "90"),
    ]);
    let mut topology = topology(Rail {
        device: "rxe0".into(),
        driver: Some("rdma_rxe".into()),
        netdev: Some("eth0".into()),
        ..Rail::default()
    });
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    assert_eq!((frame.rx_bytes, frame.tx_bytes), (Some(8000), Some(90)));
    assert_eq!(frame.counters, [Some(5)]);
    assert!(topology.gaps[0].reason.contains("netdev eth0, all traffic"), "{:?}", topology.gaps);
}

#[test]
fn a_hardware_rail_never_takes_its_netdevs_bytes() {
    let tree = Tree::new(&[("sys/class/net/eth0/statistics/rx_bytes", "8000")]);
    let mut topology = mlx5();
    topology.rails[0].netdev = Some("eth0".into());
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    assert_eq!(everything(&mut sampler, &tree.root).rx_bytes, None);
}

fn bond(driver: &str) -> Topology {
    let leg = |netdev: &str| Leg { netdev: netdev.into(), ..Leg::default() };
    topology(Rail {
        device: "mlx5_bond_0".into(),
        driver: Some(driver.into()),
        netdev: Some("bond0".into()),
        bond: Some(Bond { netdev: "bond0".into(), legs: vec![leg("eth0"), leg("eth1")], ..Bond::default() }),
        ..Rail::default()
    })
}

#[test]
fn legs_are_read_from_driver_statistics_and_the_bonding_driver() {
    let tree = Tree::new(&[
        (
            "captured/ethtool-S/eth0",
            "NIC statistics:\n     rx_bytes_phy: 900\n     rx_vport_rdma_unicast_bytes: 800\n     \
             tx_bytes_phy: 10\n     tx_vport_rdma_unicast_bytes: 9\n     rx_prio3_pause: 4\n",
        ),
        (
            "captured/ethtool-S/eth1",
            "NIC statistics:\n     rx_vport_rdma_unicast_bytes: 0\n     rx_prio3_pause: 1\n",
        ),
        ("sys/class/net/eth0/bonding_slave/mii_status", "up\n"),
        ("sys/class/net/eth0/bonding_slave/state", "active\n"),
        ("sys/class/net/eth1/bonding_slave/mii_status", "down\n"),
        ("sys/class/net/eth1/bonding_slave/state", "active\n"),
    ]);
    let mut topology = bond("mlx5_core");
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    let [one, two] = &frame.legs[..] else { panic!("{:?}", frame.legs) };
    assert_eq!((one.rx_rdma_bytes, one.tx_rdma_bytes), (Some(800), Some(9)));
    assert_eq!((one.rx_port_bytes, one.tx_port_bytes), (Some(900), Some(10)));
    assert_eq!((one.link_up, one.active), (Some(true), Some(true)));
    assert_eq!((two.rx_rdma_bytes, two.tx_rdma_bytes, two.rx_port_bytes), (Some(0), None, None));
    assert_eq!((two.link_up, two.active), (Some(false), Some(false)));
    let pause = topology.rails[0].counters.iter().position(|name| name == "eth/rx_prio3_pause").unwrap();
    assert_eq!(frame.counters[pause], Some(5), "legs add up");
}

#[test]
fn a_leg_that_lacp_keeps_out_does_not_carry_though_it_is_called_active() {
    let slave = "sys/class/net/eth0/bonding_slave";
    let aggregator = ("sys/class/net/eth0/master/bonding/ad_aggregator", "2\n");
    let active = |files: &[(&str, &str)]| {
        let all: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("{slave}/{name}"), *text)).collect();
        let mut all: Vec<(&str, &str)> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        all.push(aggregator);
        let tree = Tree::new(&all);
        let mut topology = bond("mlx5_core");
        let mut sampler = Sampler::open(&tree.root, &mut topology);
        everything(&mut sampler, &tree.root).legs[0].active
    };
    let state = ("state", "active\n");
    assert_eq!(
        active(&[state, ("ad_actor_oper_port_state", "61\n"), ("ad_aggregator_id", "2\n")]),
        Some(true)
    );
    assert_eq!(
        active(&[state, ("ad_actor_oper_port_state", "69\n"), ("ad_aggregator_id", "2\n")]),
        Some(false)
    );
    assert_eq!(
        active(&[state, ("ad_actor_oper_port_state", "77\n"), ("ad_aggregator_id", "2\n")]),
        Some(true),
        "a switch without LACP"
    );
    assert_eq!(
        active(&[state, ("ad_actor_oper_port_state", "61\n"), ("ad_aggregator_id", "1\n")]),
        Some(false)
    );
    assert_eq!(active(&[state, ("ad_actor_oper_port_state", "N/A\n")]), Some(true));
    assert_eq!(active(&[("ad_actor_oper_port_state", "61\n")]), None);
}

#[test]
fn legs_under_software_rdma_show_the_stacks_bytes() {
    let tree = Tree::new(&[
        ("sys/class/net/eth0/statistics/rx_bytes", "70"),
        ("sys/class/net/eth0/statistics/tx_bytes", "6"),
    ]);
    let mut topology = bond("rdma_rxe");
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    assert_eq!(frame.legs[0].rx_rdma_bytes, Some(70));
    assert_eq!(frame.legs[1].rx_rdma_bytes, None);
}

#[test]
fn a_device_that_vanishes_is_lost_and_comes_back() {
    let tree = Tree::new(MLX5);
    let mut sampler = Sampler::open(&tree.root, &mut mlx5());
    assert!(!everything(&mut sampler, &tree.root).lost);
    tree.remove("sys/class/infiniband/mlx5_0");
    let frame = everything(&mut sampler, &tree.root);
    assert!(frame.lost);
    assert_eq!((frame.rx_bytes, frame.counters), (None, vec![None, None]));
    assert!(sampler.bytes(&tree.root, |_| false)[0].lost, "stays lost where it is not looked at");
    for (path, text) in MLX5 {
        tree.write(path, text);
    }
    assert_eq!(everything(&mut sampler, &tree.root).rx_bytes, Some(4000));
}

/// What a driver's own files give: received and sent bytes, and the gaps.
fn bytes_of(driver: &str, files: &[(&str, &str)]) -> (Option<u64>, Option<u64>, Vec<String>) {
    let port = "sys/class/infiniband/dev0/ports/1";
    let paths: Vec<(String, &str)> =
        files.iter().map(|(path, text)| (format!("{port}/{path}"), *text)).collect();
    let tree = Tree::new(&paths.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>());
    let mut topology =
        topology(Rail { device: "dev0".into(), driver: Some(driver.into()), ..Rail::default() });
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    let gaps = topology.gaps.into_iter().map(|gap| gap.reason).collect();
    (frame.rx_bytes, frame.tx_bytes, gaps)
}

#[test]
fn each_driver_s_bytes_come_from_where_it_keeps_them() {
    let words: &[_] = &[("counters/port_rcv_data", "1000"), ("counters/port_xmit_data", "500")];
    let plain: &[_] = &[("hw_counters/rx_bytes", "1000"), ("hw_counters/tx_bytes", "500")];
    let pairs = |rx: &'static str, tx: &'static str| [(rx, "1000"), (tx, "500")];
    let erdma = pairs("hw_counters/rx_bytes_cnt", "hw_counters/tx_bytes_cnt");
    let vendor_erdma = pairs("hw_counters/hw_rx_bytes_cnt", "hw_counters/hw_tx_bytes_cnt");
    let ionic = pairs("hw_counters/rx_rdma_ucast_bytes", "hw_counters/tx_rdma_ucast_bytes");
    let rxe = pairs("hw_counters/rcvd_bytes", "hw_counters/sent_bytes");
    let irdma: &[_] = &[
        ("hw_counters/ip4InOctets", "900"),
        ("hw_counters/ip6InOctets", "100"),
        ("hw_counters/ip4OutOctets", "499"),
        ("hw_counters/ip6OutOctets", "1"),
    ];
    for (driver, files, factor) in [
        ("mlx5_core", words, 4),
        ("mlx4_core", words, 4),
        ("ib_qib", words, 4),
        ("hfi1", words, 4),
        ("efa", plain, 1),
        ("bnxt_en", plain, 1),
        ("mana", plain, 1),
        ("erdma", &erdma, 1),
        ("erdma", &vendor_erdma, 1),
        ("ionic", &ionic, 1),
        ("ice", irdma, 1),
        ("rdma_rxe", &rxe, 1),
        ("a driver of tomorrow", words, 4),
        ("a driver of tomorrow", plain, 1),
    ] {
        let expected = (Some(1000 * factor), Some(500 * factor), vec![]);
        assert_eq!(bytes_of(driver, files), expected, "{driver}");
    }
}

#[test]
fn a_driver_that_counts_packets_alone_has_no_bytes() {
    let (rx, tx, gaps) = bytes_of("hns3", &[("hw_counters/rx_rc_pkt", "7"), ("hw_counters/tx_rc_pkt", "7")]);
    assert_eq!((rx, tx), (None, None));
    assert!(gaps[0].contains("has no byte counter either"), "{gaps:?}");
}

#[test]
fn a_driver_s_own_place_wins_over_one_that_is_there_too() {
    let both =
        [("counters/port_rcv_data", "0"), ("hw_counters/rx_bytes", "70"), ("hw_counters/tx_bytes", "6")];
    assert_eq!(bytes_of("bnxt_en", &both), (Some(70), Some(6), vec![]));
}

#[test]
fn the_wide_counters_of_an_old_stack_win_over_the_narrow_ones() {
    let files = [
        ("counters/port_rcv_data", "4294967295"),
        ("counters/port_xmit_data", "12"),
        ("counters_ext/port_rcv_data_64", "5000000000"),
        ("counters_ext/port_xmit_data_64", "12"),
    ];
    assert_eq!(bytes_of("mlx4_core", &files), (Some(20_000_000_000), Some(48), vec![]));
}

#[test]
fn a_counter_at_its_end_gives_no_bytes_and_is_listed_itself() {
    let port = "sys/class/infiniband/qib0/ports/1/counters";
    let tree = Tree::new(&[
        (&format!("{port}/port_rcv_data"), "4294967295\n"),
        (&format!("{port}/port_xmit_data"), "100\n"),
    ]);
    let mut topology =
        topology(Rail { device: "qib0".into(), driver: Some("ib_qib".into()), ..Rail::default() });
    let mut sampler = Sampler::open(&tree.root, &mut topology);
    let frame = everything(&mut sampler, &tree.root);
    assert_eq!((frame.rx_bytes, frame.tx_bytes), (None, Some(400)));
    assert_eq!(topology.rails[0].counters, ["port/port_rcv_data"]);
    assert_eq!(frame.counters, [Some(4_294_967_295)]);
    assert_eq!(
        topology.gaps[0].reason,
        "port_rcv_data: stands at 4294967295, where a 32-bit counter stops: bytes unknown until a reset"
    );
    tree.write(&format!("{port}/port_rcv_data"), "5\n");
    assert_eq!(everything(&mut sampler, &tree.root).rx_bytes, Some(20), "somebody reset it");
}
