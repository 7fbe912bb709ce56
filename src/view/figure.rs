//! The one figure of a rail that its bar shows, and where it comes from.

use crate::timeline::{HostTimeline, Interval, Quality, RailRates, WINDOW_NS};
use probes::model::{LoadOp, RailId, Topology};

/// Digits that change ten times a second cannot be read: rates on the screen are means of this time.
const MEAN_NS: u64 = 1_000_000_000;
/// A counter that was not read for this long, nor for three of its intervals, has no rate any more.
pub const STALE_NS: u64 = 5_000_000_000;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Payload that our own load has read.
    Read,
    /// Payload that our own load has written.
    Write,
    /// What the NIC received.
    Rx,
    /// What the NIC sent.
    Tx,
}

impl Kind {
    /// As it stands before the number.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Rx => "rx",
            Self::Tx => "tx",
        }
    }

    /// Whether the data come in.
    #[must_use]
    pub fn is_inward(self) -> bool {
        matches!(self, Self::Read | Self::Rx)
    }

    /// Whether headers of packets are not in it.
    #[must_use]
    pub fn is_payload(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    fn of(self, rates: &RailRates) -> Option<f64> {
        match self {
            Self::Read | Self::Write => rates.load_gb_per_s,
            Self::Rx => rates.rx_gb_per_s,
            Self::Tx => rates.tx_gb_per_s,
        }
    }

    /// Payload is counted over the frame's interval, bytes of the NIC over that of their counter.
    fn span(self, interval: &Interval, rates: &RailRates) -> (u64, u64) {
        match self {
            Self::Read | Self::Write => (interval.from_ns, interval.to_ns),
            Self::Rx | Self::Tx => (interval.to_ns.saturating_sub(rates.counted_ns), interval.to_ns),
        }
    }
}

/// The figure that a rail's bar shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A rate.
    Rate {
        /// What it counts.
        kind: Kind,
        /// Mean of the last second (of the newest interval where that is longer).
        gb_per_s: f64,
    },
    /// There is none; why.
    None(String),
}

impl Figure {
    /// The figure of this rail: our load's payload where a load runs, else the busier direction of the NIC.
    #[must_use]
    pub fn of(host: &HostTimeline, topology: &Topology, rail: RailId) -> Self {
        let Some(latest) = host.latest() else {
            return Self::None("waiting for the first sample".into());
        };
        if latest.rails.get(rail.0).is_some_and(|rail| rail.lost) {
            return Self::None("the device is gone".into());
        }
        if let Some(newest) = host.intervals().next_back()
            && newest.rails.get(rail.0).is_some_and(|rates| rates.load_gb_per_s.is_some())
        {
            let kind = if newest.load_op == Some(LoadOp::Write) { Kind::Write } else { Kind::Read };
            if let Some(gb_per_s) = mean(host, rail, kind, Quality::NotRead) {
                return Self::Rate { kind, gb_per_s };
            }
        }
        let read = |interval: &&Interval| {
            interval.rails.get(rail.0).is_some_and(|rates| rates.quality != Quality::NotRead)
        };
        let Some(newest) = host.intervals().rev().find(read) else {
            return Self::None(why_never_read(host, topology, rail));
        };
        let age_ns = latest.at_ns.saturating_sub(newest.to_ns);
        let RailRates { quality, counted_ns, .. } = newest.rails[rail.0];
        match quality {
            _ if age_ns > STALE_NS.max(counted_ns.saturating_mul(3)) => {
                Self::None(format!("not readable for {} s", age_ns / 1_000_000_000))
            }
            Quality::Reset => Self::None("a counter was reset".into()),
            Quality::Unreadable | Quality::NotRead => Self::None(why_unreadable(topology, rail)),
            Quality::Good | Quality::Implausible => {
                let rx = mean(host, rail, Kind::Rx, quality);
                let tx = mean(host, rail, Kind::Tx, quality);
                match (rx, tx) {
                    (Some(rx), Some(tx)) if tx > rx => Self::Rate { kind: Kind::Tx, gb_per_s: tx },
                    (Some(rx), _) => Self::Rate { kind: Kind::Rx, gb_per_s: rx },
                    (None, Some(tx)) => Self::Rate { kind: Kind::Tx, gb_per_s: tx },
                    (None, None) => Self::None(why_unreadable(topology, rail)),
                }
            }
        }
    }

