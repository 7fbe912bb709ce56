//! The wire: its rate, both legs of a bond together, and the path MTU on it.

use super::Probe;
use super::bonding::speed_gbit_per_s;
use super::bonds::is_software;
use super::gids::functions_below;
use super::look::{Look, quoted};
use crate::model::{Bond, Leg, LinkLayer, Rail, Topology};
use crate::root::{ReadError, Root};

const NAME: &str = "line";

/// Works out `line_gbit_per_s` and, where verbs do not tell, the path MTU of RoCE rails.
pub(super) struct Line;

impl Probe for Line {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, gaps, .. } = topology;
        for rail in rails {
            let mut look = Look::into(root, NAME, &rail.device, "", gaps);
            rail.line_gbit_per_s = line(root, rail, &mut look);
            path_mtu(rail, &mut look);
        }
        Ok(())
    }
}

fn line(root: &Root, rail: &Rail, look: &mut Look<'_>) -> Option<f64> {
    if !rail.is_active() {
        if let (Some(state), Some(rate)) = (&rail.state, &rail.rate_text) {
            // mlx5 and others print the least rate that there is where there is no link
            let what = if state == "DOWN" {
                format!("and {} is a placeholder then", quoted(rate))
            } else {
                format!("{} is its link's, and no data goes over it before it is ACTIVE", quoted(rate))
            };
            look.gap(format!("line rate: the port is {state}, {what}"));
        }
        return None;
    }
    if let (None, Some(netdev)) = (&rail.bond, rail.netdev.as_deref().filter(|_| !is_software(rail))) {
        let below = functions_below(root, netdev);
        if below.len() > 1 {
            look.gap(format!(
                "line rate: {netdev} rides on {} cards' functions, and nothing tells which of them carry traffic",
                below.len()
            ));
            return None;
        }
    }
    match &rail.bond {
        Some(bond) if bond.carries_rdma != Some(false) => of_bond(bond, rail, look),
        _ => of_port(root, rail, look),
    }
}

/// Rate of one port.
fn of_port(root: &Root, rail: &Rail, look: &mut Look<'_>) -> Option<f64> {
    if is_software(rail) {
        // its own rate is made up (drivers/infiniband/sw/rxe/rxe_param.h), the netdev's is not
        let netdev = rail.netdev.as_deref().unwrap_or("?");
        let speed = speed_gbit_per_s(root, netdev);
        if speed.is_none() {
            look.gap("line rate: a software device, and its netdev has no speed");
        }
        return speed;
    }
    let rate = rate_gbit_per_s(rail.rate_text.as_deref()?, rail.link_layer);
    if rate.is_none() {
        look.gap(format!("rate: says {}", quoted(rail.rate_text.as_deref().unwrap_or_default())));
    }
    rate
}

/// Sum of the legs that may carry traffic now.
fn of_bond(bond: &Bond, rail: &Rail, look: &mut Look<'_>) -> Option<f64> {
    if let Some(leg) = bond.legs.iter().find(|leg| leg.active.is_none()) {
        let by_links = of_links(bond);
        let taken = if by_links.is_some() { "; it has a link, and is taken to" } else { "" };
        look.gap(format!(
            "line rate: whether {} carries traffic for {} is not known{taken}",
            leg.netdev, bond.netdev
        ));
        return by_links;
    }
    let carrying: Vec<&Leg> = bond.legs.iter().filter(|leg| leg.active == Some(true)).collect();
    if carrying.is_empty() {
        look.gap(format!("line rate: no leg of {} is known to carry traffic", bond.netdev));
        return None;
    }
    // the port's own rate is that of one leg
    let one_leg = if is_software(rail) {
        None
    } else {
        rail.rate_text.as_deref().and_then(|rate| rate_gbit_per_s(rate, rail.link_layer))
    };
    let speeds: Option<f64> = carrying.iter().map(|leg| leg.speed_gbit_per_s.or(one_leg)).sum();
    if speeds.is_none() {
        look.gap(format!("line rate: a leg of {} has no speed", bond.netdev));
    }
    speeds
}

