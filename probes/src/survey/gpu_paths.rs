//! How near each GPU is to each rail, and what the ports between them do to peer-to-peer traffic.

use super::Probe;
use super::look::cause;
use super::lost_cards::PCI;
use super::lspci;
use super::pci::{Function, slot};
use super::pci_config::{NoExtended, access_control};
use crate::model::{Acs, Gap, GpuPath, PathClass, PathPort, Topology};
use crate::root::{ReadError, Root};
use std::collections::BTreeMap;

const NAME: &str = "gpu-paths";

/// Compares the way of each GPU to the root with that of each RDMA device.
///
/// Source: the legend of `nvidia-smi topo -m`, whose words these are.
pub(super) struct GpuPaths;

impl Probe for GpuPaths {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { numa, rails, gpus, gaps, .. } = topology;
        let mut nics: Vec<End> = Vec::new();
        for rail in rails.iter() {
            let known = nics.iter().any(|nic| nic.name == rail.device);
            if let Some(path) = rail.pcie.as_ref().filter(|_| !known) {
                nics.extend(End::at(root, &rail.device, &path.address, rail.numa_node));
            }
        }
        let mut ports = Ports { root, seen: BTreeMap::new(), gaps };
        for gpu in gpus {
            let Some(end) = End::at(root, &gpu.name, &gpu.pcie.address, gpu.numa_node) else {
                ports.gap(&gpu.name, format!("paths to the rails: {PCI}/{} leads nowhere", gpu.pcie.address));
                continue;
            };
            gpu.paths = nics.iter().map(|nic| path(&end, nic, numa.len(), &mut ports)).collect();
        }
        Ok(())
    }
}

/// One end of a path.
struct End {
    name: String,
    /// The function and the bridges above it, up to the root port.
    chain: Vec<Function>,
    /// Name of the host bridge's folder, such as `pci0000:15`.
    host_bridge: Option<String>,
    node: Option<u32>,
}

impl End {
    fn at(root: &Root, name: &str, address: &str, node: Option<u32>) -> Option<Self> {
        let function = Function::above(root, format!("{PCI}/{address}"))?;
        let chain = function.path_to_root();
        let host_bridge = chain.last()?.folder.parent()?.file_name()?.to_str().map(str::to_owned);
        Some(Self { name: name.to_owned(), chain, host_bridge, node })
    }

    fn bridges(&self) -> &[Function] {
        self.chain.get(1..).unwrap_or_default()
    }

    fn slot(&self) -> &str {
        self.chain.first().map_or("", |function| slot(&function.address))
    }
}

fn path(gpu: &End, nic: &End, nodes: usize, ports: &mut Ports<'_>) -> GpuPath {
    let shared = gpu.bridges().iter().find(|bridge| nic.bridges().contains(bridge));
    let below = |end: &End| -> Vec<Function> {
        end.bridges().iter().take_while(|bridge| Some(*bridge) != shared).cloned().collect()
    };
    let (up, mut down) = (below(gpu), below(nic));
    down.reverse();
    let class = match shared {
        // each side passes at most the switch's own port
        Some(_) if up.len() <= 1 && down.len() <= 1 => Some(PathClass::Pix),
        Some(_) => Some(PathClass::Pxb),
        // two functions of one card without a bridge above, as in some guests
        None if gpu.slot() == nic.slot() && gpu.host_bridge == nic.host_bridge => Some(PathClass::Pix),
        None if gpu.host_bridge.is_some() && gpu.host_bridge == nic.host_bridge => Some(PathClass::Phb),
        None => match (gpu.node, nic.node) {
            (Some(one), Some(other)) => Some(if one == other { PathClass::Node } else { PathClass::Sys }),
            // there is no other node they could be on
            _ if nodes == 1 => Some(PathClass::Node),
            _ => None,
        },
    };
    if class.is_none() {
        let unknown = if gpu.node.is_none() { &gpu.name } else { &nic.name };
        ports.gap(
            &gpu.name,
            format!("path to {}: no bridge is shared, and {unknown} names no node", nic.name),
        );
    }
    let meet = class.is_some_and(|class| class <= PathClass::Phb);
    let passed = up.into_iter().chain(down).filter(|_| meet);
    GpuPath { device: nic.name.clone(), class, ports: passed.map(|port| ports.port(&port)).collect() }
}

