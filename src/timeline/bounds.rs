//! What bounds a rail in this session: what the survey tells, and the READ window of our load.

use super::HostTimeline;
use crate::ceilings::{Ceilings, line_goodput_under_gb_per_s, read_window_gb_per_s, with_path_mtu_of};
use probes::model::{LoadOp, Rail, RailId};
use std::borrow::Cow;

impl HostTimeline {
    /// Upper bounds of a rail, the READ window of our load among them where its round trip was measured. While our load
    /// runs, the wire carries what is left of it in messages of its size, at the path MTU that its ends agreed on.
    #[must_use]
    pub fn ceilings(&self, id: RailId, rail: &Rail) -> Ceilings {
        let known = Ceilings::of(rail);
        let line = self.line_of_our_messages_gb_per_s(id, rail).or(known.line);
        Ceilings { read_window: self.read_window_gb_per_s(id), line, ..known }
    }

    /// Payload that the wire carries in the messages of our load, GB/s; `None` without one on the rail, or where its
    /// messages are none of the wire's (TCP).
    fn line_of_our_messages_gb_per_s(&self, id: RailId, rail: &Rail) -> Option<f64> {
        let frame = self.newest_of_our_load()?;
        let is_driven = frame.workers.iter().any(|did| did.rail == Some(id));
        let load = frame.load.as_deref().filter(|_| is_driven)?;
        line_goodput_under_gb_per_s(rail, load)
    }

    /// The rail with the path MTU that the ends of the newest load on it agreed on, which may be less than the port's.
    #[must_use]
    pub fn at_path_mtu<'a>(&self, rail: &'a Rail) -> Cow<'a, Rail> {
        let frames = self.newest.of_a_load.is_some().then(|| self.frames().rev());
        let mut loads = frames.into_iter().flatten().filter_map(|frame| frame.load.as_deref());
        match loads.find(|load| load.drives(&rail.device)) {
            Some(load) => with_path_mtu_of(rail, load),
            None => Cow::Borrowed(rail),
        }
    }

    /// The fastest READ that our load made on the rail before it began, one at a time, nanoseconds; `None` where none
    /// was timed.
    #[must_use]
    pub fn round_trip_ns(&self, id: RailId) -> Option<u64> {
        let frame = self.newest_of_our_load()?;
        let on_rail = frame.workers.iter().filter(|did| did.rail == Some(id));
        on_rail.filter_map(|did| did.round_trip_ns).min().filter(|ns| *ns > 0)
    }

    /// What the READs of our load bring over the round trip of one alone; `None` without a READ load of ours on the rail,
    /// or where the round trip was not measured.
    fn read_window_gb_per_s(&self, id: RailId) -> Option<f64> {
        let frame = self.newest_of_our_load()?;
        let load = frame.load.as_deref().filter(|load| load.op == LoadOp::Read)?;
        let device = &self.topology.rails.get(id.0)?.device;
        read_window_gb_per_s(
            load.qps?,
            load.reads_under_way_on(device)?,
            load.size_bytes?,
            self.round_trip_ns(id)?,
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{described, rail, session, two_sockets};
    use crate::timeline::Timeline;
    use probes::model::{Frame, LinkLayer, Load, LoadOp, Rail, RailFrame, RailId, Worker, WorkerFrame};
    use std::sync::Arc;

    /// What the wire of a 400 Gb/s rail carries after one frame of this load.
    fn line(load: Load) -> f64 {
        let wire = Rail {
            line_gbit_per_s: Some(400.0),
            path_mtu: Some(4096),
            link_layer: Some(LinkLayer::Ethernet),
            ..rail("mlx5_0")
        };
        let mut timeline = Timeline::new(Arc::new(session(two_sockets(vec![wire]))));
        let workers = vec![WorkerFrame { rail: Some(RailId(0)), ..WorkerFrame::default() }];
        let rails = vec![RailFrame::default()];
        timeline.push(Frame { rails, load: Some(Arc::new(load)), workers, ..Frame::default() });
        let rail = &timeline.session().topology().rails[0];
        (timeline.local().ceilings(RailId(0), rail).line.unwrap() * 100.0).round() / 100.0
    }

    #[test]
    fn the_wire_carries_less_in_small_messages() {
        let of = |size| Load { size_bytes: Some(size), ..described(LoadOp::Read) };
        assert_eq!([line(of(1 << 20)), line(of(4096)), line(of(1024))], [49.02, 49.02, 46.29]);
        assert_eq!(
            line(Load { transport: Some("tcp".into()), ..of(64) }),
            49.02,
            "TCP makes its own packets"
        );
    }

    #[test]
    fn the_wire_carries_less_at_the_path_mtu_that_was_agreed() {
        let worker = |device: &str, path_mtu| Worker { device: device.into(), path_mtu, ..Worker::default() };
        let of = |workers, path_mtu| Load {
            size_bytes: Some(1 << 20),
            path_mtu,
            workers,
            ..described(LoadOp::Read)
        };
        assert_eq!(line(of(vec![worker("mlx5_0", Some(1024))], Some(1024))), 46.29);
        assert_eq!(line(of(Vec::new(), Some(1024))), 46.29);
        let slower = vec![worker("mlx5_0", Some(4096)), worker("mlx5_1", Some(1024))];
        assert_eq!(line(of(slower, Some(1024))), 49.02, "each rail has its own");
        assert_eq!(line(of(Vec::new(), None)), 49.02, "the port's");
    }

    /// The READ window of a rail after one frame of this load.
    fn window(op: LoadOp, read_depth: u32, depth: u32, round_trips_ns: &[Option<u64>]) -> Option<f64> {
        let topology = two_sockets(vec![rail("mlx5_0")]);
        let worker = Worker { device: "mlx5_0".into(), read_depth: Some(read_depth), ..Worker::default() };
        let workers = vec![worker; round_trips_ns.len()];
        let sizes = (Some(4), Some(4096), Some(depth));
        let load = Load { qps: sizes.0, size_bytes: sizes.1, depth: sizes.2, workers, ..described(op) };
        let did = |round_trip_ns: &Option<u64>| WorkerFrame {
            rail: Some(RailId(0)),
            round_trip_ns: *round_trip_ns,
            ..WorkerFrame::default()
        };
        let frame = Frame {
            rails: vec![RailFrame::default()],
            load: Some(Arc::new(load)),
            workers: round_trips_ns.iter().map(did).collect(),
            ..Frame::default()
        };
        let mut timeline = Timeline::new(Arc::new(session(topology)));
        timeline.push(frame);
        let host = timeline.local();
        host.ceilings(RailId(0), &timeline.session().topology().rails[0]).read_window
    }

    #[test]
    fn the_read_window_is_what_all_queue_pairs_keep_on_the_wire_over_a_round_trip() {
        assert_eq!(window(LoadOp::Read, 16, 128, &[Some(8192)]), Some(32.0));
        assert_eq!(window(LoadOp::Read, 16, 8, &[Some(8192)]), Some(16.0), "no more than are queued");
        assert_eq!(window(LoadOp::Read, 16, 128, &[Some(9000), Some(8192)]), Some(32.0));
    }

    #[test]
    fn without_a_measured_round_trip_there_is_no_window() {
        assert_eq!(window(LoadOp::Read, 16, 128, &[None]), None);
        assert_eq!(window(LoadOp::Read, 16, 128, &[]), None);
        assert_eq!(window(LoadOp::Write, 16, 128, &[Some(8192)]), None, "WRITEs have no window");
    }
}
