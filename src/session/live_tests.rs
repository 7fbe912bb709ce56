//! What holds of a live source whatever the timing: times rise, no hole in `seq`, an end when told to.

use super::Live;
use crate::session::{FrameSource, Stop};
use crate::timeline::Timeline;
use probes::load::RunningLoad;
use probes::model::{
    Frame, Load, LoadOp, LoadOrigin, LoadTarget, Rail, RailId, Topology, WorkerFrame, WorkerPhase,
};
use probes::root::Root;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(2);

fn tree() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    for device in ["mlx5_0", "mlx5_1"] {
        let port = dir.path().join(format!("sys/class/infiniband/{device}/ports/1"));
        std::fs::create_dir_all(port.join("counters")).unwrap();
        for (name, text) in [
            ("state", "4: ACTIVE\n"),
            ("counters/port_rcv_data", "100\n"),
            ("counters/port_xmit_data", "7\n"),
            ("counters/link_downed", "0\n"),
        ] {
            std::fs::write(port.join(name), text).unwrap();
        }
    }
    let root = Root::at(dir.path());
    (dir, root)
}

fn topology() -> Topology {
    let rail = |device: &str| Rail { device: device.into(), port: 1, ..Rail::default() };
    Topology { rails: vec![rail("mlx5_0"), rail("mlx5_1")], ..Topology::default() }
}

fn all(mut source: Live) -> Vec<Frame> {
    std::iter::from_fn(|| source.next_frame().unwrap()).collect()
}

/// A load on the first rail that is over after it was looked at so many times.
struct Brief {
    looks_left: AtomicU32,
    stopped: Arc<AtomicBool>,
}

impl RunningLoad for Brief {
    fn load(&self) -> Arc<Load> {
        Arc::new(Load {
            origin: LoadOrigin::Ours,
            op: LoadOp::Read,
            transport: Some("verbs".into()),
            loopback: false,
            target: LoadTarget::Host,
            devices: vec!["mlx5_0".into()],
            size_bytes: None,
            qps: None,
            read_depth: None,
            device_read_depth: None,
            relaxed_ordering: None,
            ..Load::default()
        })
    }

