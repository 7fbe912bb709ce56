//! Session files: what goes in comes out, and whatever happens to a file is said clearly.

use super::{FrameSource, Recorded, Replay, SourceError};
use crate::rules::{self, Limits};
use crate::timeline::Timeline;
use probes::model::{
    CpuSet, Frame, LegFrame, Load, LoadOp, LoadOrigin, LoadTarget, PerfFrame, Process, ProcessSource, Rail,
    RailFrame, RailId, Session, Topology, Worker, WorkerFrame, WorkerPhase,
};
use proptest::prelude::*;
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
        target: LoadTarget::Host,
        devices: vec!["mlx5_0".into()],
        size_bytes: Some(65536),
        qps: Some(4),
        depth: Some(128),
        read_depth: Some(16),
        device_read_depth: Some(16),
        place: Some("local".into()),
        duration_s: None,
        warmup_s: Some(2.0),
        workers: vec![Worker {
            device: "mlx5_0".into(),
            cpus: Some("0-3".parse().unwrap()),
            buffer_node: Some(0),
            read_depth: Some(16),
        }],
        relaxed_ordering: None,
        pid: None,
        cpus: None,
        buffer_node: None,
        perf_gaps: BTreeMap::from([("cycles".into(), "no PMU".into())]),
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
        mems_allowed: None,
        last_cpus: vec![100],
        large_mapping_bytes_by_node: Some(BTreeMap::from([(1, bytes)])),
    }
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
                perf: PerfFrame { context_switches: Some(n / 7), ..PerfFrame::default() },
            }]
        } else {
            Vec::new()
        },
        sampled_in_ns: Some(210_000 + n % 13),
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
        judged.push(rules::diagnose(&live.session().hosts[0], &timeline, &limits));
        shown.push(frame);
    }
    let mut replay = Replay::open(&path).unwrap();
    assert_eq!(replay.session(), live.session());
    let mut timeline = Timeline::new(replay.session());
    for (shown, judged) in shown.into_iter().zip(judged) {
        let frame = replay.next_frame().unwrap();
        assert_eq!(frame.as_ref(), Some(&shown));
        timeline.push(shown);
        assert_eq!(rules::diagnose(&replay.session().hosts[0], &timeline, &limits), judged);
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
    assert_eq!(replay.seek(frames[25].at_ns).unwrap().sums[0].frames, 20);
}

#[test]
fn two_hosts_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.rsz");
    let one = story(25).frames;
    let other = one.iter().cloned().map(|frame| Frame { host: 1, load: None, ..frame });
    let both: Vec<Frame> = one.iter().cloned().zip(other).flat_map(|(a, b)| [a, b]).collect();
    record(Listed { session: session(2), frames: both.clone().into() }, &path);
    assert_eq!(frames(&mut Replay::open(&path).unwrap()), both);
}

#[test]
fn a_file_cut_anywhere_opens_up_to_its_last_whole_block_or_is_refused() {
    let (folder, path) = story_file(12);
    let whole = frames(&mut Replay::open(&path).unwrap());
    let bytes = std::fs::read(&path).unwrap();
    let cut_path = folder.path().join("cut.rsz");
    let mut kept = Vec::new();
    for cut in 0..bytes.len() {
        std::fs::write(&cut_path, &bytes[..cut]).unwrap();
        match Replay::open(&cut_path) {
            Ok(mut replay) => {
                assert!(replay.warning().is_some(), "cut at {cut} must be said");
                let frames = frames(&mut replay);
                assert_eq!(frames, whole[..frames.len()]);
                kept.push(frames.len());
            }
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.contains("cut.rsz: is no railscope") || text.contains("cut.rsz: is cut short"),
                    "{text}"
                );
                assert!(kept.is_empty(), "a longer file was refused: {text}");
            }
        }
    }
    kept.dedup();
    assert_eq!(kept, [0, 10, 12]);
}

#[test]
fn a_flipped_bit_never_panics_and_never_goes_unnoticed() {
    let (folder, path) = story_file(12);
    let whole = frames(&mut Replay::open(&path).unwrap());
    let bytes = std::fs::read(&path).unwrap();
    let bad_path = folder.path().join("bad.rsz");
    // every byte of what surrounds the packed text, and every ninth of the text itself
    let places = super::container::index(&mut std::io::Cursor::new(&bytes)).unwrap().places;
    let near_a_border = |at: usize| places.iter().any(|place| (at as u64).abs_diff(place.at) < 16);
    let tail = bytes.len() - 64;
    for at in (0..bytes.len()).filter(|at| at % 9 == 0 || *at > tail || near_a_border(*at)) {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        std::fs::write(&bad_path, &bad).unwrap();
        let Ok(mut replay) = Replay::open(&bad_path) else { continue };
        let frames = frames(&mut replay);
        assert!(frames == whole || replay.warning().is_some(), "byte {at}");
        assert!(frames.iter().all(|frame| whole.contains(frame)), "byte {at}");
        let _ = replay.seek(500_000_000);
    }
}