/// The same where the bonding driver does not tell which legs carry, and all of them have a link: all that the mode lets,
/// of legs in active-backup one, where they are alike.
fn of_links(bond: &Bond) -> Option<f64> {
    let mode = bond.mode.as_deref()?;
    let may_carry = bond.legs.iter().filter(|leg| leg.active != Some(false));
    let speeds: Vec<f64> = may_carry
        .map(|leg| leg.speed_gbit_per_s.filter(|_| leg.link_up == Some(true)))
        .collect::<Option<_>>()?;
    let first = *speeds.first()?;
    match mode {
        "active-backup" => speeds.iter().all(|speed| speed.total_cmp(&first).is_eq()).then_some(first),
        "802.3ad" => Some(speeds.iter().sum()),
        mode if mode.starts_with("balance-") => Some(speeds.iter().sum()),
        _ => None,
    }
}

/// `400 Gb/sec (4X NDR)`.
///
/// InfiniBand up to QDR and FDR print the rate on the wire, of which the line code takes its part
/// (8b/10b and 64b/66b; IBTA 1.4, volume 2, 5.6.1); EDR and later, and Ethernet, print what is left.
fn rate_gbit_per_s(text: &str, link_layer: Option<LinkLayer>) -> Option<f64> {
    let (number, rest) = text.split_once(" Gb/sec")?;
    let rate: f64 = number.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)?;
    if link_layer != Some(LinkLayer::InfiniBand) {
        return Some(rate);
    }
    let lanes =
        rest.trim_start_matches([' ', '(']).split('X').next().and_then(|lanes| lanes.parse::<u32>().ok());
    let generation = rest.trim_end_matches(')').rsplit(' ').next().unwrap_or_default();
    Some(match (generation, lanes) {
        ("SDR" | "DDR" | "QDR", _) => rate * 0.8,
        // the text rounds 56.25 to 56
        ("FDR", Some(lanes)) => f64::from(lanes) * 14.0625 * 64.0 / 66.0,
        _ => rate,
    })
}

/// What RoCE adds to a packet, in the kernel's accounting: GRH 40, UDP 8, BTH 12, XRC 4, atomic ETH 28,
/// ICRC 4 (`iboe_get_mtu` in `include/rdma/ib_addr.h`).
const ROCE_HEADERS: u32 = 40 + 8 + 12 + 4 + 28 + 4;

/// Drivers whose RoCE ports all do 4096 (`max_mtu = IB_MTU_4096` in each one's `query_port`).
const DO_4096: [&str; 6] = ["mlx5_core", "mlx4_core", "bnxt_en", "rdma_rxe", "ice", "irdma"];

fn path_mtu(rail: &mut Rail, look: &mut Look<'_>) {
    let roce = rail.link_layer == Some(LinkLayer::Ethernet) && rail.node_type.as_deref() != Some("RNIC");
    if roce && rail.max_path_mtu.is_none() {
        let does = rail.driver.as_deref().is_some_and(|driver| DO_4096.contains(&driver));
        rail.max_path_mtu = does.then_some(4096);
    }
    if rail.path_mtu.is_some() {
        return;
    }
    rail.path_mtu = if roce { rail.netdev_mtu.and_then(roce_path_mtu) } else { None };
    if rail.path_mtu.is_none() {
        look.gap("path MTU: neither verbs nor a captured ibv_devinfo tells");
    }
}

/// Largest path MTU whose headers fit into a netdev's MTU.
fn roce_path_mtu(netdev_mtu: u32) -> Option<u32> {
    [4096, 2048, 1024, 512, 256].into_iter().find(|mtu| mtu + ROCE_HEADERS <= netdev_mtu)
}

