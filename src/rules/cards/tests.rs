//! Cards that are dead, those that are missing, and those that only look so.

use super::RULE;
use crate::rules::testing::{Traffic, bonded, found, named, rail, two_sockets};
use crate::rules::{Finding, Severity};
use probes::model::{Gpu, GpuPath, LostCard, PathClass, Rail, Topology};

fn at(device: &str, address: &str, node: u32) -> Rail {
    let mut rail =
        Rail { netdev: Some("eth0".into()), is_vf: Some(false), numa_node: Some(node), ..rail(device) };
    let path = rail.pcie.as_mut().unwrap();
    path.address = address.into();
    (path.vendor, path.device) = (Some("15b3".into()), Some("1021".into()));
    rail
}

fn card(address: &str, driver: Option<&str>, netdevs: &[&str]) -> LostCard {
    LostCard {
        address: address.into(),
        driver: driver.map(str::to_owned),
        netdevs: netdevs.iter().map(|netdev| (*netdev).to_owned()).collect(),
        numa_node: Some(0),
        id: Some("15b3:1021".into()),
        ..LostCard::default()
    }
}

fn findings(rails: Vec<Rail>, lost_cards: Vec<LostCard>) -> Vec<Finding> {
    found(&RULE, &Topology { lost_cards, ..two_sockets(rails) }, &Traffic::default())
}

#[test]
fn a_bound_function_with_nothing_on_it_is_dead() {
    for driver in [Some("mlx5_core"), None] {
        let rails = vec![at("mlx5_0", "0000:41:00.0", 0)];
        let found = findings(rails, vec![card("0000:81:00.0", driver, &[])]);
        assert_eq!(named(&found), ["dead-hca 0000:81:00.0"]);
        assert_eq!(found[0].severity, Severity::Error);
    }
}

#[test]
fn the_advice_for_a_dead_card_is_its_own_driver_s() {
    for (driver, module) in
        [("mlx5_core", "mlx5_ib"), ("qede", "qedr"), ("erdma", "erdma"), ("mana", "mana_ib")]
    {
        let found = findings(Vec::new(), vec![card("0000:81:00.0", Some(driver), &[])]);
        assert_eq!(named(&found), ["dead-hca 0000:81:00.0"]);
        let advice = &found[0].advice;
        assert!(advice.contains(&format!("`modprobe {module}`")), "{advice}");
        assert_eq!(advice.contains("mlxfwreset"), driver == "mlx5_core", "{advice}");
    }
    let efa = LostCard { id: Some("1d0f:efa1".into()), ..card("0000:81:00.0", None, &[]) };
    let advice = &findings(Vec::new(), vec![efa])[0].advice;
    assert!(advice.contains("`modprobe efa`") && !advice.contains("mlx5"), "{advice}");
}

#[test]
fn without_the_kernel_s_rdma_modules_the_advice_is_to_load_them() {
    let mut topology = two_sockets(Vec::new());
    topology.lost_cards = vec![card("0000:81:00.0", Some("mlx5_core"), &[])];
    topology.host.rdma_loaded = Some(false);
    let found = found(&RULE, &topology, &Traffic::default());
    assert_eq!(
        found[0].message,
        "0000:81:00.0: RDMA card bound to mlx5_core, with neither an RDMA device nor a netdev: the kernel's RDMA \
         modules are not loaded"
    );
    assert!(found[0].advice.starts_with("`modprobe mlx5_ib`"), "{}", found[0].advice);
}

#[test]
fn functions_that_something_explains_are_not_dead() {
    let first = || at("mlx5_0", "0000:41:00.0", 0);
    let dead = || card("0000:41:00.1", Some("mlx5_core"), &[]);
    let named_bond = Rail { device: "mlx5_bond_0".into(), ..first() };
    let hidden_netdev = Rail { netdev: None, ..first() };
    let two_ports = Rail { port: 2, ..first() };
    let in_bond = Rail { bond: bonded("x").bond, ..first() };
    for (rail, card) in [
        (first(), LostCard { is_vf: true, ..dead() }),
        (first(), LostCard { is_elsewhere: true, ..dead() }),
        (first(), card("0000:41:00.1", Some("vfio-pci"), &[])),
        (named_bond, dead()),
        (hidden_netdev, dead()),
        (two_ports, dead()),
        (in_bond, dead()),
    ] {
        assert_eq!(named(&findings(vec![rail], vec![card])), Vec::<String>::new());
    }
}

