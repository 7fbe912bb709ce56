//! A session file as a source.

use super::reader::Reader;
use super::{FrameSource, SourceError};
use crate::timeline::{Past, Timeline, WINDOW_NS};
use probes::model::{Frame, RailFrame, Session};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A recorded session. Holds one block at a time; damaged blocks are left out with a warning.
#[derive(Debug)]
pub struct Replay {
    reader: Reader,
    next_block: usize,
    pending: VecDeque<Frame>,
    condition: Condition,
}

/// What is not as it should be with a recording; copies of it all mean the same recording.
///
/// A cut is known from the start, a damaged block once it was read.
#[derive(Clone, Debug, Default)]
pub struct Condition(Arc<Mutex<Faults>>);

#[derive(Debug, Default)]
struct Faults {
    cut: Option<String>,
    /// Numbers of the damaged blocks, and what is wrong with each.
    damaged: BTreeMap<usize, String>,
}

/// A place in a session, and what led there.
#[derive(Clone, Debug, PartialEq)]
pub struct Sought {
    /// What is known of each host before the first of the frames.
    pub past: Vec<Past>,
    /// The frames from there to the place: those of the window, and of a second or two before it.
    pub frames: Vec<Frame>,
}

impl Sought {
    /// The timeline at the place: what a read from the beginning would have made of all frames up to it. Blocks that
    /// are damaged, or were lost before they were written, are in its sums where they are in the file's.
    #[must_use]
    pub fn timeline(self, session: Arc<Session>) -> Timeline {
        let mut timeline = Timeline::resume(session, self.past);
        for frame in self.frames {
            timeline.push(frame);
        }
        timeline
    }
}

