//! Means of a second, rail by rail: what is plotted and compared.
//!
//! Samples of 100 ms hang together, and not every counter is read with each of them; means of a second
//! are what a spreadsheet, a curve and a standard error can stand on.

use super::CeilingsRow;
use crate::ceilings::Bytes;
use crate::timeline::{HostTimeline, Interval, LegSums, Quality, Sum, Timeline};
use probes::model::{Load, Rail, RailId};
use std::sync::Arc;

/// One rail over one stretch of time, a second unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeanRow {
    /// Position of the host in the session.
    pub host: usize,
    /// Position of the rail in its topology.
    pub rail: usize,
    /// End of the stretch, seconds since the session began.
    pub until_s: f64,
    /// How much of the stretch lies between two samples, seconds.
    pub covered_s: f64,
    /// Received, as the NIC counted, GB/s; `None` where its counter was not read, or its reading was no good.
    pub rx_gb_per_s: Option<f64>,
    /// Sent, likewise.
    pub tx_gb_per_s: Option<f64>,
    /// Payload of our own load, GB/s, its warm-up included; `None` without one on the rail.
    pub load_gb_per_s: Option<f64>,
    /// Payload of our own load in its measured time, GB/s; `None` where that is not all of the stretch.
    pub measured_gb_per_s: Option<f64>,
    /// Whether a load covers all of the stretch, ours or a described one, in whose level the rail may be judged.
    pub under_load: bool,
    /// Received and sent by each leg of the rail's bond, GB/s.
    pub legs_gb_per_s: Vec<[Option<f64>; 2]>,
    /// The lowest bound on payload that is known by then, GB/s, and the name of its key.
    pub ceiling: Option<(f64, &'static str)>,
    /// The same bound on what the NIC counts, GB/s.
    pub ceiling_counted_gb_per_s: Option<f64>,
    /// The load by then.
    pub load: Option<Arc<Load>>,
    /// NUMA node of the rail in this stretch; `None` unknown.
    pub numa_node: Option<u32>,
    /// Rate of its wire in this stretch, Gbit/s; `None` unknown, and while its port is not ACTIVE.
    pub line_gbit_per_s: Option<f64>,
}

/// Folds a session into [`MeanRow`]s, a stretch at a time.
#[derive(Debug)]
pub struct Means {
    width_ns: u64,
    hosts: Vec<Stretch>,
}

/// The stretch of one host that is not over yet.
#[derive(Clone, Debug, Default)]
struct Stretch {
    number: u64,
    covered_ns: u64,
    newest_ns: Option<u64>,
    load: Option<Arc<Load>>,
    /// What of each rail a later look may find otherwise: NUMA node and line rate.
    facts: Vec<(Option<u32>, Option<f64>)>,
    rails: Vec<Cell>,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    rx: Sum,
    tx: Sum,
    load: Sum,
    measured: Sum,
    loaded: bool,
    legs: Vec<LegSums>,
}

impl Means {
    /// For stretches of this length; at least a nanosecond.
    #[must_use]
    pub fn of(width_ns: u64) -> Self {
        Self { width_ns: width_ns.max(1), hosts: Vec::new() }
    }

    /// Takes what the newest frame brought; gives the rows of a stretch that is over with it.
    ///
    /// A reading belongs to the stretch in which it was made, so no reading counts twice.
    pub fn take(&mut self, timeline: &Timeline) -> Vec<MeanRow> {
        let mut rows = Vec::new();
        let hosts = std::iter::once(timeline.local()).chain(timeline.peer());
        for (at, host) in hosts.enumerate() {
            if self.hosts.len() <= at {
                self.hosts.push(Stretch::default());
            }
            let Some(newest) = host.intervals().next_back() else { continue };
            if self.hosts[at].newest_ns == Some(newest.to_ns) {
                continue;
            }
            let number = newest.to_ns.saturating_sub(1) / self.width_ns;
            if number != self.hosts[at].number {
                rows.extend(self.rows(at, host));
                self.hosts[at] = Stretch { number, ..Stretch::default() };
            }
            self.hosts[at].add(newest);
            self.hosts[at].load = host.shared_load();
            let facts = |(id, rail): (RailId, &Rail)| {
                let seen = host.last_seen(id, rail);
                (seen.numa_node, seen.line_gbit_per_s)
            };
            self.hosts[at].facts = host.topology().rails_with_id().map(facts).collect();
        }
        rows
    }

    /// The rows of the stretches in which the session ended.
    pub fn end(&mut self, timeline: &Timeline) -> Vec<MeanRow> {
        let hosts = std::iter::once(timeline.local()).chain(timeline.peer()).take(self.hosts.len());
        let rows = hosts.enumerate().flat_map(|(at, host)| self.rows(at, host)).collect();
        self.hosts.clear();
        rows
    }

