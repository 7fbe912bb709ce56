//! Looks through a whole session file behind the screen, for its outline.

use crate::app::{How, JUDGE_EVERY_NS, Msg};
use crate::outline::Outline;
use crate::session::{FrameSource, Stop};
use crate::timeline::Timeline;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// It works so long and then rests as long, so that drawing and playing never wait for it.
const SHIFT: Duration = Duration::from_millis(5);
/// How often the screen is told how far it is.
const TELL_EVERY: Duration = Duration::from_millis(300);

/// The thread that looks through a file; dropping this ends it.
pub(super) struct Scan {
    thread: Option<JoinHandle<()>>,
    stop: Stop,
}

impl Scan {
    /// Starts at the first frame of `source`, which is one of its own. `outline` knows the session's length.
    pub fn start(
        source: Box<dyn FrameSource>,
        outline: Outline,
        how: How,
        send: UnboundedSender<Msg>,
    ) -> io::Result<Self> {
        let stop = Stop::new();
        let rest = Rest { stop: stop.clone(), began: Instant::now() };
        let thread = std::thread::Builder::new()
            .name("scan".into())
            .spawn(move || look_through(source, outline, &how, &send, rest))?;
        Ok(Self { thread: Some(thread), stop })
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // a panic of it has been told by the screen
            let _ = thread.join();
        }
    }
}

fn look_through(
    mut source: Box<dyn FrameSource>,
    mut outline: Outline,
    how: &How,
    send: &UnboundedSender<Msg>,
    mut rest: Rest,
) {
    let mut timeline = Timeline::new(source.session());
    let mut due_ns = 0;
    let mut told = Instant::now();
    // what is damaged is left out here as it is when it is played; that is told there
    while let Ok(Some(frame)) = source.next_frame() {
        let at_ns = (frame.host == 0).then_some(frame.at_ns);
        outline.frame(&frame);
        timeline.push(frame);
        if at_ns.is_some_and(|at_ns| at_ns >= due_ns) {
            outline.look(&timeline, &how.judge(&timeline));
            due_ns = at_ns.unwrap_or(due_ns).saturating_add(JUDGE_EVERY_NS);
        }
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            if send.send(Msg::Outlined(Arc::new(outline.clone()))).is_err() {
                return;
            }
        }
        if !rest.now_and_then() {
            return;
        }
    }
    outline.look(&timeline, &how.judge(&timeline));
    outline.end();
    let _ = send.send(Msg::Outlined(Arc::new(outline)));
}

/// Keeps a thread to half of a core.
struct Rest {
    stop: Stop,
    began: Instant,
}

impl Rest {
    /// Rests as long as was worked, when that was a while; `false` when it is to end.
    fn now_and_then(&mut self) -> bool {
        let worked = self.began.elapsed();
        if worked < SHIFT {
            return true;
        }
        let goes_on = self.stop.wait_until(Instant::now() + worked);
        self.began = Instant::now();
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::Scan;
    use crate::app::{How, Msg};
    use crate::outline::{Look, Outline};
    use crate::rules::Severity;
    use crate::sim::{Pace, Simulated};
    use std::time::Duration;
    use tokio::sync::mpsc::unbounded_channel;

    fn mixed(seconds: Option<u64>) -> Box<Simulated> {
        let every = Duration::from_millis(500);
        let end = seconds.map(Duration::from_secs);
        Box::new(Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, end).unwrap())
    }

    #[test]
    fn a_whole_session_is_looked_through() {
        let (send, mut msgs) = unbounded_channel();
        let outline = Outline::of_span(0, 20_000_000_000);
        let _scan = Scan::start(mixed(Some(20)), outline, How::default(), send).unwrap();
        let mut last = None;
        while let Some(msg) = msgs.blocking_recv() {
            last = Some(msg);
        }
        let Some(Msg::Outlined(outline)) = last else { panic!("{last:?}") };
        assert!(outline.is_whole());
        assert_eq!(outline.worst(15_000_000_000, 16_000_000_000), Look::Found(Severity::Warning));
        assert!(outline.moments().iter().any(|moment| moment.text.starts_with("pcie-downgraded")));
    }

    #[test]
    fn it_ends_with_the_screen() {
        let (send, _msgs) = unbounded_channel();
        drop(Scan::start(mixed(None), Outline::default(), How::default(), send).unwrap());
    }
}