#[test]
fn a_netdev_whose_siblings_have_rdma_devices_misses_its_own() {
    let second = || card("0000:41:00.1", Some("mlx5_core"), &["eth1"]);
    let found = findings(vec![at("mlx5_0", "0000:41:00.0", 0)], vec![second()]);
    assert_eq!(named(&found), ["rail-missing 0000:41:00.1"]);
    assert_eq!(found[0].severity, Severity::Warning);
    let in_bond = Rail { bond: bonded("x").bond, ..at("mlx5_bond_0", "0000:41:00.0", 0) };
    assert_eq!(named(&findings(vec![in_bond], vec![second()])), Vec::<String>::new());
    // alone it may be meant for Ethernet only
    assert_eq!(named(&findings(Vec::new(), vec![second()])), Vec::<String>::new());
    let other_model =
        LostCard { id: Some("15b3:1015".into()), ..card("0000:61:00.0", Some("mlx5_core"), &["eth9"]) };
    assert_eq!(
        named(&findings(vec![at("mlx5_0", "0000:41:00.0", 0)], vec![other_model])),
        Vec::<String>::new()
    );
}

#[test]
fn one_card_with_a_port_less_than_the_others_is_named() {
    let port = |device: &str, address: &str| Rail { board_id: Some("a".into()), ..at(device, address, 0) };
    let two = |first: &str, second: &str, slot: &str| {
        [port(first, &format!("{slot}.0")), port(second, &format!("{slot}.1"))]
    };
    let mut rails: Vec<Rail> = two("mlx5_0", "mlx5_1", "0000:41:00").into();
    rails.extend(two("mlx5_2", "mlx5_3", "0000:61:00"));
    assert_eq!(named(&findings(rails.clone(), Vec::new())), Vec::<String>::new());
    rails.push(port("mlx5_4", "0000:81:00.0"));
    let found = findings(rails.clone(), Vec::new());
    assert_eq!(named(&found), ["rail-missing mlx5_4"]);
    // two cards that differ may both be meant so
    assert_eq!(named(&findings(rails.split_off(2), Vec::new())), Vec::<String>::new());
}

fn node(counts: &[usize]) -> Vec<Rail> {
    let mut rails = Vec::new();
    for (node, count) in counts.iter().enumerate() {
        for at_node in 0..*count {
            let address = format!("0000:{node}{at_node}:00.0");
            rails.push(at(&format!("mlx5_{}", rails.len()), &address, u32::try_from(node).unwrap()));
        }
    }
    rails
}

#[test]
fn seven_rails_where_eight_would_be_even_miss_one() {
    let found = findings(node(&[4, 3]), Vec::new());
    assert_eq!(named(&found), ["rail-missing host"]);
    assert_eq!(
        found[0].message,
        "node 1 has 3 cards of model 15b3:1021, node 0 has 4: 7 of 8 rails are here, one is missing from the PCI bus"
    );
    assert_eq!(named(&findings(node(&[2, 2, 1, 2]), Vec::new())), ["rail-missing host"]);
}

#[test]
fn the_one_gpu_of_eight_without_a_rail_below_its_switch_tells_of_a_missing_one() {
    let gpu = |at: usize, class: PathClass| Gpu {
        name: format!("gpu{at}"),
        paths: vec![GpuPath { device: format!("mlx5_{at}"), class: Some(class), ports: Vec::new() }],
        ..Gpu::default()
    };
    let with = |classes: [PathClass; 8], lost_cards: Vec<LostCard>| {
        let gpus = classes.into_iter().enumerate().map(|(at, class)| gpu(at, class)).collect();
        let topology = Topology { gpus, lost_cards, ..two_sockets(node(&[3, 4])[..2].to_vec()) };
        named(&found(&RULE, &topology, &Traffic::default()))
    };
    let mut classes = [PathClass::Pix; 8];
    assert_eq!(with(classes, Vec::new()), Vec::<String>::new());
    classes[5] = PathClass::Sys;
    assert_eq!(with(classes, Vec::new()), ["rail-missing gpu5"]);
    assert_eq!(with(classes, vec![card("0000:99:00.0", Some("vfio-pci"), &[])]), Vec::<String>::new());
    classes[6] = PathClass::Node;
    assert_eq!(with(classes, Vec::new()), Vec::<String>::new());
}

#[test]
fn numbers_that_may_be_meant_are_no_pattern() {
    for counts in [&[4, 4][..], &[2, 1], &[1, 1, 1, 0], &[5, 4], &[4, 2], &[7], &[4, 3, 3]] {
        assert_eq!(named(&findings(node(counts), Vec::new())), Vec::<String>::new(), "{counts:?}");
    }
    // handed to a virtual machine, it is not missing
    let given = LostCard { numa_node: Some(1), ..card("0000:99:00.0", Some("vfio-pci"), &[]) };
    assert_eq!(named(&findings(node(&[4, 3]), vec![given])), Vec::<String>::new());
}
