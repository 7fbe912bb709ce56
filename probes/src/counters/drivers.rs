//! What each RDMA driver counts, and where.
//!
//! Nearly every driver has byte counters, and nearly every one elsewhere. Names and units are those of the
//! kernel sources that each row names; what is not in a row was not found there.

/// Where a driver keeps two byte counters, and what they are worth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Kernel drivers known to count there: that of the PCI function, or of the device itself.
    pub drivers: &'static [&'static str],
    /// Folder below the port, or where else.
    pub folder: Folder,
    /// Files whose sum is what was received.
    pub rx: &'static [&'static str],
    /// Files whose sum is what was sent.
    pub tx: &'static [&'static str],
    /// Unit of one count.
    pub unit: Unit,
}

/// Where counters of a port stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    /// `ports/N/counters`.
    Counters,
    /// `ports/N/counters_ext`, of out-of-tree stacks and old kernels: 64 bits wide where `counters` has 32.
    CountersExt,
    /// `ports/N/hw_counters`, or `hw_counters` of the device.
    HwCounters,
    /// `/sys/class/net/DEV/statistics`: all traffic of the netdev.
    Netdev,
}

/// Unit of a byte counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Four octets, on any number of lanes.
    Words,
    /// Octets.
    Bytes,
}

impl Unit {
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Words => 4,
            Self::Bytes => 1,
        }
    }
}

/// Every place, in the order in which they are looked at where the driver is unknown.
///
/// | row | source below drivers/infiniband |
/// |---|---|
/// | `counters_ext` | out-of-tree core/sysfs.c (`pma_table_ext` under a name of its own) |
/// | `counters` | core/sysfs.c; `process_mad` of hw/mlx5/mad.c, `hw/mlx4/mad.c`, `hw/mthca/mthca_mad.c`, `hw/qib/qib_mad.c`, hw/hfi1/mad.c, `hw/ocrdma/ocrdma_ah.c`; unit: Documentation/ABI/stable/sysfs-class-infiniband |
/// | `rx_bytes` | `hw/efa/efa_verbs.c`, `hw/bnxt_re/hw_counters.c`, hw/mana/counters.c |
/// | `rx_rdma_ucast_bytes` | `hw/ionic/ionic_hw_stats.c` |
/// | `rx_bytes_cnt` | `hw/erdma/erdma_verbs.c`; with `hw_` before it in the vendor's own driver |
/// | `ip4InOctets` | hw/irdma/verbs.c; multicast octets are left out, since queue pairs that READ have none |
/// | `rcvd_bytes` | `sw/rxe/rxe_hw_counters.c`, kernels of 2026 and later |
/// | netdev | `sw/rxe` and sw/siw send through the network stack |
///
/// No byte counter at all: hns (`hw/hns/hns_roce_main.c` counts packets), cxgb4 (segments), qedr, usnic and
/// `vmw_pvrdma` (nothing).
pub(super) const PLACES: &[Place] = &[
    Place {
        drivers: &["mlx4_core"],
        folder: Folder::CountersExt,
        rx: &["port_rcv_data_64"],
        tx: &["port_xmit_data_64"],
        unit: Unit::Words,
    },
    Place {
        drivers: &["mlx5_core", "mlx4_core", "ib_mthca", "ib_qib", "qib", "hfi1", "be2net"],
        folder: Folder::Counters,
        rx: &["port_rcv_data"],
        tx: &["port_xmit_data"],
        unit: Unit::Words,
    },
    Place {
        drivers: &["efa", "bnxt_en", "mana"],
        folder: Folder::HwCounters,
        rx: &["rx_bytes"],
        tx: &["tx_bytes"],
        unit: Unit::Bytes,
    },
    Place {
        drivers: &["ionic"],
        folder: Folder::HwCounters,
        rx: &["rx_rdma_ucast_bytes"],
        tx: &["tx_rdma_ucast_bytes"],
        unit: Unit::Bytes,
    },
    Place {
        drivers: &["erdma"],
        folder: Folder::HwCounters,
        rx: &["rx_bytes_cnt"],
        tx: &["tx_bytes_cnt"],
        unit: Unit::Bytes,
    },
    Place {
        drivers: &["erdma"],
        folder: Folder::HwCounters,
        rx: &["hw_rx_bytes_cnt"],
        tx: &["hw_tx_bytes_cnt"],
        unit: Unit::Bytes,
    },
    Place {
        drivers: &["ice", "i40e", "idpf", "iavf"],
        folder: Folder::HwCounters,
        rx: &["ip4InOctets", "ip6InOctets"],
        tx: &["ip4OutOctets", "ip6OutOctets"],
        unit: Unit::Bytes,
    },
    Place {
        drivers: &["rdma_rxe"],
        folder: Folder::HwCounters,
        rx: &["rcvd_bytes"],
        tx: &["sent_bytes"],
        unit: Unit::Bytes,
    },
    Place {
        drivers: SOFTWARE,
        folder: Folder::Netdev,
        rx: &["rx_bytes"],
        tx: &["tx_bytes"],
        unit: Unit::Bytes,
    },
];

/// Drivers whose traffic is ordinary packets of a netdev, so that the netdev counts it.
pub(super) const SOFTWARE: &[&str] = &["rdma_rxe", "siw"];

