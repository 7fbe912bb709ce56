//! PCI Express paths: every link from a card up to the root, and what both its ends can do.

use super::Probe;
use super::look::{cause, quoted};
use super::lspci;
use super::pci::Function;
use super::pci_config::{Express, NoExpress};
use crate::model::{Gap, Hop, PciePath, Rail, Topology};
use crate::root::{ReadError, Root};

pub(super) const NAME: &str = "pcie";

/// Fills in the hops of every rail that has a PCI function.
///
/// Source: Documentation/ABI/testing/sysfs-bus-pci, `current_link_speed` and its kind.
pub(super) struct Pcie;

impl Probe for Pcie {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, gaps, .. } = topology;
        for rail in rails {
            let function = function_of(root, rail);
            if let (Some(path), Some(function)) = (&mut rail.pcie, function) {
                fill(root, path, &function, &rail.device, gaps);
            }
        }
        Ok(())
    }
}

fn function_of(root: &Root, rail: &Rail) -> Option<Function> {
    Function::of_rdma_device(root, &rail.device)
        .or_else(|| Function::of_netdev(root, rail.netdev.as_deref()?))
        // soft-RoCE on a VLAN or on a bond of one leg
        .or_else(|| Function::above(root, format!("sys/bus/pci/devices/{}", rail.pcie.as_ref()?.address)))
}

/// Fills in the hops of a path, and what its function's config space tells.
pub(super) fn fill(
    root: &Root,
    path: &mut PciePath,
    function: &Function,
    subject: &str,
    gaps: &mut Vec<Gap>,
) {
    let chain = function.path_to_root();
    let mut way = Way { root, card: &function.address, subject, gaps };
    // A link joins a card to the port above it; the next link starts at the upper side of that switch.
    // A switch's own two sides have no link between them.
    path.hops = chain
        .chunks(2)
        .filter_map(|link| {
            let (lower, above) = link.split_first()?;
            Some(way.hop(lower, above.first()))
        })
        .collect();
    // a virtual function's own control register is reserved and reads 0; the physical one's holds for both
    let owner = function.physical(root).unwrap_or_else(|| function.clone());
    if owner.is_vf(root) {
        way.gap(
            &owner,
            "config: a virtual function's settings are its physical function's, which is not here",
        );
    } else if let Some(express) = way.express(&owner) {
        path.max_read_request_bytes = Some(express.max_read_request_bytes);
        path.relaxed_ordering = Some(express.relaxed_ordering);
    }
}

/// The way from one card to the root.
struct Way<'a> {
    root: &'a Root,
    /// Address of the card.
    card: &'a str,
    subject: &'a str,
    gaps: &'a mut Vec<Gap>,
}

