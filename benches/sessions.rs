//! What a recording of a day costs: eight rails of sixty counters, of which a dozen move, at ten samples a second. On
//! disk, to write, to read through, to open at any place, and in memory. A bar that is missed ends it with an error.

use probes::model::{Frame, Rail, RailFrame, Session, Topology};
use railscope::session::{FrameSource, Recorded, Replay, SourceError};
use railscope::sim::{Pace, Simulated};
use railscope::timeline::Timeline;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const RAILS: usize = 8;
const A_DAY: Duration = Duration::from_hours(24);
const FRAMES_A_SECOND: u64 = 10;

const MOST_BYTES_A_SAMPLE: f64 = 80.0;
const MOST_OF_A_READ: f64 = 0.02;
const MOST_MEMORY_BYTES: u64 = 100_000_000;

/// Names the recording to the process that replays it alone, so that its memory is a replay's.
const REPLAYED: &str = "RAILSCOPE_BENCH_REPLAYED";

fn main() {
    if let Some(path) = std::env::var_os(REPLAYED) {
        return replayed(Path::new(&path));
    }
    let folder = tempfile::tempdir().expect("a folder for the recording");
    let path = folder.path().join("day.rsz");
    let began = Instant::now();
    let frames = record(Counting::for_a(A_DAY), &path);
    let bytes = length(&path);
    let samples = (RAILS as u64 * frames) as f64;
    let own = bytes as f64 / samples;
    println!(
        "a day of {RAILS} rails x 60 counters: {frames} frames, {:.0} MB, written in {:.1?}",
        bytes as f64 / 1e6,
        began.elapsed()
    );
    let named = json_lines_bytes() / (RAILS as f64 * 6000.0);
    println!(
        "{own:.1} bytes a rail and sample (bar {MOST_BYTES_A_SAMPLE}); JSON Lines with names, zstd -3: {named:.1}"
    );
    let program = std::env::current_exe().expect("this program has a file");
    let ended = std::process::Command::new(program).env(REPLAYED, &path).status();
    assert!(ended.is_ok_and(|ended| ended.success()), "the replay missed a bar, or broke off");
    simulated(folder.path());
    assert!(own <= MOST_BYTES_A_SAMPLE, "{own:.1} bytes a rail and sample");
}

/// Time and memory of a replay that goes through all of the recording, and of places in it.
fn replayed(path: &Path) {
    let began = Instant::now();
    let mut replay = Replay::open(path).expect("the recording opens");
    let mut timeline = Timeline::new(replay.session());
    while let Some(frame) = replay.next_frame().expect("a session goes on to its end") {
        timeline.push(frame);
    }
    let whole = began.elapsed();
    let places: Vec<Duration> = (0..40).map(|place| seek(path, place * 21_599 % A_DAY.as_secs())).collect();
    let longest = places.iter().max().copied().unwrap_or_default();
    let mean = places.iter().sum::<Duration>() / u32::try_from(places.len()).expect("a few");
    let share = |time: Duration| time.as_secs_f64() / whole.as_secs_f64();
    println!(
        "read through in {whole:.1?}; opened at a place in {mean:.1?}, {:.4} of that, at worst in {longest:.1?}, {:.4} (bar {MOST_OF_A_READ})",
        share(mean),
        share(longest)
    );
    let memory = most_memory_bytes();
    println!("most memory {:.0} MB (bar {:.0})", memory as f64 / 1e6, MOST_MEMORY_BYTES as f64 / 1e6);
    assert!(share(longest) <= MOST_OF_A_READ && memory <= MOST_MEMORY_BYTES, "a bar was missed");
}

/// Opens the file and goes to a second of it.
fn seek(path: &Path, second: u64) -> Duration {
    let began = Instant::now();
    let mut replay = Replay::open(path).expect("the recording opens");
    let sought = replay.seek(second * 1_000_000_000).expect("the block is whole");
    let there = sought.timeline(replay.session());
    assert!(there.local().latest().is_some_and(|frame| frame.at_ns / 1_000_000_000 <= second));
    began.elapsed()
}

/// The most memory this process ever had at once. Source: proc(5), `VmHWM`.
fn most_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}