/// Ports that were looked at; each belongs to many paths.
struct Ports<'a> {
    root: &'a Root,
    seen: BTreeMap<String, Option<Acs>>,
    gaps: &'a mut Vec<Gap>,
}

impl Ports<'_> {
    fn gap(&mut self, subject: &str, reason: String) {
        self.gaps.push(Gap { probe: NAME.to_owned(), subject: subject.to_owned(), reason });
    }

    fn port(&mut self, port: &Function) -> PathPort {
        if let Some(acs) = self.seen.get(&port.address) {
            return PathPort { address: port.address.clone(), acs: *acs };
        }
        let read = match self.root.bytes(port.folder.join("config")) {
            Ok(config) => access_control(&config).map_err(|why| {
                match why {
                    NoExtended::HeaderOnly => "only the first 64 bytes are readable (root sees ACS)",
                    NoExtended::Conventional => "only the first 256 bytes are there, ACS stands behind them",
                    NoExtended::Silent => "all ones: the port does not answer",
                }
                .to_owned()
            }),
            Err(error) => Err(cause(&error)),
        };
        let captured = || lspci::access_control(self.root, &port.address);
        let acs = match read.or_else(|reason| captured().ok_or(reason)) {
            Ok(acs) => Some(acs),
            Err(reason) => {
                self.gap(&port.address, format!("ACS: config: {reason}"));
                None
            }
        };
        self.seen.insert(port.address.clone(), acs);
        PathPort { address: port.address.clone(), acs }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pci_config::tests::extended_config;
    use super::GpuPaths;
    use crate::model::{Acs, GpuPath, PathClass, Topology};
    use crate::survey::Probe;
    use crate::survey::gpus::Gpus;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    const BRIDGE: (&str, &str) = ("0x1000\n", "0xc030\n");

    fn gpu(tree: &Tree, above: &str, address: &str) {
        tree.pci(above, address, "0x030200\n", ("0x10de\n", "0x2330\n"));
    }

    fn nic(tree: &Tree, above: &str, address: &str, device: &str) -> String {
        let folder =
            format!("sys/devices/{}", tree.pci(above, address, "0x020700\n", ("0x15b3\n", "0x1021\n")));
        tree.rdma_device(&format!("{folder}/infiniband/{device}"), device, "eth0");
        tree.link(&format!("{folder}/infiniband/{device}/device"), &folder);
        folder
    }

    fn bridge(tree: &Tree, above: &str, address: &str) -> String {
        tree.pci(above, address, "0x060400\n", BRIDGE)
    }

    fn survey(tree: &Tree) -> Topology {
        let mut topology = Topology::default();
        for probe in [&Rails as &dyn Probe, &Gpus, &GpuPaths] {
            probe.survey(&tree.root(), &mut topology).unwrap();
        }
        topology
    }

    fn classes(topology: &Topology, gpu: usize) -> Vec<(&str, Option<PathClass>)> {
        let paths = topology.gpus[gpu].paths.iter();
        paths.map(|path: &GpuPath| (path.device.as_str(), path.class)).collect()
    }

    #[test]
    fn each_kind_of_path_has_its_word() {
        let tree = Tree::new();
        let root_port = bridge(&tree, "pci0000:15", "0000:15:01.0");
        let up = bridge(&tree, &root_port, "0000:16:00.0");
        let [first, second, third] =
            ["0000:17:01.0", "0000:17:02.0", "0000:17:03.0"].map(|address| bridge(&tree, &up, address));
        gpu(&tree, &first, "0000:19:00.0");
        nic(&tree, &second, "0000:1a:00.0", "a_same_switch");
        // a second switch below the first one
        let deep_up = bridge(&tree, &third, "0000:1b:00.0");
        let deep = bridge(&tree, &deep_up, "0000:1c:00.0");
        nic(&tree, &deep, "0000:1d:00.0", "b_two_switches");
        let other_port = bridge(&tree, "pci0000:15", "0000:15:03.0");
        nic(&tree, &other_port, "0000:20:00.0", "c_same_host_bridge");
        let other_bridge = bridge(&tree, "pci0000:30", "0000:30:01.0");
        nic(&tree, &other_bridge, "0000:31:00.0", "d_same_node");
        let far = bridge(&tree, "pci0000:80", "0000:80:01.0");
        let far = nic(&tree, &far, "0000:81:00.0", "e_other_node");
        tree.file(&format!("{far}/numa_node"), "1\n");
        assert_eq!(
            classes(&survey(&tree), 0),
            [
                ("a_same_switch", Some(PathClass::Pix)),
                ("b_two_switches", Some(PathClass::Pxb)),
                ("c_same_host_bridge", Some(PathClass::Phb)),
                ("d_same_node", Some(PathClass::Node)),
                ("e_other_node", Some(PathClass::Sys)),
            ]
        );
    }

    #[test]
    fn a_function_without_a_node_has_no_class_unless_there_is_one_node_only() {
        let tree = Tree::new();
        let one = bridge(&tree, "pci0000:15", "0000:15:01.0");
        gpu(&tree, &one, "0000:19:00.0");
        let other = bridge(&tree, "pci0000:80", "0000:80:01.0");
        let folder = nic(&tree, &other, "0000:81:00.0", "mlx5_0");
        tree.file(&format!("{folder}/numa_node"), "-1\n");
        let topology = survey(&tree);
        assert_eq!(classes(&topology, 0), [("mlx5_0", None)]);
        let reason = "path to mlx5_0: no bridge is shared, and mlx5_0 names no node";
        assert!(topology.gaps.iter().any(|gap| gap.subject == "gpu0" && gap.reason == reason));

        let mut alone = Topology { numa: vec![crate::model::NumaNode::default()], ..Topology::default() };
        for probe in [&Rails as &dyn Probe, &Gpus, &GpuPaths] {
            probe.survey(&tree.root(), &mut alone).unwrap();
        }
        assert_eq!(classes(&alone, 0), [("mlx5_0", Some(PathClass::Node))]);
    }

    #[test]
    fn access_control_of_the_ports_between_is_read_and_what_is_hidden_is_a_gap() {
        let tree = Tree::new();
        let root_port = bridge(&tree, "pci0000:15", "0000:15:01.0");
        let up = bridge(&tree, &root_port, "0000:16:00.0");
        let [first, second] = ["0000:17:01.0", "0000:17:02.0"].map(|address| bridge(&tree, &up, address));
        gpu(&tree, &first, "0000:19:00.0");
        nic(&tree, &second, "0000:1a:00.0", "mlx5_0");
        tree.file(&format!("sys/devices/{first}/config"), extended_config(0x1d));
        tree.file(&format!("sys/devices/{second}/config"), [0; 64]);
        // not on the way: what they share is not passed
        tree.file(&format!("sys/devices/{root_port}/config"), extended_config(0x1d));
        let topology = survey(&tree);
        let ports = &topology.gpus[0].path_to("mlx5_0").unwrap().ports;
        let ports: Vec<_> = ports.iter().map(|port| (port.address.as_str(), port.acs)).collect();
        let redirecting = Acs { request_redirect: true, completion_redirect: true };
        assert_eq!(ports, [("0000:17:01.0", Some(redirecting)), ("0000:17:02.0", None)]);
        let gaps: Vec<_> = topology.gaps.iter().filter(|gap| gap.reason.starts_with("ACS")).collect();
        assert_eq!(gaps.len(), 1, "{gaps:?}");
        assert_eq!(gaps[0].subject, "0000:17:02.0");
        assert_eq!(gaps[0].reason, "ACS: config: only the first 64 bytes are readable (root sees ACS)");
    }
}
