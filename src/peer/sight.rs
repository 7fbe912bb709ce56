//! What a client sees of its server's host: what the host is, and its samples.

use super::clock::{ahead_ns, then_ns};
use super::error::PeerError;
use super::link::{Link, printable_name};
use super::message::Message;
use crate::session::Inbox;
use probes::model::{Frame, Topology};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Characters of a description that go into one message; each may take six bytes as JSON.
const PART_CHARS: usize = 100_000;

/// Parts of the longest description that is taken.
const MOST_PARTS: usize = 100;

/// A description of this host in as many messages as it takes.
pub(super) fn parts(topology: &Topology, began_ns: i64) -> Vec<Message> {
    let text = serde_json::to_string(topology).unwrap_or_default();
    let text: Vec<char> = text.chars().collect();
    let of = text.chunks(PART_CHARS).len();
    let part = |(at, part): (usize, &[char])| Message::Host {
        began_ns,
        left: of - 1 - at,
        text: part.iter().collect(),
    };
    text.chunks(PART_CHARS).enumerate().map(part).collect()
}

/// The server's host, as it is seen from here.
pub struct Sight {
    /// What it is.
    pub topology: Arc<Topology>,
    /// Its samples, until the sampler takes them.
    pub inbox: Arc<Inbox>,
    /// When its times begin, on its own clock.
    began_ns: i64,
    /// What its clock shows more than ours.
    ahead_ns: i64,
    /// Time of its newest sample, and how many came.
    newest_ns: AtomicU64,
    frames: AtomicU64,
    /// What was wrong with a sample that was left out.
    misfit: Mutex<Option<String>>,
}

impl Sight {
    /// Takes the server's description of its host, and holds the clocks against each other.
    ///
    /// # Errors
    ///
    /// The peer is gone, says something else, or what it says is no description.
    pub(super) async fn open(link: &mut Link) -> Result<Self, PeerError> {
        let limit = link.timing().opening;
        let mut whole = String::new();
        let mut parts = 0;
        let began = loop {
            match link.next_within(limit, "what its host is").await? {
                Message::Host { began_ns, left, text } if parts < MOST_PARTS => {
                    whole.push_str(&text);
                    parts += 1;
                    if left == 0 {
                        break began_ns;
                    }
                }
                other => return Err(link.out_of_turn(&other, "`host`")),
            }
        };
        let topology: Topology = serde_json::from_str(&whole).map_err(|cause| PeerError::NoMessage {
            peer: link.peer().to_owned(),
            protocol: super::message::PROTOCOL,
            cause,
        })?;
        let ahead_ns = ahead_ns(link).await?;
        Ok(Self {
            topology: Arc::new(topology),
            inbox: Arc::default(),
            began_ns: began,
            ahead_ns,
            newest_ns: AtomicU64::new(0),
            frames: AtomicU64::new(0),
            misfit: Mutex::default(),
        })
    }

    /// What to add to a time of its samples to get one of a source of ours that began then, nanoseconds.
    #[must_use]
    pub fn clock_offset_ns(&self, began: Instant) -> i64 {
        self.began_ns.saturating_sub(self.ahead_ns).saturating_sub(then_ns(began))
    }

    /// Takes a sample in, unless it does not fit the host that was described, or is of the past.
    pub(super) fn take(&self, text: &str) {
        match self.fit(text) {
            Ok(frame) => {
                self.newest_ns.store(frame.at_ns, Ordering::Relaxed);
                let seq = self.frames.fetch_add(1, Ordering::Relaxed);
                self.inbox.put(Frame { seq, ..frame });
            }
            Err(why) => {
                self.misfit
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(printable_name(&why));
            }
        }
    }

    fn fit(&self, text: &str) -> Result<Frame, String> {
        let frame: Frame = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let rails = &self.topology.rails;
        if frame.rails.len() != rails.len() {
            return Err(format!("a sample of {} rails; its host has {}", frame.rails.len(), rails.len()));
        }
        let few = |(rail, frame): (&probes::model::Rail, &probes::model::RailFrame)| {
            frame.counters.len() <= rail.counters.len()
                && frame.legs.len() <= rail.bond.as_ref().map_or(0, |bond| bond.legs.len())
        };
        if !rails.iter().zip(&frame.rails).all(few) {
            return Err("a sample with more counters or legs than its rails have".to_owned());
        }
        if self.frames.load(Ordering::Relaxed) > 0 && frame.at_ns <= self.newest_ns.load(Ordering::Relaxed) {
            return Err("a sample of the past".to_owned());
        }
        let topology = frame.topology.filter(|now| now.has_the_columns_of(&self.topology));
        // what is loaded is told by the end that posts
        Ok(Frame {
            host: 1,
            topology,
            load: None,
            workers: Vec::new(),
            peer: None,
            marks: Vec::new(),
            ..frame
        })
    }

    /// What was wrong with a sample that was left out; `None` where none was.
    #[must_use]
    pub fn misfit(&self) -> Option<String> {
        self.misfit.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sight")
            .field("hostname", &self.topology.host.hostname)
            .field("ahead_ns", &self.ahead_ns)
            .finish_non_exhaustive()
    }
}