#[cfg(test)]
mod tests {
    use super::{rate_gbit_per_s, roce_path_mtu};
    use crate::model::LinkLayer::{Ethernet, InfiniBand};
    use crate::model::Topology;
    use crate::survey::testing::Tree;

    fn survey(tree: &Tree) -> Topology {
        crate::survey::survey(&tree.root())
    }

    /// The card of `Tree::with_nic` as one RoCE LAG over its two functions.
    fn bonded() -> Tree {
        let tree = Tree::with_nic();
        let second =
            tree.pci("pci0000:40/0000:40:01.0", "0000:41:00.1", "0x020000\n", ("0x15b3\n", "0x1021\n"));
        let folder = format!("sys/devices/{second}");
        tree.netdev(&format!("{folder}/net/eth1"), "eth1", "400000\n");
        tree.link(&format!("{folder}/net/eth1/device"), &folder);
        for netdev in ["eth0", "eth1"] {
            tree.link(&format!("sys/class/net/{netdev}/master"), "sys/devices/virtual/net/bond0");
            tree.file(&format!("sys/class/net/{netdev}/bonding_slave/mii_status"), "up\n");
        }
        tree.netdev("sys/devices/virtual/net/bond0", "bond0", "800000\n");
        tree.files("sys/class/net/bond0/bonding", &[("mode", "balance-xor 2\n"), ("slaves", "eth0 eth1\n")]);
        tree
    }

    #[test]
    fn rates_are_those_of_payload_carrying_bits() {
        let round =
            |text, layer| rate_gbit_per_s(text, Some(layer)).map(|rate| (rate * 100.0).round() / 100.0);
        assert_eq!(round("400 Gb/sec (4X NDR)", Ethernet), Some(400.0));
        assert_eq!(round("100 Gb/sec (2X HDR)", InfiniBand), Some(100.0));
        assert_eq!(round("56 Gb/sec (4X FDR)", InfiniBand), Some(54.55));
        assert_eq!(round("40 Gb/sec (4X QDR)", InfiniBand), Some(32.0));
        assert_eq!(round("40 Gb/sec (4X QDR)", Ethernet), Some(40.0));
        assert_eq!(round("2.5 Gb/sec (1X SDR)", Ethernet), Some(2.5));
        for noise in ["", "Unknown", "0 Gb/sec", "nan Gb/sec", "-1 Gb/sec (4X)"] {
            assert_eq!(rate_gbit_per_s(noise, None), None, "{noise}");
        }
    }

    #[test]
    fn the_path_mtu_leaves_room_for_headers() {
        let cases =
            [(1500, Some(1024)), (4200, Some(4096)), (4191, Some(2048)), (9000, Some(4096)), (300, None)];
        for (netdev, path) in cases {
            assert_eq!(roce_path_mtu(netdev), path, "{netdev}");
        }
    }

    #[test]
    fn an_active_port_has_its_rate_and_a_down_one_a_placeholder() {
        let tree = Tree::with_nic();
        let rail = survey(&tree).rails.remove(0);
        assert_eq!(
            (rail.line_gbit_per_s, rail.path_mtu, rail.max_path_mtu),
            (Some(400.0), Some(4096), Some(4096))
        );
        let port = "sys/class/infiniband/mlx5_0/ports/1";
        tree.files(port, &[("state", "1: DOWN\n"), ("rate", "10 Gb/sec (4X SDR)\n")]);
        let topology = survey(&tree);
        assert_eq!(topology.rails[0].line_gbit_per_s, None);
        assert!(topology.gaps.iter().any(|g| g.reason.contains("placeholder")), "{:?}", topology.gaps);
        tree.files(port, &[("state", "2: INIT\n"), ("rate", "400 Gb/sec (4X NDR)\n")]);
        let topology = survey(&tree);
        assert_eq!(topology.rails[0].line_gbit_per_s, None);
        let reasons: Vec<&str> = topology.gaps.iter().map(|gap| gap.reason.as_str()).collect();
        let expected = "line rate: the port is INIT, `400 Gb/sec (4X NDR)` is its link's, and no data goes over it \
                        before it is ACTIVE";
        assert!(reasons.contains(&expected), "{reasons:?}");
    }

