//! How long a full bar is, and how large the rates of a screen are.

use super::figure::{self, Kind};
use crate::ceilings::{Bound, Bytes, Ceilings};
use crate::timeline::Timeline;
use probes::model::Rail;

/// Of a bound below this share of the wire, a bar on the wire's scale would show next to nothing.
const SMALL: f64 = 0.1;

/// From this rate on a screen has the largest prefix, GB/s; larger ones need not be looked for.
const LARGE_GB_PER_S: f64 = 2.0;

/// Full length of a rail's bar, GB/s: the wire, or PCIe where the wire is not known, so that bars of like rails compare; the
/// READ window where it is far below both; without a ceiling the most that was `seen`.
#[must_use]
pub fn of_bar(ceilings: &Ceilings, seen: f64) -> f64 {
    let wide = ceilings.line.or(ceilings.line_raw).or(ceilings.pcie);
    match (wide, ceilings.lowest()) {
        (Some(wide), Some(lowest)) if lowest < SMALL * wide => lowest,
        (Some(wide), _) => wide,
        (None, lowest) => lowest.unwrap_or(seen),
    }
}

/// The bounds as what the figure counts is bounded by them: payload, or bytes of the NIC with their headers.
#[must_use]
pub fn bounds(payload: Ceilings, rail: &Rail, kind: Option<Kind>) -> Ceilings {
    let counted = kind.is_some_and(|kind| !kind.is_payload());
    payload.of_bytes(if counted { Bytes::Counted } else { Bytes::Payload }, rail)
}

/// The word of a bound by PCIe.
pub const PCIE: &str = "PCIe";

/// What the lowest bound of a rail is, in a word; `None` where none is known.
#[must_use]
pub fn lowest_word(ceilings: &Ceilings) -> Option<&'static str> {
    ceilings.lowest_bound().map(|(_, bound)| match bound {
        Bound::Line => "wire",
        Bound::Pcie => PCIE,
        // its window
        Bound::ReadWindow => "READ",
    })
}

/// The largest rate or ceiling of the session as far as it is shown, GB/s, or what was known before where that is larger.
#[must_use]
pub fn largest_gb_per_s(timeline: &Timeline, before: f64) -> f64 {
    let host = timeline.local();
    let mut largest = before;
    for (id, rail) in timeline.topology().rails_with_id() {
        if largest >= LARGE_GB_PER_S {
            break;
        }
        largest = host.ceilings(id, rail).lowest().into_iter().fold(largest, f64::max);
        let peaks = [Kind::Read, Kind::Rx, Kind::Tx].map(|kind| figure::peak(host, id, kind));
        largest = peaks.into_iter().flatten().fold(largest, f64::max);
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::{lowest_word, of_bar};
    use crate::ceilings::Ceilings;

    #[test]
    fn a_bar_is_as_long_as_the_wire_unless_that_would_show_nothing() {
        let with = |line, pcie, read_window| Ceilings { line_raw: line, line, pcie, read_window };
        for (ceilings, seen, scale, word) in [
            (with(Some(49.0), Some(54.2), None), 3.0, 49.0, Some("wire")),
            (with(Some(49.0), Some(27.1), None), 3.0, 49.0, Some("PCIe")),
            (with(Some(49.0), Some(54.2), Some(20.0)), 3.0, 49.0, Some("READ")),
            (with(None, Some(54.2), Some(0.02)), 3.0, 0.02, Some("READ")),
            (with(None, None, Some(0.02)), 3.0, 0.02, Some("READ")),
            (with(None, None, None), 3.0, 3.0, None),
        ] {
            assert_eq!((of_bar(&ceilings, seen), lowest_word(&ceilings)), (scale, word), "{ceilings:?}");
        }
    }
}