/// The first ten minutes with names, as one would write them without a format: bytes after zstd -3.
fn json_lines_bytes() -> f64 {
    let mut source = Counting::for_a(Duration::from_mins(10));
    let names = source.session.topology().rails[0].counters.clone();
    let mut lines = Vec::new();
    while let Some(frame) = source.next_frame().expect("it is made up") {
        let rail = |rail: &RailFrame| {
            let counters: BTreeMap<&String, &Option<u64>> = names.iter().zip(&rail.counters).collect();
            serde_json::json!({ "rx_bytes": rail.rx_bytes, "tx_bytes": rail.tx_bytes, "counters": counters })
        };
        let rails: Vec<_> = frame.rails.iter().map(rail).collect();
        let line = serde_json::json!({ "seq": frame.seq, "at_ns": frame.at_ns, "rails": rails });
        lines.extend_from_slice(line.to_string().as_bytes());
        lines.push(b'\n');
    }
    zstd::encode_all(lines.as_slice(), 3).expect("it is in memory").len() as f64
}

/// A node under load, which has workers and legs as well.
fn simulated(folder: &Path) {
    let (every, time) = (Duration::from_millis(100), Duration::from_mins(10));
    let source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(time));
    let path = folder.join("mixed.rsz");
    let began = Instant::now();
    let frames = record(source.expect("mixed is a scenario"), &path);
    let each = length(&path) as f64 / RAILS as f64 / frames as f64;
    println!(
        "ten minutes of `demo`: {frames} frames, {each:.1} bytes a rail and sample, made in {:.1?}",
        began.elapsed()
    );
}

/// A node of 60 counters a rail, of which a dozen move by ± 5 % a step.
struct Counting {
    session: Arc<Session>,
    totals: [[u64; 60]; RAILS],
    state: u64,
    seq: u64,
    end: u64,
}

impl Counting {
    fn for_a(time: Duration) -> Self {
        let rail = |n| Rail {
            device: format!("mlx5_bond_{n}"),
            counters: (0..58).map(|c| format!("hw/counter_{c}")).collect(),
            ..Rail::default()
        };
        let topology = Topology { rails: (1..=RAILS).map(rail).collect(), ..Topology::default() };
        let session = Session {
            generated_by: railscope::GENERATED_BY.into(),
            started_unix_ms: None,
            interval_ns: 1_000_000_000 / FRAMES_A_SECOND,
            hosts: vec![Arc::new(topology)],
            clock_offset_ns: None,
            // the recorder then waits for its disk and loses nothing
            simulated: Some(probes::model::Simulation { scenario: "counting".into(), seed: 1 }),
        };
        let end = time.as_secs() * FRAMES_A_SECOND;
        Self { session: Arc::new(session), totals: [[1 << 50; 60]; RAILS], state: 1, seq: 0, end }
    }

    /// Knuth's MMIX constants: noise enough, equal in every run.
    fn step(state: &mut u64, mean: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        mean * 95 / 100 + (*state >> 32) % (mean / 10 + 1)
    }
}

impl FrameSource for Counting {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        if self.seq == self.end {
            return Ok(None);
        }
        let state = &mut self.state;
        let rails = self.totals.iter_mut().map(|rail| {
            for (at, total) in rail.iter_mut().take(12).enumerate() {
                *total += Self::step(state, 4_900_000_000 >> (at * 2));
            }
            RailFrame {
                rx_bytes: Some(rail[0]),
                tx_bytes: Some(rail[1]),
                counters: rail[2..].iter().copied().map(Some).collect(),
                ..RailFrame::default()
            }
        });
        let rails = rails.collect();
        let at_ns = self.seq * self.session.interval_ns + Self::step(&mut self.state, 50_000);
        let frame = Frame { seq: self.seq, at_ns, rails, ..Frame::default() };
        self.seq += 1;
        Ok(Some(frame))
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).expect("the recording was just made").len()
}

fn record(source: impl FrameSource, path: &Path) -> u64 {
    let mut recorded = Recorded::create(source, path).expect("a new file in a new folder");
    let frames = std::iter::from_fn(|| recorded.next_frame().expect("a session goes on to its end")).count();
    assert_eq!(recorded.trouble(), None);
    frames as u64
}
