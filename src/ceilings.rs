//! What a rail could do: the wire, the PCIe path, the READ window.
//!
//! Unknown capacity is no capacity: it never limits, and it is never guessed.

mod bytes;
mod line;
mod link;
mod pcie;
mod ports;
mod shares;
mod together;

pub use bytes::Bytes;
pub use line::{
    counted_per_payload, goodput_share, line_counted_gb_per_s, line_goodput_gb_per_s,
    line_goodput_of_messages_gb_per_s, line_goodput_under_gb_per_s, line_of_messages_gb_per_s,
    line_raw_gb_per_s, with_path_mtu_of,
};
pub use link::Link;
pub use pcie::{
    is_made_up, lane_gb_per_s, link_gb_per_s, link_payload_gb_per_s, path_payload_gb_per_s,
    path_raw_gb_per_s, payload_of, pcie_links, slowest_hop,
};
pub use ports::{own_ports, port_of};
pub use shares::{Flow, ResourceId, max_min_shares};
pub use together::{together_gb_per_s, together_of_gb_per_s};

use probes::model::Rail;
use serde::Serialize;

/// A capacity that can be one: what a file tells may be negative, nothing or beyond all numbers, and is unknown then.
pub(crate) fn possible(gb_per_s: f64) -> Option<f64> {
    (gb_per_s.is_finite() && gb_per_s > 0.0).then_some(gb_per_s)
}

/// Payload that the READs of so many queue pairs bring which have so many each under way, GB/s: messages of `size_bytes`
/// over the round trip of one READ alone, in nanoseconds; `None` without a round trip.
///
/// A queue pair keeps no more READs on the wire than both ends agreed to (IBTA 1.4, 9.4.4), nor than its send queue holds.
#[must_use]
pub fn read_window_gb_per_s(qps: u32, outstanding: u32, size_bytes: u64, round_trip_ns: u64) -> Option<f64> {
    let bytes = f64::from(qps) * f64::from(outstanding) * size_bytes as f64;
    // GB/s are bytes per nanosecond
    possible(bytes / round_trip_ns as f64)
}

/// Upper bounds of one rail in one direction, GB/s; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ceilings {
    /// The wire's raw rate.
    pub line_raw: Option<f64>,
    /// Payload the wire can carry at the path MTU, headers taken off.
    pub line: Option<f64>,
    /// Payload the slowest PCIe hop can carry, TLP headers taken off.
    pub pcie: Option<f64>,
    /// READ window over the measured round trip; `None` where the round trip was not measured.
    pub read_window: Option<f64>,
}

impl Ceilings {
    /// What the survey alone tells.
    #[must_use]
    pub fn of(rail: &Rail) -> Self {
        Self {
            line_raw: line_raw_gb_per_s(rail),
            line: line_goodput_gb_per_s(rail),
            pcie: rail.pcie.as_ref().and_then(path_payload_gb_per_s),
            read_window: None,
        }
    }

    /// The lowest bound on payload that is known, GB/s.
    ///
    /// Without a path MTU the wire's raw rate bounds payload too, a little less tightly.
    #[must_use]
    pub fn lowest(&self) -> Option<f64> {
        self.lowest_bound().map(|(gb_per_s, _)| gb_per_s)
    }

    /// The same with what it is the bound of.
    #[must_use]
    pub fn lowest_bound(&self) -> Option<(f64, Bound)> {
        [
            (self.line.or(self.line_raw), Bound::Line),
            (self.pcie, Bound::Pcie),
            (self.read_window, Bound::ReadWindow),
        ]
        .into_iter()
        .filter_map(|(gb_per_s, bound)| Some((gb_per_s?, bound)))
        .reduce(|low, next| if next.0 < low.0 { next } else { low })
    }
}

/// What bounds a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The wire.
    Line,
    /// The slowest hop of its PCIe path.
    Pcie,
    /// What its READs on the wire bring in a round trip.
    ReadWindow,
}
