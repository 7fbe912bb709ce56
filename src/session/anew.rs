//! What a session is of, changed while it goes on: another load, a diagnosis, a load again.

use super::Stop;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Ends what goes on in a session and has something else begin; copies of it all mean the same session.
#[derive(Clone)]
pub struct Anew(Arc<Desk>);

struct Desk {
    /// What a load with these changes would be, in a word or two.
    check: Box<Check>,
    state: Mutex<State>,
    /// Wakes the one who shows what goes on.
    changed: Notify,
}

/// Says what a load with these changes would be, or why there is none.
type Check = dyn Fn(&str) -> Result<String, String> + Send + Sync;

#[derive(Default)]
struct State {
    /// Ends what goes on.
    stop: Stop,
    wish: Option<Wish>,
    now: Now,
    asked: Asked,
}

/// What the last load that began was asked for with, where its frames do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The line that starts it.
    pub line: String,
    /// Timeout exponent of its queue pairs.
    pub timeout: u8,
    /// GID index on this host; `None`: the recommended one of each rail.
    pub gid_index: Option<u32>,
    /// Traffic class of its packets.
    pub traffic_class: u8,
}

/// What is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A load with these changes, as flags.
    Load(String),
    /// A diagnosis, of the same peer.
    Diagnosis,
}

/// What goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Now {
    /// A load.
    #[default]
    Load,
    /// What went on is being ended: what comes then, in words. A driver may take long to close queue pairs.
    Ending(String),
    /// Another load is being opened: what is changed, in words.
    Opening(String),
    /// A diagnosis.
    Diagnosis,
    /// Nothing, after a diagnosis that is over.
    Diagnosed,
    /// Nothing, as a load was refused: why, and what to do.
    Refused(String),
}

impl Now {
    /// Why nothing else can begin yet, in words; `None` where it can.
    #[must_use]
    pub fn wait(&self) -> Option<String> {
        match self {
            Self::Ending(then) => Some(format!("wait: what went on is being ended; then {then}")),
            Self::Opening(words) => Some(format!("wait: the load is being started {words}")),
            Self::Load | Self::Diagnosis | Self::Diagnosed | Self::Refused(_) => None,
        }
    }
}

impl Anew {
    /// Of a session whose loads are judged by `check`.
    #[must_use]
    pub fn new(check: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Desk { check: Box::new(check), state: Mutex::default(), changed: Notify::new() }))
    }

    /// Ends what goes on, and has a load begin with these changes, which are flags; what that is in words.
    ///
    /// # Errors
    ///
    /// In words: there is no such load, and what goes on does so still; or something is being ended already.
    pub fn load(&self, changes: &str) -> Result<String, String> {
        let words = (self.0.check)(changes)?;
        self.wish(Wish::Load(changes.to_owned()), format!("a load is started {words}"))?;
        Ok(words)
    }

    /// Ends what goes on, and has a diagnosis begin.
    ///
    /// # Errors
    ///
    /// In words: something is being ended already.
    pub fn diagnosis(&self) -> Result<(), String> {
        self.wish(Wish::Diagnosis, "the diagnosis begins".to_owned())
    }

    fn wish(&self, wish: Wish, then: String) -> Result<(), String> {
        let mut state = self.state();
        if let Some(wait) = state.now.wait() {
            return Err(wait);
        }
        if state.wish.is_some() {
            return Err("wait: a load is being ended".to_owned());
        }
        state.wish = Some(wish);
        state.now = Now::Ending(then);
        let stop = state.stop.clone();
        drop(state);
        stop.stop();
        Ok(())
    }

    /// What the last load was asked for with.
    #[must_use]
    pub fn asked(&self) -> Asked {
        self.state().asked.clone()
    }

    /// Says what the load that begins was asked for with.
    pub(crate) fn ask(&self, asked: Asked) {
        self.state().asked = asked;
    }

    /// What goes on.
    #[must_use]
    pub fn now(&self) -> Now {
        self.state().now.clone()
    }

    /// What went on is over, and a load is being opened, with what in words.
    pub(crate) fn opening(&self, words: String) {
        self.state().now = Now::Opening(words);
        self.0.changed.notify_one();
    }

    /// Waits until something else goes on than when this was waited for last; for one who shows it.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// What is to begin, once; for the one who makes it.
    pub(crate) fn take(&self) -> Option<Wish> {
        self.state().wish.take()
    }

    /// From now on this goes on, and ends by `stop`.
    pub(crate) fn begun(&self, now: Now, stop: Stop) {
        let mut state = self.state();
        (state.now, state.stop) = (now, stop);
        let is_wished_for = state.wish.is_some();
        let stop = state.stop.clone();
        drop(state);
        self.0.changed.notify_one();
        if is_wished_for {
            // it was wished for while this was on its way
            stop.stop();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Anew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anew").field("now", &self.now()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Anew, Now, Wish};
    use crate::session::Stop;

    #[tokio::test]
    async fn who_shows_what_goes_on_hears_of_each_change_though_no_frame_comes() {
        let anew = Anew::new(|_| Ok(String::new()));
        for now in [Now::Opening("with -q 16".to_owned()), Now::Refused("n2 is busy".to_owned())] {
            match now.clone() {
                Now::Opening(words) => anew.opening(words),
                now => anew.begun(now, Stop::new()),
            }
            anew.changed().await;
            assert_eq!(anew.now(), now);
        }
    }

    #[test]
    fn a_load_that_cannot_be_leaves_what_goes_on_alone() {
        let anew = Anew::new(|changes| match changes {
            "-q 16" => Ok("16 queue pairs a rail".to_owned()),
            _ => Err("no such knob".to_owned()),
        });
        let stop = Stop::new();
        anew.begun(Now::Load, stop.clone());
        assert_eq!(anew.load("-z"), Err("no such knob".to_owned()));
        assert!(!stop.is_stopped() && anew.take().is_none());
        assert_eq!(anew.load("-q 16").as_deref(), Ok("16 queue pairs a rail"));
        assert!(stop.is_stopped());
        assert_eq!(anew.now(), Now::Ending("a load is started 16 queue pairs a rail".to_owned()));
        let wait = anew.diagnosis().unwrap_err();
        assert!(wait.contains("being ended; then a load is started 16"), "one thing after the other: {wait}");
        anew.opening("16 queue pairs a rail".to_owned());
        assert!(anew.diagnosis().unwrap_err().contains("being started 16 queue pairs"));
        assert_eq!((anew.take(), anew.take()), (Some(Wish::Load("-q 16".to_owned())), None));
    }
}
