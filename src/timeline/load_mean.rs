//! How much our own load moved on a rail over its measured time.

use super::HostTimeline;
use probes::model::RailId;

impl HostTimeline {
    /// Mean payload of our own load on a rail over its measured time, GB/s: as the engine told it, or of the measured
    /// intervals where it did not. Time in which a thread of the rail had failed is in it. `None` without a load, or
    /// before anything was measured.
    #[must_use]
    pub fn load_gb_per_s(&self, id: RailId) -> Option<f64> {
        let told = self.newest_of_our_load().and_then(|frame| {
            let of_rail = frame.workers.iter().filter(|worker| worker.rail == Some(id));
            let each: Option<Vec<_>> = of_rail.map(|worker| worker.measured).collect();
            let each = each?;
            // GB/s are bytes per nanosecond
            let ns = each.iter().map(|measured| measured.ns).max().filter(|ns| *ns > 0)?;
            Some(each.iter().map(|measured| measured.bytes as f64).sum::<f64>() / ns as f64)
        });
        told.or_else(|| self.sums().rails.get(id.0)?.load.mean_gb_per_s())
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{rail, session, two_sockets};
    use crate::timeline::Timeline;
    use probes::model::{Frame, Load, LoadOrigin, Measured, RailFrame, RailId, WorkerFrame, WorkerPhase};
    use std::sync::Arc;

    /// A phase, bytes so far, and measured bytes and seconds.
    type Second = (WorkerPhase, u64, Option<(u64, f64)>);

    /// What is told of a rail after these frames, and how many intervals count.
    fn told(frames: &[Second]) -> (Option<f64>, usize) {
        let mut timeline = Timeline::new(Arc::new(session(two_sockets(vec![rail("mlx5_0")]))));
        let load = Arc::new(Load { origin: LoadOrigin::Ours, ..Load::default() });
        for (at, (phase, bytes, measured)) in (0..).zip(frames) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a test")]
            let measured = measured.map(|(bytes, seconds)| Measured { bytes, ns: (seconds * 1e9) as u64 });
            let (phase, bytes) = (*phase, *bytes);
            timeline.push(Frame {
                seq: at,
                at_ns: at * 1_000_000_000,
                rails: vec![RailFrame::default()],
                load: Some(load.clone()),
                workers: vec![WorkerFrame {
                    rail: Some(RailId(0)),
                    phase,
                    bytes,
                    measured,
                    ..WorkerFrame::default()
                }],
                ..Frame::default()
            });
        }
        let measured = timeline.local().intervals().filter(|interval| interval.rails[0].measured).count();
        (timeline.local().load_gb_per_s(RailId(0)), measured)
    }

    const GB: u64 = 1_000_000_000;

    #[test]
    fn the_time_in_which_a_rail_had_failed_is_in_its_mean() {
        use WorkerPhase::{Failed, Measuring};
        let rates = told(&[
            (Measuring, 0, Some((0, 0.0))),
            (Measuring, 4 * GB, Some((4 * GB, 1.0))),
            (Failed, 4 * GB, Some((4 * GB, 2.0))),
        ]);
        assert_eq!(rates, (Some(2.0), 1));
    }

    #[test]
    fn what_ended_between_two_frames_has_its_own_time() {
        use WorkerPhase::{Done, Warmup};
        let rates = told(&[(Warmup, GB, None), (Done, 3 * GB, Some((2 * GB, 0.5)))]);
        assert_eq!(rates, (Some(4.0), 0));
    }

    #[test]
    fn waiting_for_what_is_still_out_is_no_measured_time() {
        use WorkerPhase::Measuring;
        let rates = told(&[
            (Measuring, 0, Some((0, 0.0))),
            (Measuring, 4 * GB, Some((4 * GB, 1.0))),
            (Measuring, 4 * GB + 7, Some((4 * GB, 1.0))),
        ]);
        assert_eq!(rates, (Some(4.0), 1));
    }

    #[test]
    fn an_engine_that_does_not_tell_leaves_the_intervals() {
        use WorkerPhase::Measuring;
        assert_eq!(told(&[(Measuring, 0, None), (Measuring, 4 * GB, None)]), (Some(4.0), 1));
    }
}
