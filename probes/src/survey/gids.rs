//! GID tables, and the netdev each port belongs to.

use super::Probe;
use super::look::Look;
use super::pci::Function;
use super::rails::{CLASS, on_function};
use crate::ffi::verbs;
use crate::model::{Gid, GidType, LinkLayer, Rail, Topology};
use crate::root::{ReadError, Root};
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::path::Path;

const NAME: &str = "gids";

/// Reads `ports/N/gids` and `ports/N/gid_attrs`.
///
/// Source: Documentation/ABI/stable/sysfs-class-infiniband, `gids` and `gid_attrs`. Entries that are
/// empty answer EINVAL when their type or netdev is asked for.
pub(super) struct Gids;

impl Probe for Gids {
    fn name(&self) -> &'static str {
        NAME
    }

    fn survey(&self, root: &Root, topology: &mut Topology) -> Result<(), ReadError> {
        let Topology { rails, gaps, .. } = topology;
        let mut library = Library::of(root);
        for rail in rails {
            let folder = format!("{CLASS}/{}/ports/{}", rail.device, rail.port);
            if !root.exists(&folder) {
                continue;
            }
            let mut look = Look::into(root, NAME, &rail.device, &folder, gaps);
            let table = table(root, rail, &mut library, &mut look);
            rail.gid_table_read = table.is_some();
            rail.gids = table.unwrap_or_default();
            rail.netdev = netdev_of_table(&rail.gids)
                .or_else(|| {
                    let parent = root.text(format!("{CLASS}/{}/parent", rail.device)).ok();
                    parent.filter(|netdev| !netdev.is_empty())
                })
                .or_else(|| netdev_of_function(root, rail));
            let Some(netdev) = rail.netdev.clone() else {
                look.gap("netdev: neither the GID table nor the PCI function names one");
                continue;
            };
            if rail.pcie.is_none() {
                through_netdev(root, rail, &netdev, &mut look);
            }
            let mtu = format!("sys/class/net/{netdev}");
            rail.netdev_mtu = Look::into(root, NAME, &rail.device, mtu, gaps).parsed("mtu");
        }
        Ok(())
    }
}

/// The entries that are not empty; `None` when the table cannot be read.
fn table(root: &Root, rail: &Rail, library: &mut Library, look: &mut Look<'_>) -> Option<Vec<Gid>> {
    if let Some(gids) = library.table(root, rail) {
        return Some(gids);
    }
    let folder = look.folder().to_owned();
    let texts = match root.texts(folder.join("gids")) {
        Ok(texts) => texts,
        Err(error) => {
            look.gap(format!("ports/{}/gids: {}", rail.port, super::look::cause(&error)));
            return None;
        }
    };
    let entry = |(name, text): &(String, String)| entry(root, rail, &folder, (name.parse().ok()?, text));
    let mut gids: Vec<Gid> = texts.iter().filter_map(entry).collect();
    gids.sort_by_key(|gid| gid.index);
    (!texts.is_empty()).then_some(gids)
}

/// The verbs library, which tells a table in one call where a table of 1024 entries is as many files.
#[derive(Default)]
struct Library {
    /// `None` for a copied tree, and where there is no library.
    devices: Option<verbs::Devices>,
    /// Names of the netdevs by interface number, once they are wanted.
    netdevs: Option<BTreeMap<u32, String>>,
}

impl Library {
    fn of(root: &Root) -> Self {
        let has_rails = || root.names(CLASS).is_ok_and(|names| !names.is_empty());
        let devices = if root.is_live() && has_rails() { verbs::Devices::list().ok() } else { None };
        Self { devices, netdevs: None }
    }

    /// `None` where the library or the access to the device is missing.
    fn table(&mut self, root: &Root, rail: &Rail) -> Option<Vec<Gid>> {
        let context = self.devices.as_ref()?.open(&rail.device).ok()?;
        let mut entries = context.gid_table().ok()?;
        entries.retain(|entry| entry.port == rail.port && !is_empty(entry.address, rail));
        entries.sort_by_key(|entry| entry.index);
        let gid = |entry: verbs::GidEntry| Gid {
            index: entry.index,
            address: entry.address,
            kind: entry.kind,
            netdev: entry.netdev_index.and_then(|index| self.netdev(root, index)),
        };
        Some(entries.into_iter().map(gid).collect())
    }

    fn netdev(&mut self, root: &Root, index: u32) -> Option<String> {
        let named = |name: String| {
            let number = root.text(format!("sys/class/net/{name}/ifindex")).ok()?.parse().ok()?;
            Some((number, name))
        };
        let all = || root.names("sys/class/net").unwrap_or_default().into_iter().filter_map(named).collect();
        self.netdevs.get_or_insert_with(all).get(&index).cloned()
    }
}

/// One entry; `None` when it is empty.
fn entry(root: &Root, rail: &Rail, folder: &Path, (index, text): (u32, &str)) -> Option<Gid> {
    let address: Ipv6Addr = text.parse().ok()?;
    if is_empty(address, rail) {
        return None;
    }
    let attribute = |kind: &str| {
        let text = root.text(folder.join("gid_attrs").join(kind).join(index.to_string())).ok()?;
        Some(text).filter(|text| !text.is_empty())
    };
    let kind = attribute("types").and_then(|text| match text.as_str() {
        "IB/RoCE v1" => Some(GidType::IbOrRoceV1),
        "RoCE v2" => Some(GidType::RoceV2),
        _ => None,
    });
    Some(Gid { index, address, kind, netdev: attribute("ndevs") })
}

