//! A copied tree: one frame at once, or one per step without real time.

use super::open::header;
use super::{FrameSource, SourceError, Stop};
use probes::counters::Sampler;
use probes::load::described;
use probes::model::{Frame, Load, Session, Topology};
use probes::processes::Watcher;
use probes::root::Root;
use probes::steps::Steps;
use probes::survey::Again;
use probes::times::nanoseconds;
use std::sync::Arc;
use std::time::Duration;

/// Frames of a copied tree. Equal trees and steps give equal frames: no clock is read.
pub struct Stepped {
    session: Arc<Session>,
    root: Root,
    sampler: Sampler,
    watcher: Watcher,
    steps: Option<Steps>,
    interval_ns: u64,
    until_ns: Option<u64>,
    next: usize,
    load: Option<Arc<Load>>,
    /// Looks at the tree again where a step tells more than what is counted.
    again: Again,
    stop: Stop,
}

impl Stepped {
    /// A source over a surveyed tree, over which step 0 is laid already.
    #[must_use]
    pub fn new(
        root: Root,
        mut topology: Topology,
        steps: Option<Steps>,
        every: Duration,
        until: Option<Duration>,
        stop: Stop,
    ) -> Self {
        let interval = steps.as_ref().map_or(every, Steps::interval);
        let sampler = Sampler::open(&root, &mut topology);
        let watcher = Watcher::open(&root, &mut topology);
        if let Err(reason) = described(&root) {
            topology.gap("load", "host", reason);
        }
        Self {
            again: Again::new(root.clone(), topology.clone()),
            session: header(topology, interval, None),
            root,
            sampler,
            watcher,
            steps,
            interval_ns: nanoseconds(interval),
            until_ns: until.map(nanoseconds),
            next: 0,
            load: None,
            stop,
        }
    }

    /// The described load, shared with the frame before when nothing changed.
    fn load(&mut self) -> Option<Arc<Load>> {
        let now = described(&self.root).unwrap_or_default();
        if self.load.as_deref() != now.as_ref() {
            self.load = now.map(Arc::new);
        }
        self.load.clone()
    }
}

impl FrameSource for Stepped {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let seq = self.next as u64;
        let at_ns = seq * self.interval_ns;
        let count = self.steps.as_ref().map_or(1, Steps::count);
        let is_over = self.next >= count || self.until_ns.is_some_and(|until| at_ns > until);
        if is_over || self.stop.is_stopped() {
            return Ok(None);
        }
        let mut topology = None;
        if let Some(steps) = &self.steps {
            steps.apply(self.next, &mut self.root);
            // the first step was in force when the survey looked
            if self.next > 0 && steps.tells_facts(self.next) {
                topology = self.again.look_in(&self.root).map(Arc::new);
            }
        }
        self.next += 1;
        let mut rails = self.sampler.bytes(&self.root, |_| true);
        self.sampler.further(&self.root, &mut rails);
        let processes = self.watcher.look(&self.root, at_ns).map(Arc::new);
        Ok(Some(Frame { seq, at_ns, rails, processes, topology, load: self.load(), ..Frame::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::Stepped;
    use crate::session::{FrameSource, Stop};
    use crate::timeline::{Interval, Quality, Timeline};
    use probes::model::{Frame, LoadOp, Rail, Session, Topology};
    use probes::root::Root;
    use probes::steps::Steps;
    use std::sync::Arc;
    use std::time::Duration;

    const STEPS: &str = r#"{"interval_s": 0.5, "steps": [
        {"sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "100\n",
         "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n"},
        {"sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "300\n",
         "captured/load.json": "{\"op\": \"read\"}"},
        {"sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN\n", "captured/load.json": null}]}"#;

    fn frames(until: Option<Duration>) -> Vec<Frame> {
        frames_of(STEPS, until).1
    }

    fn frames_of(text: &str, until: Option<Duration>) -> (Arc<Session>, Vec<Frame>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("steps.json");
        std::fs::write(&path, text).unwrap();
        let steps = Steps::read(&path).unwrap();
        let mut root = Root::at(dir.path());
        steps.apply(0, &mut root);
        let topology = Topology {
            rails: vec![Rail { device: "mlx5_0".into(), port: 1, ..Rail::default() }],
            ..Topology::default()
        };
        let every = Duration::from_millis(100);
        let mut source = Stepped::new(root, topology, Some(steps), every, until, Stop::new());
        let session = source.session();
        (session, std::iter::from_fn(|| source.next_frame().unwrap()).collect())
    }

    #[test]
    fn each_step_is_one_frame_of_virtual_time() {
        let frames = frames(None);
        let times: Vec<_> = frames.iter().map(|f| (f.seq, f.at_ns)).collect();
        assert_eq!(times, [(0, 0), (1, 500_000_000), (2, 1_000_000_000)]);
        let rx: Vec<_> = frames.iter().map(|f| f.rails[0].rx_bytes.unwrap()).collect();
        assert_eq!(rx, [400, 1200, 1200]);
        assert_eq!(frames[2].rails[0].state.as_deref(), Some("DOWN"));
    }

    #[test]
    fn a_described_load_covers_the_steps_that_hold_it() {
        let ops: Vec<_> = frames(None).iter().map(|f| f.load.as_ref().map(|l| l.op)).collect();
        assert_eq!(ops, [None, Some(LoadOp::Read), None]);
    }

    #[test]
    fn equal_trees_give_equal_frames() {
        assert_eq!(frames(None), frames(None));
    }

    #[test]
    fn a_duration_ends_the_steps_early() {
        assert_eq!(frames(Some(Duration::from_millis(600))).len(), 2);
    }
    /// Growth of one further counter and quality of each interval of a rail whose files take these texts.
    fn intervals(texts: &[(&str, &str)]) -> Vec<(Quality, Option<u64>)> {
        let port = "sys/class/infiniband/mlx5_0/ports/1";
        let step = |(bytes, loss): &(&str, &str)| {
            format!(
                r#"{{"{port}/counters/port_rcv_data": "{bytes}", "{port}/hw_counters/out_of_sequence": "{loss}"}}"#
            )
        };
        let steps: Vec<String> = texts.iter().map(step).collect();
        let frames = frames_of(&format!(r#"{{"interval_s": 1, "steps": [{}]}}"#, steps.join(",")), None);
        let mut timeline = Timeline::new(frames.0);
        frames.1.into_iter().for_each(|frame| timeline.push(frame));
        let rail = |interval: &Interval| {
            let rail = &interval.rails[0];
            (rail.quality, rail.growth.first().copied().flatten())
        };
        timeline.local().intervals().map(rail).collect()
    }

    #[test]
    fn a_counter_of_32_bits_that_wraps_goes_on() {
        let seen = intervals(&[("1", "4294967290"), ("2", "4")]);
        assert_eq!(seen, [(Quality::Good, Some(10))]);
    }

    #[test]
    fn a_byte_counter_that_falls_is_a_reset_and_the_next_interval_is_good() {
        let seen = intervals(&[("9000", "5"), ("10", "5"), ("20", "5")]);
        assert_eq!(seen, [(Quality::Reset, Some(0)), (Quality::Good, Some(0))]);
    }

    #[test]
    fn a_byte_counter_that_is_no_number_for_a_while_gives_no_rate() {
        let seen = intervals(&[("10", "5"), ("N/A (no PMA)", "5"), ("30", "6")]);
        assert_eq!(seen, [(Quality::NotRead, Some(0)), (Quality::Good, Some(1))]);
    }
}
