//! A place in the middle of a session is as if everything before it had been read.

use super::random::{any_course, course};
use super::{Listed, frames, later_look, record, session, story, story_file};
use crate::rules::Limits;
use crate::session::{FrameSource, Replay};
use crate::timeline::Timeline;
use proptest::prelude::*;
use std::path::Path;

/// All that a timeline tells.
fn judged(timeline: &Timeline) -> String {
    serde_json::to_string(&crate::report::build(timeline, &Limits::default(), &[])).unwrap()
}

/// Compares every place of the session with a read from its beginning; the number of places.
fn each_place_is_as_read_from_the_beginning(path: &Path) -> usize {
    let mut whole = Replay::open(path).unwrap();
    let session = whole.session();
    let mut timeline = Timeline::new(session.clone());
    let all = frames(&mut whole);
    for (at, frame) in all.iter().enumerate() {
        timeline.push(frame.clone());
        let at_ns = session.on_first_clock(frame.host, frame.at_ns);
        if all.get(at + 1).is_some_and(|next| session.on_first_clock(next.host, next.at_ns) <= at_ns) {
            // a seek goes to the last frame of a moment
            continue;
        }
        let mut replay = Replay::open(path).unwrap();
        let sought = replay.seek(at_ns).unwrap();
        let there = sought.timeline(session.clone());
        // a whole past is too much to print
        assert!(there.past() == timeline.past(), "what is known at frame {at}");
        assert!(there.local().intervals().eq(timeline.local().intervals()), "frame {at}");
        assert_eq!(judged(&there), judged(&timeline), "frame {at}");
        assert_eq!(frames(&mut replay), all[at + 1..], "and it goes on from frame {at}");
    }
    all.len()
}

#[test]
fn a_seek_to_any_frame_of_a_story_is_as_if_all_was_read() {
    let (_folder, path) = story_file(45);
    assert_eq!(each_place_is_as_read_from_the_beginning(&path), 45);
}

#[test]
fn a_seek_beyond_a_minute_reads_the_last_minute_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.rsz");
    // a frame each five seconds: a block each
    let slow = story(45).frames.into_iter().map(|mut frame| {
        frame.at_ns = frame.seq * 5_000_000_000;
        frame
    });
    record(Listed { session: session(1), frames: slow.collect() }, &path);
    assert_eq!(each_place_is_as_read_from_the_beginning(&path), 45);
    let mut replay = Replay::open(&path).unwrap();
    assert_eq!(replay.span_ns(), Some((0, 44 * 5_000_000_000)));
    let sought = replay.seek(200_000_000_000).unwrap();
    assert_eq!((sought.past[0].sums.frames, sought.frames.len()), (27, 14));
    // frame 33 changed the topology again, frame 14 had done so before
    assert_eq!(sought.past[0].topology, Some(later_look(14)));
    assert_eq!(sought.timeline(replay.session()).topology(), &*later_look(33));
    assert_eq!(replay.seek(u64::MAX).unwrap().frames.last().map(|f| f.seq), Some(44));
    assert_eq!(replay.seek(0).unwrap().frames.len(), 1);
}

#[test]
fn a_look_is_written_once_and_every_later_block_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.rsz");
    record(story(60), &path);
    let text = zstd::decode_all(std::fs::File::open(&path).unwrap()).unwrap();
    let text = String::from_utf8(text).unwrap();
    let heads = text.lines().filter(|line| line.starts_with("{\"block\""));
    let heads: Vec<serde_json::Value> = heads.map(|line| serde_json::from_str(line).unwrap()).collect();
    let says: Vec<_> = heads.iter().map(|head| head["topology"][0].clone()).collect();
    let none = serde_json::Value::Null;
    assert_eq!(says, [none.clone(), none, 1.into(), 1.into(), 3.into(), 3.into()]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_seek_to_any_frame_of_any_session_is_as_if_all_was_read(steps in any_course()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.rsz");
        let frames = course(steps);
        let count = frames.len();
        record(Listed { session: session(2), frames: frames.into() }, &path);
        prop_assert_eq!(each_place_is_as_read_from_the_beginning(&path), count);
    }
}
