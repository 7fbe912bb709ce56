use super::Gids;
use crate::model::{GidType, Topology};
use crate::survey::Probe;
use crate::survey::rails::Rails;
use crate::survey::testing::Tree;

fn survey(tree: &Tree) -> Topology {
    let mut topology = Topology::default();
    Rails.survey(&tree.root(), &mut topology).unwrap();
    Gids.survey(&tree.root(), &mut topology).unwrap();
    topology
}

fn soft_rail(netdev: &str) -> Tree {
    let tree = Tree::new();
    tree.rdma_device("sys/devices/virtual/infiniband/rail0", "rail0", netdev)
        .file("sys/class/infiniband/rail0/parent", format!("{netdev}\n"));
    tree
}

fn virtio_nic(tree: &Tree, netdev: &str, address: &str, node: &str) {
    let port = tree.pci(
        "pci0000:00",
        &format!("0000:00:0{}.0", &address[6..7]),
        "0x060400\n",
        ("0x1b36\n", "0x000c\n"),
    );
    let function = tree.pci(&port, address, "0x020000\n", ("0x1af4\n", "0x1041\n"));
    tree.file(&format!("sys/devices/{function}/numa_node"), node);
    let below = format!("sys/devices/{function}/virtio0");
    tree.netdev(&format!("{below}/net/{netdev}"), netdev, "-1\n");
    tree.link(&format!("{below}/net/{netdev}/device"), &below);
}

#[test]
fn empty_entries_are_left_out_and_the_netdev_is_known() {
    let topology = survey(&Tree::with_nic());
    let rail = &topology.rails[0];
    let table: Vec<(u32, String)> = rail.gids.iter().map(|g| (g.index, g.address.to_string())).collect();
    assert_eq!(table.len(), 4);
    assert_eq!(table[3], (3, "::ffff:198.51.100.11".to_owned()));
    assert_eq!(rail.gids[3].kind, Some(GidType::RoceV2));
    assert_eq!((rail.netdev.as_deref(), rail.netdev_mtu), (Some("eth0"), Some(4200)));
    assert_eq!(topology.gaps, []);
}

#[test]
fn a_prefix_without_an_interface_id_is_an_empty_entry() {
    let tree = Tree::with_nic();
    let port = "sys/class/infiniband/mlx5_0/ports/1";
    tree.file(&format!("{port}/link_layer"), "InfiniBand\n").remove(&format!("{port}/gids"));
    tree.file(&format!("{port}/gids/0"), "fe80:0000:0000:0000:aaaa:0000:0000:0001\n");
    tree.file(&format!("{port}/gids/1"), "fe80:0000:0000:0000:0000:0000:0000:0000\n");
    let gids = &survey(&tree).rails[0].gids;
    assert_eq!(gids.iter().map(|g| g.index).collect::<Vec<_>>(), [0]);
}

#[test]
fn an_iwarp_gid_is_no_empty_entry() {
    let tree = Tree::with_nic();
    let device = "sys/class/infiniband/mlx5_0";
    tree.file(&format!("{device}/node_type"), "4: RNIC\n");
    tree.file(&format!("{device}/ports/1/gids/0"), "0200:0000:0001:0000:0000:0000:0000:0000\n");
    assert_eq!(survey(&tree).rails[0].gids.len(), 4);
}

#[test]
fn an_entry_whose_type_answers_einval_has_no_kind() {
    let tree = Tree::with_nic();
    tree.remove("sys/class/infiniband/mlx5_0/ports/1/gid_attrs");
    let topology = survey(&tree);
    assert_eq!(topology.rails[0].gids[3].kind, None);
    // the netdev is found on the function instead
    assert_eq!(topology.rails[0].netdev.as_deref(), Some("eth0"));
}

#[test]
fn a_port_of_two_has_its_own_netdev_and_never_the_other_s() {
    let tree = Tree::with_nic();
    let device = "sys/class/infiniband/mlx5_0";
    tree.remove(&format!("{device}/ports/1/gid_attrs"));
    tree.file(&format!("{device}/ports/1/link_layer"), "InfiniBand\n");
    tree.files(&format!("{device}/ports/2"), &[("state", "4: ACTIVE\n"), ("link_layer", "Ethernet\n")]);
    let netdevs = |tree: &Tree| -> Vec<Option<String>> {
        survey(tree).rails.into_iter().map(|rail| rail.netdev).collect()
    };
    for number in ["dev_port", "dev_id"] {
        tree.files("sys/class/net/eth0", &[("type", "1\n"), ("dev_port", "0\n"), (number, "0x1\n")]);
        assert_eq!(netdevs(&tree), [None, Some("eth0".to_owned())], "{number}");
    }
    tree.file("sys/class/net/eth0/type", "32\n");
    assert_eq!(netdevs(&tree), [None, None]);
}

#[test]
fn soft_roce_sits_where_its_netdev_sits() {
    let tree = soft_rail("nic0");
    virtio_nic(&tree, "nic0", "0000:01:00.0", "1\n");
    let rail = survey(&tree).rails.remove(0);
    assert_eq!((rail.driver.as_deref(), rail.numa_node), (Some("rdma_rxe"), Some(1)));
    assert_eq!(rail.pcie.unwrap().address, "0000:01:00.0");
}

#[test]
fn soft_roce_on_a_bond_has_the_node_its_legs_agree_on() {
    for (second, node) in [("1\n", Some(1)), ("0\n", None)] {
        let tree = soft_rail("bond0");
        virtio_nic(&tree, "nic0", "0000:01:00.0", "1\n");
        virtio_nic(&tree, "nic1", "0000:02:00.0", second);
        tree.netdev("sys/devices/virtual/net/bond0", "bond0", "-1\n");
        for leg in ["nic0", "nic1"] {
            tree.link(&format!("sys/class/net/bond0/lower_{leg}"), &format!("sys/class/net/{leg}"));
        }
        let topology = survey(&tree);
        assert_eq!((topology.rails[0].numa_node, topology.rails[0].pcie.is_none()), (node, true));
        assert!(topology.gaps.iter().any(|g| g.reason.contains("0000:01:00.0 and 0000:02:00.0")));
    }
}

#[test]
fn soft_roce_on_a_purely_virtual_netdev_has_no_place() {
    let tree = soft_rail("dummy0");
    tree.netdev("sys/devices/virtual/net/dummy0", "dummy0", "-1\n");
    let topology = survey(&tree);
    assert_eq!((topology.rails[0].numa_node, topology.rails[0].pcie.is_none()), (None, true));
    assert!(topology.gaps.iter().any(|g| g.reason.ends_with("the virtual netdev dummy0")));
}

#[test]
fn without_any_netdev_there_is_a_gap() {
    let tree = Tree::with_nic();
    let nic = "sys/bus/pci/devices/0000:41:00.0";
    tree.remove("sys/class/infiniband/mlx5_0/ports/1/gids").remove(&format!("{nic}/net"));
    tree.file("sys/class/infiniband/mlx5_0/ports/1/gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    let topology = survey(&tree);
    assert_eq!((topology.rails[0].netdev.as_deref(), topology.rails[0].gids.len()), (None, 0));
    assert!(topology.rails[0].gid_table_read);
    tree.remove("sys/class/infiniband/mlx5_0/ports/1/gids");
    assert!(!survey(&tree).rails[0].gid_table_read);
    assert!(topology.gaps.iter().any(|g| g.reason.starts_with("netdev: ")), "{:?}", topology.gaps);
}
