//! What a recording costs: on disk, to write, to read through, to seek in. Opening and seeking may take a fiftieth
//! of a full read at most; at ten minutes that is harder to meet than at a day.

use railscope::session::{FrameSource, Recorded, Replay};
use railscope::sim::{Pace, Simulated};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

const RAILS: u64 = 8;

struct Recording {
    folder: tempfile::TempDir,
    frames: u64,
}

/// Ten minutes of the mixed node at ten samples a second.
static RECORDING: LazyLock<Recording> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder for the recording");
    let frames = record(&folder.path().join("mixed.rsz"), Duration::from_mins(10));
    Recording { folder, frames }
});

fn main() {
    let bytes = std::fs::metadata(path()).expect("the recording was just made").len();
    let per_sample = bytes as f64 / RAILS as f64 / RECORDING.frames as f64;
    println!("{} frames, {bytes} bytes, {per_sample:.1} bytes per rail and sample", RECORDING.frames);
    divan::main();
}

fn path() -> std::path::PathBuf {
    RECORDING.folder.path().join("mixed.rsz")
}

fn record(path: &Path, length: Duration) -> u64 {
    let source = Simulated::new("mixed", 1, Duration::from_millis(100), Pace::AsFastAsPossible, Some(length));
    read(Recorded::create(source.expect("mixed is a scenario"), path).expect("a new file in a new folder"))
}

fn read(mut source: impl FrameSource) -> u64 {
    let frames = std::iter::from_fn(|| source.next_frame().expect("a session goes on to its end"));
    frames.count() as u64
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn read_ten_minutes() -> u64 {
    read(Replay::open(&path()).expect("the recording opens"))
}

#[divan::bench]
fn open_and_seek(bencher: divan::Bencher) {
    let mut second = 0;
    bencher.bench_local(|| {
        second = (second + 233) % 600;
        let mut replay = Replay::open(&path()).expect("the recording opens");
        replay.seek(second * 1_000_000_000).expect("the block is whole").frames.len()
    });
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn simulate_and_record_ten_seconds() -> u64 {
    let folder = tempfile::tempdir().expect("a folder for the recording");
    record(&folder.path().join("mixed.rsz"), Duration::from_secs(10))
}
