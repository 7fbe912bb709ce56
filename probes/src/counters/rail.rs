//! One rail's files.

use super::bytes::{self, ByteFiles};
use super::file::CountFile;
use super::legs::{Carrier, NetSource};
use crate::model::{Gap, Rail, RailFrame};
use crate::root::Root;

/// Counters of packets that the byte counters make superfluous: each would be one more firmware command.
const SUPERFLUOUS: &[&str] = &[
    "port_rcv_data",
    "port_xmit_data",
    "unicast_rcv_packets",
    "unicast_xmit_packets",
    "multicast_rcv_packets",
    "multicast_xmit_packets",
];

/// A setting among the counters: how long the kernel keeps what it read, milliseconds.
const LIFESPAN: &str = "lifespan";

/// Everything that is read of one rail.
#[derive(Debug)]
pub(super) struct RailSource {
    device_folder: String,
    state: CountFile,
    phys_state: CountFile,
    bytes: Option<ByteFiles>,
    further: Vec<CountFile>,
    /// Driver statistics that are further counters, after those in `further`.
    of_netdevs: Vec<String>,
    netdevs: Vec<NetSource>,
    is_bond: bool,
    lost: bool,
}

impl RailSource {
    pub(super) fn open(root: &Root, rail: &mut Rail, gaps: &mut Vec<Gap>) -> Self {
        let device_folder = format!("sys/class/infiniband/{}", rail.device);
        let port = format!("{device_folder}/ports/{}", rail.port);
        let hw_folder = hw_folder(root, &device_folder, &port);
        let bytes = bytes::find(root, rail, &hw_folder, gaps);

        let used = bytes.as_ref().map(|b| b.used.clone()).unwrap_or_default();
        let list = |folder: &str, skip: &[&str]| {
            let mut names = root.names(folder).unwrap_or_default();
            names.retain(|name| !skip.contains(&name.as_str()));
            names
        };
        let mut names = Vec::new();
        let mut further = Vec::new();
        let counters = format!("{port}/counters");
        let stopped = bytes.as_ref().map(|b| b.stopped.clone()).unwrap_or_default();
        let skip: Vec<&str> = SUPERFLUOUS.iter().copied().filter(|name| !stopped.contains(name)).collect();
        for name in list(&counters, &skip) {
            further.push(CountFile::new(format!("{counters}/{name}")));
            names.push(format!("port/{name}"));
        }
        for name in list(&hw_folder, &used).into_iter().filter(|name| name != LIFESPAN) {
            further.push(CountFile::new(format!("{hw_folder}/{name}")));
            names.push(format!("hw/{name}"));
        }

        let carrier = if bytes::is_software(rail) { Carrier::NetworkStack } else { Carrier::Card };
        let is_bond = rail.bond.is_some();
        let under: Vec<String> = match &rail.bond {
            Some(bond) => bond.legs.iter().map(|leg| leg.netdev.clone()).collect(),
            None => rail.netdev.clone().into_iter().collect(),
        };
        let netdevs: Vec<NetSource> =
            under.iter().map(|netdev| NetSource::open(root, netdev, carrier, gaps)).collect();
        let mut of_netdevs: Vec<String> =
            netdevs.iter().flat_map(NetSource::trouble_names).map(ToOwned::to_owned).collect();
        of_netdevs.sort_unstable();
        of_netdevs.dedup();
        names.extend(of_netdevs.iter().map(|name| format!("eth/{name}")));
        rail.counters = names;

        Self {
            state: CountFile::new(format!("{port}/state")),
            phys_state: CountFile::new(format!("{port}/phys_state")),
            device_folder,
            bytes,
            further,
            of_netdevs,
            netdevs,
            is_bond,
            lost: false,
        }
    }

    pub(super) fn bytes(&mut self, root: &Root, frame: &mut RailFrame) {
        if let Some(bytes) = &mut self.bytes {
            frame.rx_bytes = bytes.rx.read(root);
            frame.tx_bytes = bytes.tx.read(root);
        }
    }

    /// State of the port, and whether the device is there at all.
    pub(super) fn state(&mut self, root: &Root, wanted: bool, frame: &mut RailFrame) {
        if wanted {
            frame.state = word(&mut self.state, root);
            self.lost = frame.state.is_none() && !root.exists(&self.device_folder);
        }
        if self.lost {
            // the netdev under software RDMA goes on counting what is no longer the rail's
            (frame.rx_bytes, frame.tx_bytes) = (None, None);
        }
        frame.lost = self.lost;
    }

    pub(super) fn further(&mut self, root: &Root, frame: &mut RailFrame) {
        frame.phys_state = word(&mut self.phys_state, root);
        frame.counters = self.further.iter_mut().map(|file| file.number(root)).collect();
        for netdev in &mut self.netdevs {
            netdev.refresh(root);
        }
        frame.counters.extend(self.of_netdevs.iter().map(|name| sum_over(&self.netdevs, name)));
        if self.is_bond {
            frame.legs = self.netdevs.iter_mut().map(|netdev| netdev.leg(root)).collect();
        }
    }
}

/// Sum over the netdevs that have the statistic; `None` when one that has it was not readable now, since a
/// sum that lacks a part would look like a reset.
fn sum_over(netdevs: &[NetSource], name: &str) -> Option<u64> {
    netdevs.iter().filter(|n| n.has(name)).try_fold(0, |sum: u64, n| sum.checked_add(n.value(name)?))
}

/// `hw_counters` of the port, or of the device where a driver keeps them there (irdma).
fn hw_folder(root: &Root, device_folder: &str, port: &str) -> String {
    let of_port = format!("{port}/hw_counters");
    let of_device = format!("{device_folder}/hw_counters");
    if root.exists(&of_port) || !root.exists(&of_device) { of_port } else { of_device }
}

/// The word after the number: `ACTIVE` of `4: ACTIVE`.
fn word(file: &mut CountFile, root: &Root) -> Option<String> {
    let text = file.text(root).ok()?;
    let word = text.split_once(':').map_or(text.as_str(), |(_, word)| word).trim();
    (!word.is_empty()).then(|| word.to_owned())
}
