//! Plays a session file: frame after frame at its pace, and from another place when that is asked for.

use super::sampler::{Go, Pace};
use crate::app::{History, Msg, Sought};
use crate::session::{Seekable, on_first_clock};
use crate::timeline::Timeline;
use probes::model::Frame;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// Plays until nobody listens any more. At the end of the file it waits for another place.
pub(super) fn play(mut source: Box<dyn Seekable>, mut pace: Pace, send: &UnboundedSender<Msg>) {
    loop {
        let seek = match source.next_frame() {
            Ok(Some(frame)) => {
                // the peer's clock is another one: the host this program ran on sets the pace
                let at_ns = (frame.host == 0).then_some(frame.at_ns);
                match pace.wait(at_ns) {
                    Go::On if send.send(Msg::Frame(Arc::new(frame))).is_err() => return,
                    Go::On => continue,
                    Go::Seek(seek) => seek,
                    Go::Stop => return,
                }
            }
            over => {
                let reason = over.err().map(|error| error.to_string());
                if send.send(Msg::Ended(reason)).is_err() {
                    return;
                }
                let Some(seek) = pace.wait_at_end() else { return };
                seek
            }
        };
        let found = go(&mut *source, seek.to_ns);
        let at_ns = found.as_ref().ok().and_then(History::newest_ns).unwrap_or(seek.to_ns);
        pace.arrive(at_ns, seek.pace);
        if send.send(Msg::Sought(Box::new(Sought { number: seek.number, place: found }))).is_err() {
            return;
        }
    }
}

/// The minute up to the newest frame at or before `to_ns`; the source goes on behind it.
fn go(source: &mut dyn Seekable, to_ns: u64) -> Result<History, String> {
    let session = source.session();
    let (_, last_ns) = source.span_ns().ok_or("neither end of the recording can be read")?;
    let mut to_ns = to_ns.min(last_ns);
    let sought = loop {
        match source.seek(to_ns) {
            Ok(sought) => break sought,
            // what is behind the damage is the nearest
            Err(damaged) => {
                let behind = source.next_frame().ok().flatten().ok_or_else(|| damaged.to_string())?;
                let behind_ns = on_first_clock(&session, &behind);
                if behind_ns <= to_ns {
                    return Err(damaged.to_string());
                }
                to_ns = behind_ns;
            }
        }
    };
    let base = Timeline::resume(session.clone(), sought.past);
    let mut frames: Vec<_> = sought.frames.into_iter().map(Arc::new).collect();
    // a block may begin with frames of the other host alone
    while !shows_something(&frames) {
        match source.next_frame().map_err(|error| error.to_string())? {
            Some(frame) => frames.push(Arc::new(frame)),
            None => return Err("there is no frame of this node there".to_owned()),
        }
    }
    Ok(History::after(base, frames))
}

fn shows_something(frames: &[Arc<Frame>]) -> bool {
    frames.iter().any(|frame| frame.host == 0)
}

#[cfg(test)]
mod tests {
    use super::go;
    use crate::app::How;
    use crate::session::{FrameSource, Recorded, Replay};
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use std::path::PathBuf;
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;

    /// A hundred seconds of eight rails, in a file.
    fn recorded(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("mixed.rsz");
        let (every, end) = (Duration::from_millis(500), Duration::from_secs(100));
        let source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(end)).unwrap();
        let mut recorded = Recorded::create(source, &path).unwrap();
        while recorded.next_frame().unwrap().is_some() {}
        path
    }

    #[test]
    fn a_place_is_judged_as_if_one_had_played_up_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = recorded(&folder);
        let how = How::default();
        for to_ns in [0, SECOND, 42 * SECOND + 200_000_000, 99 * SECOND, u64::MAX] {
            let mut played = Replay::open(&path).unwrap();
            let mut timeline = Timeline::new(played.session());
            let mut behind = None;
            while let Some(frame) = played.next_frame().unwrap() {
                if frame.at_ns > to_ns {
                    behind = Some(frame);
                    break;
                }
                timeline.push(frame);
            }
            let mut sought = Replay::open(&path).unwrap();
            let history = go(&mut sought, to_ns).unwrap();
            let (shown, seen) = (history.newest().local(), timeline.local());
            assert_eq!(shown.latest(), seen.latest(), "{to_ns}");
            assert!(shown.sums() == seen.sums(), "{to_ns}");
            assert_eq!(sought.next_frame().unwrap(), behind, "{to_ns}");
            assert_eq!(how.judge(history.newest()), how.judge(&timeline), "{to_ns}");
        }
    }

    #[test]
    fn a_damaged_place_shows_what_is_nearest_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = recorded(&folder);
        let mut bytes = std::fs::read(&path).unwrap();
        // a block in the last third of the file, where a seek begins further in
        let at = bytes.len() * 3 / 4;
        bytes[at] ^= 0xff;
        std::fs::write(&path, bytes).unwrap();
        let mut replay = Replay::open(&path).unwrap();
        let mut missing = 0;
        for second in 0..100 {
            let history = go(&mut replay, second * SECOND).unwrap();
            let shown = history.newest_ns().unwrap() / SECOND;
            assert!(shown.abs_diff(second) <= 1, "{shown} instead of {second}");
            missing += u64::from(shown != second);
        }
        assert_eq!(missing, 1);
    }
}