impl Way<'_> {
    /// Notes what a function does not tell; the card's own address goes without saying.
    fn gap(&mut self, function: &Function, reason: &str) {
        let reason = if function.address == self.card {
            reason.to_owned()
        } else {
            format!("{}/{reason}", function.address)
        };
        self.gaps.push(Gap { probe: NAME.to_owned(), subject: self.subject.to_owned(), reason });
    }

    fn hop(&mut self, lower: &Function, upper: Option<&Function>) -> Hop {
        // a virtual function shares the link of its physical one, and its own files say "Unknown"
        let owner = lower.physical(self.root).unwrap_or_else(|| lower.clone());
        let config = quiet_express(self.root, &owner);
        let current = self.link(&owner, "current", config.map(|e| (e.current_gt_per_s, e.current_width)));
        let max = self.link(&owner, "max", config.map(|e| (e.max_gt_per_s, e.max_width)));
        let mut hop = Hop {
            address: lower.address.clone(),
            upstream: upper.map(|port| port.address.clone()),
            current_gt_per_s: current.gt_per_s,
            current_width: current.width,
            max_gt_per_s: max.gt_per_s,
            max_width: max.width,
            max_payload_bytes: config.map(|express| express.max_payload_bytes),
            ..Hop::default()
        };
        if let Some(port) = upper {
            let port_config = quiet_express(self.root, port);
            let above = self.link(port, "max", port_config.map(|e| (e.max_gt_per_s, e.max_width)));
            hop.upstream_max_gt_per_s = above.gt_per_s;
            hop.upstream_max_width = above.width;
            // both ends must agree on it, the smaller one is what goes over the link
            let port_payload = port_config.map(|express| express.max_payload_bytes);
            hop.max_payload_bytes =
                hop.max_payload_bytes.map(|own| port_payload.map_or(own, |port| own.min(port)));
        }
        hop
    }

    /// Reads `…_link_speed` and `…_link_width`; where both are missing, as on old kernels, config space.
    fn link(&mut self, function: &Function, which: &str, config: Option<(Option<f64>, Option<u32>)>) -> Link {
        let (speed_file, width_file) = (format!("{which}_link_speed"), format!("{which}_link_width"));
        let speed = self.root.text(function.folder.join(&speed_file));
        let width = self.root.text(function.folder.join(&width_file));
        if let (Err(_), Err(_), Some((gt_per_s, width))) = (&speed, &width, config) {
            return Link { gt_per_s, width };
        }
        let lanes = |text: &str| text.parse().ok().filter(|lanes| (1..=32).contains(lanes));
        Link {
            gt_per_s: self.known(function, &speed_file, speed, gt_per_s),
            width: self.known(function, &width_file, width, lanes),
        }
    }

    /// What a file's text means; a gap when it cannot be read or means nothing.
    fn known<T>(
        &mut self,
        function: &Function,
        file: &str,
        text: Result<String, ReadError>,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let reason = match text {
            Ok(text) => match meaning(&text) {
                Some(value) => return Some(value),
                None => format!("says {}", quoted(&text)),
            },
            Err(error) => cause(&error),
        };
        self.gap(function, &format!("{file}: {reason}"));
        None
    }

    fn express(&mut self, function: &Function) -> Option<Express> {
        if let Some(express) = quiet_express(self.root, function) {
            return Some(express);
        }
        let config = match self.root.bytes(function.folder.join("config")) {
            Ok(config) => config,
            Err(error) => {
                self.gap(function, &format!("config: {}", cause(&error)));
                return None;
            }
        };
        let reason = match Express::of(&config) {
            Ok(express) => return Some(express),
            Err(NoExpress::HeaderOnly) => {
                "only the first 64 bytes are readable (root sees MaxReadReq, MaxPayload and relaxed ordering)"
            }
            Err(NoExpress::None) => "no PCI Express capability in it",
        };
        self.gap(function, &format!("config: {reason}"));
        None
    }
}

/// Speed and width, of now or at most.
struct Link {
    gt_per_s: Option<f64>,
    width: Option<u32>,
}

/// `32.0 GT/s PCIe`, before Linux 5.7 `8 GT/s`; anything else (`Unknown`, `Unknown speed`) is unknown.
fn gt_per_s(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let rate: f64 = number.parse().ok()?;
    (unit.starts_with("GT/s") && rate.is_finite() && rate > 0.0).then_some(rate)
}

/// `None` as well for a virtual function without its physical one: its registers are reserved and read 0.
fn quiet_express(root: &Root, function: &Function) -> Option<Express> {
    if function.is_vf(root) {
        return None;
    }
    let config = root.bytes(function.folder.join("config")).ok();
    config.and_then(|config| Express::of(&config).ok()).or_else(|| lspci::express(root, &function.address))
}

#[cfg(test)]
mod tests {
    use super::super::pci_config::tests::config;
    use super::{Pcie, gt_per_s};
    use crate::model::{PciePath, Topology};
    use crate::survey::Probe;
    use crate::survey::rails::Rails;
    use crate::survey::testing::Tree;

    const NIC: &str = "sys/bus/pci/devices/0000:41:00.0";
    const PORT: &str = "sys/bus/pci/devices/0000:40:01.0";