#[test]
fn a_damaged_block_is_left_out_and_the_rest_is_read() {
    let (_folder, path) = story_file(40);
    let mut bytes = std::fs::read(&path).unwrap();
    let second_block = super::container::index(&mut std::io::Cursor::new(&bytes)).unwrap().places[2];
    bytes[usize::try_from(second_block.at + second_block.bytes - 1).unwrap()] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let mut replay = Replay::open(&path).unwrap();
    let seqs: Vec<u64> = frames(&mut replay).iter().map(|frame| frame.seq).collect();
    assert_eq!(seqs, (0..10).chain(20..40).collect::<Vec<_>>());
    let warning = replay.warning().unwrap();
    assert!(warning.starts_with("one block is damaged and left out (block 1: "), "{warning}");
}

#[test]
fn a_seek_reads_one_block_and_goes_on_from_there() {
    let (_folder, path) = story_file(45);
    let all = frames(&mut Replay::open(&path).unwrap());
    for wanted in [0, 9, 10, 11, 25, 44] {
        let mut replay = Replay::open(&path).unwrap();
        let found = replay.seek(all[wanted].at_ns).unwrap();
        assert_eq!(found.frames.last().map(|f| f.seq), Some(wanted as u64));
        assert_eq!(found.sums[0].frames, found.frames[0].seq, "sums are those before the block");
        let rest = frames(&mut replay);
        assert_eq!(rest, all[wanted + 1..]);
    }
    let mut replay = Replay::open(&path).unwrap();
    assert_eq!(replay.span_ns(), Some((0, all[44].at_ns)));
    assert_eq!(replay.seek(u64::MAX).unwrap().frames.last().map(|f| f.seq), Some(44));
    // processes were looked up in frame 22, in the block before
    assert!(replay.seek(all[31].at_ns).unwrap().frames[0].processes.is_some());
}

#[test]
fn a_rail_that_counts_while_its_blocks_are_sought_gives_the_sums_of_a_full_read() {
    let (_folder, path) = story_file(45);
    let mut replay = Replay::open(&path).unwrap();
    let mut timeline = Timeline::new(replay.session());
    for _ in 0..30 {
        timeline.push(replay.next_frame().unwrap().unwrap());
    }
    let expected = timeline.sums();
    let found = replay.seek(3_100_000_000).unwrap();
    assert_eq!(found.sums, expected);
}

fn refusal(path: &Path) -> String {
    Replay::open(path).map(|_| ()).unwrap_err().to_string().replace(&path.display().to_string(), "FILE")
}