    /// What it counts, and how much; `None` without a rate.
    #[must_use]
    pub fn rate(&self) -> Option<(Kind, f64)> {
        match self {
            Self::Rate { kind, gb_per_s } => Some((*kind, *gb_per_s)),
            Self::None(_) => None,
        }
    }
}

fn why_never_read(host: &HostTimeline, topology: &Topology, rail: RailId) -> String {
    if host.intervals().len() == 0 {
        "one sample makes no rate".into()
    } else {
        why_unreadable(topology, rail)
    }
}

/// The survey's own words where it noted a gap about the rail's counters.
fn why_unreadable(topology: &Topology, rail: RailId) -> String {
    let device = &topology.rails[rail.0].device;
    topology
        .gaps
        .iter()
        .find(|gap| gap.subject == *device && gap.probe == "counters")
        .map_or_else(|| "byte counters not readable".into(), |gap| gap.reason.clone())
}

/// Mean over the last second of the intervals of this quality. Payload is known whatever the NIC's counters say.
fn mean(host: &HostTimeline, rail: RailId, kind: Kind, quality: Quality) -> Option<f64> {
    let mut until_ns = None;
    let (mut bytes, mut ns) = (0.0, 0.0);
    for interval in host.intervals().rev() {
        let Some(rates) = interval.rails.get(rail.0) else { continue };
        if matches!(kind, Kind::Rx | Kind::Tx) && rates.quality != quality {
            continue;
        }
        // what a load before moved is no rate of the one that goes on
        if kind.is_payload() && interval.earlier_loads != Some(host.sums().earlier_loads) {
            continue;
        }
        let Some(rate) = kind.of(rates) else { continue };
        let (from_ns, to_ns) = kind.span(interval, rates);
        let end = *until_ns.get_or_insert(to_ns);
        if ns > 0.0 && end.saturating_sub(from_ns) > MEAN_NS {
            break;
        }
        let length = to_ns.saturating_sub(from_ns) as f64;
        bytes += rate * length;
        ns += length;
    }
    (ns > 0.0).then(|| bytes / ns)
}

/// The rail's rate of this kind, mean of the last second, GB/s; `None` where there is no good one.
#[must_use]
pub fn rate(host: &HostTimeline, rail: RailId, kind: Kind) -> Option<f64> {
    mean(host, rail, kind, Quality::Good)
}

/// The highest rate of a single interval in the window, GB/s.
#[must_use]
pub fn peak(host: &HostTimeline, rail: RailId, kind: Kind) -> Option<f64> {
    past(host, rail, kind, WINDOW_NS, 0).peak_gb_per_s
}

/// A rail's rate before now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// Means of equal pieces of time, GB/s, oldest first; `None` where nothing was read. Fewer where the session is younger.
    pub trend_gb_per_s: Vec<Option<f64>>,
    /// The highest rate of a single interval in the window, GB/s; `None` where nothing was read.
    pub peak_gb_per_s: Option<f64>,
}

