//! Files that are cut, damaged, of another program or of another version.

use super::{frames, story_file};
use crate::rules::Limits;
use crate::session::{FrameSource, Replay, container};
use crate::timeline::Timeline;
use std::path::Path;

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
    let places = container::index(&mut std::io::Cursor::new(&bytes)).unwrap().places;
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
    let second_block = container::index(&mut std::io::Cursor::new(&bytes)).unwrap().places[2];
    bytes[usize::try_from(second_block.at + second_block.bytes - 1).unwrap()] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let mut replay = Replay::open(&path).unwrap();
    let seqs: Vec<u64> = frames(&mut replay).iter().map(|frame| frame.seq).collect();
    assert_eq!(seqs, (0..10).chain(20..40).collect::<Vec<_>>());
    let warning = replay.warning().unwrap();
    assert!(warning.starts_with("one block is damaged and left out (block 1: "), "{warning}");
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
    std::fs::write(&path, container::pack(b"{\"a\": 1}\n").unwrap().0).unwrap();
    assert_eq!(refusal(&path), "FILE: is no railscope recording (its first line is another program's)");
    let newer = br#"{"format":"railscope-session","version":2,"session":{"generated_by":"railscope 9.0.0"}}"#;
    std::fs::write(&path, container::pack(newer).unwrap().0).unwrap();
    assert_eq!(
        refusal(&path),
        "FILE: was written by railscope 9.0.0 in session format 2; this railscope reads up to 1: update it"
    );
    assert_eq!(refusal(folder.path()), "FILE: is a folder, not a recording");
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
        None => {
            let mut head: serde_json::Value = serde_json::from_str(line).unwrap();
            head["wind"] = 3.into();
            for row in head["before"].as_array_mut().unwrap() {
                row.as_array_mut().unwrap().insert(0, true.into());
            }
            head.to_string()
        }
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
    blocks.iter().flat_map(|block| container::pack(block.as_bytes()).unwrap().0).collect()
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
    let text = zstd::decode_all(std::fs::File::open(&path).unwrap()).unwrap();
    let lines = String::from_utf8(text).unwrap().lines().count();
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