#[test]
fn what_is_no_recording_is_refused_in_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.rsz");
    assert_eq!(refusal(&path), "FILE: no such file");
    let no_recording =
        "FILE: is no railscope recording (recordings are zstd files; `railscope record FILE` makes one)";
    for bytes in [&b""[..], b"hello", b"{\"schema\": \"railscope.report/1\"}"] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(refusal(&path), no_recording);
    }
    std::fs::write(&path, super::container::pack(b"{\"a\": 1}\n").unwrap().0).unwrap();
    assert_eq!(refusal(&path), "FILE: is no railscope recording (its first line is another program's)");
    let newer = br#"{"format":"railscope-session","version":2,"session":{"generated_by":"railscope 9.0.0"}}"#;
    std::fs::write(&path, super::container::pack(newer).unwrap().0).unwrap();
    assert_eq!(
        refusal(&path),
        "FILE: was written by railscope 9.0.0 in session format 2; this railscope reads up to 1: update it"
    );
    assert_eq!(refusal(folder.path()), "FILE: is a folder, not a recording");
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
fn columns_and_keys_of_a_later_version_are_left_out() {
    let (_folder, path) = story_file(12);
    let all = frames(&mut Replay::open(&path).unwrap());
    let file = rewritten(&path, |at, line| match line.strip_prefix('[') {
        Some(rest) => ["[{\"sun\":true},", rest].concat(),
        None if at == 0 => line
            .replace(r#""row":["host","#, r#""row":["weather","host","#)
            .replace(r#""version":1"#, r#""mood":"good","version":1"#),
        None => line.replace("{\"block\"", "{\"wind\":3,\"block\""),
    });
    std::fs::write(&path, file).unwrap();
    assert_eq!(frames(&mut Replay::open(&path).unwrap()), all);
}

/// The file with its text changed line by line, and packed again with checksums that are right.
fn rewritten(path: &Path, mut change: impl FnMut(usize, &str) -> String) -> Vec<u8> {
    let text = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let mut blocks: Vec<String> = Vec::new();
    for (at, line) in String::from_utf8(text).unwrap().lines().enumerate() {
        if line.starts_with('{') {
            blocks.push(String::new());
        }
        let block = blocks.last_mut().unwrap();
        block.push_str(&change(at, line));
        block.push('\n');
    }
    blocks.iter().flat_map(|block| super::container::pack(block.as_bytes()).unwrap().0).collect()
}

#[test]
fn a_row_about_a_rail_that_the_header_lacks_is_damage() {
    let (_folder, path) = story_file(12);
    let worker = |line: &str| line.replacen("[[0,\"measuring\"", "[[9,\"measuring\"", 1);
    std::fs::write(&path, rewritten(&path, |at, line| if at > 13 { worker(line) } else { line.into() }))
        .unwrap();
    let mut replay = Replay::open(&path).unwrap();
    assert_eq!(frames(&mut replay).len(), 10);
    let warning = replay.warning().unwrap();
    assert!(warning.contains("block 1: row 2: a worker on rail 9 of a host with 2"), "{warning}");
}

#[test]
fn no_number_in_a_file_can_end_the_program() {
    let (_folder, path) = story_file(21);
    let numbers =
        ["0", "1", "-1", "18446744073709551615", "9223372036854775807", "1e308", "null", "true", "[]"];
    let lines = zstd::decode_all(std::fs::File::open(&path).unwrap()).unwrap();
    let lines = lines.split(|byte| *byte == b'\n').count() - 1;
    let other = path.with_extension("other");
    let mut refused = 0;
    // every number of the header, and of the other lines a few
    let header = (0..50).map(|nth| (0, nth));
    let rest = (1..lines).flat_map(|line| (line % 7..60).step_by(7).map(move |nth| (line, nth)));
    for ((line, nth), number) in header.chain(rest).zip(numbers.iter().cycle()) {
        let swap = |at: usize, text: &str| {
            if at == line { with_number(text, nth, number) } else { text.to_owned() }
        };
        std::fs::write(&other, rewritten(&path, swap)).unwrap();
        let Ok(mut replay) = Replay::open(&other) else {
            refused += 1;
            continue;
        };
        let mut timeline = Timeline::new(replay.session());
        while let Some(frame) = replay.next_frame().unwrap() {
            timeline.push(frame);
        }
        let report = crate::report::build(&timeline, &Limits::default(), &[]);
        assert!(!report.to_string().is_empty());
        assert!(serde_json::to_string(&report).is_ok());
        let _ = replay.seek(1_500_000_000);
    }
    assert!(refused > 0, "some numbers of the header matter");
}

/// The text with its `nth` number replaced.
fn with_number(text: &str, nth: usize, number: &str) -> String {
    let digits = |c: char| c.is_ascii_digit() || c == '-' || c == '.';
    let starts = text.char_indices().filter(|(at, c)| digits(*c) && !text[..*at].ends_with(digits));
    // numbers inside words and texts are none
    let mut starts = starts.filter(|(at, _)| text[..*at].ends_with([':', ',', '[']));
    let Some((from, _)) = starts.nth(nth) else { return text.to_owned() };
    let length = text[from..].find(|c| !digits(c)).unwrap_or(text.len() - from);
    [&text[..from], number, &text[from + length..]].concat()
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

fn any_counter() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        Just(None),
        any::<u64>().prop_map(Some),
        (0..1000u64).prop_map(Some),
        (0..4u64).prop_map(|n| Some(u64::MAX - n))
    ]
}

fn any_word() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), Just(Some("ACTIVE".into())), ".{0,6}".prop_map(Some)]
}

prop_compose! {
    fn any_leg()(counts in [any_counter(), any_counter(), any_counter(), any_counter()],
                 link_up in any::<Option<bool>>(), active in any::<Option<bool>>()) -> LegFrame {
        let [rx_rdma_bytes, tx_rdma_bytes, rx_port_bytes, tx_port_bytes] = counts;
        LegFrame { rx_rdma_bytes, tx_rdma_bytes, rx_port_bytes, tx_port_bytes, link_up, active }
    }
}

