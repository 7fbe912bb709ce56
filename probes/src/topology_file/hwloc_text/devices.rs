//! PCI devices and what the system calls them.

use super::{Numbers, Quoted, info};
use crate::model::{Hop, LinkLayer, PciePath, Rail, Topology};
use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

/// The devices of a topology, by the node they hang on.
pub(super) struct Devices<'a> {
    by_node: BTreeMap<Option<u32>, BTreeMap<&'a str, Pci<'a>>>,
    /// Rails without a PCI function.
    bare: BTreeMap<Option<u32>, Vec<&'a Rail>>,
}

/// A bridge or a card.
#[derive(Default)]
struct Pci<'a> {
    /// Rate of the link above it, GB/s.
    raw_gb_per_s: Option<f64>,
    card: Option<Card<'a>>,
    below: BTreeMap<&'a str, Pci<'a>>,
}

struct Card<'a> {
    path: &'a PciePath,
    class: &'static str,
    rails: Vec<&'a Rail>,
}

impl<'a> Devices<'a> {
    pub(super) fn of(topology: &'a Topology) -> Self {
        let known = |node: Option<u32>| node.filter(|node| topology.node(*node).is_some());
        let mut devices = Self { by_node: BTreeMap::new(), bare: BTreeMap::new() };
        for gpu in &topology.gpus {
            let top = devices.by_node.entry(known(gpu.numa_node)).or_default();
            place(top, &gpu.pcie).get_or_insert(Card { path: &gpu.pcie, class: "0302", rails: Vec::new() });
        }
        for rail in &topology.rails {
            let Some(path) = rail.pcie.as_ref().filter(|path| parts(&path.address).is_some()) else {
                devices.bare.entry(known(rail.numa_node)).or_default().push(rail);
                continue;
            };
            let class = if rail.link_layer == Some(LinkLayer::InfiniBand) { "0207" } else { "0200" };
            let top = devices.by_node.entry(known(rail.numa_node)).or_default();
            place(top, path).get_or_insert(Card { path, class, rails: Vec::new() }).rails.push(rail);
        }
        devices
    }