    fn survey(tree: &Tree) -> (PciePath, Vec<String>) {
        let mut topology = Topology::default();
        Rails.survey(&tree.root(), &mut topology).unwrap();
        Pcie.survey(&tree.root(), &mut topology).unwrap();
        let reasons = topology.gaps.into_iter().map(|gap| gap.reason).collect();
        (topology.rails.remove(0).pcie.unwrap(), reasons)
    }

    #[test]
    fn old_and_new_texts_of_the_same_speed_are_equal() {
        for (text, rate) in [
            ("8 GT/s", Some(8.0)),
            ("8.0 GT/s PCIe", Some(8.0)),
            ("2.5 GT/s", Some(2.5)),
            ("64.0 GT/s PCIe", Some(64.0)),
            ("Unknown", None),
            ("Unknown speed", None),
            ("", None),
            ("inf GT/s", None),
            ("-1 GT/s", None),
            ("400 Gb/sec", None),
        ] {
            assert_eq!(gt_per_s(text), rate, "{text}");
        }
    }

    #[test]
    fn a_card_on_a_root_port_has_one_hop_with_both_ends() {
        let tree = Tree::with_nic();
        tree.file(&format!("{PORT}/max_link_width"), "8\n").file(&format!("{NIC}/current_link_width"), "8\n");
        let (path, _) = survey(&tree);
        let [hop] = path.hops.as_slice() else { panic!("{:?}", path.hops) };
        assert_eq!((hop.address.as_str(), hop.upstream.as_deref()), ("0000:41:00.0", Some("0000:40:01.0")));
        assert_eq!((hop.current_gt_per_s, hop.current_width), (Some(32.0), Some(8)));
        assert_eq!((hop.max_width, hop.upstream_max_width), (Some(16), Some(8)));
    }

    #[test]
    fn a_switch_s_inner_side_is_no_link() {
        let tree = Tree::new();
        let bridge = ("0x1000\n", "0xc030\n");
        let root_port = tree.pci("pci0000:15", "0000:15:01.0", "0x060400\n", bridge);
        let up = tree.pci(&root_port, "0000:16:00.0", "0x060400\n", bridge);
        let down = tree.pci(&up, "0000:17:02.0", "0x060400\n", bridge);
        let nic = tree.pci(&down, "0000:1a:00.0", "0x020000\n", ("0x15b3\n", "0x1021\n"));
        let folder = format!("sys/devices/{nic}");
        tree.rdma_device(&format!("{folder}/infiniband/mlx5_0"), "mlx5_0", "eth0");
        tree.link(&format!("{folder}/infiniband/mlx5_0/device"), &folder);
        let (path, _) = survey(&tree);
        let ends: Vec<_> =
            path.hops.iter().map(|h| (h.address.as_str(), h.upstream.as_deref().unwrap())).collect();
        assert_eq!(ends, [("0000:1a:00.0", "0000:17:02.0"), ("0000:16:00.0", "0000:15:01.0")]);
    }

    #[test]
    fn unknown_speed_and_width_0_are_none_with_a_gap() {
        let tree = Tree::with_nic();
        tree.files(
            NIC,
            &[
                ("current_link_speed", "Unknown\n"),
                ("current_link_width", "0\n"),
                ("max_link_speed", "Unknown speed\n"),
            ],
        )
        .remove(&format!("{NIC}/max_link_width"));
        let (path, reasons) = survey(&tree);
        let hop = &path.hops[0];
        assert_eq!((hop.current_gt_per_s, hop.current_width), (None, None));
        assert_eq!((hop.max_gt_per_s, hop.max_width), (None, None));
        assert_eq!(hop.upstream_max_width, Some(16));
        for reason in [
            "current_link_speed: says `Unknown`",
            "current_link_width: says `0`",
            "max_link_speed: says `Unknown speed`",
            "max_link_width: no such file",
            "config: no such file",
        ] {
            assert!(reasons.iter().any(|r| r == reason), "{reason} not in {reasons:?}");
        }
    }

