//! Rails: every port of every RDMA device, and the function each sits on.

use super::Probe;
use super::look::{Look, cause, quoted};
use super::order::natural;
use super::pci::Function;
use crate::model::{Gap, LinkLayer, PciePath, Rail, Topology};
use crate::root::{ReadError, Root};

pub(super) const CLASS: &str = "sys/class/infiniband";
const NAME: &str = "rails";

/// Reads `/sys/class/infiniband`.
///
/// Source: Documentation/ABI/stable/sysfs-class-infiniband.
pub(super) struct Rails;

impl Probe for Rails {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        topology.host.rdma_loaded = Some(root.exists(CLASS));
        let mut devices = match root.names(CLASS) {
            Ok(devices) => devices,
            Err(error) if error.is_missing() => {
                topology.gap(NAME, "host", format!("/{CLASS}: no such folder: no RDMA driver is loaded"));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        devices.sort_by(|a, b| natural(a, b));
        for device in &devices {
            let of_device = device_facts(root, device, &mut topology.gaps);
            for port in ports(root, device, &mut topology.gaps) {
                let mut rail = Rail { port, ..of_device.clone() };
                port_facts(root, &mut rail, &mut topology.gaps);
                topology.rails.push(rail);
            }
        }
        Ok(())
    }
}

/// Port numbers, ascending.
///
/// A device that shows no ports still is one: its first port stands for it, with everything unknown.
fn ports(root: &Root, device: &str, gaps: &mut Vec<Gap>) -> Vec<u32> {
    let names = root.names(format!("{CLASS}/{device}/ports"));
    let mut ports: Vec<u32> = names
        .as_ref()
        .map(|names| names.iter().filter_map(|name| name.parse().ok()).collect())
        .unwrap_or_default();
    ports.sort_unstable();
    if ports.is_empty() {
        let why = names.err().map_or_else(|| "empty".to_owned(), |error| cause(&error));
        gaps.push(Gap {
            probe: NAME.to_owned(),
            subject: device.to_owned(),
            reason: format!("ports: {why}"),
        });
        ports.push(1);
    }
    ports
}

/// What all ports of a device have in common.
fn device_facts(root: &Root, device: &str, gaps: &mut Vec<Gap>) -> Rail {
    let mut look = Look::into(root, NAME, device, format!("{CLASS}/{device}"), gaps);
    let mut rail = Rail {
        device: device.to_owned(),
        node_type: look.word("node_type"),
        firmware: look.text("fw_ver"),
        board_id: look.text("board_id"),
        system_image_guid: image_guid(&mut look),
        has_guid: look.text("node_guid").map(|guid| !is_zero(&guid)),
        driver: software_driver(&look),
        ..Rail::default()
    };
    let hardware = Function::of_rdma_device(root, device);
    if let Some(function) = &hardware {
        on_function(&mut rail, root, function, &mut look);
    }
    rail
}

fn image_guid(look: &mut Look<'_>) -> Option<String> {
    let guid = look.text("sys_image_guid")?;
    if is_zero(&guid) {
        look.gap(format!("sys_image_guid: {guid}"));
        return None;
    }
    Some(guid)
}

/// `0000:0000:0000:0000`.
fn is_zero(guid: &str) -> bool {
    guid.chars().all(|c| matches!(c, '0' | ':'))
}

/// Soft-RoCE has a file `parent` with its netdev's name (`drivers/infiniband/sw/rxe/rxe_verbs.c`), which
/// no other driver has; where the kernel still links its device, that is the NIC below.
fn software_driver(look: &Look<'_>) -> Option<String> {
    look.maybe("parent").map(|_| "rdma_rxe".to_owned())
}

/// Fills in what the PCI function tells about the rail.
pub(super) fn on_function(rail: &mut Rail, root: &Root, function: &Function, look: &mut Look<'_>) {
    rail.is_vf = Some(function.is_vf(root));
    rail.local_cpus = function.local_cpus(root);
    if rail.local_cpus.is_none() {
        look.gap("local_cpulist: names no CPU");
    }
    rail.numa_node = numa_node(root, function, look);
    if rail.driver.is_none() {
        rail.driver = function.driver(root);
        if rail.driver.is_none() {
            look.gap("driver: none bound to the PCI function");
        }
    }
    rail.pcie = Some(PciePath {
        address: function.address.clone(),
        vendor: function.id(root, "vendor"),
        device: function.id(root, "device"),
        ..PciePath::default()
    });
}

/// Node of the function; `-1` is the platform saying nothing.
pub(super) fn numa_node(root: &Root, function: &Function, look: &mut Look<'_>) -> Option<u32> {
    match root.text(function.folder.join("numa_node")) {
        Ok(text) if text == "-1" => look.gap("numa_node: -1: the platform does not tell"),
        Ok(text) => match text.parse() {
            Ok(node) => return Some(node),
            Err(_) => look.gap(format!("numa_node: says {}", quoted(&text))),
        },
        Err(error) => look.gap(format!("numa_node: {}", cause(&error))),
    }
    None
}

fn port_facts(root: &Root, rail: &mut Rail, gaps: &mut Vec<Gap>) {
    let port = rail.port;
    let folder = format!("{CLASS}/{}", rail.device);
    if !root.exists(format!("{folder}/ports/{port}")) {
        return;
    }
    let mut look = Look::into(root, NAME, &rail.device, folder, gaps);
    rail.state = look.word(&format!("ports/{port}/state"));
    rail.phys_state = look.word(&format!("ports/{port}/phys_state"));
    rail.rate_text = look.text(&format!("ports/{port}/rate"));
    rail.link_layer = link_layer(&mut look, port);
    if rail.link_layer == Some(LinkLayer::InfiniBand) {
        let up = rail.state.as_deref() != Some("DOWN");
        rail.lid = lid(&mut look, &format!("ports/{port}/lid"), up);
        rail.sm_lid = lid(&mut look, &format!("ports/{port}/sm_lid"), up);
    }
}

fn link_layer(look: &mut Look<'_>, port: u32) -> Option<LinkLayer> {
    let file = format!("ports/{port}/link_layer");
    match look.text(&file)?.as_str() {
        "Ethernet" => Some(LinkLayer::Ethernet),
        "InfiniBand" => Some(LinkLayer::InfiniBand),
        other => {
            look.gap(format!("{file}: says {}", quoted(other)));
            None
        }
    }
}

/// A local id; 0 and 0xffff are the ids of ports that have none yet (IBTA 1.4, 4.1.3), and nobody misses that of
/// a port that is down.
fn lid(look: &mut Look<'_>, file: &str, up: bool) -> Option<u16> {
    let text = look.text(file)?;
    let lid =
        u16::from_str_radix(text.trim_start_matches("0x"), 16).ok().filter(|lid| !matches!(lid, 0 | 0xffff));
    if lid.is_none() && up {
        look.gap(format!("{file}: says {}", quoted(&text)));
    }
    lid
}

#[cfg(test)]
mod tests {
    use super::Rails;
    use crate::model::{LinkLayer, Topology};
    use crate::survey::Probe;
    use crate::survey::testing::Tree;