    fn workers(&self) -> Vec<WorkerFrame> {
        let (phase, errors) = if self.stopped.load(Ordering::Relaxed) {
            (WorkerPhase::Done, BTreeMap::from([("DATA_MISMATCH".to_owned(), 2)]))
        } else {
            (WorkerPhase::Measuring, BTreeMap::new())
        };
        vec![WorkerFrame { rail: Some(RailId(0)), phase, errors, ..WorkerFrame::default() }]
    }

    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.looks_left.fetch_sub(1, Ordering::Relaxed) <= 1
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

fn brief(looks: u32) -> (Box<dyn RunningLoad>, Arc<AtomicBool>) {
    let stopped = Arc::new(AtomicBool::new(false));
    (Box::new(Brief { looks_left: AtomicU32::new(looks), stopped: stopped.clone() }), stopped)
}

#[test]
fn times_rise_and_no_frame_is_missing() {
    let (_dir, root) = tree();
    let source = Live::new(root, topology(), EVERY, Some(EVERY * 5), None, Stop::new());
    let frames = all(source);
    assert!((2..=6).contains(&frames.len()), "a slow machine may leave deadlines out: {}", frames.len());
    assert!(frames.iter().map(|f| f.seq).eq(0..frames.len() as u64));
    assert!(frames.is_sorted_by(|a, b| a.at_ns < b.at_ns));
    for frame in &frames {
        assert_eq!(frame.rails[0].rx_bytes, Some(400));
        assert_eq!(frame.rails[0].state.as_deref(), Some("ACTIVE"));
        assert!(frame.sampled_in_ns.is_some_and(|ns| ns > 0));
    }
}

#[test]
fn what_is_dear_to_read_is_read_first_and_last_and_seldom_between() {
    let (_dir, root) = tree();
    let source = Live::new(root, topology(), EVERY, Some(EVERY * 8), None, Stop::new());
    let frames = all(source);
    let full: Vec<bool> = frames.iter().map(|f| !f.rails[0].counters.is_empty()).collect();
    assert_eq!(full.first(), Some(&true));
    let seconds = 1 + frames.last().unwrap().at_ns / 1_000_000_000;
    assert!(full.iter().filter(|f| **f).count() as u64 <= 1 + seconds, "{full:?}");
}

#[test]
fn a_rail_that_we_drive_is_read_with_what_is_dear() {
    let (_dir, root) = tree();
    let (load, _) = brief(4);
    let frames = all(Live::new(root, topology(), EVERY, None, Some(load), Stop::new()));
    for frame in &frames {
        let is_full = !frame.rails[1].counters.is_empty();
        assert_eq!(frame.rails[0].rx_bytes.is_some(), is_full, "our bytes come from completions");
        assert_eq!(frame.rails[1].rx_bytes, Some(400));
    }
}

#[test]
fn the_end_of_the_load_ends_the_session_with_a_full_frame() {
    let (_dir, root) = tree();
    let (load, stopped) = brief(3);
    let frames = all(Live::new(root, topology(), EVERY, Some(EVERY), Some(load), Stop::new()));
    assert_eq!(frames.len(), 3, "as long as the load, whatever the duration says");
    assert!(!frames[2].rails[0].counters.is_empty());
    assert!(frames[2].load.is_some() && frames[2].workers.len() == 1);
    assert!(stopped.load(Ordering::Relaxed), "a dropped session leaves no load behind");
}

#[test]
fn a_session_that_is_told_to_end_makes_no_further_frame() {
    let (_dir, root) = tree();
    let stop = Stop::new();
    let hour = Duration::from_hours(1);
    let mut source = Live::new(root, topology(), hour, None, None, stop.clone());
    assert!(source.next_frame().unwrap().is_some());
    stop.stop();
    assert_eq!(source.next_frame().unwrap(), None, "an hour has not passed");
}

#[test]
fn a_load_that_is_told_to_end_is_looked_at_once_more_for_the_check_of_its_data() {
    let (_dir, root) = tree();
    let (load, stopped) = brief(u32::MAX);
    let stop = Stop::new();
    let mut source = Live::new(root, topology(), Duration::from_hours(1), None, Some(load), stop.clone());
    assert!(source.next_frame().unwrap().unwrap().workers[0].errors.is_empty());
    stop.stop();
    let last = source.next_frame().unwrap().expect("a frame after the load was stopped");
    assert!(stopped.load(Ordering::Relaxed));
    assert_eq!(last.workers[0].errors["DATA_MISMATCH"], 2);
    assert!(!last.rails[0].counters.is_empty(), "a full frame");
    assert_eq!(source.next_frame().unwrap(), None);
}

#[test]
fn a_device_that_vanishes_is_lost_and_the_session_goes_on() {
    let (dir, root) = tree();
    let mut source = Live::new(root, topology(), EVERY, None, None, Stop::new());
    assert!(!source.next_frame().unwrap().unwrap().rails[1].lost);
    std::fs::remove_dir_all(dir.path().join("sys/class/infiniband/mlx5_1")).unwrap();
    let frame = source.next_frame().unwrap().unwrap();
    assert!(frame.rails[1].lost && frame.rails[1].rx_bytes.is_none());
    assert_eq!((frame.rails[0].lost, frame.rails[0].rx_bytes), (false, Some(400)));
}

#[test]
fn a_load_that_is_over_is_seen_before_the_next_sample_is_due() {
    let (_dir, root) = tree();
    let (load, _) = brief(2);
    let hour = Duration::from_hours(1);
    let frames = all(Live::new(root, topology(), hour, None, Some(load), Stop::new()));
    assert_eq!(frames.len(), 2, "the beginning and the end");
}

#[test]
fn a_time_shorter_than_one_interval_has_a_beginning_and_an_end() {
    let (_dir, root) = tree();
    let hour = Duration::from_hours(1);
    let frames = all(Live::new(root, topology(), hour, Some(EVERY), None, Stop::new()));
    assert_eq!(frames.len(), 2);
}

#[test]
fn what_changes_in_a_session_is_in_its_frames_and_known_from_then_on() {
    let (dir, root) = tree();
    let surveyed = probes::survey::survey(&root);
    let mut source = Live::new(root, surveyed, EVERY, None, None, Stop::new());
    let mut timeline = Timeline::new(source.session());
    timeline.push(source.next_frame().unwrap().unwrap());
    let port = dir.path().join("sys/class/infiniband/mlx5_1/ports/1");
    std::fs::write(port.join("rate"), "100 Gb/sec (4X EDR)\n").unwrap();
    std::fs::write(port.join("state"), "1: DOWN\n").unwrap();
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    while timeline.topology().rails[1].rate_text.is_none() {
        assert!(std::time::Instant::now() < deadline, "no second look within a minute");
        timeline.push(source.next_frame().unwrap().unwrap());
    }
    assert_eq!(timeline.topology().rails[1].state.as_deref(), Some("DOWN"));
    assert_eq!(timeline.topology().rails[1].counters, source.session().topology().rails[1].counters);
    assert_eq!(timeline.session().topology().rails[1].rate_text, None, "the header is the first look");
}
