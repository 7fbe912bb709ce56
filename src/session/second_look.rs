//! Looks at the host again while its session goes on, on a thread of its own, so that no sample is late.

use probes::model::{Frame, RailFrame, Topology};
use probes::survey::Again;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often it looks unasked.
const EVERY: Duration = Duration::from_secs(30);
/// How long after a look that was asked for it looks once more: addresses come after the link.
const SETTLED: Duration = Duration::from_secs(2);
/// No two looks are closer together, however a port flaps.
const PAUSE: Duration = Duration::from_secs(1);

/// A thread that looks at the host again. It ends when this is dropped, after the look that it is at.
#[derive(Debug)]
pub(super) struct SecondLook {
    ask: Sender<()>,
    found: Receiver<Arc<Topology>>,
    /// What was read last of each rail, as far as a change of it asks for a look.
    signs: Vec<Signs>,
}

/// What a sample tells that other facts change with.
#[derive(Clone, Debug, Default, PartialEq)]
struct Signs {
    lost: bool,
    state: Option<String>,
    legs: Vec<(Option<bool>, Option<bool>)>,
    downs: Vec<Option<u64>>,
}

impl SecondLook {
    /// Starts the thread; `None` where there can be none, and the session then knows the first look only.
    pub(super) fn start(again: Again) -> Option<Self> {
        let (ask, asked) = channel();
        let (tell, found) = channel();
        let thread = std::thread::Builder::new().name("second-look".into());
        // not waited for at the end: a card that hangs keeps whoever reads its files
        thread.spawn(move || keep_looking(again, &asked, &tell)).ok()?;
        Some(Self { ask, found, signs: Vec::new() })
    }

    /// What the host is from this sample on; `None` where nothing is known to have changed. Asks for a look where the
    /// sample shows that something did.
    pub(super) fn after(&mut self, frame: &Frame, known: &Topology) -> Option<Arc<Topology>> {
        if self.take_signs(frame, known) {
            // a thread that is gone took a fault with it that its panic has told
            let _ = self.ask.send(());
        }
        self.found.try_iter().last()
    }

    /// Whether a sign is another one than before.
    fn take_signs(&mut self, frame: &Frame, known: &Topology) -> bool {
        let is_first = self.signs.is_empty();
        self.signs.resize(frame.rails.len(), Signs::default());
        let mut differs = false;
        for (at, (signs, read)) in self.signs.iter_mut().zip(&frame.rails).enumerate() {
            let names = known.rails.get(at).map_or(&[][..], |rail| &rail.counters);
            differs |= signs.take(read, names);
        }
        differs && !is_first
    }
}

impl Signs {
    fn take(&mut self, read: &RailFrame, counters: &[String]) -> bool {
        let before = self.clone();
        self.lost = read.lost;
        if read.state.is_some() {
            self.state.clone_from(&read.state);
        }
        if !read.legs.is_empty() {
            self.legs = read.legs.iter().map(|leg| (leg.link_up, leg.active)).collect();
        }
        if !read.counters.is_empty() {
            let named = counters.iter().zip(&read.counters).filter(|(name, _)| name.contains("link_down"));
            self.downs = named.map(|(_, count)| *count).collect();
        }
        // the first reading of what is read less often is no change
        let legs = before.legs.is_empty() || before.legs == self.legs;
        let downs = before.downs.is_empty() || before.downs == self.downs;
        let state = before.state.is_none() || before.state == self.state;
        !(legs && downs && state && before.lost == self.lost)
    }
}

fn keep_looking(mut again: Again, asked: &Receiver<()>, tell: &Sender<Arc<Topology>>) {
    let mut last = Instant::now();
    let mut due = last + EVERY;
    let mut is_asked = false;
    loop {
        match asked.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(()) => {
                is_asked = true;
                due = due.min(last + PAUSE);
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(now) = again.look()
                    && tell.send(Arc::new(now)).is_err()
                {
                    return;
                }
                last = Instant::now();
                due = last + if std::mem::take(&mut is_asked) { SETTLED } else { EVERY };
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Signs;
    use probes::model::{LegFrame, RailFrame};

    fn read(state: &str, link_downed: Option<u64>, leg_up: Option<bool>) -> RailFrame {
        let leg = LegFrame { link_up: leg_up, ..LegFrame::default() };
        RailFrame {
            state: Some(state.into()),
            counters: link_downed.map(|count| vec![Some(7), Some(count)]).unwrap_or_default(),
            legs: leg_up.map(|_| vec![leg]).unwrap_or_default(),
            ..RailFrame::default()
        }
    }

    #[test]
    fn a_look_is_asked_for_when_a_state_a_leg_or_the_count_of_downs_changes() {
        let names = ["hw/out_of_sequence", "port/link_downed"].map(str::to_owned);
        let mut signs = Signs::default();
        let course = [
            (read("ACTIVE", None, None), false),
            (read("ACTIVE", Some(3), Some(true)), false),
            (read("ACTIVE", None, None), false),
            (read("ACTIVE", Some(4), Some(true)), true),
            (read("ACTIVE", Some(4), Some(false)), true),
            (read("DOWN", None, None), true),
            (RailFrame { lost: true, ..RailFrame::default() }, true),
            (RailFrame { lost: true, ..RailFrame::default() }, false),
        ];
        let seen: Vec<bool> = course.iter().map(|(read, _)| signs.take(read, &names)).collect();
        assert_eq!(seen, course.iter().map(|(_, expected)| *expected).collect::<Vec<_>>());
    }
}
