//! `dead-hca`, `rail-missing`: cards that should give a rail and do not.

use super::wording::{list, nodes, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{LinkLayer, LostCard, Rail, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["dead-hca", "rail-missing"], check };

/// Drivers that bring up the RDMA device of their function, and the module that does it: themselves or one on top.
const RDMA_DRIVERS: [(&str, &str); 12] = [
    ("mlx5_core", "mlx5_ib"),
    ("mlx4_core", "mlx4_ib"),
    ("bnxt_en", "bnxt_re"),
    ("hfi1", "hfi1"),
    ("ib_qib", "ib_qib"),
    ("efa", "efa"),
    ("ionic", "ionic_rdma"),
    ("erdma", "erdma"),
    ("cxgb4", "iw_cxgb4"),
    ("qede", "qedr"),
    ("hns3", "hns_roce_hw_v2"),
    ("mana", "mana_ib"),
];

/// The module that makes a driver's RDMA device.
fn rdma_module(driver: &str) -> Option<&'static str> {
    RDMA_DRIVERS.iter().find(|(known, _)| *known == driver).map(|(_, module)| *module)
}

/// The driver that a card of these ids wants.
fn driver_of(id: &str) -> Option<&'static str> {
    match id.split_once(':')? {
        ("15b3", "1002" | "1003" | "1004" | "1007") => Some("mlx4_core"),
        ("15b3", _) => Some("mlx5_core"),
        ("1fc1" | "1077", _) => Some("ib_qib"),
        ("1dd8", _) => Some("ionic"),
        ("8086", _) => Some("hfi1"),
        ("1d0f", _) => Some("efa"),
        ("14e4", _) => Some("bnxt_en"),
        _ => None,
    }
}

/// Fewest rails that make a pattern of which one can be missing.
const LEAST_PATTERN: usize = 8;

fn check(topology: &Topology, _: &Timeline, _: &Limits) -> Vec<Finding> {
    let dead = dead_hca(topology);
    let mut missing = siblings_without(topology);
    // a card that is there and dead is the missing one
    if dead.is_empty() && missing.is_empty() {
        missing.extend(fewer_ports(topology));
        if missing.is_empty() {
            missing.extend(fewer_on_a_node(topology).or_else(|| gpu_without(topology)));
        }
    }
    dead.into_iter().chain(missing).collect()
}

fn slot(address: &str) -> &str {
    address.rsplit_once('.').map_or(address, |(slot, _)| slot)
}

fn slot_of(rail: &Rail) -> Option<&str> {
    Some(slot(&rail.pcie.as_ref()?.address))
}

/// Functions without an RDMA device that nothing explains.
fn lost(topology: &Topology) -> impl Iterator<Item = &LostCard> {
    topology.lost_cards.iter().filter(|card| {
        let for_rdma = card.driver.as_deref().is_none_or(|driver| rdma_module(driver).is_some());
        for_rdma && !card.is_vf && !card.is_elsewhere && !is_second_port(topology, card)
    })
}

/// Whether a sibling function's RDMA device may stand for this one: a bond, a device with several ports, or one
/// whose netdevs are in another network namespace, so that a bond would not be seen.
fn is_second_port(topology: &Topology, card: &LostCard) -> bool {
    let siblings = topology.rails.iter().filter(|rail| slot_of(rail) == Some(slot(&card.address)));
    siblings.into_iter().any(|rail| {
        let unseen = rail.netdev.is_none() && rail.link_layer != Some(LinkLayer::InfiniBand);
        rail.bond.is_some() || rail.device.contains("bond") || rail.port > 1 || unseen
    })
}

/// A physical function bound to its RDMA driver, or to none, with neither RDMA device nor netdev.
fn dead_hca(topology: &Topology) -> Vec<Finding> {
    let mut by_driver: BTreeMap<Option<&str>, Vec<&LostCard>> = BTreeMap::new();
    for card in lost(topology).filter(|card| card.netdevs.is_empty()) {
        by_driver.entry(card.driver.as_deref()).or_default().push(card);
    }
    by_driver.into_iter().map(|(driver, cards)| dead(topology, driver, &cards)).collect()
}

