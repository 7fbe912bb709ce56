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
mod tests;
