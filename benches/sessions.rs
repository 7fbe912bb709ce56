//! What a recording costs: on disk, to write, to read through, to seek in, and in memory. Opening and seeking may take
//! a fiftieth of a full read at most. Two hours of eight rails at ten samples a second; at a day, for which the same
//! bars are meant, opening and seeking take less of a full read.

use probes::model::{Frame, Rail, RailFrame, Session, Topology};
use railscope::session::{FrameSource, Recorded, Replay, SourceError};
use railscope::sim::{Pace, Simulated};
use railscope::timeline::Timeline;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

const RAILS: usize = 8;
const LENGTH: Duration = Duration::from_hours(2);

struct Recording {
    folder: tempfile::TempDir,
    frames: u64,
}

/// The mixed node at ten samples a second.
static RECORDING: LazyLock<Recording> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder for the recording");
    let frames = record(mixed(LENGTH), &folder.path().join("mixed.rsz"));
    Recording { folder, frames }
});

/// Names the recording to the process that replays it alone, so that its memory is a replay's.
const REPLAYED: &str = "RAILSCOPE_BENCH_REPLAYED";

fn main() {
    if let Some(path) = std::env::var_os(REPLAYED) {
        return replayed(Path::new(&path));
    }
    let bytes = length(&path());
    let per_sample = bytes as f64 / RAILS as f64 / RECORDING.frames as f64;
    println!("mixed, 2 h: {} frames, {bytes} bytes, {per_sample:.1} a rail and sample", RECORDING.frames);
    let program = std::env::current_exe().expect("this program has a file");
    let ended = std::process::Command::new(program).env(REPLAYED, path()).status();
    assert!(ended.is_ok_and(|ended| ended.success()), "the replay broke off");
    sixty_counters();
    divan::main();
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
    let began = Instant::now();
    let places = 20;
    for place in 0..places {
        seek(path, place * 353 % LENGTH.as_secs());
    }
    let each = began.elapsed() / u32::try_from(places).expect("a few");
    let share = each.as_secs_f64() / whole.as_secs_f64();
    println!(
        "read with its timeline in {whole:.2?}; opened at a place in {each:.2?}, {share:.4} of it (bar 0.02)"
    );
    println!("most memory {:.0} MB (bar 100)", most_memory_bytes() as f64 / 1e6);
}

/// The most memory this process ever had at once. Source: proc(5), `VmHWM`.
fn most_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}

/// A node of 60 counters a rail, of which a dozen move by ± 5 % a step: ours beside JSON Lines with names, zstd -3.
fn sixty_counters() {
    let folder = tempfile::tempdir().expect("a folder for the recording");
    let path = folder.path().join("sixty.rsz");
    let source = Sixty::new(6000);
    let frames = record(source, &path);
    let mut source = Sixty::new(6000);
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
    let packed = zstd::encode_all(lines.as_slice(), 3).expect("it is in memory");
    let samples = (RAILS as u64 * frames) as f64;
    println!(
        "60 counters: {:.1} bytes a rail and sample (bar 80); JSON Lines with names, zstd -3: {:.1}",
        length(&path) as f64 / samples,
        packed.len() as f64 / samples
    );
}

struct Sixty {
    session: Arc<Session>,
    totals: [[u64; 60]; RAILS],
    state: u64,
    seq: u64,
    end: u64,
}

impl Sixty {
    fn new(end: u64) -> Self {
        let rail = |n| Rail {
            device: format!("mlx5_bond_{n}"),
            counters: (0..58).map(|c| format!("hw/counter_{c}")).collect(),
            ..Rail::default()
        };
        let topology = Topology { rails: (1..=RAILS).map(rail).collect(), ..Topology::default() };
        let session = Session {
            generated_by: railscope::GENERATED_BY.into(),
            started_unix_ms: None,
            interval_ns: 100_000_000,
            hosts: vec![Arc::new(topology)],
            clock_offset_ns: None,
            simulated: None,
        };
        Self { session: Arc::new(session), totals: [[1 << 50; 60]; RAILS], state: 1, seq: 0, end }
    }

    /// Knuth's MMIX constants: noise enough, equal in every run.
    fn step(state: &mut u64, mean: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        mean * 95 / 100 + (*state >> 32) % (mean / 10 + 1)
    }
}

impl FrameSource for Sixty {
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
        let at_ns = self.seq * 100_000_000 + Self::step(&mut self.state, 50_000);
        let frame = Frame { seq: self.seq, at_ns, rails, ..Frame::default() };
        self.seq += 1;
        Ok(Some(frame))
    }
}

fn path() -> std::path::PathBuf {
    RECORDING.folder.path().join("mixed.rsz")
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).expect("the recording was just made").len()
}

fn mixed(length: Duration) -> Simulated {
    let every = Duration::from_millis(100);
    Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(length)).expect("mixed is a scenario")
}

fn record(source: impl FrameSource, path: &Path) -> u64 {
    read(Recorded::create(source, path).expect("a new file in a new folder"))
}

fn read(mut source: impl FrameSource) -> u64 {
    let frames = std::iter::from_fn(|| source.next_frame().expect("a session goes on to its end"));
    frames.count() as u64
}

fn seek(path: &Path, second: u64) -> usize {
    let mut replay = Replay::open(path).expect("the recording opens");
    let sought = replay.seek(second * 1_000_000_000).expect("the block is whole");
    sought.timeline(replay.session()).local().frames().len()
}

#[divan::bench(sample_count = 1, sample_size = 1)]
fn read_two_hours() -> u64 {
    read(Replay::open(&path()).expect("the recording opens"))
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn open_and_seek(bencher: divan::Bencher) {
    let mut second = 0;
    bencher.bench_local(|| {
        second = (second + 2333) % LENGTH.as_secs();
        seek(&path(), second)
    });
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn simulate_and_record_ten_seconds() -> u64 {
    let folder = tempfile::tempdir().expect("a folder for the recording");
    record(mixed(Duration::from_secs(10)), &folder.path().join("mixed.rsz"))
}
