//! Session files: what goes in comes out.

mod damage;
mod judged;
mod nodes;
mod random;
mod seek;
mod size;

use super::{FrameSource, Recorded, Replay, SourceError};
use crate::rules::{self, Limits};
use crate::timeline::Timeline;
use probes::model::{
    CpuSet, Failure, Frame, Latencies, LegFrame, Load, LoadOp, LoadOrigin, LoadTarget, Measured, PerfFrame,
    Process, ProcessSource, Rail, RailFrame, RailId, Registered, Session, Topology, Worker, WorkerFrame,
    WorkerPhase,
};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// A source that is a list.
pub(super) struct Listed {
    pub session: Arc<Session>,
    pub frames: VecDeque<Frame>,
}

impl FrameSource for Listed {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        Ok(self.frames.pop_front())
    }
}

fn topology(rails: usize) -> Arc<Topology> {
    let rail = |n| Rail {
        device: format!("mlx5_{n}"),
        port: 1,
        state: Some("ACTIVE".into()),
        line_gbit_per_s: Some(400.0),
        numa_node: Some(n % 2),
        counters: vec!["hw/out_of_sequence".into(), "port/link_downed".into()],
        ..Rail::default()
    };
    let rails = (0..u32::try_from(rails).unwrap()).map(rail).collect();
    let mut topology = Topology { rails, ..Topology::default() };
    topology.gap("bond", "mlx5_0", "no /proc/net/bonding");
    Arc::new(topology)
}

fn session(hosts: usize) -> Arc<Session> {
    Arc::new(Session {
        generated_by: "railscope test".into(),
        started_unix_ms: Some(1_700_000_000_123),
        interval_ns: 100_000_000,
        hosts: (0..hosts).map(|n| topology(2 + n)).collect(),
        clock_offset_ns: (hosts > 1).then_some(-250_000),
        simulated: None,
    })
}

fn load() -> Load {
    Load {
        origin: LoadOrigin::Ours,
        op: LoadOp::Read,
        transport: Some("verbs".into()),
        loopback: false,
        target: LoadTarget::Gpu("gpu0".into()),
        devices: vec!["mlx5_0".into()],
        size_bytes: Some(65536),
        qps: Some(4),
        depth: Some(128),
        read_depth: Some(16),
        device_read_depth: Some(16),
        place: Some("local".into()),
        warmup_s: Some(2.0),
        leg: Some(2),
        workers: vec![Worker {
            device: "mlx5_0".into(),
            cpus: Some("0-3".parse().unwrap()),
            page_bytes: Some(2 << 20),
            buffer_node: Some(0),
            read_depth: Some(16),
            path_mtu: Some(1024),
            number: Some(2),
            qps: Some(3),
            registered: Some(Registered::Dmabuf),
            leg: Some(2),
        }],
        relaxed_ordering: None,
        perf_gaps: BTreeMap::from([("cycles".into(), "no PMU".into())]),
        ..Load::default()
    }
}

fn process(bytes: u64) -> Process {
    Process {
        pid: 4711,
        name: "ib_read_bw".into(),
        device: "mlx5_0".into(),
        queue_pairs: Some(4),
        source: ProcessSource::QueuePairs,
        cpus_allowed: "96-191".parse::<CpuSet>().ok(),
        bound_threads: Vec::new(),
        mems_allowed: None,
        last_cpus: vec![100],
        large_mapping_bytes_by_node: Some(BTreeMap::from([(1, bytes)])),

        registered_large_bytes: None,

        gpu: None,
        rank: None,
    }
}

/// What a second look finds: one fact is another one.
fn later_look(n: u64) -> Arc<Topology> {
    let mut now = (*topology(2)).clone();
    now.rails[0].line_gbit_per_s = Some(if n < 20 { 200.0 } else { 100.0 });
    now.rails[1].numa_node = None;
    Arc::new(now)
}