fn dead(topology: &Topology, driver: Option<&str>, cards: &[&LostCard]) -> Finding {
    let addresses: Vec<&str> = cards.iter().map(|card| card.address.as_str()).collect();
    let first = addresses[0];
    let bound = match driver {
        Some(driver) => format!("bound to {driver}"),
        None => "bound to no driver".to_owned(),
    };
    let loaded = topology.host.rdma_loaded != Some(false);
    let outcome = if loaded {
        format!("{} dead", verb(cards.len(), "it is", "they are"))
    } else {
        "the kernel's RDMA modules are not loaded".to_owned()
    };
    let message = format!(
        "{}: RDMA {} {bound}, with neither an RDMA device nor a netdev: {outcome}",
        list(addresses.iter().copied()),
        verb(cards.len(), "card", "cards"),
    );
    let advice = match driver {
        Some(driver) if !loaded => {
            let module = rdma_module(driver).unwrap_or(driver);
            format!("`modprobe {module}`, then `dmesg | grep {driver}`")
        }
        Some(driver) => {
            let reset = if matches!(driver, "mlx5_core" | "mlx4_core") {
                format!("a firmware reset (`mlxfwreset -d {first} reset`), ")
            } else {
                String::new()
            };
            let module = rdma_module(driver).unwrap_or(driver);
            format!(
                "`dmesg | grep -e {first} -e {driver}` tells why it did not start (firmware, health, command \
                 timeouts); `modprobe {module}`, `echo 1 > /sys/bus/pci/devices/{first}/remove; echo 1 > \
                 /sys/bus/pci/rescan`, {reset}else a cold power cycle"
            )
        }
        None => {
            let drivers: BTreeSet<&str> =
                cards.iter().filter_map(|card| driver_of(card.id.as_deref()?)).collect();
            let load: Vec<String> = drivers.iter().map(|driver| format!("`modprobe {driver}`")).collect();
            let load = if load.is_empty() { String::new() } else { format!(" ({})", load.join(", ")) };
            format!("load its driver{load} and see `dmesg | grep {first}` for why it was not bound")
        }
    };
    Finding::new("dead-hca", Severity::Error, addresses, message)
        .with("driver", driver)
        .with("ids", cards.iter().map(|card| card.id.clone()).collect::<Vec<_>>())
        .with("numa_nodes", cards.iter().map(|card| card.numa_node).collect::<Vec<_>>())
        .advise(advice)
}

/// A function with a netdev and no RDMA device, though its card's other function, or other cards of its model,
/// have one.
fn siblings_without(topology: &Topology) -> Vec<Finding> {
    let model = |rail: &Rail| {
        let path = rail.pcie.as_ref()?;
        Some(format!("{}:{}", path.vendor.as_deref()?, path.device.as_deref()?))
    };
    let mut found = Vec::new();
    for card in lost(topology).filter(|card| !card.netdevs.is_empty() && card.driver.is_some()) {
        let siblings: Vec<&str> = topology
            .rails
            .iter()
            .filter(|rail| rail.is_vf != Some(true))
            .filter(|rail| {
                slot_of(rail) == Some(slot(&card.address)) || card.id.is_some() && model(rail) == card.id
            })
            .map(|rail| rail.device.as_str())
            .collect();
        if siblings.is_empty() {
            continue;
        }
        let netdev = card.netdevs.join(" and ");
        let message = format!(
            "{} ({netdev}) has no RDMA device, while {} on the same card or model {}: a rail is missing",
            card.address,
            list(siblings.iter().copied()),
            verb(siblings.len(), "works", "work"),
        );
        found.push(
            Finding::new("rail-missing", Severity::Warning, [&card.address], message)
                .with("netdevs", card.netdevs.clone())
                .with("siblings", siblings)
                .advise(format!(
                    "`devlink dev param show pci/{0} name enable_rdma` tells whether RDMA is switched off for it; \
                     `dmesg | grep {0}`, then `devlink dev reload pci/{0}`",
                    card.address
                )),
        );
    }
    found
}

/// Rails on physical functions, by the card they sit on: slots of one board id and how many rails each has.
fn fewer_ports(topology: &Topology) -> Vec<Finding> {
    let mut boards: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for rail in topology.rails.iter().filter(|rail| rail.is_vf == Some(false) && rail.bond.is_none()) {
        if let (Some(board), Some(slot)) = (rail.board_id.as_deref(), slot_of(rail)) {
            boards.entry(board).or_default().entry(slot).or_default().push(&rail.device);
        }
    }
    let mut found = Vec::new();
    for (board, cards) in boards {
        let most = cards.values().map(Vec::len).max().unwrap_or(0);
        let short: Vec<(&str, &Vec<&str>)> = cards
            .iter()
            .filter(|(_, rails)| rails.len() < most)
            .map(|(slot, rails)| (*slot, rails))
            .collect();
        let [(slot, rails)] = short.as_slice() else { continue };
        // two cards that differ may both be as they should; a lost function explains itself
        let explained = topology.lost_cards.iter().any(|card| self::slot(&card.address) == *slot);
        if cards.len() < 3 || rails.len() + 1 != most || explained {
            continue;
        }
        let message = format!(
            "the card at {slot} has {} {} ({}), the other {} of board id {board} have {most} each: a rail is missing",
            rails.len(),
            verb(rails.len(), "rail", "rails"),
            list(rails.iter().copied()),
            cards.len() - 1,
        );
        found.push(
            Finding::new("rail-missing", Severity::Warning, rails.iter().copied(), message)
                .with("slot", *slot)
                .with("rails", rails.len())
                .with("rails_of_the_others", most)
                .with("board_id", board)
                .advise(format!(
                    "see whether the second function is on the bus: `lspci -s {slot}`; `dmesg | grep {slot}`; rescan: \
                     `echo 1 > /sys/bus/pci/rescan`"
                )),
        );
    }
    found
}

