//! Where a rail's two byte counters are.

use super::drivers::{Folder, Place, SOFTWARE, Unit, places_of};
use super::file::CountFile;
use crate::model::{Gap, Rail};
use crate::root::Root;

/// Where a 32-bit counter stops. A 64-bit one passes it in a moment.
const STOPPED: u64 = u32::MAX as u64;

/// One direction: files whose sum is what was moved.
#[derive(Debug)]
pub(super) struct Direction {
    files: Vec<CountFile>,
    unit: Unit,
}

impl Direction {
    /// The files that the driver has: one without IPv6 counts no octets of it.
    fn new(root: &Root, folder: &str, names: &[&str], unit: Unit) -> Self {
        let paths = names.iter().map(|name| format!("{folder}/{name}"));
        let files = paths.filter(|path| root.exists(path)).map(CountFile::new).collect();
        Self { files, unit }
    }

    /// Bytes so far; `None` when one of the files is not readable, since a sum that lacks a part would look
    /// like a reset, and when a counter has come to its end and says nothing any more.
    pub(super) fn read(&mut self, root: &Root) -> Option<u64> {
        self.count(root).filter(|count| !self.is_stopped(*count))?.checked_mul(self.unit.bytes())
    }

    /// What the files say, together.
    fn count(&mut self, root: &Root) -> Option<u64> {
        let mut sum = 0_u64;
        for file in &mut self.files {
            sum = sum.checked_add(file.number(root)?)?;
        }
        (!self.files.is_empty()).then_some(sum)
    }

    /// Counters of words are those of management datagrams, which stop at their end and do not wrap.
    fn is_stopped(&self, count: u64) -> bool {
        self.unit == Unit::Words && count == STOPPED
    }
}

/// Both directions of one rail.
#[derive(Debug)]
pub(super) struct ByteFiles {
    pub(super) rx: Direction,
    pub(super) tx: Direction,
    /// Names in `hw_counters/` that are used here, so that they are not listed as further counters.
    pub(super) used: Vec<&'static str>,
    /// Names in `counters/` that have come to their end, so that they are listed as further counters.
    pub(super) stopped: Vec<&'static str>,
}

impl ByteFiles {
    /// The files of a place, if one of its directions can be read.
    fn at(root: &Root, place: &Place, folder: &str) -> Option<Self> {
        let mut rx = Direction::new(root, folder, place.rx, place.unit);
        let mut tx = Direction::new(root, folder, place.tx, place.unit);
        let (received, sent) = (rx.count(root), tx.count(root));
        if received.is_none() && sent.is_none() {
            return None;
        }
        let both = place.rx.iter().chain(place.tx).copied();
        let used = if place.folder == Folder::HwCounters { both.collect() } else { Vec::new() };
        let stopped = [(&rx, received, place.rx), (&tx, sent, place.tx)]
            .into_iter()
            .filter(|(direction, count, _)| count.is_some_and(|count| direction.is_stopped(count)))
            .flat_map(|(_, _, names)| names.iter().copied())
            .collect();
        Some(Self { rx, tx, used, stopped })
    }
}

/// Whether the rail's packets go through the host's own network stack.
pub(super) fn is_software(rail: &Rail) -> bool {
    rail.driver.as_deref().is_some_and(|driver| SOFTWARE.contains(&driver))
}

/// Finds the byte counters of a rail; leaves a gap where there is none, where it counts more than RDMA, and
/// where it has come to its end.
pub(super) fn find(root: &Root, rail: &Rail, hw_folder: &str, gaps: &mut Vec<Gap>) -> Option<ByteFiles> {
    let mut gap = |reason: String| {
        gaps.push(Gap { probe: "counters".into(), subject: rail.device.clone(), reason });
    };
    let port = format!("sys/class/infiniband/{}/ports/{}", rail.device, rail.port);
    let counters = format!("{port}/counters");
    let said = |root: &Root| match root.text(format!("{counters}/port_rcv_data")) {
        Ok(text) => format!("{counters}/port_rcv_data says \"{text}\""),
        Err(error) => error.to_string(),
    };
    for place in places_of(rail.driver.as_deref()) {
        let folder = match (place.folder, &rail.netdev) {
            (Folder::Counters, _) => counters.clone(),
            (Folder::CountersExt, _) => format!("{port}/counters_ext"),
            (Folder::HwCounters, _) => hw_folder.to_owned(),
            (Folder::Netdev, Some(netdev)) => format!("sys/class/net/{netdev}/statistics"),
            (Folder::Netdev, None) => continue,
        };
        let Some(found) = ByteFiles::at(root, place, &folder) else { continue };
        for name in &found.stopped {
            gap(format!(
                "{name}: stands at {STOPPED}, where a 32-bit counter stops: bytes unknown until a reset"
            ));
        }
        if let (Folder::Netdev, Some(netdev)) = (place.folder, &rail.netdev) {
            gap(format!(
                "{}; software RDMA counts no bytes of its own: rx and tx are those of its netdev {netdev}, \
                 all traffic and headers included",
                said(root)
            ));
        }
        return Some(found);
    }
    gap(format!("{}; {hw_folder} has no byte counter either: bytes unknown", said(root)));
    None
}