prop_compose! {
    fn any_rail()(rx_bytes in any_counter(), tx_bytes in any_counter(), state in any_word(), phys_state in any_word(),
                  counters in prop::collection::vec(any_counter(), 0..4),
                  legs in prop::collection::vec(any_leg(), 0..3), lost in any::<bool>()) -> RailFrame {
        RailFrame { rx_bytes, tx_bytes, state, phys_state, counters, legs, lost }
    }
}

prop_compose! {
    fn any_worker()(rail in prop::option::of(0..2usize), counts in any::<[u64; 4]>(), phase in 0..5usize,
                    perf in [any_counter(), any_counter(), any_counter(), any_counter(), any_counter(), any_counter()],
                    errors in prop::collection::btree_map("[A-Z_]{1,5}", any::<u64>(), 0..2)) -> WorkerFrame {
        use WorkerPhase::{Done, Failed, Measuring, Waiting, Warmup};
        let [bytes, operations, polls, empty_polls] = counts;
        let [cycles, instructions, context_switches, migrations, enabled_ns, running_ns] = perf;
        WorkerFrame {
            rail: rail.map(RailId), phase: [Waiting, Warmup, Measuring, Done, Failed][phase],
            bytes, operations, polls, empty_polls, errors,
            perf: PerfFrame { cycles, instructions, context_switches, migrations, enabled_ns, running_ns },
        }
    }
}

prop_compose! {
    fn any_frame()(host in 0..2usize, seq in any::<u64>(), at_ns in any::<u64>(),
                   rails in prop::collection::vec(any_rail(), 0..=2), processes in prop::option::of(0..3u64),
                   with_load in any::<bool>(), workers in prop::collection::vec(any_worker(), 0..3),
                   sampled_in_ns in any_counter()) -> Frame {
        Frame {
            host, seq, at_ns, rails, workers, sampled_in_ns,
            processes: processes.map(|bytes| Arc::new(vec![process(bytes)])),
            load: with_load.then(|| Arc::new(load())),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_session_is_read_back_to_the_last_bit(listed in prop::collection::vec(any_frame(), 0..24)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.rsz");
        record(Listed { session: session(2), frames: listed.clone().into() }, &path);
        let mut replay = Replay::open(&path).unwrap();
        prop_assert_eq!(frames(&mut replay), listed);
        prop_assert_eq!(replay.warning(), None);
    }
}

/// A node of eight bonds at ten samples a second: per rail 60 counters, of which a dozen move by ± 5 % a step.
fn sixty_counters(frame_count: u64) -> Listed {
    const RAILS: usize = 8;
    let rail = |n| Rail {
        device: format!("mlx5_bond_{n}"),
        counters: (0..58).map(|c| format!("hw/counter_{c}")).collect(),
        ..Rail::default()
    };
    let topology = Topology { rails: (1..=RAILS).map(rail).collect(), ..Topology::default() };
    let session = Arc::new(Session { hosts: vec![Arc::new(topology)], ..(*session(1)).clone() });
    let mut state = 1u64;
    let mut step = |mean: u64| {
        // Knuth's MMIX constants: noise enough, equal in every run
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        mean * 95 / 100 + (state >> 32) % (mean / 10 + 1)
    };
    let mut totals = [[1u64 << 50; 60]; RAILS];
    let mut frames = VecDeque::new();
    for seq in 0..frame_count {
        let rails = totals.iter_mut().map(|rail| {
            for (at, total) in rail.iter_mut().take(12).enumerate() {
                // from a rail at 49 GB/s down to packets and requests
                *total += step(4_900_000_000 >> (at * 2));
            }
            RailFrame {
                rx_bytes: Some(rail[0]),
                tx_bytes: Some(rail[1]),
                counters: rail[2..].iter().copied().map(Some).collect(),
                ..RailFrame::default()
            }
        });
        let rails = rails.collect();
        frames.push_back(Frame { seq, at_ns: seq * 100_000_000 + step(50_000), rails, ..Frame::default() });
    }
    Listed { session, frames }
}

#[test]
fn sixty_counters_cost_at_most_eighty_bytes_per_rail_and_sample() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sixty.rsz");
    record(sixty_counters(600), &path);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let per_sample = bytes as f64 / 8.0 / 600.0;
    println!("{per_sample:.1} bytes per rail and sample");
    assert!(per_sample <= 80.0, "{per_sample:.1} bytes");
}
