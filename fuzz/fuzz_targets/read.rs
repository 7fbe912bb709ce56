//! What each target does with a session file: all of it is read, places in it are gone to, and what is there is judged.

use railscope::report;
use railscope::rules::Limits;
use railscope::session::{FrameSource, Replay};
use std::io::Write;

/// Reads these bytes as a session file.
pub fn read(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("it takes some bytes");
    let Ok(mut replay) = Replay::open(file.path()) else { return };
    let (first_ns, last_ns) = replay.span_ns().unwrap_or_default();
    while let Ok(Some(_)) = replay.next_frame() {}
    for at_ns in [0, first_ns / 2 + last_ns / 2, u64::MAX] {
        let Ok(sought) = replay.seek(at_ns) else { continue };
        let timeline = sought.timeline(replay.session());
        let report = report::build(&timeline, &Limits::default(), &[]);
        assert!(!report.to_string().is_empty());
    }
}
