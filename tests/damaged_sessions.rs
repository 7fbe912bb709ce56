//! Session files that are damaged, or made to do harm: no panic, no hang, no file that fills the memory.
//!
//! The kept ones lie in `tests/sessions/corpus`; a file that ever did harm belongs there. Others are made at random.

use proptest::prelude::*;
use railscope::report;
use railscope::rules::Limits;
use railscope::session::{FrameSource, Replay};
use railscope::timeline::Timeline;
use std::path::{Path, PathBuf};

/// No session file may take more of this process's memory, whatever it says.
const MOST_BYTES: u64 = 200 << 20;

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/corpus");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

/// The most memory this process ever had at once, bytes.
///
/// Source: proc(5), `VmHWM`.
fn most_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Reads all of a file, goes to places in it, and judges what is there; how many frames it has.
fn read(path: &Path) -> Result<usize, String> {
    let mut replay = Replay::open(path).map_err(|error| error.to_string())?;
    let span = replay.span_ns();
    let mut count = 0;
    while replay.next_frame().map_err(|error| error.to_string())?.is_some() {
        count += 1;
    }
    let (first, last) = span.unwrap_or_default();
    for at_ns in [0, first / 2 + last / 2, u64::MAX] {
        let Ok(sought) = replay.seek(at_ns) else { continue };
        let timeline: Timeline = sought.timeline(replay.session());
        let report = report::build(&timeline, &Limits::default(), &[]);
        assert!(!report.to_string().is_empty());
    }
    Ok(count)
}

#[test]
fn no_file_of_the_corpus_does_harm() {
    let files = corpus();
    assert!(files.len() > 12, "{files:?}");
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        match read(&file) {
            Ok(frames) => println!("{name}: {frames} frames"),
            Err(reason) => {
                println!("{name}: refused: {reason}");
                assert!(!reason.contains('\n') && reason.contains(name), "{reason}");
            }
        }
        let most = most_memory_bytes();
        assert!(most < MOST_BYTES, "{name}: {most} bytes of memory");
    }
}

#[test]
fn a_block_between_damaged_ones_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/corpus");
    assert_eq!(read(&folder.join("whole.rsz")), Ok(26));
    assert_eq!(read(&folder.join("table-of-another-file.rsz")), Ok(26), "found without its table");
    assert_eq!(read(&folder.join("flipped.rsz")), Ok(16), "one block of ten is left out");
    assert_eq!(read(&folder.join("block-of-four-gigabytes.rsz")), Ok(0));
}

fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("any.rsz");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Bytes of the file in other places, doubled, left out or changed.
fn changed(bytes: &mut Vec<u8>, changes: &[(usize, usize, u8)]) {
    for (at, length, kind) in changes {
        let at = at % bytes.len().max(1);
        let end = (at + length % 64).min(bytes.len());
        match kind % 4 {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.truncate(at),
            2 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => bytes[at..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(*kind)),
        }
        if bytes.is_empty() {
            return;
        }
    }
}

fn any_changes() -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    prop::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_a_file_does_harm(changes in any_changes()) {
        let mut bytes = include_bytes!("sessions/corpus/whole.rsz").to_vec();
        changed(&mut bytes, &changes);
        let (_folder, path) = written(&bytes);
        let _ = read(&path);
        prop_assert!(most_memory_bytes() < MOST_BYTES);
    }

    /// What a checksum would catch is packed anew here, with one that is right.
    #[test]
    fn no_change_of_the_text_in_a_file_does_harm(changes in any_changes()) {
        let file = &include_bytes!("sessions/corpus/whole.rsz")[..];
        let text = zstd::decode_all(file).unwrap();
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let mut blocks: Vec<Vec<u8>> = Vec::new();
        for line in lines {
            if line.first() == Some(&b'{') {
                blocks.push(Vec::new());
            }
            blocks.last_mut().unwrap().extend_from_slice(line);
        }
        for change in changes {
            let at = change.1 % blocks.len();
            changed(&mut blocks[at], &[change]);
        }
        let packed = blocks.iter().flat_map(|block| zstd::bulk::compress(block, 1).unwrap());
        let (_folder, path) = written(&packed.collect::<Vec<u8>>());
        let _ = read(&path);
        prop_assert!(most_memory_bytes() < MOST_BYTES);
    }
}