impl Replay {
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no recording, holds nothing, or was written by a newer program.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let reader = Reader::open(path)?;
        let cut = match reader.left_over_bytes() {
            _ if reader.is_whole() => None,
            0 => Some("has no end mark: its recording was cut off, or still goes on".to_owned()),
            bytes => {
                Some(format!("is cut short: its last {bytes} bytes are no whole block and are left out"))
            }
        };
        let condition = Condition(Arc::new(Mutex::new(Faults { cut, ..Faults::default() })));
        Ok(Self { reader, next_block: 0, pending: VecDeque::new(), condition })
    }

    /// A handle on what is wrong with the file, for whoever gives this source away.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.condition.clone()
    }

    /// What is not as it should be with the file, for people; see [`Condition::warning`].
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        self.condition.warning()
    }

    /// Times of the first and last frame, nanoseconds; `None` when neither end can be read.
    pub fn span_ns(&mut self) -> Option<(u64, u64)> {
        let last = self.reader.blocks().checked_sub(1)?;
        Some((self.reader.span(0).ok()?.first_ns, self.reader.span(last).ok()?.last_ns))
    }

    /// Goes to the newest frame at or before `at_ns` on the first host's clock, or to the first frame; reads the blocks
    /// of the minute before it, which rules look at, and none before those.
    ///
    /// [`FrameSource::next_frame`] goes on from there.
    ///
    /// # Errors
    ///
    /// The block that holds the place is damaged.
    pub fn seek(&mut self, at_ns: u64) -> Result<Sought, SourceError> {
        let block = self.block_at(at_ns);
        self.pending.clear();
        self.next_block = block;
        if block >= self.reader.blocks() {
            return Ok(Sought { past: Vec::new(), frames: Vec::new() });
        }
        let mut read = self.reader.block(block).map_err(|reason| {
            SourceError::Live(format!("block {block} of the recording is damaged: {reason}"))
        })?;
        self.next_block = block + 1;
        let session = self.reader.session();
        let is_later = |frame: &Frame| super::on_first_clock(&session, frame) > at_ns;
        let later = read.frames.iter().position(is_later).unwrap_or(read.frames.len());
        let later = if block == 0 { later.max(1).min(read.frames.len()) } else { later };
        self.pending = read.frames.split_off(later).into();
        let newest_ns = read.frames.iter().map(|frame| super::on_first_clock(&session, frame)).max();
        let (past, mut frames) = match newest_ns {
            Some(newest_ns) if block > 0 => self.lead_up(block, newest_ns.saturating_sub(WINDOW_NS)),
            _ => (None, Vec::new()),
        };
        let past = past.unwrap_or_else(|| self.reader.past(block, &read));
        frames.append(&mut read.frames);
        Ok(Sought { past, frames })
    }

    /// Frames of the blocks before this one from `begin_ns` on, and what is known before them; `None` where there is no
    /// such block. What is damaged is left out.
    fn lead_up(&mut self, block: usize, begin_ns: u64) -> (Option<Vec<Past>>, Vec<Frame>) {
        // one more: clocks of two hosts differ a little, and with them what a block begins and ends with
        let first = self.block_at(begin_ns).saturating_sub(1);
        let (mut past, mut blocks, mut bytes) = (None, Vec::new(), 0);
        for at in (first..block).rev() {
            match self.reader.block(at) {
                Ok(read) => {
                    past = Some(self.reader.past(at, &read));
                    bytes += read.frames.iter().map(about_bytes).sum::<usize>();
                    blocks.push(read.frames);
                }
                Err(reason) => self.condition.note(at, &reason),
            }
            if bytes > MOST_LED_UP_BYTES {
                break;
            }
        }
        (past, blocks.into_iter().rev().flatten().collect())
    }

    /// The last block that begins at or before `at_ns`, or the first.
    fn block_at(&mut self, at_ns: u64) -> usize {
        let (mut low, mut high) = (0, self.reader.blocks());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            // a damaged block tells no time: ask the ones before it
            let known = (low + 1..=middle).rev().find_map(|at| Some((at, self.reader.span(at).ok()?)));
            match known {
                Some((at, span)) if span.first_ns > at_ns => high = at,
                Some(_) | None => low = middle,
            }
        }
        if self.reader.span(low).is_err() {
            // or is it in the one before?
            let before = (0..low).rev().find_map(|at| Some((at, self.reader.span(at).ok()?)));
            return before.filter(|(_, span)| span.last_ns >= at_ns).map_or(low, |(at, _)| at);
        }
        low
    }
}

/// Most memory for the minute before a place; a minute of 64 rails takes a fifth of it, and a file that holds more than
/// this shows less of its minute.
const MOST_LED_UP_BYTES: usize = 64 << 20;

/// About what a frame takes in memory.
fn about_bytes(frame: &Frame) -> usize {
    let of_rail = |rail: &RailFrame| {
        size_of_val(rail) + size_of_val(rail.counters.as_slice()) + size_of_val(rail.legs.as_slice())
    };
    let rails: usize = frame.rails.iter().map(of_rail).sum();
    size_of_val(frame) + rails + frame.workers.len() * 1024
}

impl Condition {
    /// What is not as it should be with the file, for people; `None` when nothing is known to be wrong.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let damage = faults.damaged.first_key_value().map(|(block, reason)| match faults.damaged.len() {
            1 => format!("one block is damaged and left out (block {block}: {reason})"),
            n => format!("{n} blocks are damaged and left out (the first: block {block}: {reason})"),
        });
        let parts: Vec<String> = faults.cut.iter().cloned().chain(damage).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn note(&self, block: usize, reason: &str) {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        faults.damaged.entry(block).or_insert_with(|| reason.to_owned());
    }
}

impl FrameSource for Replay {
    fn session(&self) -> Arc<Session> {
        self.reader.session()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        while self.pending.is_empty() && self.next_block < self.reader.blocks() {
            let block = self.next_block;
            self.next_block += 1;
            match self.reader.block(block) {
                Ok(read) => self.pending = read.frames.into(),
                Err(reason) => self.condition.note(block, &reason),
            }
        }
        Ok(self.pending.pop_front())
    }
}
