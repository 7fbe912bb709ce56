//! What a rail could do, as the report has it.

use super::number::known;
use crate::ceilings::{Bound, Bytes, Ceilings, line_counted_gb_per_s};
use probes::model::Rail;
use serde::Serialize;

/// Upper bounds of one rail in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CeilingsRow {
    /// The wire.
    pub line_raw: Option<f64>,
    /// Payload over the wire.
    pub line: Option<f64>,
    /// What the port counts of a full wire: payload and the headers of its packets.
    pub line_counted: Option<f64>,
    /// Payload over the slowest PCIe hop.
    pub pcie: Option<f64>,
    /// READ window over the measured round trip.
    pub read_window: Option<f64>,
    /// Payload while every rail moves all it can: its fair share of the wires and PCIe links that rails share.
    pub together: Option<f64>,
    /// What the port counts for each byte of payload.
    #[serde(skip)]
    pub counted_per_payload: f64,
}

impl CeilingsRow {
    pub(super) fn of(ceilings: &Ceilings, rail: &Rail) -> Self {
        Self {
            line_raw: known(ceilings.line_raw),
            line: known(ceilings.line),
            line_counted: known(line_counted_gb_per_s(rail)),
            pcie: known(ceilings.pcie),
            read_window: known(ceilings.read_window),
            together: None,
            counted_per_payload: Bytes::Counted.per_payload(rail),
        }
    }

    /// The bounds on these bytes, GB/s.
    #[must_use]
    pub fn of_bytes(&self, bytes: Bytes) -> Ceilings {
        let Self { line_raw, line, pcie, read_window, .. } = *self;
        let payload = Ceilings { line_raw, line, pcie, read_window };
        match bytes {
            Bytes::Payload => payload,
            Bytes::Counted => payload.times(self.counted_per_payload),
        }
    }

    /// The lowest bound on these bytes, GB/s, and the name of its key.
    #[must_use]
    pub fn lowest_of(&self, bytes: Bytes) -> Option<(f64, &'static str)> {
        let (gb_per_s, bound) = self.of_bytes(bytes).lowest_bound()?;
        let name = match bound {
            Bound::Line => "line",
            Bound::Pcie => "pcie",
            Bound::ReadWindow => "read window",
        };
        Some((gb_per_s, name))
    }
}
