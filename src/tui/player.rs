//! Plays a session file: frame after frame at its pace, and from another place when that is asked for.

use super::sampler::{Go, Pace};
use crate::app::{History, Msg, Sought};
use crate::session::{Replay, Seekable, on_first_clock};
use crate::timeline::Timeline;
use probes::model::Frame;
use std::path::Path;
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

/// The minute of a file up to the newest frame at or before `to_ns`, also of one that is still being written.
pub(super) fn recall(path: &Path, to_ns: u64) -> Result<History, String> {
    let mut replay = Replay::open(path).map_err(|error| error.to_string())?;
    go(&mut replay, to_ns)
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
    use super::{go, recall};
    use crate::app::{App, Command, How, Mode, Msg, Sought};
    use crate::session::{FrameSource, Recorded, Replay};
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use crate::view::Theme;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use std::path::PathBuf;
    use std::sync::Arc;
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
    fn a_session_that_is_being_recorded_is_stepped_back_to_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mixed.rsz");
        let source = Simulated::new("mixed", 1, Duration::from_millis(500), Pace::AsFastAsPossible, None);
        let mut live = Recorded::create(source.unwrap(), &path).unwrap();
        let status = live.status();
        let how = How { mode: Mode::Demo, recording: Some(status.clone()), ..How::default() };
        let mut app = App::new(live.session(), how.clone(), Theme::default());
        let mut seen = Timeline::new(live.session());
        let mut then = None;
        for _ in 0..300 {
            let frame = Arc::new(live.next_frame().unwrap().unwrap());
            seen.push(frame.clone());
            if frame.at_ns == 42 * SECOND {
                then = Some((seen.past(), how.judge(&seen)));
            }
            app.update(Msg::Frame(frame));
        }
        // and the recorder is still at it
        while status.frames() < 200 {
            std::thread::yield_now();
        }
        let mut recalls = 0;
        let mut press = |app: &mut App, code| {
            let command = app.update(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
            if let Command::Recall(seek) = command {
                recalls += 1;
                let place = recall(&path, seek.to_ns);
                app.update(Msg::Recalled(Box::new(Sought { number: seek.number, place })));
            }
            let seq = |timeline: &Timeline| timeline.local().latest().unwrap().seq;
            assert_eq!(seq(app.newest()), 299, "what comes live is where it was");
            (seq(app.shown()), recalls)
        };
        let keys = [KeyCode::Home, KeyCode::Char(']'), KeyCode::Char(']'), KeyCode::Char('[')];
        assert_eq!(keys.map(|key| press(&mut app, key)), [(0, 1), (1, 2), (2, 2), (1, 2)]);
        for key in "g42s".chars() {
            press(&mut app, KeyCode::Char(key));
        }
        assert_eq!(press(&mut app, KeyCode::Enter), (84, 3));
        app.prepare();
        assert_eq!(Some((app.shown().past(), app.findings().to_vec())), then);
        assert_eq!(press(&mut app, KeyCode::End), (299, 3));
        // from the oldest frame in memory to the one before it
        press(&mut app, KeyCode::Char(' '));
        let oldest = (1..=200).find(|_| press(&mut app, KeyCode::Char('[')).1 > 3);
        assert_eq!(oldest, Some(121), "a minute of two frames a second, and the one before");
        assert_eq!(press(&mut app, KeyCode::Char(']')).0, 179);
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
