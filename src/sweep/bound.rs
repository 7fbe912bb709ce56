//! What bounds a point, from the ceilings and from what its threads did.

use super::grid::Spot;
use super::row::{RailPoint, Row};
use crate::ceilings::{line_of_messages_gb_per_s, path_payload_gb_per_s, read_window_gb_per_s};
use crate::settings::Size;
use probes::model::{LoadOp, Rail};
use serde::{Deserialize, Serialize};

/// Share of a ceiling from which on it is what bounds.
const AT_CEILING: f64 = 0.95;
/// A rate that much above a ceiling is no rate of that wire or path.
const BEYOND_CEILING: f64 = 1.02;
/// The same of the READ window, whose round trip was measured without other traffic.
const AT_WINDOW: f64 = 0.9;
/// A rate that much above the window shows that the round trip was measured with something else in its way.
const BEYOND_WINDOW: f64 = 1.1;
/// Empty polls below this share are rare: the thread finds work nearly whenever it looks.
const RARE_EMPTY_POLLS: f64 = 0.05;
/// A thread that was on a CPU for this share of the time was busy.
const BUSY: f64 = 0.9;

/// What bounds a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// `rate` (the one asked for), `link`, `pcie`, `read-window`, `posting-core`, `mixed` (rails differ),
    /// `implausible` (more than a ceiling) or `unknown`.
    pub by: String,
    /// The figures that say so, or what is not known.
    pub because: String,
}

/// What was asked of one rail, as far as it bounds it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Direction: only READs have a window.
    pub op: LoadOp,
    /// READs outstanding per queue pair; `None` where it is not known.
    pub read_depth: Option<u32>,
    /// Time a single READ of the point's size takes, nanoseconds; `None` where none was timed.
    pub round_trip_ns: Option<u64>,
    /// Rate that it was held below, GB/s; `None` where it was not.
    pub rate_gb_per_s: Option<f64>,
}

impl Terms {
    /// Payload that the READ window lets through, GB/s: queue pairs × READ depth × message / round trip; in words why it is not
    /// known.
    fn window_gb_per_s(self, spot: Spot) -> Result<f64, &'static str> {
        if self.op != LoadOp::Read {
            return Err("WRITE has no READ window");
        }
        let depth = self.read_depth.ok_or("the READ depth is not known");
        let window = self
            .round_trip_ns
            .and_then(|ns| read_window_gb_per_s(spot.qps, depth.unwrap_or_default(), spot.size_bytes, ns))
            .ok_or("the round trip was not measured")?;
        depth.map(|_| window)
    }
}

impl Bound {
    /// What bounds a rail at a point.
    #[must_use]
    pub fn of(rail: &Rail, spot: Spot, terms: Terms, row: &Row) -> Self {
        let Some(rate) = row.gb_per_s.filter(|rate| *rate > 0.0) else {
            return Self::unknown("no message was completed");
        };
        let line = line_of_messages_gb_per_s(rail, spot.size_bytes);
        let pcie = rail.pcie.as_ref().and_then(path_payload_gb_per_s);
        let window = match terms.window_gb_per_s(spot) {
            Ok(window) if rate > BEYOND_WINDOW * window => {
                Err("more than the READ window of the measured round trip, which then was no bare one")
            }
            window => window,
        };
        let size = Size(spot.size_bytes);
        let reached = |ceiling: Option<f64>, share: f64| ceiling.filter(|ceiling| rate >= share * ceiling);
        for (ceiling, carrier) in [
            (line, format!("the wire carries in messages of {size}")),
            (pcie, "the PCIe path carries".to_owned()),
        ] {
            if let Some(ceiling) = ceiling.filter(|ceiling| rate > BEYOND_CEILING * ceiling) {
                return Self::new(
                    "implausible",
                    format!(
                        "{rate:.2} GB/s are more than the {ceiling:.2} {carrier}: a measurement error or no NIC"
                    ),
                );
            }
        }
        if let Some(most) = reached(terms.rate_gb_per_s, AT_CEILING) {
            return Self::new("rate", format!("{rate:.2} of the {most:.2} GB/s that --rate asks for"));
        }
        if let Some(line) = reached(line, AT_CEILING) {
            return Self::new(
                "link",
                format!("{rate:.2} of {line:.2} GB/s the wire carries in messages of {size}"),
            );
        }
        if let Some(pcie) = reached(pcie, AT_CEILING) {
            return Self::new("pcie", format!("{rate:.2} of {pcie:.2} GB/s the PCIe path carries"));
        }
        if let Some(window) = reached(window.ok(), AT_WINDOW) {
            return Self::new(
                "read-window",
                format!("{rate:.2} of {window:.2} GB/s that the READs in flight carry in their round trip"),
            );
        }
        let is_rare = row.empty_poll_share.is_some_and(|share| share < RARE_EMPTY_POLLS);
        if is_rare && row.busy_share.is_some_and(|share| share >= BUSY) {
            let percent = 100.0 * row.empty_poll_share.unwrap_or_default();
            return Self::new(
                "posting-core",
                format!(
                    "{percent:.1} % of polls found nothing and its threads were busy: more workers may help"
                ),
            );
        }
        let of = |name: &str, ceiling: Option<f64>| match ceiling {
            Some(ceiling) => format!("{:.0} % of the {name}", 100.0 * rate / ceiling),
            None => format!("{name} not known"),
        };
        let window = match window {
            Ok(window) => of("READ window", Some(window)),
            Err(why) => why.to_owned(),
        };
        Self::unknown(&[of("line", line), of("PCIe path", pcie), window, polls(row)].join(", "))
    }

