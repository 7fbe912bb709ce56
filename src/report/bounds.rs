//! What a rail could do, as the report has it.

use super::Bytes;
use super::number::known;
use crate::ceilings::Ceilings;
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
}

impl CeilingsRow {
    pub(super) fn of(ceilings: &Ceilings) -> Self {
        Self {
            line_raw: known(ceilings.line_raw),
            line: known(ceilings.line),
            line_counted: None,
            pcie: known(ceilings.pcie),
            read_window: known(ceilings.read_window),
            together: None,
        }
    }

    /// The same of what is counted, where that is asked for.
    #[must_use]
    pub fn lowest_of(&self, bytes: Bytes) -> Option<(f64, &'static str)> {
        let per_payload = match (bytes, self.line_counted, self.line) {
            (Bytes::Counted, Some(counted), Some(line)) if line > 0.0 => counted / line,
            _ => 1.0,
        };
        let counted = |bound: Option<f64>| bound.map(|gb_per_s| gb_per_s * per_payload);
        let [line, pcie, read_window] = [self.line, self.pcie, self.read_window].map(counted);
        Self { line, pcie, read_window, ..*self }.lowest()
    }

    /// The lowest payload bound, and the name of its key.
    #[must_use]
    pub fn lowest(&self) -> Option<(f64, &'static str)> {
        [(self.line.or(self.line_raw), "line"), (self.pcie, "pcie"), (self.read_window, "read window")]
            .into_iter()
            .filter_map(|(bound, name)| Some((bound?, name)))
            .reduce(|low, next| if next.0 < low.0 { next } else { low })
    }
}