    /// Writes what hangs on a node; `None`: on the machine as a whole.
    pub(super) fn write(&self, f: &mut Formatter<'_>, node: Option<u32>, numbers: &Numbers) -> fmt::Result {
        // a host bridge for each root bus
        let mut by_root: BTreeMap<(u32, u8), Vec<(&str, &Pci<'_>)>> = BTreeMap::new();
        for (address, pci) in self.by_node.get(&node).into_iter().flatten() {
            if let Some((domain, bus)) = parts(address) {
                by_root.entry((domain, bus)).or_default().push((address, pci));
            }
        }
        for ((domain, bus), tops) in by_root {
            let last = tops.iter().map(|(address, pci)| last_bus(address, pci)).max().unwrap_or(bus);
            writeln!(
                f,
                "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"{domain:04x}:[{bus:02x}-{last:02x}]\">",
                numbers.next()
            )?;
            for (address, pci) in tops {
                write_pci(f, address, pci, 1, numbers)?;
            }
            writeln!(f, "</object>")?;
        }
        for rail in self.bare.get(&node).into_iter().flatten() {
            os_devices(f, &[*rail], numbers)?;
        }
        Ok(())
    }
}

/// The card's place below the ports on its path, made where it is missing.
fn place<'a, 'b>(top: &'b mut BTreeMap<&'a str, Pci<'a>>, path: &'a PciePath) -> &'b mut Option<Card<'a>> {
    let mut below = top;
    for (at, hop) in path.hops.iter().enumerate().rev() {
        if let Some(port) = hop.upstream.as_deref().filter(|port| parts(port).is_some()) {
            below = &mut below.entry(port).or_default().below;
        }
        if at > 0 && parts(&hop.address).is_some() {
            let pci = below.entry(&hop.address).or_default();
            pci.raw_gb_per_s = raw_gb_per_s(hop);
            below = &mut pci.below;
        }
    }
    let pci = below.entry(&path.address).or_default();
    pci.raw_gb_per_s = path.hops.first().and_then(raw_gb_per_s);
    &mut pci.card
}

/// Rate of the link as negotiated; the share that line encoding leaves is hwloc's (`hwloc_pcidisc_find_linkspeed`).
fn raw_gb_per_s(hop: &Hop) -> Option<f64> {
    let (Some(gt_per_s), Some(width)) = (hop.current_gt_per_s, hop.current_width) else {
        return hop.raw_gb_per_s;
    };
    let encoding = match gt_per_s {
        slow if slow < 8.0 => 8.0 / 10.0,
        usual if usual < 64.0 => 128.0 / 130.0,
        _ => 242.0 / 256.0,
    };
    Some(gt_per_s * encoding / 8.0 * f64::from(width))
}

/// Domain and bus of `0000:41:00.0`; `None` where it is no address that hwloc can hold.
fn parts(address: &str) -> Option<(u32, u8)> {
    let (domain, rest) = address.split_once(':')?;
    let (bus, device) = rest.split_once(':')?;
    let (slot, function) = device.split_once('.')?;
    let fits = u8::from_str_radix(slot, 16).ok()? < 32 && u8::from_str_radix(function, 16).ok()? < 8;
    let domain = u32::from_str_radix(domain, 16).ok().filter(|domain| *domain <= 0xffff)?;
    Some((domain, u8::from_str_radix(bus, 16).ok()?)).filter(|_| fits)
}

fn last_bus(address: &str, pci: &Pci<'_>) -> u8 {
    let own = parts(address).map_or(0, |(_, bus)| bus);
    pci.below.iter().map(|(address, pci)| last_bus(address, pci)).max().map_or(own, |below| below.max(own))
}

fn write_pci(
    f: &mut Formatter<'_>,
    address: &str,
    pci: &Pci<'_>,
    depth: u32,
    numbers: &Numbers,
) -> fmt::Result {
    let number = numbers.next();
    let kind = match &pci.card {
        Some(_) => "PCIDev",
        None => "Bridge",
    };
    write!(f, "<object type=\"{kind}\" gp_index=\"{number}\"")?;
    if pci.card.is_none() {
        let (domain, bus) = parts(address).unwrap_or_default();
        let first =
            pci.below.keys().filter_map(|below| parts(below)).map(|(_, bus)| bus).min().unwrap_or(bus);
        let last = last_bus(address, pci);
        write!(
            f,
            " bridge_type=\"1-1\" depth=\"{depth}\" bridge_pci=\"{domain:04x}:[{first:02x}-{last:02x}]\""
        )?;
    }
    let id = |id: Option<&String>| id.filter(|id| id.len() == 4).map_or("0000", String::as_str).to_owned();
    let (class, vendor, device) = pci.card.as_ref().map_or(("0604", "0000".into(), "0000".into()), |card| {
        (card.class, id(card.path.vendor.as_ref()), id(card.path.device.as_ref()))
    });
    let (vendor, device) = (Quoted(&vendor), Quoted(&device));
    write!(f, " pci_busid=\"{}\" pci_type=\"{class} [{vendor}:{device}] [0000:0000] 00\"", Quoted(address))?;
    writeln!(f, " pci_link_speed=\"{:.6}\">", pci.raw_gb_per_s.unwrap_or(0.0))?;
    if let Some(card) = &pci.card {
        os_devices(f, &card.rails, numbers)?;
    }
    for (address, below) in &pci.below {
        write_pci(f, address, below, depth + 1, numbers)?;
    }
    writeln!(f, "</object>")
}

/// Netdevs (type 2) and RDMA devices (type 3) of one card.
fn os_devices(f: &mut Formatter<'_>, rails: &[&Rail], numbers: &Numbers) -> fmt::Result {
    let mut by_device: BTreeMap<&str, Vec<&Rail>> = BTreeMap::new();
    for rail in rails {
        // port 0 is NCCL's word for a netdev that it reaches over sockets
        let netdev = if rail.port == 0 { Some(&rail.device) } else { rail.netdev.as_ref() };
        if rail.port > 0 {
            by_device.entry(&rail.device).or_default().push(rail);
        }
        if let Some(netdev) = netdev {
            let (number, name) = (numbers.next(), Quoted(netdev));
            writeln!(f, "<object type=\"OSDev\" gp_index=\"{number}\" name=\"{name}\" osdev_type=\"2\">")?;
            info(f, "Port", Some(&rail.port.to_string()))?;
            writeln!(f, "</object>")?;
        }
    }
    for (device, ports) in by_device {
        let (number, name) = (numbers.next(), Quoted(device));
        writeln!(f, "<object type=\"OSDev\" gp_index=\"{number}\" name=\"{name}\" osdev_type=\"3\">")?;
        info(f, "SysImageGUID", ports[0].system_image_guid.as_deref())?;
        for rail in ports {
            let port = rail.port;
            info(f, &format!("Port{port}State"), rail.state.as_deref().and_then(code))?;
            let lid = rail.lid.map_or("0x0".to_owned(), |lid| format!("{lid:#x}"));
            info(f, &format!("Port{port}LID"), Some(&lid))?;
            for gid in &rail.gids {
                let text = gid.address.segments().map(|segment| format!("{segment:04x}")).join(":");
                info(f, &format!("Port{port}GID{}", gid.index), Some(&text))?;
            }
        }
        writeln!(f, "</object>")?;
    }
    Ok(())
}

/// The number that sysfs puts before the word (IBTA 1.4, 14.2.5.6).
fn code(state: &str) -> Option<&'static str> {
    match state {
        "DOWN" => Some("1"),
        "INIT" => Some("2"),
        "ARMED" => Some("3"),
        "ACTIVE" => Some("4"),
        _ => None,
    }
}