    #[test]
    fn a_lag_s_line_is_the_sum_of_its_carrying_legs() {
        let tree = bonded();
        assert_eq!(survey(&tree).rails[0].line_gbit_per_s, Some(800.0));
        tree.file("sys/class/net/eth1/bonding_slave/mii_status", "down\n");
        assert_eq!(survey(&tree).rails[0].line_gbit_per_s, Some(400.0));
    }

    #[test]
    fn legs_with_a_link_make_the_line_where_the_driver_does_not_tell_which_carry() {
        let tree = bonded();
        tree.files("sys/class/net/bond0/bonding", &[("mode", "802.3ad 4\n"), ("slaves", "eth0 eth1\n")]);
        for leg in ["eth0", "eth1"] {
            tree.remove(&format!("sys/class/net/{leg}/bonding_slave"));
            tree.file(&format!("sys/class/net/{leg}/carrier"), "1\n");
        }
        let topology = survey(&tree);
        assert_eq!(topology.rails[0].line_gbit_per_s, Some(800.0));
        let legs = &topology.rails[0].bond.as_ref().unwrap().legs;
        assert!(legs.iter().all(|leg| leg.active.is_none()), "{legs:?}");
        assert!(
            topology
                .gaps
                .iter()
                .any(|gap| gap.reason.ends_with("is not known; it has a link, and is taken to")),
            "{:?}",
            topology.gaps
        );
        tree.file("sys/class/net/bond0/bonding/mode", "active-backup 1\n");
        assert_eq!(survey(&tree).rails[0].line_gbit_per_s, Some(400.0), "one of two alike");
    }

    #[test]
    fn a_bond_whose_files_are_missing_has_no_line() {
        let tree = bonded();
        for entry in ["0", "1", "2", "3"] {
            let file = format!("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/{entry}");
            tree.file(&file, "bond0\n");
        }
        tree.remove("sys/class/net/bond0/bonding");
        for leg in ["eth0", "eth1"] {
            tree.link(&format!("sys/class/net/bond0/lower_{leg}"), &format!("sys/class/net/{leg}"));
        }
        let topology = survey(&tree);
        assert_eq!((topology.rails[0].line_gbit_per_s, topology.rails[0].bond.is_none()), (None, true));
        let says = |text: &str| topology.gaps.iter().any(|gap| gap.reason.contains(text));
        assert!(says("line rate: bond0 rides on 2 cards' functions"), "{:?}", topology.gaps);
    }

    #[test]
    fn legs_with_rdma_devices_of_their_own_are_no_lag() {
        let tree = bonded();
        tree.file("sys/bus/pci/devices/0000:41:00.1/infiniband/mlx5_1/fw_ver", "28.39.1002\n");
        assert_eq!(survey(&tree).rails[0].line_gbit_per_s, Some(400.0));
    }

    #[test]
    fn soft_roce_has_the_speed_of_its_netdev_or_none() {
        let tree = Tree::new();
        tree.rdma_device("sys/devices/virtual/infiniband/rail0", "rail0", "nic0")
            .file("sys/class/infiniband/rail0/parent", "nic0\n")
            .file("sys/class/infiniband/rail0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n")
            .netdev("sys/devices/virtual/net/nic0", "nic0", "-1\n");
        let topology = survey(&tree);
        assert_eq!((topology.rails[0].line_gbit_per_s, topology.rails[0].path_mtu), (None, Some(4096)));
        assert!(
            topology.gaps.iter().any(|g| g.reason.contains("its netdev has no speed")),
            "{:?}",
            topology.gaps
        );
        tree.file("sys/class/net/nic0/speed", "100000\n");
        assert_eq!(survey(&tree).rails[0].line_gbit_per_s, Some(100.0));
    }
}