    fn new(by: &str, because: String) -> Self {
        Self { by: by.to_owned(), because }
    }

    fn unknown(because: &str) -> Self {
        Self::new("unknown", because.to_owned())
    }

    /// Of all rails together: each rail's own figures, rails with the same ones named together.
    #[must_use]
    pub fn of_all(rails: &[RailPoint]) -> Self {
        let Some(first) = rails.first() else { return Self::unknown("no rail ran through the whole window") };
        let mut alike: Vec<(&Self, Vec<&str>)> = Vec::new();
        for rail in rails {
            match alike.iter_mut().find(|(bound, _)| **bound == rail.bound) {
                Some((_, devices)) => devices.push(&rail.device),
                None => alike.push((&rail.bound, vec![&rail.device])),
            }
        }
        let is_mixed = rails.iter().any(|rail| rail.bound.by != first.bound.by);
        let words = |(bound, devices): &(&Self, Vec<&str>)| {
            let kind = if is_mixed { format!("{} ", bound.by) } else { String::new() };
            let devices = if rails.len() > 1 { format!("{}: ", devices.join(" ")) } else { String::new() };
            format!("{kind}{devices}{}", bound.because)
        };
        let because = alike.iter().map(words).collect::<Vec<_>>().join("; ");
        Self::new(if is_mixed { "mixed" } else { &first.bound.by }, because)
    }
}

