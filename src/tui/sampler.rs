//! The sampler thread: takes frames from the source and passes them on.

use crate::app::{Mode, Msg};
use crate::session::{FrameSource, Stop};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// The thread that owns the source; dropping this ends both, which closes a recording, also in a panic.
pub(super) struct Sampler {
    /// `None` once it was joined.
    thread: Option<JoinHandle<()>>,
    /// How many times its own pace a replay goes, `None` holds it; hanging up stops the thread.
    control: Option<Sender<Option<f64>>>,
    stop: Stop,
    /// Its other end goes with the thread.
    ended: oneshot::Receiver<()>,
}

impl Sampler {
    pub fn start(
        source: Box<dyn FrameSource>,
        mode: Mode,
        stop: Stop,
        send: UnboundedSender<Msg>,
    ) -> io::Result<Self> {
        let (control, orders) = channel();
        let (thread_ends, ended) = oneshot::channel();
        let pace = Pace::new(orders, if mode.is_past() { By::FrameTimes } else { By::Source });
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(move || {
            let _tells_the_end = thread_ends;
            pass_on(source, pace, &send);
        })?;
        Ok(Self { thread: Some(thread), control: Some(control), stop, ended })
    }

    /// Lets a replay go on at so many times its own pace; `None` holds it.
    pub fn pace(&self, pace: Option<f64>) {
        if let Some(control) = &self.control {
            // an ended session has nobody to take the order, and needs none
            let _ = control.send(pace);
        }
    }

    /// Tells the source to end; the thread then drops it, which closes a recording.
    pub fn stop(&mut self) {
        self.stop.stop();
        self.control = None;
    }

    /// Waits until the thread has dropped the source.
    pub async fn ended(&mut self) {
        // nothing is ever sent: the other end is dropped, by a panic too
        let _ = (&mut self.ended).await;
    }

    /// Waits for the thread itself.
    pub fn join(mut self) -> anyhow::Result<()> {
        self.finish().map_err(|_| anyhow::anyhow!("the sampler stopped by a fault in railscope itself"))
    }

    /// Gives up a thread that hangs; it ends with the program.
    pub fn leave_behind(mut self) {
        self.thread = None;
    }

    fn finish(&mut self) -> std::thread::Result<()> {
        self.stop();
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // `join` tells its error; where that was not reached, a worse one is on its way
        let _ = self.finish();
    }
}

fn pass_on(mut source: Box<dyn FrameSource>, mut pace: Pace, send: &UnboundedSender<Msg>) {
    let ended = loop {
        match source.next_frame() {
            Ok(Some(frame)) => {
                // the peer's clock is another one: the host this program ran on sets the pace
                let at_ns = (frame.host == 0).then_some(frame.at_ns);
                if pace.wait(at_ns) == Go::Stop || send.send(Msg::Frame(Arc::new(frame))).is_err() {
                    return;
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    let _ = send.send(Msg::Ended(ended));
}

/// Who says when a frame is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The source: it hands frames out when they are due, and ends by itself when it is told to, with a last frame
    /// that counts.
    Source,
    /// The times in the frames.
    FrameTimes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    On,
    Stop,
}

/// Holds frames back until they are due.
struct Pace {
    orders: Receiver<Option<f64>>,
    by: By,
    speed: Option<f64>,
    /// A moment of this clock and the time of the session that belongs to it.
    anchor: Option<(Instant, f64)>,
}

impl Pace {
    fn new(orders: Receiver<Option<f64>>, by: By) -> Self {
        Self { orders, by, speed: Some(1.0), anchor: None }
    }

    /// Waits until a frame of this session time is due.
    fn wait(&mut self, at_ns: Option<u64>) -> Go {
        let at_ns = match (self.by, at_ns) {
            (By::FrameTimes, Some(at_ns)) => at_ns,
            (By::FrameTimes, None) => {
                return match self.orders.try_recv() {
                    Err(TryRecvError::Disconnected) => Go::Stop,
                    Ok(_) | Err(TryRecvError::Empty) => Go::On,
                };
            }
            (By::Source, _) => return Go::On,
        };
        let at_ns = at_ns as f64;
        loop {
            let now = Instant::now();
            let (then, then_ns) = *self.anchor.get_or_insert((now, at_ns));
            let order = match self.speed {
                None => self.orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(speed) => {
                    let due = then + seconds((at_ns - then_ns) / speed / 1e9);
                    self.orders.recv_timeout(due.saturating_duration_since(now))
                }
            };
            match order {
                Ok(speed) => self.change(speed),
                Err(RecvTimeoutError::Timeout) => return Go::On,
                Err(RecvTimeoutError::Disconnected) => return Go::Stop,
            }
        }
    }

    /// From here on at another speed.
    fn change(&mut self, speed: Option<f64>) {
        if let Some((then, then_ns)) = &mut self.anchor {
            let now = Instant::now();
            *then_ns += now.duration_since(*then).as_nanos() as f64 * self.speed.unwrap_or(0.0);
            *then = now;
        }
        self.speed = speed;
    }
}

/// A session may claim any time at all; a wait that long ends with the program.
fn seconds(s: f64) -> Duration {
    const LONGEST: Duration = Duration::from_hours(365 * 24);
    Duration::try_from_secs_f64(s.max(0.0)).unwrap_or(LONGEST).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::{By, Go, Pace};
    use std::sync::mpsc::channel;

    #[test]
    fn what_is_past_is_due_at_once() {
        let (_control, orders) = channel();
        let mut pace = Pace::new(orders, By::FrameTimes);
        assert_eq!([9_000, 9_000, 0].map(|at| pace.wait(Some(at))), [Go::On; 3]);
    }

    #[test]
    fn hanging_up_stops_a_frame_that_is_due_in_a_year() {
        let (control, orders) = channel();
        let mut pace = Pace::new(orders, By::FrameTimes);
        assert_eq!(pace.wait(Some(0)), Go::On);
        drop(control);
        assert_eq!(pace.wait(Some(u64::MAX)), Go::Stop);
    }

    #[test]
    fn hanging_up_stops_a_replay_that_is_held() {
        let (control, orders) = channel();
        let mut pace = Pace::new(orders, By::FrameTimes);
        control.send(None).unwrap();
        drop(control);
        assert_eq!(pace.wait(Some(0)), Go::Stop);
    }

    #[test]
    fn a_source_that_keeps_time_itself_is_not_held_back() {
        let (control, orders) = channel();
        let mut pace = Pace::new(orders, By::Source);
        assert_eq!([0, u64::MAX].map(|at| pace.wait(Some(at))), [Go::On; 2]);
        drop(control);
        assert_eq!(pace.wait(Some(0)), Go::On, "its last frame, made after it was told to end, counts");
    }
}
