//! Which bytes a rate counts: it is held against a ceiling of the same ones.

use super::{Ceilings, counted_per_payload};
use probes::model::Rail;
use serde::Serialize;

/// What of a rate's bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bytes {
    /// What completions brought.
    Payload,
    /// What the port counted, headers of packets included.
    Counted,
}

impl Bytes {
    /// How many of them there are for each byte of payload in long messages; 1 where path MTU or link layer is unknown, which
    /// is what is known to be there at least.
    #[must_use]
    pub fn per_payload(self, rail: &Rail) -> f64 {
        match self {
            Self::Payload => 1.0,
            Self::Counted => counted_per_payload(rail).unwrap_or(1.0),
        }
    }
}

impl Ceilings {
    /// Bounds on payload as bounds on these bytes of the rail. The wire's raw rate bounds all of them alike.
    #[must_use]
    pub fn of_bytes(self, bytes: Bytes, rail: &Rail) -> Self {
        self.times(bytes.per_payload(rail))
    }

    /// The same where so many bytes are counted for each byte of payload.
    #[must_use]
    pub fn times(self, per_payload: f64) -> Self {
        let times = |payload: Option<f64>| payload.map(|gb_per_s| gb_per_s * per_payload);
        Self {
            line_raw: self.line_raw,
            line: times(self.line),
            pcie: times(self.pcie),
            read_window: times(self.read_window),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Ceilings};
    use probes::model::{LinkLayer, Rail};

    #[test]
    fn a_bound_on_counted_bytes_is_higher_by_the_headers_and_the_raw_wire_is_the_same() {
        let rail = Rail {
            link_layer: Some(LinkLayer::Ethernet),
            path_mtu: Some(4096),
            line_gbit_per_s: Some(400.0),
            ..Rail::default()
        };
        let payload = Ceilings { pcie: Some(40.0), read_window: Some(10.0), ..Ceilings::of(&rail) };
        let counted = payload.of_bytes(Bytes::Counted, &rail);
        let digits = |gb: Option<f64>| gb.map(|gb| (gb * 100.0).round() / 100.0);
        assert_eq!(
            [counted.line_raw, counted.line, counted.pcie, counted.read_window].map(digits),
            [Some(50.0), Some(49.71), Some(40.57), Some(10.14)]
        );
        assert_eq!(payload.of_bytes(Bytes::Payload, &rail), payload);
        let without_mtu = Rail { path_mtu: None, ..rail };
        assert_eq!(payload.of_bytes(Bytes::Counted, &without_mtu), payload);
    }
}
