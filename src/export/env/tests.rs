use super::Env;
use probes::model::{DrawnBy, Gid, GidChoice, GidType, LinkLayer, NumaNode, Rail, Topology};
use std::net::{Ipv4Addr, Ipv6Addr};

fn gid(index: u32, address: Ipv6Addr, kind: GidType) -> Gid {
    Gid { index, address, kind: Some(kind), netdev: Some("eth0".into()) }
}

fn rail(device: &str, node: Option<u32>, index: u32) -> Rail {
    let address = Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped();
    Rail {
        device: device.into(),
        port: 1,
        state: Some("ACTIVE".into()),
        link_layer: Some(LinkLayer::Ethernet),
        numa_node: node,
        gids: vec![gid(index, address, GidType::RoceV2)],
        gid: Some(GidChoice { index, reason: "RoCE v2, routable IPv4".into() }),
        ..Rail::default()
    }
}

fn node(node: u32, cpus: &str, memory_bytes: u64) -> NumaNode {
    NumaNode {
        node,
        cpus: Some(cpus.parse().unwrap()),
        memory_bytes: Some(memory_bytes),
        socket: None,
        distances: [(0, 10 + 22 * u32::from(node != 0)), (1, 10 + 22 * u32::from(node != 1))].into(),
        ..NumaNode::default()
    }
}

fn two_nodes(rails: Vec<Rail>) -> Topology {
    Topology { numa: vec![node(0, "0-3", 1 << 30), node(1, "4-7", 1 << 30)], rails, ..Topology::default() }
}

/// What is set and what is said.
fn lines(topology: &Topology) -> (Vec<String>, String) {
    let text = Env(topology).to_string();
    let (said, set): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
    (set.into_iter().map(str::to_owned).collect(), said.join("\n"))
}

#[test]
fn healthy_rails_give_every_variable_and_a_launcher_each() {
    let (set, said) = lines(&two_nodes(vec![rail("mlx5_1", Some(0), 3), rail("mlx5_10", Some(1), 3)]));
    assert_eq!(
        set,
        [
            "export NCCL_IB_HCA='=mlx5_1:1,mlx5_10:1'",
            "export UCX_NET_DEVICES='mlx5_1:1,mlx5_10:1'",
            "export NCCL_IB_GID_INDEX=3",
            "ON_mlx5_1='numactl --cpunodebind=0 --membind=0'  # mlx5_1:1",
            "ON_mlx5_10='numactl --cpunodebind=1 --membind=1'  # mlx5_10:1",
        ]
    );
    assert!(said.contains("GID index 3: RoCE v2, routable IPv4"), "{said}");
}

#[test]
fn different_gid_indexes_leave_the_variable_unset_and_say_why() {
    let topology = two_nodes(vec![rail("a", Some(0), 3), rail("b", Some(0), 5)]);
    let (set, said) = lines(&topology);
    assert!(!set.iter().any(|line| line.contains("GID_INDEX")), "{set:?}");
    assert!(said.contains("no index fits all rails: a:1 wants 3, b:1 wants 5"), "{said}");
}

#[test]
fn an_index_that_is_good_on_every_rail_is_set_even_if_one_recommends_another() {
    let mut other = rail("b", Some(0), 5);
    let address = Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped();
    other.gids.push(gid(3, address, GidType::RoceV2));
    let topology = two_nodes(vec![rail("a", Some(0), 3), other]);
    assert!(lines(&topology).0.contains(&"export NCCL_IB_GID_INDEX=3".to_owned()));
    // the same entry as RoCE v1 is another protocol
    let mut topology = topology;
    topology.rails[1].gids[1].kind = Some(GidType::IbOrRoceV1);
    assert!(!lines(&topology).0.iter().any(|line| line.contains("GID_INDEX")));
}

#[test]
fn a_launcher_that_would_not_work_is_a_reason_instead() {
    let mut topology = two_nodes(vec![rail("unknown", None, 3), rail("bare", Some(1), 3)]);
    topology.numa[1].memory_bytes = Some(0);
    let (set, said) = lines(&topology);
    assert!(!set.iter().any(|line| line.starts_with("ON_")), "{set:?}");
    assert!(said.contains("unknown:1: no numactl line: its NUMA node is unknown"), "{said}");
    assert!(
        said.contains(
            "bare:1: no numactl line: its node 1 has no memory; nearest is numactl --cpunodebind=0"
        ),
        "{said}"
    );
    topology.numa[1].memory_bytes = Some(1 << 30);
    topology.host.cpuset_mems = Some("0".parse().unwrap());
    assert!(lines(&topology).1.contains("cpuset leaves out the memory of its node 1"));
}

