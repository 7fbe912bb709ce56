//! Where a rail's two byte counters are.

use super::file::CountFile;
use crate::model::{Gap, Rail};
use crate::root::Root;

/// One direction: files whose sum, times `factor`, is bytes.
#[derive(Debug)]
pub(super) struct Direction {
    files: Vec<CountFile>,
    factor: u64,
}

impl Direction {
    fn new(folder: &str, names: &[&str], factor: u64) -> Self {
        let files = names.iter().map(|name| CountFile::new(format!("{folder}/{name}"))).collect();
        Self { files, factor }
    }

    /// Bytes so far; `None` when one of the files is not readable, since a sum that lacks a part would look
    /// like a reset.
    pub(super) fn read(&mut self, root: &Root) -> Option<u64> {
        let mut sum = 0_u64;
        for file in &mut self.files {
            sum = sum.checked_add(file.number(root)?)?;
        }
        (!self.files.is_empty()).then(|| sum.checked_mul(self.factor))?
    }
}

/// Both directions of one rail.
#[derive(Debug)]
pub(super) struct ByteFiles {
    pub(super) rx: Direction,
    pub(super) tx: Direction,
    /// Names in `hw_counters/` that are used here, so that they are not listed as further counters.
    pub(super) used: Vec<&'static str>,
}

/// Names of byte counters in `hw_counters/`, received and sent, by the driver that has them.
///
/// Sources: `rdma_stat_desc` tables in drivers/infiniband/hw: `efa/efa_verbs.c`, `bnxt_re/hw_counters.c`,
/// mana/counters.c, `ionic/ionic_hw_stats.c`, `erdma/erdma_verbs.c`, irdma/verbs.c. On irdma the octets of both
/// IP versions add up; its multicast octets are left out, since queue pairs that READ have none.
const HW_NAMES: &[(&[&str], &[&str])] = &[
    (&["rx_bytes"], &["tx_bytes"]),
    (&["rx_rdma_ucast_bytes"], &["tx_rdma_ucast_bytes"]),
    (&["hw_rx_bytes_cnt"], &["hw_tx_bytes_cnt"]),
    (&["ip4InOctets", "ip6InOctets"], &["ip4OutOctets", "ip6OutOctets"]),
];

/// Drivers whose traffic is ordinary packets of a netdev, so that the netdev counts it.
const SOFTWARE: &[&str] = &["rdma_rxe", "siw"];

/// Whether the rail's packets go through the host's own network stack.
pub(super) fn is_software(rail: &Rail) -> bool {
    rail.driver.as_deref().is_some_and(|driver| SOFTWARE.contains(&driver))
}

/// Finds the byte counters of a rail; leaves a gap where there is none, or where it counts more than RDMA.
pub(super) fn find(root: &Root, rail: &Rail, hw_folder: &str, gaps: &mut Vec<Gap>) -> Option<ByteFiles> {
    let mut gap = |reason: String| {
        gaps.push(Gap { probe: "counters".into(), subject: rail.device.clone(), reason });
    };
    let port = format!("sys/class/infiniband/{}/ports/{}", rail.device, rail.port);
    let counters = format!("{port}/counters");
    let words = ByteFiles {
        rx: Direction::new(&counters, &["port_rcv_data"], 4),
        tx: Direction::new(&counters, &["port_xmit_data"], 4),
        used: Vec::new(),
    };
    if let Some(found) = readable(root, words) {
        return Some(found);
    }
    for (rx, tx) in HW_NAMES {
        let bytes = ByteFiles {
            rx: Direction::new(hw_folder, rx, 1),
            tx: Direction::new(hw_folder, tx, 1),
            used: rx.iter().chain(*tx).copied().collect(),
        };
        if let Some(found) = readable(root, bytes) {
            return Some(found);
        }
    }
    let said = match root.text(format!("{counters}/port_rcv_data")) {
        Ok(text) => format!("{counters}/port_rcv_data says \"{text}\""),
        Err(error) => error.to_string(),
    };
    if is_software(rail)
        && let Some(netdev) = &rail.netdev
    {
        let statistics = format!("sys/class/net/{netdev}/statistics");
        let bytes = ByteFiles {
            rx: Direction::new(&statistics, &["rx_bytes"], 1),
            tx: Direction::new(&statistics, &["tx_bytes"], 1),
            used: Vec::new(),
        };
        if let Some(found) = readable(root, bytes) {
            gap(format!(
                "{said}; software RDMA counts no bytes of its own: rx and tx are those of its netdev {netdev}, \
                 all traffic and headers included"
            ));
            return Some(found);
        }
    }
    gap(format!("{said}; {hw_folder} has no byte counter either: bytes unknown"));
    None
}

fn readable(root: &Root, mut files: ByteFiles) -> Option<ByteFiles> {
    (files.rx.read(root).is_some() || files.tx.read(root).is_some()).then_some(files)
}