/// A prefix without an interface id is an unused entry of an InfiniBand table; iWARP keeps its MAC
/// address in the upper half.
fn is_empty(address: Ipv6Addr, rail: &Rail) -> bool {
    let [a, b, _, _, tail @ ..] = address.segments();
    let prefix_only = tail == [0; 4];
    let link_local = a & 0xffc0 == 0xfe80;
    (a == 0 && b == 0 && address.is_unspecified())
        || prefix_only && (link_local || rail.link_layer == Some(LinkLayer::InfiniBand))
}

/// The netdev of the lowest entry that names one: the port's own, before its VLANs.
fn netdev_of_table(gids: &[Gid]) -> Option<String> {
    gids.iter().find_map(|gid| gid.netdev.clone())
}

/// The function's netdev; of several, or for a device of several ports, the one whose port number fits. The
/// netdev of an InfiniBand port has the type of one.
///
/// Sources: Documentation/ABI/testing/sysfs-class-net, `dev_port` (counts from 0; older drivers use `dev_id`);
/// `include/uapi/linux/if_arp.h`, `ARPHRD_INFINIBAND`.
fn netdev_of_function(root: &Root, rail: &Rail) -> Option<String> {
    let function = Function::of_rdma_device(root, &rail.device)?;
    let mut netdevs = function.netdevs(root);
    netdevs.retain(|netdev| {
        let kind = root.text(format!("sys/class/net/{netdev}/type")).ok();
        let infiniband = kind.as_deref().filter(|kind| !kind.is_empty()).map(|kind| kind == "32");
        let wanted = rail.link_layer.map(|layer| layer == LinkLayer::InfiniBand);
        infiniband.is_none() || wanted.is_none() || infiniband == wanted
    });
    let ports = root.names(format!("{CLASS}/{}/ports", rail.device)).map_or(1, |ports| ports.len());
    if let ([only], 0 | 1) = (netdevs.as_slice(), ports) {
        return Some(only.clone());
    }
    let number = |netdev: &str, file: &str| {
        let text = root.text(format!("sys/class/net/{netdev}/{file}")).ok()?;
        let hex = text.strip_prefix("0x").map(|hex| u32::from_str_radix(hex, 16));
        hex.unwrap_or_else(|| text.parse()).ok()
    };
    let wanted = rail.port.checked_sub(1)?;
    // a file that says 0 for every netdev of several ports does not tell them apart
    let tells = |file: &&&str| netdevs.iter().any(|netdev| number(netdev, file).is_some_and(|port| port > 0));
    let of_ports = ["dev_port", "dev_id"];
    let file = of_ports.iter().find(tells).or_else(|| of_ports.first());
    file.and_then(|file| {
        let mut fits = netdevs.iter().filter(|netdev| number(netdev, file) == Some(wanted));
        fits.next().filter(|_| fits.next().is_none()).cloned()
    })
}

/// A device without a PCI function of its own (soft-RoCE) sits where its netdev sits; a bond's or
/// VLAN's netdev where the netdevs below it sit, if that is one place.
fn through_netdev(root: &Root, rail: &mut Rail, netdev: &str, look: &mut Look<'_>) {
    match functions_below(root, netdev).as_slice() {
        [] => look.gap(format!("PCIe path, numa_node: the device rides on the virtual netdev {netdev}")),
        [only] => on_function(rail, root, only, look),
        several => {
            let addresses: Vec<&str> = several.iter().map(|f| f.address.as_str()).collect();
            look.gap(format!("PCIe path: {netdev} rides on {}", addresses.join(" and ")));
            let nodes: Vec<Option<u32>> =
                several.iter().map(|f| super::rails::numa_node(root, f, look)).collect();
            rail.numa_node =
                nodes.first().copied().flatten().filter(|node| nodes.iter().all(|n| n == &Some(*node)));
            if rail.numa_node.is_none() {
                look.gap(format!("numa_node: the functions under {netdev} are not on one node"));
            } else {
                rail.local_cpus = several.first().and_then(|f| f.local_cpus(root));
            }
        }
    }
}

/// The PCI functions under a netdev, each once.
pub(super) fn functions_below(root: &Root, netdev: &str) -> Vec<Function> {
    let mut found = Vec::new();
    below(root, netdev, &mut found, 0);
    found
}

/// Adds the PCI functions under a netdev, through bonds, bridges and VLANs (`lower_*` links).
fn below(root: &Root, netdev: &str, found: &mut Vec<Function>, depth: u32) {
    if let Some(function) = Function::of_netdev(root, netdev) {
        if !found.contains(&function) {
            found.push(function);
        }
        return;
    }
    // a tree made to go round in circles ends here
    if depth == 4 {
        return;
    }
    for name in root.names(format!("sys/class/net/{netdev}")).unwrap_or_default() {
        if let Some(lower) = name.strip_prefix("lower_") {
            below(root, lower, found, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests;