/// The places to look at for a driver: those known to be its own first. Netdevs are for software alone, since
/// a card's RDMA goes past them.
pub(super) fn places_of(driver: Option<&str>) -> Vec<&'static Place> {
    let known = |place: &Place| driver.is_some_and(|driver| place.drivers.contains(&driver));
    let own = PLACES.iter().filter(|place| known(place));
    let others = PLACES.iter().filter(|place| !known(place) && place.folder != Folder::Netdev);
    own.chain(others).collect()
}

/// What a counter does at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// Begins again at 0.
    Wraps,
    /// Stays at its largest value until somebody resets it.
    Stops,
}

/// How far a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Largest value.
    pub most: u64,
    /// What comes after it.
    pub at_end: AtEnd,
}

/// Widths in bits of the attributes of `PortCounters`, which stop at their end.
///
/// A port with extended counters has the data and packet counters 64 bits wide under the same names; such a
/// value in the range of 32 bits does not tell which it is, the largest one does.
///
/// Sources: `InfiniBand` Architecture Specification 1.4, section 16.1.3.5 (`PortCounters`); the widths that
/// drivers/infiniband/core/sysfs.c reads (`PORT_PMA_ATTR`).
const PORT_COUNTERS: &[(&str, u32)] = &[
    ("symbol_error", 16),
    ("link_error_recovery", 8),
    ("link_downed", 8),
    ("port_rcv_errors", 16),
    ("port_rcv_remote_physical_errors", 16),
    ("port_rcv_switch_relay_errors", 16),
    ("port_xmit_discards", 16),
    ("port_xmit_constraint_errors", 8),
    ("port_rcv_constraint_errors", 8),
    ("local_link_integrity_errors", 4),
    ("excessive_buffer_overrun_errors", 4),
    ("VL15_dropped", 16),
    ("port_xmit_data", 32),
    ("port_rcv_data", 32),
    ("port_xmit_packets", 32),
    ("port_rcv_packets", 32),
    ("port_xmit_wait", 32),
];

/// How far a further counter counts, by its name in [`crate::model::Rail::counters`]; `None` where the sources
/// name no width below 64 bits.
///
/// Queue counters of mlx5 (`hw/...`) are 32 bits wide and wrap (`be32_to_cpu` in
/// drivers/infiniband/hw/mlx5/counters.c); its congestion counters are 64 bits wide.
#[must_use]
pub fn range(driver: Option<&str>, counter: &str) -> Option<Range> {
    if let Some(name) = counter.strip_prefix("port/") {
        let (_, bits) = PORT_COUNTERS.iter().find(|(other, _)| *other == name)?;
        return Some(Range { most: (1 << bits) - 1, at_end: AtEnd::Stops });
    }
    let name = counter.strip_prefix("hw/")?;
    let of_queues = driver == Some("mlx5_core") && MLX5_QUEUE.contains(&name);
    of_queues.then_some(Range { most: u64::from(u32::MAX), at_end: AtEnd::Wraps })
}

/// Names of mlx5's queue counters (drivers/infiniband/hw/mlx5/counters.c, `basic_q_cnts` to `roce_accl_cnts`).
const MLX5_QUEUE: &[&str] = &[
    "rx_write_requests",
    "rx_read_requests",
    "rx_atomic_requests",
    "rx_dct_connect",
    "out_of_buffer",
    "out_of_sequence",
    "duplicate_request",
    "rnr_nak_retry_err",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "resp_local_length_error",
    "resp_cqe_error",
    "req_cqe_error",
    "req_remote_invalid_request",
    "req_remote_access_errors",
    "resp_remote_access_errors",
    "resp_cqe_flush_error",
    "req_cqe_flush_error",
    "req_transport_retries_exceeded",
    "req_rnr_retries_exceeded",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
];

#[cfg(test)]
mod tests {
    use super::{AtEnd, Folder, PLACES, Range, places_of, range};

    #[test]
    fn a_driver_s_own_place_comes_first_and_a_netdev_is_for_software_alone() {
        let folders = |driver: Option<&str>| -> Vec<Folder> {
            places_of(driver).iter().map(|place| place.folder).collect()
        };
        assert_eq!(places_of(Some("efa"))[0].rx, ["rx_bytes"]);
        assert_eq!(places_of(Some("erdma"))[0].rx, ["rx_bytes_cnt"]);
        assert_eq!(folders(Some("siw"))[0], Folder::Netdev);
        for driver in [Some("mlx5_core"), Some("a driver of tomorrow"), None] {
            assert!(!folders(driver).contains(&Folder::Netdev), "{driver:?}");
            assert_eq!(folders(driver).len(), PLACES.len() - 1);
        }
    }

    #[test]
    fn legacy_port_counters_stop_and_queue_counters_of_mlx5_wrap() {
        let mlx5 = Some("mlx5_core");
        let stops = |most| Some(Range { most, at_end: AtEnd::Stops });
        assert_eq!(range(mlx5, "port/link_downed"), stops(255));
        assert_eq!(range(None, "port/excessive_buffer_overrun_errors"), stops(15));
        assert_eq!(range(None, "port/port_xmit_wait"), stops(u64::from(u32::MAX)));
        let wraps = Some(Range { most: u64::from(u32::MAX), at_end: AtEnd::Wraps });
        assert_eq!(range(mlx5, "hw/out_of_sequence"), wraps);
        for counter in ["hw/np_cnp_sent", "port/unicast_rcv_packets", "eth/rx_pause_ctrl_phy"] {
            assert_eq!(range(mlx5, counter), None, "{counter}");
        }
        assert_eq!(range(Some("efa"), "hw/out_of_sequence"), None);
    }
}