/// The time up to now, of this length, in so many equal pieces, and the highest rate in the window: both in one pass, for
/// a minute of sixty-four rails is not read twice in a picture.
///
/// The pieces stand still while time goes on, so that a hill moves as a whole instead of changing its shape.
#[must_use]
pub fn past(host: &HostTimeline, rail: RailId, kind: Kind, length_ns: u64, pieces: usize) -> Past {
    let Some(latest) = host.latest() else { return Past::default() };
    let mut peak_gb_per_s: Option<f64> = None;
    let mut trend = length_ns.checked_div(pieces as u64).filter(|ns| *ns > 0).map(|piece_ns| {
        // numbered from the session's begin
        let end = latest.at_ns.div_ceil(piece_ns);
        let first = end.saturating_sub(pieces as u64);
        Pieces { piece_ns, first, sums: vec![(0.0, 0.0); usize::try_from(end - first).unwrap_or(pieces)] }
    });
    for interval in host.intervals() {
        let Some(rates) = interval.rails.get(rail.0) else { continue };
        let Some(rate) = kind.of(rates) else { continue };
        if rates.quality != Quality::Implausible {
            peak_gb_per_s = Some(peak_gb_per_s.map_or(rate, |peak| peak.max(rate)));
        }
        if let Some(trend) = &mut trend {
            trend.add(rate, kind.span(interval, rates));
        }
    }
    Past { trend_gb_per_s: trend.map(Pieces::means).unwrap_or_default(), peak_gb_per_s }
}

/// Equal pieces of time, and what was moved in each.
struct Pieces {
    piece_ns: u64,
    /// Number of the first one.
    first: u64,
    /// Bytes and nanoseconds.
    sums: Vec<(f64, f64)>,
}

impl Pieces {
    fn add(&mut self, rate: f64, (from_ns, to_ns): (u64, u64)) {
        let end = self.first + self.sums.len() as u64;
        let mut piece = (from_ns / self.piece_ns).max(self.first);
        while piece < end && piece * self.piece_ns < to_ns {
            let (begin, end) = (piece * self.piece_ns, (piece + 1) * self.piece_ns);
            let overlap = to_ns.min(end).saturating_sub(from_ns.max(begin)) as f64;
            if let Some(sum) = usize::try_from(piece - self.first).ok().and_then(|at| self.sums.get_mut(at)) {
                sum.0 += rate * overlap;
                sum.1 += overlap;
            }
            piece += 1;
        }
    }

