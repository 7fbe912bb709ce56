use super::{Recorded, RecordingStatus, write};
use crate::session::tests::Listed;
use crate::session::writer::Writer;
use crate::session::{FrameSource, Replay};
use probes::model::{Frame, Session, Topology};
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};

fn session() -> Arc<Session> {
    Arc::new(Session {
        generated_by: "railscope test".into(),
        started_unix_ms: None,
        interval_ns: 100_000_000,
        hosts: vec![Arc::new(Topology::default())],
        clock_offset_ns: None,
        simulated: None,
    })
}

fn frame(seq: u64) -> Frame {
    Frame { seq, at_ns: seq * 100_000_000, ..Frame::default() }
}

#[test]
fn a_disk_that_stalls_holds_nobody_up_and_what_it_missed_is_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rsz");
    let source = Listed { session: session(), frames: (0..60).map(frame).collect() };
    let (disk, stalls) = channel::<()>();
    let mut live = Recorded::start(source, &path, u64::MAX, 20, move || {
        // until the other end is let go
        let _ = stalls.recv();
    })
    .unwrap();
    let seen: Vec<u64> =
        (0..50).map(|_| live.next_frame().unwrap().expect("the session goes on").seq).collect();
    assert_eq!(seen, (0..50).collect::<Vec<_>>());
    let status = live.status();
    let told = "a.rsz: 30 frames are not in the recording: the disk is too slow";
    assert!(status.trouble().unwrap().ends_with(told), "{:?}", status.trouble());
    drop(disk);
    // it catches up, and what comes later is kept
    while status.frames() < 10 {
        std::thread::yield_now();
    }
    while live.next_frame().unwrap().is_some() {}
    let mut replay = Replay::open(&path).unwrap();
    let kept: Vec<u64> = std::iter::from_fn(|| replay.next_frame().unwrap()).map(|f| f.seq).collect();
    assert_eq!((&kept[..20], replay.warning()), (&(0..20).collect::<Vec<_>>()[..], None));
    assert_eq!((kept.len() as u64, kept.last()), (status.frames(), Some(&59)));
    let lost = 60 - kept.len();
    assert!(status.trouble().unwrap().contains(&format!(": {lost} frames are not in")), "{lost}");
}

#[test]
fn what_a_full_disk_swallows_is_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rsz");
    let mut writer = Writer::create(&path, session()).unwrap();
    let status = RecordingStatus::new(path.clone(), 0);
    let (to_writer, frames) = sync_channel(100);
    for seq in 0..15 {
        to_writer.send(Arc::new(frame(seq))).unwrap();
    }
    drop(to_writer);
    assert_eq!(status.trouble(), None);
    writer.take_file_away(&path);
    write(writer, &frames, &status, u64::MAX);
    let trouble = status.trouble().unwrap();
    assert!(trouble.contains("a.rsz: 15 frames are not in the recording: cannot be written: "), "{trouble}");
    assert_eq!(status.frames(), 0);
}