    #[test]
    fn config_space_tells_what_root_may_see() {
        let tree = Tree::with_nic();
        tree.file(&format!("{NIC}/config"), config());
        let (path, reasons) = survey(&tree);
        assert_eq!((path.max_read_request_bytes, path.relaxed_ordering), (Some(4096), Some(true)));
        assert_eq!(path.hops[0].max_payload_bytes, Some(512));
        // the files win where they are there
        assert_eq!(path.hops[0].current_width, Some(16));
        assert_eq!(reasons, [""; 0]);
    }

    #[test]
    fn config_space_stands_in_for_the_link_files_of_old_kernels() {
        let tree = Tree::with_nic();
        tree.file(&format!("{NIC}/config"), config());
        for file in ["current_link_speed", "current_link_width", "max_link_speed", "max_link_width"] {
            tree.remove(&format!("{NIC}/{file}"));
        }
        let (path, reasons) = survey(&tree);
        assert_eq!((path.hops[0].current_gt_per_s, path.hops[0].current_width), (Some(16.0), Some(8)));
        assert_eq!((path.hops[0].max_gt_per_s, path.hops[0].max_width), (Some(32.0), Some(16)));
        assert_eq!(reasons, [""; 0]);
    }

    #[test]
    fn a_captured_lspci_stands_in_for_config_space() {
        let tree = Tree::with_nic();
        tree.file(&format!("{NIC}/config"), [0; 64]).file(
            "captured/lspci-vvv",
            "41:00.0 Ethernet controller: a card\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
             \t\tDevCtl:\tCorrErr+\n\t\t\tRlxdOrd+ ExtTag+\n\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n",
        );
        let (path, reasons) = survey(&tree);
        assert_eq!((path.max_read_request_bytes, path.relaxed_ordering), (Some(512), Some(true)));
        assert_eq!(path.hops[0].max_payload_bytes, Some(256));
        assert_eq!(reasons, [""; 0]);
    }

    #[test]
    fn a_reader_without_rights_is_told_that_root_sees_more() {
        let tree = Tree::with_nic();
        tree.file(&format!("{NIC}/config"), [0; 64]);
        let (path, reasons) = survey(&tree);
        assert_eq!((path.max_read_request_bytes, path.relaxed_ordering), (None, None));
        assert!(reasons.iter().any(|r| r.contains("root sees MaxReadReq")), "{reasons:?}");
    }

    #[test]
    fn a_guest_s_virtual_function_has_no_settings_of_its_own() {
        let tree = Tree::with_nic();
        tree.file(&format!("{NIC}/device"), "0x101e\n").file(&format!("{NIC}/config"), config());
        let (path, reasons) = survey(&tree);
        assert_eq!((path.max_read_request_bytes, path.relaxed_ordering), (None, None));
        assert_eq!(path.hops[0].max_payload_bytes, None);
        assert!(
            reasons.iter().any(|reason| reason.starts_with("config: a virtual function's")),
            "{reasons:?}"
        );
    }

    #[test]
    fn a_virtual_function_on_the_host_has_the_link_of_its_physical_one() {
        let tree = Tree::with_nic();
        let vf = tree.pci("pci0000:40/0000:40:01.0", "0000:41:00.2", "0x020000\n", ("0x15b3\n", "0x101e\n"));
        let folder = format!("sys/devices/{vf}");
        tree.files(&folder, &[("current_link_speed", "Unknown\n"), ("current_link_width", "0\n")]);
        tree.link(&format!("{folder}/physfn"), "sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0");
        tree.rdma_device(&format!("{folder}/infiniband/a0"), "a0", "eth1");
        tree.link(&format!("{folder}/infiniband/a0/device"), &folder);
        let (path, _) = survey(&tree);
        assert_eq!((path.address.as_str(), path.hops[0].address.as_str()), ("0000:41:00.2", "0000:41:00.2"));
        assert_eq!((path.hops[0].current_gt_per_s, path.hops[0].current_width), (Some(32.0), Some(16)));
    }
}