    fn survey(tree: &Tree) -> Topology {
        let mut topology = Topology::default();
        Rails.survey(&tree.root(), &mut topology).unwrap();
        topology
    }

    fn reasons(topology: &Topology) -> Vec<&str> {
        topology.gaps.iter().map(|gap| gap.reason.as_str()).collect()
    }

    #[test]
    fn a_rail_knows_its_device_port_and_function() {
        let topology = survey(&Tree::with_nic());
        let (_, rail) = topology.rail("mlx5_0").unwrap();
        assert_eq!((rail.port, rail.driver.as_deref(), rail.is_vf), (1, Some("mlx5_core"), Some(false)));
        assert_eq!((rail.state.as_deref(), rail.phys_state.as_deref()), (Some("ACTIVE"), Some("LinkUp")));
        assert_eq!((rail.link_layer, rail.lid), (Some(LinkLayer::Ethernet), None));
        assert_eq!((rail.numa_node, rail.firmware.as_deref()), (Some(0), Some("28.39.1002")));
        let pcie = rail.pcie.as_ref().unwrap();
        assert_eq!((pcie.address.as_str(), pcie.vendor.as_deref()), ("0000:41:00.0", Some("15b3")));
        assert_eq!(topology.gaps, []);
    }

    #[test]
    fn an_unknown_node_is_none_and_never_minus_one() {
        let tree = Tree::with_nic();
        tree.file("sys/bus/pci/devices/0000:41:00.0/numa_node", "-1\n");
        let topology = survey(&tree);
        assert_eq!(topology.rails[0].numa_node, None);
        assert_eq!(reasons(&topology), ["numa_node: -1: the platform does not tell"]);
    }

