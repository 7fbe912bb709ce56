//! The sampler thread: takes frames from the source and passes them on, at the pace that is asked for.

use super::player;
use crate::app::{Mode, Msg, Seek};
use crate::session::{FrameSource, Seekable, Stop};
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
    /// Hanging up stops the thread.
    orders: Option<Sender<Order>>,
    stop: Stop,
    /// Its other end goes with the thread.
    ended: oneshot::Receiver<()>,
}

/// What a replay is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// Go on at so many times the own pace; `None` holds it.
    Pace(Option<f64>),
    /// One frame more, and hold it.
    Step,
    /// Go on from another place; only a [`Feed::File`] can.
    Seek(Seek),
}

/// What frames are taken from.
pub(super) enum Feed {
    /// Something that has a next frame.
    Source(Box<dyn FrameSource>),
    /// Something that has every frame at any time.
    File(Box<dyn Seekable>),
}

impl Sampler {
    pub fn start(feed: Feed, mode: Mode, stop: Stop, send: UnboundedSender<Msg>) -> io::Result<Self> {
        let (orders, received) = channel();
        let (thread_ends, ended) = oneshot::channel();
        let pace = Pace::new(received, if mode.is_past() { By::FrameTimes } else { By::Source });
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(move || {
            let _tells_the_end = thread_ends;
            match feed {
                Feed::Source(source) => pass_on(source, pace, &send),
                Feed::File(source) => player::play(source, pace, &send),
            }
        })?;
        Ok(Self { thread: Some(thread), orders: Some(orders), stop, ended })
    }

    /// Tells a replay what to do.
    pub fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // an ended session has nobody to take the order, and needs none
            let _ = orders.send(order);
        }
    }

    /// Tells the source to end; the thread then drops it, which closes a recording.
    pub fn stop(&mut self) {
        self.stop.stop();
        self.orders = None;
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

/// What is to be done about a frame that was due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Go {
    /// Pass it on.
    On,
    /// Leave it, and go to this place.
    Seek(Seek),
    /// Leave.
    Stop,
}

/// Holds frames back until they are due.
pub(super) struct Pace {
    orders: Receiver<Order>,
    by: By,
    speed: Option<f64>,
    /// A moment of this clock and the time of the session that belongs to it.
    anchor: Option<(Instant, f64)>,
}

impl Pace {
    fn new(orders: Receiver<Order>, by: By) -> Self {
        Self { orders, by, speed: Some(1.0), anchor: None }
    }

    /// Waits until a frame of this session time is due; `None` is due at once.
    pub fn wait(&mut self, at_ns: Option<u64>) -> Go {
        if self.by == By::Source {
            return Go::On;
        }
        loop {
            let now = Instant::now();
            let order = match (at_ns, self.speed) {
                (None, _) => self.orders.try_recv().map_err(|none| match none {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                }),
                (Some(_), None) => self.orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                (Some(at_ns), Some(speed)) => {
                    let at_ns = at_ns as f64;
                    let (then, then_ns) = *self.anchor.get_or_insert((now, at_ns));
                    let due = then + seconds((at_ns - then_ns) / speed / 1e9);
                    self.orders.recv_timeout(due.saturating_duration_since(now))
                }
            };
            match order {
                Ok(Order::Pace(speed)) => self.change(speed),
                Ok(Order::Step) => {
                    self.speed = None;
                    // from where it then goes on
                    self.anchor = at_ns.map(|at_ns| (now, at_ns as f64));
                    return Go::On;
                }
                Ok(Order::Seek(seek)) => return Go::Seek(self.last_of(seek)),
                Err(RecvTimeoutError::Timeout) => return Go::On,
                Err(RecvTimeoutError::Disconnected) => return Go::Stop,
            }
        }
    }

    /// Waits at the end of the session until another place is asked for; `None` when none will be.
    pub fn wait_at_end(&mut self) -> Option<Seek> {
        loop {
            match self.orders.recv().ok()? {
                Order::Pace(speed) => self.speed = speed,
                Order::Step => {}
                Order::Seek(seek) => return Some(self.last_of(seek)),
            }
        }
    }

    /// Of places that were asked for faster than one can go, the last.
    fn last_of(&mut self, mut seek: Seek) -> Seek {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Seek(later) => seek = later,
                Order::Pace(pace) => seek.pace = pace,
                Order::Step => seek.pace = None,
            }
        }
        seek
    }

    /// The session stands at this time now.
    pub fn arrive(&mut self, at_ns: u64, speed: Option<f64>) {
        self.anchor = Some((Instant::now(), at_ns as f64));
        self.speed = speed;
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
    use super::{By, Go, Order, Pace};
    use crate::app::Seek;
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
        control.send(Order::Pace(None)).unwrap();
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

    #[test]
    fn a_step_lets_one_frame_through() {
        let (control, orders) = channel();
        let mut pace = Pace::new(orders, By::FrameTimes);
        control.send(Order::Pace(None)).unwrap();
        control.send(Order::Step).unwrap();
        assert_eq!(pace.wait(Some(0)), Go::On);
        drop(control);
        assert_eq!(pace.wait(Some(100)), Go::Stop, "held again");
    }

    #[test]
    fn of_many_places_the_last_is_gone_to() {
        let (control, orders) = channel();
        let mut pace = Pace::new(orders, By::FrameTimes);
        let seek = |number| Seek { number, to_ns: number, pace: Some(1.0) };
        for number in 1..=3 {
            control.send(Order::Seek(seek(number))).unwrap();
        }
        control.send(Order::Pace(None)).unwrap();
        assert_eq!(pace.wait(Some(u64::MAX)), Go::Seek(Seek { pace: None, ..seek(3) }));
    }
}