/// A session of `count` frames on one host in which everything that a frame can hold turns up.
fn story(count: u64) -> Listed {
    let (load, processes) = (Arc::new(load()), Arc::new(vec![process(1 << 30)]));
    let frame = |n: u64| Frame {
        host: 0,
        seq: n,
        at_ns: n * 100_000_000 + n * n % 977,
        rails: vec![
            RailFrame {
                // a counter that starts anew, one that is not read, one that is unknown now and then
                rx_bytes: Some(if n < 17 { 1 << 60 } else { 0 } + n * 4_900_000_001),
                tx_bytes: (n % 5 != 3).then_some(u64::MAX - 100 + n % 3),
                state: (n.is_multiple_of(10)).then(|| if n == 20 { "DOWN".into() } else { "ACTIVE".into() }),
                phys_state: (n.is_multiple_of(10)).then(|| "LinkUp".into()),
                counters: if n.is_multiple_of(10) { vec![Some(n), None] } else { Vec::new() },
                legs: if n.is_multiple_of(10) {
                    vec![
                        LegFrame {
                            rx_rdma_bytes: Some(n),
                            link_up: Some(true),
                            active: Some(false),
                            ..LegFrame::default()
                        },
                        LegFrame::default(),
                    ]
                } else {
                    Vec::new()
                },
                lost: false,
            },
            RailFrame { lost: n > 30, ..RailFrame::default() },
        ],
        processes: (n % 10 == 2).then(|| processes.clone()),
        load: (n >= 5).then(|| load.clone()),
        workers: if n >= 5 {
            vec![WorkerFrame {
                rail: Some(RailId(0)),
                phase: if n < 8 { WorkerPhase::Warmup } else { WorkerPhase::Measuring },
                bytes: n * 65536 * 1000,
                operations: n * 1000,
                polls: n * 2000,
                empty_polls: n * 900,
                errors: if n > 25 { BTreeMap::from([("RETRY_EXC_ERR".into(), 1)]) } else { BTreeMap::new() },
                restarts: u64::from(n > 27),
                measured: (n >= 8).then(|| Measured { bytes: n * 65_000_000, ns: (n - 8) * 100_000_000 }),
                perf: PerfFrame { context_switches: Some(n / 7), ..PerfFrame::default() },
                latency: Latencies::from_counts([(300, n * 40), (320, n / 3), (400, u64::from(n > 20))]),
                round_trip_ns: (n > 6).then_some(7000),
            }]
        } else {
            Vec::new()
        },
        peer: (n > 9).then(|| Measured { bytes: n * 1_000_000, ns: n * 97 }),
        failures: if n == 26 {
            vec![Failure::new(Some("mlx5_0"), "mlx5_0: RETRY_EXC_ERR")]
        } else {
            Vec::new()
        },
        sampled_in_ns: Some(210_000 + n % 13),
        topology: match n {
            14 | 33 => Some(later_look(n)),
            _ => None,
        },
        experiment: None,
        marks: if n == 21 { vec!["switch rebooted".into(), "\"∑\"".into()] } else { Vec::new() },
    };
    Listed { session: session(1), frames: (0..count).map(frame).collect() }
}

fn record(source: Listed, path: &Path) {
    let mut recorded = Recorded::create(source, path).unwrap();
    while recorded.next_frame().unwrap().is_some() {}
    assert_eq!(recorded.trouble(), None);
}

fn frames(source: &mut impl FrameSource) -> Vec<Frame> {
    std::iter::from_fn(|| source.next_frame().unwrap()).collect()
}

fn story_file(count: u64) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rsz");
    record(story(count), &path);
    (folder, path)
}

#[test]
fn a_recorded_session_and_its_replay_agree_after_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rsz");
    let mut live = Recorded::create(story(45), &path).unwrap();
    let (mut shown, mut judged) = (Vec::new(), Vec::new());
    let mut timeline = Timeline::new(live.session());
    let limits = Limits::default();
    while let Some(frame) = live.next_frame().unwrap() {
        timeline.push(frame.clone());
        judged.push(rules::diagnose(timeline.topology(), &timeline, &limits));
        shown.push(frame);
    }
    let mut replay = Replay::open(&path).unwrap();
    assert_eq!(replay.session(), live.session());
    let mut timeline = Timeline::new(replay.session());
    for (shown, judged) in shown.into_iter().zip(judged) {
        let frame = replay.next_frame().unwrap();
        assert_eq!(frame.as_ref(), Some(&shown));
        timeline.push(shown);
        assert_eq!(rules::diagnose(timeline.topology(), &timeline, &limits), judged);
    }
    assert_eq!(replay.next_frame().unwrap(), None);
    assert_eq!(replay.warning(), None);
}

#[test]
fn equal_sessions_give_equal_files() {
    let ((_a, first), (_b, second)) = (story_file(45), story_file(45));
    assert_eq!(std::fs::read(first).unwrap(), std::fs::read(second).unwrap());
}