    #[test]
    fn a_guest_s_virtual_function_is_known_by_its_device_id() {
        let tree = Tree::with_nic();
        let function = "sys/bus/pci/devices/0000:41:00.0";
        for (vendor, device, is_vf) in [
            ("0x15b3\n", "0x101e\n", true),
            ("0x15b3\n", "0x101c\n", true),
            ("0x15b3\n", "0x101d\n", false),
            ("0x14e4\n", "0x1806\n", true),
            ("0x14e4\n", "0x1750\n", false),
            ("0x8086\n", "0x101e\n", false),
        ] {
            tree.files(function, &[("vendor", vendor), ("device", device)]);
            assert_eq!(survey(&tree).rails[0].is_vf, Some(is_vf), "{vendor}{device}");
        }
    }

    #[test]
    fn a_copied_virtual_function_is_known_by_its_link_to_what_was_not_copied() {
        let tree = Tree::with_nic();
        assert_eq!(survey(&tree).rails[0].is_vf, Some(false));
        let elsewhere = "sys/devices/pci0000:40/0000:40:02.0";
        tree.link("sys/bus/pci/devices/0000:41:00.0/physfn", elsewhere);
        std::fs::remove_dir(tree.root().base().join(elsewhere)).unwrap();
        assert_eq!(survey(&tree).rails[0].is_vf, Some(true));
    }

    #[test]
    fn an_infiniband_port_without_a_subnet_manager_has_no_lid() {
        let tree = Tree::with_nic();
        tree.files(
            "sys/class/infiniband/mlx5_0/ports/1",
            &[("link_layer", "InfiniBand\n"), ("lid", "0xffff\n"), ("sm_lid", "0x0\n")],
        );
        let topology = survey(&tree);
        assert_eq!((topology.rails[0].lid, topology.rails[0].sm_lid), (None, None));
        assert_eq!(reasons(&topology), ["ports/1/lid: says `0xffff`", "ports/1/sm_lid: says `0x0`"]);
    }

    #[test]
    fn a_guid_of_zeros_is_none_at_all() {
        let tree = Tree::with_nic();
        assert_eq!(survey(&tree).rails[0].has_guid, Some(true));
        tree.file("sys/class/infiniband/mlx5_0/node_guid", "0000:0000:0000:0000\n");
        assert_eq!(survey(&tree).rails[0].has_guid, Some(false));
        tree.remove("sys/class/infiniband/mlx5_0/node_guid");
        assert_eq!(survey(&tree).rails[0].has_guid, None);
    }

    #[test]
    fn ports_and_devices_come_in_natural_order() {
        let tree = Tree::new();
        for device in ["mlx5_10", "mlx5_2"] {
            tree.rdma_device(&format!("sys/devices/virtual/{device}"), device, "eth0");
        }
        tree.file("sys/class/infiniband/mlx5_2/ports/2/state", "1: DOWN\n");
        let rails: Vec<(String, u32)> = survey(&tree).rails.into_iter().map(|r| (r.device, r.port)).collect();
        assert_eq!(rails, [("mlx5_2".into(), 1), ("mlx5_2".into(), 2), ("mlx5_10".into(), 1)]);
    }

    #[test]
    fn a_device_without_ports_is_listed_with_everything_unknown() {
        let tree = Tree::new();
        std::os::unix::fs::symlink("nowhere", {
            tree.file("sys/class/infiniband/x", "").remove("sys/class/infiniband/x");
            tree.root().base().join("sys/class/infiniband/scif0")
        })
        .unwrap();
        let topology = survey(&tree);
        assert_eq!((topology.rails[0].device.as_str(), &topology.rails[0].state), ("scif0", &None));
        assert!(reasons(&topology).contains(&"ports: no such file"), "{:?}", topology.gaps);
    }

    #[test]
    fn without_the_class_it_says_that_no_driver_is_loaded() {
        let topology = survey(&Tree::new());
        assert_eq!(reasons(&topology), ["/sys/class/infiniband: no such folder: no RDMA driver is loaded"]);
        assert_eq!(topology.host.rdma_loaded, Some(false));
    }
}