/// Rails of one model spread evenly over the nodes, but for one node that has one less.
///
/// Counted are physical functions of one vendor and device id, those without an RDMA device too, since they are
/// there. To be a pattern there must be eight or more with the missing one, two at least and a power of two on
/// each node: other numbers (a spare card, a management card of the same model) are as likely meant.
fn fewer_on_a_node(topology: &Topology) -> Option<Finding> {
    let mut models: BTreeMap<String, Vec<Option<u32>>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for rail in topology.rails.iter().filter(|rail| rail.is_vf == Some(false)) {
        let Some(path) = &rail.pcie else { continue };
        if let (Some(vendor), Some(device)) = (&path.vendor, &path.device)
            && seen.insert(path.address.as_str())
        {
            models.entry(format!("{vendor}:{device}")).or_default().push(rail.numa_node);
        }
    }
    let second_port = |card: &&LostCard| is_second_port(topology, card);
    for card in topology.lost_cards.iter().filter(|card| !card.is_vf && !second_port(card)) {
        if let Some(id) = &card.id {
            models.entry(id.clone()).or_default().push(card.numa_node);
        }
    }
    models.into_iter().find_map(|(id, places)| {
        let places: Vec<u32> = places.into_iter().collect::<Option<_>>()?;
        let mut per_node: BTreeMap<u32, usize> = BTreeMap::new();
        for node in places {
            *per_node.entry(node).or_default() += 1;
        }
        let most = *per_node.values().max()?;
        let short: Vec<(u32, usize)> =
            per_node.iter().filter(|(_, count)| **count < most).map(|(node, count)| (*node, *count)).collect();
        let [(node, count)] = short.as_slice() else { return None };
        let even = per_node.len() * most;
        if count + 1 != most || most < 2 || !most.is_power_of_two() || even < LEAST_PATTERN || per_node.len() < 2 {
            return None;
        }
        let others: Vec<u32> = per_node.keys().copied().filter(|other| other != node).collect();
        let message = format!(
            "node {node} has {count} cards of model {id}, {} {} {most}{}: {} of {even} rails are here, one is missing \
             from the PCI bus",
            nodes(&others),
            verb(others.len(), "has", "have"),
            if others.len() > 1 { " each" } else { "" },
            even - 1,
        );
        Some(
            Finding::new("rail-missing", Severity::Warning, ["host"], message)
                .with("model", id)
                .with("node", *node)
                .with("cards_on_node", *count)
                .with("cards_on_other_nodes", most)
                .with("rails_expected", even)
                .advise(
                    "`lspci -d 15b3: -nn` lists the cards that are there; rescan with `echo 1 > /sys/bus/pci/rescan`, \
                     look for the slot in the BMC's log and `dmesg | grep -i -e pcieport -e 'link down'`, then a cold \
                     power cycle or reseating",
                ),
        )
    })
}

/// Every GPU but one has a rail of its own below the same switch: the rail of that one is missing.
///
/// Eight GPUs make the pattern; a card that is there without an RDMA device may be the missing one, and then
/// says so itself or was given away.
fn gpu_without(topology: &Topology) -> Option<Finding> {
    if topology.gpus.len() < LEAST_PATTERN || topology.lost_cards.iter().any(|card| !card.is_vf) {
        return None;
    }
    let mut own: BTreeSet<&str> = BTreeSet::new();
    let mut alone: Vec<&str> = Vec::new();
    for gpu in &topology.gpus {
        let near =
            |path: &&probes::model::GpuPath| path.class.is_some_and(probes::model::PathClass::is_below_cpu);
        let near: Vec<&str> = gpu.paths.iter().filter(near).map(|path| path.device.as_str()).collect();
        match near.as_slice() {
            [] => alone.push(&gpu.name),
            [device] if own.insert(device) => {}
            _ => return None,
        }
    }
    let [gpu] = alone.as_slice() else { return None };
    let (gpus, rails) = (topology.gpus.len(), own.len());
    let message = format!(
        "{rails} of {gpus} GPUs have a rail of their own below the same PCIe switch, {gpu} has none: a rail is missing \
         from the PCI bus"
    );
    Some(
        Finding::new("rail-missing", Severity::Warning, [*gpu], message)
            .with("gpus", gpus)
            .with("rails_near_a_gpu", rails)
            .advise(
                "`lspci -tv` shows what is below that GPU's switch; rescan with `echo 1 > /sys/bus/pci/rescan`, look \
                 for the slot in the BMC's log, then a cold power cycle or reseating",
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, bonded, found, named, rail, two_sockets};
    use super::RULE;
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
        let port =
            |device: &str, address: &str| Rail { board_id: Some("a".into()), ..at(device, address, 0) };
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
}
