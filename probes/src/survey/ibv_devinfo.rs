//! What a captured `ibv_devinfo` tells of a node that is not this one.

use super::Probe;
use crate::model::{Rail, Topology};
use crate::root::{ReadError, Root};

const FILE: &str = "captured/ibv_devinfo";

/// Reads `captured/ibv_devinfo` of a copied tree: the text of `ibv_devinfo`, with or without `-v`.
pub(super) struct IbvDevinfo;

impl Probe for IbvDevinfo {
    fn name(&self) -> &'static str {
        "ibv-devinfo"
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        if root.is_live() {
            return Ok(());
        }
        let Ok(text) = root.text(FILE) else { return Ok(()) };
        for device in devices(&text) {
            for rail in topology.rails.iter_mut().filter(|rail| rail.device == device.name) {
                device.fill(rail);
            }
        }
        Ok(())
    }
}

#[derive(Debug, Default, PartialEq)]
struct Device<'a> {
    name: &'a str,
    max_read_depth: Option<u32>,
    ports: Vec<Port>,
}

#[derive(Debug, Default, PartialEq)]
struct Port {
    number: u32,
    max_mtu: Option<u32>,
    active_mtu: Option<u32>,
}

impl Device<'_> {
    fn fill(&self, rail: &mut Rail) {
        rail.max_read_depth = rail.max_read_depth.or(self.max_read_depth);
        if let Some(port) = self.ports.iter().find(|port| port.number == rail.port) {
            rail.path_mtu = rail.path_mtu.or(port.active_mtu);
            rail.max_path_mtu = rail.max_path_mtu.or(port.max_mtu);
        }
    }
}

/// Lines it does not know are passed over. Source: rdma-core, libibverbs/examples/devinfo.c.
fn devices(text: &str) -> Vec<Device<'_>> {
    let mut devices: Vec<Device<'_>> = Vec::new();
    for line in text.lines() {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let value = value.trim();
        if key == "hca_id" {
            devices.push(Device { name: value, ..Device::default() });
            continue;
        }
        let Some(device) = devices.last_mut() else { continue };
        // `4096 (5)`: bytes, and the code of the verbs library
        let number = || value.split(' ').next()?.parse::<u32>().ok();
        match (key, device.ports.last_mut()) {
            ("max_qp_init_rd_atom", _) => device.max_read_depth = number().filter(|depth| *depth > 0),
            ("port", _) => device.ports.extend(number().map(|number| Port { number, ..Port::default() })),
            ("max_mtu", Some(port)) => port.max_mtu = number(),
            ("active_mtu", Some(port)) => port.active_mtu = number(),
            _ => {}
        }
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::{Device, IbvDevinfo, Port, devices};
    use crate::survey::Probe;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    const TEXT: &str = "\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tmax_qp_init_rd_atom:\t\t16
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t2048 (4)

hca_id:\tmlx5_1
\t\tport:\t2
\t\t\tmax_mtu:\t\tinvalid MTU (0)
";

    #[test]
    fn each_device_keeps_its_own_ports() {
        let first = Device {
            name: "mlx5_0",
            max_read_depth: Some(16),
            ports: vec![Port { number: 1, max_mtu: Some(4096), active_mtu: Some(2048) }],
        };
        let second = Device {
            name: "mlx5_1",
            max_read_depth: None,
            ports: vec![Port { number: 2, ..Port::default() }],
        };
        assert_eq!(devices(TEXT), [first, second]);
        assert_eq!(devices("No IB devices found\nport: 1\n"), []);
    }

    #[test]
    fn the_captured_path_mtu_is_the_rail_s() {
        let tree = Tree::with_nic();
        tree.file("captured/ibv_devinfo", TEXT);
        let mut topology = crate::model::Topology::default();
        Rails.survey(&tree.root(), &mut topology).unwrap();
        IbvDevinfo.survey(&tree.root(), &mut topology).unwrap();
        let rail = &topology.rails[0];
        assert_eq!(
            (rail.path_mtu, rail.max_path_mtu, rail.max_read_depth),
            (Some(2048), Some(4096), Some(16))
        );
    }
}