/// Why the threads are not what bounds, as far as their polls tell.
fn polls(row: &Row) -> String {
    match (row.empty_poll_share, row.busy_share) {
        (Some(share), _) if share >= RARE_EMPTY_POLLS => {
            format!("{:.0} % of polls found nothing, so the thread waits", 100.0 * share)
        }
        (Some(_), None) => "empty polls are rare, but time on a CPU was not counted".to_owned(),
        (Some(_), Some(busy)) => {
            format!("empty polls are rare, but its threads had a CPU only {:.0} % of the time", 100.0 * busy)
        }
        (None, _) => "no poll was counted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, Terms};
    use crate::sweep::grid::Spot;
    use crate::sweep::row::{RailPoint, Row};
    use probes::model::{Hop, LinkLayer, LoadOp, PciePath, Rail};

    fn rail() -> Rail {
        Rail {
            device: "mlx5_0".to_owned(),
            line_gbit_per_s: Some(400.0),
            path_mtu: Some(4096),
            link_layer: Some(LinkLayer::Ethernet),
            ..Rail::default()
        }
    }

    /// A round trip of 10 us.
    const TERMS: Terms =
        Terms { op: LoadOp::Read, read_depth: Some(16), round_trip_ns: Some(10_000), rate_gb_per_s: None };

    fn bound(rate: f64, size_bytes: u64, empty: f64, busy: Option<f64>) -> Bound {
        let row =
            Row { gb_per_s: Some(rate), empty_poll_share: Some(empty), busy_share: busy, ..Row::default() };
        Bound::of(&rail(), Spot { size_bytes, qps: 1, workers: 1 }, TERMS, &row)
    }

    #[test]
    fn at_the_wire_the_link_bounds() {
        let found = bound(48.8, 1 << 20, 0.99, Some(1.0));
        assert_eq!(found.by, "link");
        assert_eq!(found.because, "48.80 of 49.02 GB/s the wire carries in messages of 1M");
        assert_eq!(bound(44.5, 1024, 0.5, None).by, "link", "a small message leaves less of the wire");
    }

    #[test]
    fn reads_in_flight_over_their_round_trip_are_the_window() {
        // 16 READs of 1 KiB in 10 us: 1.64 GB/s
        let found = bound(1.6, 1024, 0.9, Some(1.0));
        assert_eq!(found.by, "read-window");
        assert!(found.because.starts_with("1.60 of 1.64 GB/s"), "{found:?}");
    }

    #[test]
    fn a_busy_thread_that_always_finds_work_is_the_bound() {
        assert_eq!(bound(20.0, 4096, 0.01, Some(0.99)).by, "posting-core");
        let found = bound(20.0, 4096, 0.01, None);
        assert_eq!(found.by, "unknown");
        assert!(found.because.ends_with("time on a CPU was not counted"), "{found:?}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let row = Row { gb_per_s: Some(20.0), empty_poll_share: Some(0.4), ..Row::default() };
        let spot = Spot { size_bytes: 65536, qps: 4, workers: 1 };
        let write = Terms { op: LoadOp::Write, ..TERMS };
        let found = Bound::of(&rail(), spot, write, &row);
        let expected = "41 % of the line, PCIe path not known, WRITE has no READ window, 40 % of polls found nothing, \
                        so the thread waits";
        assert_eq!((found.by.as_str(), found.because.as_str()), ("unknown", expected));
        let found = Bound::of(&rail(), spot, Terms { round_trip_ns: None, ..TERMS }, &row);
        assert!(found.because.contains("the round trip was not measured"), "{found:?}");
    }

    #[test]
    fn a_path_below_the_line_bounds_as_pcie() {
        let hop = Hop { current_gt_per_s: Some(16.0), current_width: Some(16), ..Hop::default() };
        let slow = Rail { pcie: Some(PciePath { hops: vec![hop], ..PciePath::default() }), ..rail() };
        let ceiling = crate::ceilings::path_payload_gb_per_s(slow.pcie.as_ref().unwrap()).unwrap();
        let row = Row { gb_per_s: Some(ceiling * 0.97), ..Row::default() };
        let spot = Spot { size_bytes: 1 << 20, qps: 4, workers: 1 };
        assert_eq!(Bound::of(&slow, spot, TERMS, &row).by, "pcie");
    }

    #[test]
    fn a_rail_that_is_held_back_is_bound_by_that() {
        let row = Row { gb_per_s: Some(4.99), ..Row::default() };
        let held = Terms { rate_gb_per_s: Some(5.0), ..TERMS };
        let found = Bound::of(&rail(), Spot { size_bytes: 65536, qps: 4, workers: 1 }, held, &row);
        assert_eq!(
            (found.by.as_str(), found.because.as_str()),
            ("rate", "4.99 of the 5.00 GB/s that --rate asks for")
        );
    }

    #[test]
    fn each_rail_has_its_own_figures_and_those_alike_are_named_together() {
        let rail = |device: &str, by: &str, because: &str| RailPoint {
            device: device.to_owned(),
            bound: Bound { by: by.to_owned(), because: because.to_owned() },
            ..RailPoint::default()
        };
        let of = |rails: &[RailPoint]| {
            let all = Bound::of_all(rails);
            format!("{}: {}", all.by, all.because)
        };
        let (a, b, c) =
            (rail("a", "link", "48 of 49"), rail("b", "unknown", "why"), rail("c", "link", "48 of 49"));
        assert_eq!(of(&[a.clone(), b, c.clone()]), "mixed: link a c: 48 of 49; unknown b: why");
        assert_eq!(of(&[a.clone(), rail("d", "link", "47 of 49"), c]), "link: a c: 48 of 49; d: 47 of 49");
        assert_eq!(of(&[a]), "link: 48 of 49");
    }

    #[test]
    fn more_than_a_wire_carries_is_no_link() {
        let found = bound(305_789.13, 1 << 20, 0.5, None);
        let expected = "305789.13 GB/s are more than the 49.02 the wire carries in messages of 1M: a measurement error or \
                        no NIC";
        assert_eq!((found.by.as_str(), found.because.as_str()), ("implausible", expected));
        assert_eq!(bound(49.4, 1 << 20, 0.5, None).by, "link", "within what a measurement may be off");
    }
}
