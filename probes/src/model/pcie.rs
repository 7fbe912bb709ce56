//! PCI Express: every hop from the card up to the root.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One link of the path: a function and the port above it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// PCI address of the lower end, towards the card.
    pub address: String,
    /// PCI address of the upper end; `None` where it is the root complex itself. A file of NCCL names the switch
    /// instead, whose ports it leaves out.
    pub upstream: Option<String>,
    /// Negotiated transfer rate; `None` when the kernel says "Unknown" or nothing.
    pub current_gt_per_s: Option<f64>,
    /// Negotiated lanes; `None` for unknown or 0.
    pub current_width: Option<u32>,
    /// What the lower end could do.
    pub max_gt_per_s: Option<f64>,
    /// Lanes the lower end has.
    pub max_width: Option<u32>,
    /// What the port above could do.
    pub upstream_max_gt_per_s: Option<f64>,
    /// Lanes the port above has.
    pub upstream_max_width: Option<u32>,
    /// Raw data rate of the link, GB/s, where a source tells it without speed and width, as hwloc does; else
    /// `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_gb_per_s: Option<f64>,
    /// Largest TLP payload in use on this hop (bytes), from PCI config space; `None` where not readable.
    pub max_payload_bytes: Option<u32>,
}

/// The way from a NIC to the root complex.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PciePath {
    /// PCI address of the NIC's function, such as `0000:41:00.0`.
    pub address: String,
    /// Vendor and device, as sysfs prints them without `0x`: `15b3`, `1021`.
    pub vendor: Option<String>,
    /// Device id.
    pub device: Option<String>,
    /// First hop is the card's own; the last ends at the root port.
    pub hops: Vec<Hop>,
    /// Largest read request of the function (bytes); `None` where config space is not readable.
    pub max_read_request_bytes: Option<u32>,
    /// Whether relaxed ordering is enabled in the function's device control register.
    pub relaxed_ordering: Option<bool>,
    /// Errors that the kernel has counted since boot, the card's own function first; a function for which it
    /// counts none (no AER capability, or the firmware handles errors) is not there.
    #[serde(default)]
    pub errors: Vec<LinkErrors>,
}

/// PCIe errors of one function since boot, by kind (`BadTLP`); a kind that did not happen is not there.
///
/// Source: Documentation/ABI/testing/sysfs-bus-pci-devices-aer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkErrors {
    /// PCI address.
    pub address: String,
    /// Errors that the hardware mended, at the cost of a retransmission.
    pub correctable: BTreeMap<String, u64>,
    /// Errors that lost a transaction.
    pub nonfatal: BTreeMap<String, u64>,
    /// Errors that lost the link.
    pub fatal: BTreeMap<String, u64>,
}

impl LinkErrors {
    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u64 {
        let kinds = [&self.correctable, &self.nonfatal, &self.fatal].into_iter().flatten();
        kinds.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}
