//! Statistics of a netdev's driver: what `ethtool -S` prints.

use crate::ffi::ethtool::Ethtool;
use crate::root::{ReadError, Root};

/// Chosen driver statistics of one netdev, in the order in which they were chosen.
///
/// On the live machine by ioctl (`ETHTOOL_GSTATS`, include/uapi/linux/ethtool.h); in a copied tree from
/// `captured/ethtool-S/NETDEV`, which holds the text of `ethtool -S NETDEV`.
#[derive(Debug)]
pub(super) struct Statistics {
    netdev: String,
    chosen: Vec<String>,
    /// Positions of `chosen` among `count` statistics of the live driver.
    positions: Vec<Option<usize>>,
    count: usize,
}

impl Statistics {
    /// Chooses those statistics of the netdev whose names `wanted` likes.
    pub(super) fn open(
        root: &Root,
        netdev: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, std::io::Error> {
        let names: Vec<String> = if root.is_live() {
            Ethtool::open()?.statistic_names(netdev)?
        } else {
            captured(root, netdev).map_err(std::io::Error::other)?.into_iter().map(|(name, _)| name).collect()
        };
        let mut this =
            Self { netdev: netdev.to_owned(), chosen: Vec::new(), positions: Vec::new(), count: 0 };
        for name in &names {
            if wanted(name) && !this.chosen.contains(name) {
                this.chosen.push(name.clone());
            }
        }
        this.locate(&names);
        Ok(this)
    }

    /// Names of the chosen statistics.
    pub(super) fn chosen(&self) -> &[String] {
        &self.chosen
    }

    /// Values of the chosen statistics; `None` for each that is not there now.
    pub(super) fn read(&mut self, root: &Root) -> Vec<Option<u64>> {
        if self.chosen.is_empty() {
            return Vec::new();
        }
        let values = if root.is_live() { self.read_live().ok() } else { self.read_captured(root).ok() };
        values.unwrap_or_else(|| vec![None; self.chosen.len()])
    }

    fn read_live(&mut self) -> std::io::Result<Vec<Option<u64>>> {
        let ethtool = Ethtool::open()?;
        let values = ethtool.statistics(&self.netdev)?;
        if values.len() != self.count {
            // the driver's list changed, as with the number of channels
            self.locate(&ethtool.statistic_names(&self.netdev)?);
            if values.len() != self.count {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
        }
        Ok(self.positions.iter().map(|at| values.get((*at)?).copied()).collect())
    }

    fn read_captured(&self, root: &Root) -> Result<Vec<Option<u64>>, ReadError> {
        let values = captured(root, &self.netdev)?;
        let value = |name: &String| values.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        Ok(self.chosen.iter().map(value).collect())
    }

    fn locate(&mut self, names: &[String]) {
        self.count = names.len();
        self.positions = self.chosen.iter().map(|name| names.iter().position(|n| n == name)).collect();
    }
}

/// Name and value of every line of a captured `ethtool -S`.
fn captured(root: &Root, netdev: &str) -> Result<Vec<(String, u64)>, ReadError> {
    let text = root.text(format!("captured/ethtool-S/{netdev}"))?;
    let line = |line: &str| {
        let (name, value) = line.rsplit_once(':')?;
        Some((name.trim().to_owned(), value.trim().parse().ok()?))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Whether a statistic tells of congestion, loss, damage or priorities; `false` for the hundreds that count
/// packets per ring and offload.
///
/// Names as mlx5 has them (`Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst`);
/// other drivers use the same words.
pub(super) fn tells_of_trouble(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "pause",
        "xoff",
        "pfc",
        "discard",
        "error",
        "_err",
        "crc",
        "symbol",
        "corrected_bits",
        "fec",
        "link_down",
        "signal_integrity",
        "pci_stalled",
        "passed_thres",
        "out_of_buffer",
        "ecn",
        "cnp",
        "rdma",
        "roce",
    ];
    let per_ring = |name: &str| {
        let rest = ["rx", "tx", "ch", "q"].iter().find_map(|prefix| name.strip_prefix(prefix));
        rest.is_some_and(|rest| {
            rest.trim_start_matches(['-', '_', '[']).starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let prio_bytes = name.contains("_prio") && name.ends_with("_bytes");
    // how often pausing began says nothing that its count and duration do not
    let transition = name.ends_with("_transition");
    !per_ring(name) && !transition && (prio_bytes || WORDS.iter().any(|word| name.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::tells_of_trouble;

    #[test]
    fn statistics_of_congestion_and_damage_are_kept() {
        for name in [
            "rx_prio3_bytes",
            "tx_prio3_pause",
            "rx_pause_ctrl_phy",
            "rx_discards_phy",
            "rx_err_lane_0_phy",
            "link_down_events_phy",
            "rx_vport_rdma_unicast_bytes",
            "outbound_pci_stalled_wr",
        ] {
            assert!(tells_of_trouble(name), "{name}");
        }
    }

    #[test]
    fn statistics_of_single_rings_are_left_out() {
        for name in
            ["rx0_cqe_err", "tx3_xdp_err", "ch0_events", "rx_packets", "rx_prio3_packets", "rx_queue_0_drops"]
        {
            assert!(!tells_of_trouble(name), "{name}");
        }
    }
}