    fn means(self) -> Vec<Option<f64>> {
        self.sums.into_iter().map(|(bytes, ns)| (ns > 0.0).then(|| bytes / ns)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Figure, Kind, past, rate};
    use crate::timeline::{Timeline, WINDOW_NS};
    use crate::view::fixture::{Node, host_of, rail_frame};
    use probes::model::{Frame, Gap, Load, RailFrame, RailId, WorkerFrame, WorkerPhase};
    use std::sync::Arc;

    const RAIL: RailId = RailId(0);

    /// A timeline of one rail from readings of its two counters, one each 100 ms.
    fn timeline(readings: &[RailFrame]) -> Timeline {
        let mut timeline = Timeline::new(Node::with_rails(1).session());
        for (at, rail) in readings.iter().enumerate() {
            let seq = at as u64;
            timeline.push(Frame {
                seq,
                at_ns: seq * 100_000_000,
                rails: vec![rail.clone()],
                ..Frame::default()
            });
        }
        timeline
    }

    fn figure(timeline: &Timeline) -> Figure {
        Figure::of(timeline.local(), timeline.session().topology(), RAIL)
    }

    #[test]
    fn a_rail_that_the_load_of_now_leaves_out_has_no_payload_of_the_one_before() {
        let mut timeline = Timeline::new(Node::with_rails(2).session());
        let worker = |rail, at: u64| WorkerFrame {
            rail: Some(RailId(rail)),
            phase: WorkerPhase::Measuring,
            bytes: at * 4_000_000_000,
            ..WorkerFrame::default()
        };
        // both rails, then the second alone
        for at in 0..10u64 {
            let (earlier, rails) = if at < 5 { (0, 0..2) } else { (1, 1..2) };
            timeline.push(Frame {
                seq: at,
                at_ns: at * 100_000_000,
                rails: vec![RailFrame::default(); 2],
                load: Some(Arc::new(Load { earlier, ..Load::default() })),
                workers: rails.map(|rail| worker(rail, at)).collect(),
                ..Frame::default()
            });
        }
        let rate = |rail| rate(timeline.local(), RailId(rail), Kind::Read);
        assert_eq!((rate(0), rate(1)), (None, Some(40.0)));
    }

    #[test]
    fn the_busier_direction_is_shown() {
        let rx = timeline(&[rail_frame(0, 0), rail_frame(1_000_000_000, 500)]);
        assert_eq!(figure(&rx), Figure::Rate { kind: Kind::Rx, gb_per_s: 10.0 });
        let tx = timeline(&[rail_frame(0, 0), rail_frame(500, 1_000_000_000)]);
        assert_eq!(figure(&tx), Figure::Rate { kind: Kind::Tx, gb_per_s: 10.0 });
    }

    #[test]
    fn digits_are_the_mean_of_a_second() {
        // 20 GB/s for two seconds, then 10 GB/s for half a second
        let mut bytes = 0;
        let mut readings = vec![rail_frame(0, 0)];
        for at in 0..25 {
            bytes += if at < 20 { 2_000_000_000 } else { 1_000_000_000 };
            readings.push(rail_frame(bytes, 0));
        }
        assert_eq!(figure(&timeline(&readings)), Figure::Rate { kind: Kind::Rx, gb_per_s: 15.0 });
    }

    #[test]
    fn no_rate_has_a_reason() {
        let why = |timeline: &Timeline| match figure(timeline) {
            Figure::None(reason) => reason,
            rate @ Figure::Rate { .. } => panic!("{rate:?}"),
        };
        let lost = RailFrame { lost: true, ..RailFrame::default() };
        assert_eq!(why(&timeline(&[])), "waiting for the first sample");
        assert_eq!(why(&timeline(&[rail_frame(0, 0)])), "one sample makes no rate");
        assert_eq!(why(&timeline(&[rail_frame(9, 0), rail_frame(3, 0)])), "a counter was reset");
        assert_eq!(why(&timeline(&[rail_frame(0, 0), rail_frame(9, 0), lost])), "the device is gone");
        let mut frames = vec![rail_frame(0, 0), rail_frame(9, 0)];
        frames.extend(vec![RailFrame::default(); 60]);
        assert_eq!(why(&timeline(&frames)), "not readable for 6 s");
    }

    #[test]
    fn the_gap_of_the_survey_says_why_a_counter_cannot_be_read() {
        let mut node = Node::with_rails(1);
        node.topology.gaps.push(Gap {
            probe: "counters".into(),
            subject: "mlx5_bond_1".into(),
            reason: "port_rcv_data: N/A (no PMA)".into(),
        });
        let mut timeline = Timeline::new(node.session());
        for seq in 0..2 {
            let rails = vec![RailFrame::default()];
            timeline.push(Frame { seq, at_ns: seq * 100_000_000, rails, ..Frame::default() });
        }
        assert_eq!(figure(&timeline), Figure::None("port_rcv_data: N/A (no PMA)".into()));
    }

    #[test]
    fn a_trend_leaves_out_what_was_not_read() {
        // one reading every 10 s: 1 GB/s, 3 GB/s, then a reset
        let mut timeline = Timeline::new(host_of(1));
        for (seq, bytes) in [(0, 0), (1, 10_000_000_000), (2, 40_000_000_000), (3, 0)] {
            let rails = vec![rail_frame(bytes, 0)];
            timeline.push(Frame { seq, at_ns: seq * 10_000_000_000, rails, ..Frame::default() });
        }
        let in_pieces = |pieces| past(timeline.local(), RAIL, Kind::Rx, WINDOW_NS, pieces);
        assert_eq!(in_pieces(6).trend_gb_per_s, [Some(1.0), Some(3.0), None]);
        assert_eq!(in_pieces(12).trend_gb_per_s[..4], [1.0, 1.0, 3.0, 3.0].map(Some));
        assert_eq!(in_pieces(6).peak_gb_per_s, Some(3.0));
    }
}
