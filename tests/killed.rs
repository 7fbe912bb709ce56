//! A recorder that is killed at any moment: the file opens, and at most the block that was open is lost.

use railscope::session::{FrameSource, Replay};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const KILLS: u64 = 200;

/// A demo that records as fast as the machine lets it: a block of ten frames each few milliseconds.
fn recorder(file: &Path) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("railscope"))
        .args(["demo", "--headless", "--for", "24h", "--record"])
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |data| data.len())
}

/// Numbers of the frames that the file holds.
fn seqs(file: &Path) -> Vec<u64> {
    let mut replay = Replay::open(file).unwrap();
    let seqs = std::iter::from_fn(|| replay.next_frame().unwrap()).map(|frame| frame.seq).collect();
    let warning = replay.warning().unwrap_or_default();
    assert!(!warning.contains("damaged"), "{warning}");
    seqs
}

#[test]
fn two_hundred_recorders_killed_at_random_moments_lose_the_open_block_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    // Knuth's MMIX constants; the moments are equal in every run as far as a length of a file is a moment
    let mut state = 20_261_130_u64;
    let mut cut_in_a_block = 0;
    for kill in 0..KILLS {
        let file = folder.path().join(format!("{kill}.rsz"));
        let mut child = recorder(&file);
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // from the header's first byte to a dozen blocks
        let at_length = 1 + (state >> 33) % 60_000;
        let deadline = Instant::now() + Duration::from_mins(1);
        while length(&file) < at_length {
            assert!(Instant::now() < deadline, "kill {kill}: {} of {at_length} bytes", length(&file));
            std::thread::yield_now();
        }
        let before = length(&file);
        child.kill().unwrap();
        child.wait().unwrap();
        let replay = match Replay::open(&file) {
            Ok(replay) => replay,
            Err(error) => panic!("kill {kill} at {before} bytes: {error}"),
        };
        let warning = replay.warning().expect("an end without an end mark is said");
        cut_in_a_block += u64::from(warning.contains("cut short"));
        let seqs = seqs(&file);
        assert!(seqs.iter().copied().eq(0..seqs.len() as u64), "kill {kill}: no hole");
        assert_eq!(seqs.len() % 10, 0, "kill {kill}: blocks of ten frames, each whole or not there");
        std::fs::remove_file(&file).unwrap();
    }
    println!("{KILLS} kills, {cut_in_a_block} of them in the middle of a block on disk");
}

/// Runs a demo that may write no more than so many KiB to a file.
fn limited(folder: &Path, kib: u32) -> (std::process::Output, std::path::PathBuf) {
    let file = folder.join("limited.rsz");
    // bash counts in KiB, POSIX in 512 bytes
    let script = format!("ulimit -f {kib}; exec \"$0\" \"$@\"");
    let output = Command::new("bash")
        .args(["-c", &script])
        .arg(assert_cmd::cargo::cargo_bin("railscope"))
        .args(["demo", "--headless", "--for", "60s", "--fail-on", "never", "--json", "--record"])
        .arg(&file)
        .output()
        .unwrap();
    (output, file)
}

#[test]
fn a_file_that_may_not_grow_ends_the_recording_and_not_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let (output, file) = limited(folder.path(), 64);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(" frames are not in the recording: cannot be written: "), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["session"]["frames"], 601, "the session went on to its end");
    let kept = seqs(&file);
    assert!(kept.len() >= 10 && kept.len() < 601, "{}", kept.len());
    let lost: usize =
        said.split(" frames are not").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(kept.len() + lost, 601, "what is not kept is counted");
}