    fn rows(&self, host: usize, seen: &HostTimeline) -> Vec<MeanRow> {
        let stretch = &self.hosts[host];
        if stretch.newest_ns.is_none() {
            return Vec::new();
        }
        let until_s = (stretch.number + 1) as f64 * self.width_ns as f64 / 1e9;
        let covered_s = stretch.covered_ns as f64 / 1e9;
        let rails = seen.topology().rails_with_id().zip(&stretch.rails);
        let ceilings = |id: RailId, rail: &Rail| {
            let rail = seen.last_seen(id, rail);
            CeilingsRow::of(&seen.ceilings(id, &rail), &rail)
        };
        rails
            .map(|((id, rail), cell)| (id, ceilings(id, rail), cell))
            .map(|(id, ceilings, cell)| MeanRow {
                host,
                rail: id.0,
                until_s,
                covered_s,
                rx_gb_per_s: cell.rx.mean_gb_per_s(),
                tx_gb_per_s: cell.tx.mean_gb_per_s(),
                load_gb_per_s: cell.load.mean_gb_per_s(),
                // a stretch in which it began or ended is none of steady load
                measured_gb_per_s: cell
                    .measured
                    .mean_gb_per_s()
                    .filter(|_| cell.measured.ns >= 0.99 * stretch.covered_ns as f64),
                under_load: cell.loaded,
                legs_gb_per_s: cell
                    .legs
                    .iter()
                    .map(|leg| [leg.rx.mean_gb_per_s(), leg.tx.mean_gb_per_s()])
                    .collect(),
                ceiling: ceilings.lowest_of(Bytes::Payload),
                ceiling_counted_gb_per_s: ceilings.lowest_of(Bytes::Counted).map(|(bound, _)| bound),
                load: stretch.load.clone(),
                numa_node: stretch.facts.get(id.0).and_then(|(node, _)| *node),
                line_gbit_per_s: stretch.facts.get(id.0).and_then(|(_, line)| *line),
            })
            .collect()
    }
}

impl Stretch {
    fn add(&mut self, interval: &Interval) {
        self.newest_ns = Some(interval.to_ns);
        self.covered_ns += interval.ns();
        let is_first = self.rails.is_empty();
        self.rails.resize_with(interval.rails.len(), Cell::default);
        for (cell, rates) in self.rails.iter_mut().zip(&interval.rails) {
            if rates.quality == Quality::Good {
                cell.rx.add(rates.rx_gb_per_s, rates.counted_ns);
                cell.tx.add(rates.tx_gb_per_s, rates.counted_ns);
            }
            cell.load.add(rates.load_gb_per_s, interval.ns());
            cell.measured.add(rates.load_gb_per_s.filter(|_| rates.measured), interval.ns());
            cell.loaded = rates.under_load && (cell.loaded || is_first);
            cell.legs.resize_with(rates.legs.len().max(cell.legs.len()), LegSums::default);
            for (leg, rates_of) in cell.legs.iter_mut().zip(&rates.legs) {
                leg.rx.add(rates_of.rx_gb_per_s, rates.legs_ns);
                leg.tx.add(rates_of.tx_gb_per_s, rates.legs_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MeanRow, Means};
    use crate::session::FrameSource;
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use std::time::Duration;

    fn rows(width_ns: u64) -> Vec<MeanRow> {
        let (every, end) = (Duration::from_millis(100), Duration::from_secs(3));
        let mut source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let mut timeline = Timeline::new(source.session());
        let mut means = Means::of(width_ns);
        let mut rows = Vec::new();
        while let Some(frame) = source.next_frame().unwrap() {
            timeline.push(frame);
            rows.extend(means.take(&timeline));
        }
        rows.extend(means.end(&timeline));
        rows
    }

    #[test]
    fn every_rail_has_a_row_a_second() {
        let rows = rows(1_000_000_000);
        let of_slow: Vec<&MeanRow> = rows.iter().filter(|row| row.rail == 2).collect();
        let times: Vec<f64> = of_slow.iter().map(|row| row.until_s).collect();
        assert_eq!((rows.len(), times), (3 * 8, vec![1.0, 2.0, 3.0]));
        assert!(of_slow.iter().all(|row| (row.covered_s - 1.0).abs() < 1e-9));
        assert_eq!(of_slow[0].measured_gb_per_s, None, "half of it was warm-up");
        let measured = of_slow[1].measured_gb_per_s.unwrap();
        assert!((24.0..24.6).contains(&measured), "{measured}");
        assert_eq!(of_slow[1].ceiling.map(|(_, name)| name), Some("line"));
        assert_eq!(of_slow[1].legs_gb_per_s.len(), 2);
    }

    #[test]
    fn what_no_frame_read_is_unknown_in_a_row_a_frame() {
        let rows = rows(100_000_000);
        assert_eq!(rows.len(), 30 * 8);
        let legs = |row: &MeanRow| row.legs_gb_per_s.len();
        assert_eq!(
            rows.iter().filter(|row| row.rail == 2 && legs(row) == 2).count(),
            3,
            "read once a second"
        );
    }
}