#[test]
fn rails_that_carry_nothing_are_left_out() {
    let mut down = rail("down", Some(0), 3);
    down.state = Some("DOWN".into());
    let mut without = rail("without", Some(0), 3);
    without.gid = None;
    let efa = Rail { driver: Some("efa".into()), ..rail("efa_0", Some(0), 3) };
    let (set, said) = lines(&two_nodes(vec![down, without, efa]));
    assert_eq!(set, [""; 0]);
    for part in ["down:1: left out: the port is DOWN", "without:1: left out: no usable GID", "aws-ofi-nccl"] {
        assert!(said.contains(part), "{part} not in {said}");
    }
}

#[test]
fn iwarp_is_left_out_and_the_index_is_decided_by_the_rails_that_remain() {
    let iwarp = Rail { node_type: Some("RNIC".into()), gid: None, ..rail("i40iw0", Some(0), 0) };
    let (set, said) = lines(&two_nodes(vec![iwarp, rail("mlx5_0", Some(0), 3)]));
    assert_eq!(set[..2], ["export NCCL_IB_HCA='=mlx5_0:1'", "export UCX_NET_DEVICES='mlx5_0:1'"]);
    assert_eq!(set[2], "export NCCL_IB_GID_INDEX=3");
    assert!(said.contains("i40iw0:1: left out: iWARP has no GID"), "{said}");
}

#[test]
fn an_unknown_state_leaves_a_rail_out_unless_nccl_itself_lists_it() {
    let ib = Some(LinkLayer::InfiniBand);
    let unknown = Rail { state: None, link_layer: ib, ..rail("scif0", Some(0), 0) };
    let mut topology = two_nodes(vec![unknown]);
    let (set, said) = lines(&topology);
    assert_eq!(set, [""; 0]);
    assert!(said.contains("scif0:1: left out: the state of its port is not known"), "{said}");
    topology.drawn_by = Some(DrawnBy::Nccl);
    assert_eq!(lines(&topology).0[0], "export NCCL_IB_HCA='=scif0:1'");
}

#[test]
fn a_gid_table_that_was_read_and_is_empty_is_told_from_one_that_was_not() {
    let said = |gid_table_read| {
        let rail = Rail { gids: Vec::new(), gid: None, gid_table_read, ..rail("mlx5_0", Some(0), 3) };
        lines(&two_nodes(vec![rail])).1
    };
    assert!(said(true).contains("left out: no usable GID, its table is empty"), "{}", said(true));
    assert!(said(false).contains("left out: no usable GID, its table could not be read"), "{}", said(false));
    assert!(said(true).contains("NCCL_IB_GID_INDEX: not set: no usable rail"), "{}", said(true));
}

#[test]
fn devices_with_the_same_shell_name_have_variables_of_their_own() {
    let (set, _) = lines(&two_nodes(vec![rail("g-h", Some(0), 3), rail("g.h", Some(1), 3)]));
    assert_eq!(
        set[3..],
        [
            "ON_g_h='numactl --cpunodebind=0 --membind=0'  # g-h:1",
            "ON_g_h_again2='numactl --cpunodebind=1 --membind=1'  # g.h:1",
        ]
    );
}

#[test]
fn infiniband_needs_no_index() {
    let ib = Rail { link_layer: Some(LinkLayer::InfiniBand), gid: None, ..rail("mlx5_0", Some(0), 0) };
    let (set, said) = lines(&two_nodes(vec![ib]));
    assert_eq!(set.len(), 3);
    assert!(said.contains("InfiniBand needs none"), "{said}");
}

#[test]
fn names_of_a_hostile_tree_are_never_run_by_the_shell() {
    let evil = rail("x'\nreboot\n#", Some(0), 3);
    let mut topology = two_nodes(vec![evil]);
    topology.host.hostname = Some("h\nreboot".into());
    let (set, _) = lines(&topology);
    assert_eq!(set, [""; 0]);
}
