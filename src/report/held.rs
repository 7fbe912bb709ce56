//! What a rail moved, held against what it could: like with like.
//!
//! Payload of our own load is held against what the rail could carry of payload. What a port counts has the headers of its
//! packets in it, and is held against what it would count at most. Where the limit was not the same all the time, it is its
//! mean over the very intervals of the rate.

use super::number::known;
use crate::ceilings::{Bound, Bytes, Ceilings};
use crate::timeline::{HostTimeline, RailSums};
use probes::model::{Rail, RailId};
use serde::Serialize;

/// A rail's rate beside the ceiling of the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeldAgainst {
    /// Mean payload of our own load, else what was counted in the busier direction.
    pub rate_gb_per_s: f64,
    /// The lowest bound on that.
    pub ceiling_gb_per_s: f64,
    /// What sets it.
    pub by: Bound,
    /// Which bytes both count.
    pub bytes: Bytes,
    /// The one as a part of the other.
    pub share: f64,
    /// Whether the limit changed in the session, so that the ceiling is a mean over the time of the rate.
    pub limit_changed: bool,
}

/// Bounds closer than this are the same: rounding of line rates.
const SAME: f64 = 0.001;

impl HeldAgainst {
    /// `None` without a rate or a ceiling, and where it is not known what the rail could do all the time.
    pub(super) fn of(id: RailId, rail: &Rail, sums: &RailSums, timeline: &HostTimeline) -> Option<Self> {
        let counted = [sums.rx_gb_per_s(), sums.tx_gb_per_s()].into_iter().flatten().reduce(f64::max);
        let ours = timeline.load_gb_per_s(id);
        let rate_gb_per_s = known(ours.or(counted))?;
        let (could, intervals, bytes) = match ours {
            Some(_) => (&sums.load_could, sums.load.count, Bytes::Payload),
            None => (&sums.could, sums.rx.count.max(sums.tx.count), Bytes::Counted),
        };
        let now = timeline.ceilings(id, rail).of_bytes(bytes, rail);
        let surveyed = Ceilings::of(rail).lowest().filter(|_| rail.may_carry());
        let was = could.mean_gb_per_s();
        let differs = |was: f64| surveyed.map_or(was > 0.0, |now| (was - now).abs() > SAME * now.max(was));
        let limit_changed = was.is_some_and(differs);
        let is_told = could.count == intervals;
        let turned = || timeline.sums().events.iter().any(|event| event.is_of(rail) && event.is_of_a_limit());
        let (ceiling, by) = match (was.filter(|_| limit_changed), now.lowest_bound(), surveyed) {
            (None, ..) if !rail.may_carry() => return None,
            (None, now, _) if is_told || !turned() => now?,
            // which no link sets
            (_, Some((ceiling, Bound::ReadWindow)), _) => (ceiling, Bound::ReadWindow),
            // older sessions do not tell what it was
            (None, ..) => return None,
            (Some(_), ..) if !is_told => return None,
            (Some(was), Some((ceiling, by)), Some(surveyed)) => (ceiling * was / surveyed, by),
            (Some(was), ..) => (was * bytes.per_payload(rail), Bound::Line),
        };
        let ceiling_gb_per_s = known(Some(ceiling)).filter(|gb_per_s| *gb_per_s > 0.0)?;
        let share = known(Some(rate_gb_per_s / ceiling_gb_per_s))?;
        let limit_changed = limit_changed && by != Bound::ReadWindow;
        Some(Self { rate_gb_per_s, ceiling_gb_per_s, by, bytes, share, limit_changed })
    }
}

#[cfg(test)]
mod tests {
    use super::HeldAgainst;
    use crate::ceilings::Bytes;
    use crate::report::build;
    use crate::rules::Limits;
    use crate::rules::testing::{Traffic, rail, session, timeline, two_sockets};
    use crate::timeline::Timeline;
    use probes::model::{Frame, Rail, RailFrame, Topology};
    use std::sync::Arc;

    fn held(timeline: &Timeline) -> HeldAgainst {
        build(timeline, &Limits::default(), &[]).rails[0].held_against.unwrap()
    }

    #[test]
    fn counted_bytes_are_held_against_what_a_port_counts_of_a_full_wire() {
        let held = held(&timeline(two_sockets(vec![rail("mlx5_0")]), &Traffic::loaded(&[49.0])));
        assert_eq!(
            (held.bytes, held.ceiling_gb_per_s, held.limit_changed),
            (Bytes::Counted, 49.712_781, false)
        );
        assert_eq!((held.share * 1000.0).round(), 986.0);
    }

    #[test]
    fn a_port_that_is_down_has_no_share_but_of_the_time_when_it_was_up() {
        let down = Rail { state: Some("DOWN".into()), ..rail("mlx5_0") };
        let timeline = timeline(two_sockets(vec![down]), &Traffic::loaded(&[0.0]));
        assert_eq!(build(&timeline, &Limits::default(), &[]).rails[0].held_against, None);
        let mut timeline = Timeline::new(Arc::new(session(two_sockets(vec![rail("mlx5_0")]))));
        for seq in 0..=8_u64 {
            let rail = RailFrame {
                rx_bytes: Some(seq.min(4) * 48_600_000_000),
                tx_bytes: Some(0),
                state: Some(if seq <= 4 { "ACTIVE" } else { "DOWN" }.into()),
                ..RailFrame::default()
            };
            timeline.push(Frame { seq, at_ns: seq * 1_000_000_000, rails: vec![rail], ..Frame::default() });
        }
        let held = held(&timeline);
        // 49.7 for five of eight seconds, since it went down in the fifth
        assert_eq!((held.rate_gb_per_s, (held.ceiling_gb_per_s * 10.0).round()), (24.3, 311.0));
    }

    #[test]
    fn a_line_that_changed_is_the_mean_over_the_time_of_the_rate() {
        let of = |gbit| two_sockets(vec![Rail { line_gbit_per_s: Some(gbit), ..rail("mlx5_0") }]);
        let mut timeline = Timeline::new(Arc::new(session(of(400.0))));
        let mut bytes = 0;
        for seq in 0..=8_u64 {
            bytes += if seq <= 5 { 48_600_000_000 } else { 24_300_000_000 };
            // it changed shortly before the sample that tells
            let topology: Option<Arc<Topology>> = (seq == 5).then(|| Arc::new(of(200.0)));
            let rails = vec![RailFrame { rx_bytes: Some(bytes), tx_bytes: Some(0), ..RailFrame::default() }];
            timeline.push(Frame { seq, at_ns: seq * 1_000_000_000, rails, topology, ..Frame::default() });
        }
        let held = held(&timeline);
        assert!(held.limit_changed);
        assert_eq!((held.rate_gb_per_s, held.ceiling_gb_per_s), (39.4875, 40.391_635));
        assert_eq!((held.share * 1000.0).round(), 978.0);
    }
}