#[test]
fn a_recording_that_still_goes_on_can_be_read_up_to_its_last_whole_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rsz");
    let mut live = Recorded::create(story(25), &path).unwrap();
    let shown: Vec<Frame> = (0..25).map(|_| live.next_frame().unwrap().unwrap()).collect();
    let status = live.status();
    while status.frames() < 20 {
        std::thread::yield_now();
    }
    let mut replay = Replay::open(&path).unwrap();
    let read = frames(&mut replay);
    // the last block too, if it was idle for a second meanwhile
    assert!(read.len() == 20 || read.len() == 25, "{}", read.len());
    assert_eq!(read, shown[..read.len()]);
    assert_eq!(
        replay.warning().as_deref(),
        Some("has no end mark: its recording was cut off, or still goes on")
    );
    drop(live);
    assert_eq!(status.frames(), 25);
    assert_eq!(status.bytes(), std::fs::metadata(&path).unwrap().len());
    assert_eq!(Replay::open(&path).unwrap().warning(), None);
}

#[test]
fn a_file_of_the_first_format_still_opens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/format-1.rsz");
    let mut replay = Replay::open(&path).unwrap();
    let session = replay.session();
    assert_eq!(session.topology().rails[1].device, "mlx5_1");
    assert_eq!(session.topology().rails[1].line_gbit_per_s, Some(400.0));
    let frames = frames(&mut replay);
    assert_eq!(replay.warning(), None);
    assert_eq!(frames.iter().map(|frame| frame.seq).collect::<Vec<_>>(), (0..31).collect::<Vec<_>>());
    let rail = &frames[30].rails[0];
    assert_eq!(rail.rx_bytes, Some(30 * 4_900_000_001));
    assert_eq!(rail.counters, [Some(30), None]);
    assert_eq!((rail.legs[0].link_up, rail.legs[0].active), (Some(true), Some(false)));
    assert_eq!(frames[20].rails[0].state.as_deref(), Some("DOWN"));
    assert_eq!(frames[8].rails[0].tx_bytes, None);
    assert_eq!(frames[2].processes.as_ref().unwrap()[0].pid, 4711);
    assert_eq!(frames[30].load.as_ref().unwrap().workers[0].cpus.as_ref().unwrap().to_string(), "0-3");
    let worker = &frames[30].workers[0];
    assert_eq!((worker.phase, worker.bytes), (WorkerPhase::Measuring, 30 * 65_536_000));
    assert_eq!(worker.errors["RETRY_EXC_ERR"], 1);
    // blocks of that time do not hold what came before
    let sought = replay.seek(frames[25].at_ns).unwrap();
    assert_eq!((sought.past[0].sums.frames, sought.frames.len()), (0, 26));
}

#[test]
fn two_hosts_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.rsz");
    let one = story(25).frames;
    let other = one.iter().cloned().map(|frame| Frame { host: 1, load: None, topology: None, ..frame });
    let both: Vec<Frame> = one.iter().cloned().zip(other).flat_map(|(a, b)| [a, b]).collect();
    record(Listed { session: session(2), frames: both.clone().into() }, &path);
    assert_eq!(frames(&mut Replay::open(&path).unwrap()), both);
}

#[test]
fn a_recording_is_never_put_over_a_file_that_is_there() {
    let (_folder, path) = story_file(3);
    let before = std::fs::read(&path).unwrap();
    let error = Recorded::create(story(3), &path).map(|_| ()).unwrap_err().to_string();
    assert!(error.ends_with("a.rsz: exists already; choose another name, or remove it first"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let error = Recorded::create(story(3), Path::new("/no/such/folder/a.rsz")).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("its folder does not exist"), "{error}");
}

#[test]
fn zstd_and_jq_read_the_whole_file() {
    let (_folder, path) = story_file(25);
    let there = |tool: &str| std::process::Command::new(tool).arg("--version").output().is_ok();
    if !there("zstd") || !there("jq") {
        eprintln!("skipped: zstd and jq are not both installed");
        return;
    }
    let script =
        format!("zstd -dcq '{}' | jq -c 'if type == \"array\" then .[1] else .block end'", path.display());
    let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    // header, then per block its number, the first seq, and steps of one
    let block = |number: u64, rows: usize| {
        [number.to_string(), (number * 10).to_string()].into_iter().chain(vec!["1".to_owned(); rows - 1])
    };
    let expected: Vec<String> =
        ["null".to_owned()].into_iter().chain(block(0, 10)).chain(block(1, 10)).chain(block(2, 5)).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}
