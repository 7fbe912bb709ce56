//! What each thread of our load did in its measured time, warm-up left out.

use probes::model::{Frame, PerfFrame, RailId, WorkerFrame, WorkerPhase};
use serde::{Deserialize, Serialize};

/// What one worker had done at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Time of the frame, nanoseconds since the session began.
    pub at_ns: u64,
    /// Payload bytes of good completions.
    pub bytes: u64,
    /// Good completions.
    pub operations: u64,
    /// Polls of the completion queue.
    pub polls: u64,
    /// Polls that found nothing.
    pub empty_polls: u64,
    /// What it had cost.
    pub perf: PerfFrame,
}

/// The measured time of one worker so far: its first and its newest reading.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measured {
    /// Rail it drives.
    pub rail: Option<RailId>,
    /// First reading in the measured time; `None` before it.
    pub from: Option<Reading>,
    /// Newest reading in it.
    pub to: Option<Reading>,
}

/// What was done between two readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// Nanoseconds.
    pub ns: u64,
    /// Payload bytes of good completions.
    pub bytes: u64,
    /// Good completions.
    pub operations: u64,
    /// Polls of the completion queue.
    pub polls: u64,
    /// Polls that found nothing.
    pub empty_polls: u64,
    /// What it cost, as it was counted: see [`PerfFrame::scaled`].
    pub perf: PerfFrame,
}

impl Reading {
    /// What this worker had done when the frame was made.
    #[must_use]
    pub fn of(worker: &WorkerFrame, at_ns: u64) -> Self {
        Self {
            at_ns,
            bytes: worker.bytes,
            operations: worker.operations,
            polls: worker.polls,
            empty_polls: worker.empty_polls,
            perf: worker.perf.clone(),
        }
    }

    /// What was done since `earlier`; `None` where no time passed, or where a count went backwards.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Done> {
        Some(Done {
            ns: self.at_ns.checked_sub(earlier.at_ns).filter(|ns| *ns > 0)?,
            bytes: self.bytes.checked_sub(earlier.bytes)?,
            operations: self.operations.checked_sub(earlier.operations)?,
            polls: self.polls.checked_sub(earlier.polls)?,
            empty_polls: self.empty_polls.checked_sub(earlier.empty_polls)?,
            perf: self.perf.since(&earlier.perf),
        })
    }
}

impl Measured {
    /// What the worker did in its measured time; `None` before a second reading of it.
    #[must_use]
    pub fn done(&self) -> Option<Done> {
        self.to.as_ref()?.since(self.from.as_ref()?)
    }

    fn add(&mut self, worker: &WorkerFrame, at_ns: u64) {
        match worker.phase {
            // a load that begins anew is measured anew
            WorkerPhase::Waiting | WorkerPhase::Warmup => *self = Self::default(),
            WorkerPhase::Measuring => {
                let now = Reading::of(worker, at_ns);
                let went_back = self.to.as_ref().is_some_and(|then| now.bytes < then.bytes);
                if self.from.is_none() || self.rail != worker.rail || went_back {
                    *self = Self { rail: worker.rail, from: Some(now.clone()), to: None };
                }
                self.to = Some(now);
            }
            // what it did after its last reading was measured only in part
            WorkerPhase::Done | WorkerPhase::Failed => {}
        }
    }
}

/// Takes the workers of one more frame.
pub(super) fn add(workers: &mut Vec<Measured>, frame: &Frame) {
    if workers.len() < frame.workers.len() {
        workers.resize_with(frame.workers.len(), Measured::default);
    }
    for (measured, worker) in workers.iter_mut().zip(&frame.workers) {
        measured.add(worker, frame.at_ns);
    }
}

impl Done {
    /// Both together, of workers that ran side by side: the time is that of the longer.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            ns: self.ns.max(other.ns),
            bytes: self.bytes.saturating_add(other.bytes),
            operations: self.operations.saturating_add(other.operations),
            polls: self.polls.saturating_add(other.polls),
            empty_polls: self.empty_polls.saturating_add(other.empty_polls),
            perf: self.perf.plus(&other.perf),
        }
    }

    /// Share of polls that found nothing; `None` without a poll.
    #[must_use]
    pub fn empty_poll_share(&self) -> Option<f64> {
        (self.polls > 0).then(|| self.empty_polls as f64 / self.polls as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Measured, add};
    use probes::model::{Frame, PerfFrame, RailId, WorkerFrame, WorkerPhase};

    fn frame(at_ns: u64, phase: WorkerPhase, bytes: u64) -> Frame {
        let worker = WorkerFrame {
            rail: Some(RailId(0)),
            phase,
            bytes,
            polls: bytes / 10,
            perf: PerfFrame { cycles: Some(bytes * 3), ..PerfFrame::default() },
            ..WorkerFrame::default()
        };
        Frame { at_ns, workers: vec![worker], ..Frame::default() }
    }

    fn after(frames: &[Frame]) -> Vec<Measured> {
        let mut workers = Vec::new();
        for frame in frames {
            add(&mut workers, frame);
        }
        workers
    }

    #[test]
    fn warm_up_and_what_came_after_the_last_reading_do_not_count() {
        use WorkerPhase::{Done, Measuring, Warmup};
        let workers = after(&[
            frame(1000, Warmup, 500),
            frame(2000, Measuring, 1000),
            frame(3000, Measuring, 2000),
            frame(4000, Measuring, 3000),
            frame(4100, Done, 3050),
        ]);
        let done = workers[0].done().unwrap();
        assert_eq!((done.ns, done.bytes, done.polls, done.perf.cycles), (2000, 2000, 200, Some(6000)));
    }

    #[test]
    fn one_reading_is_no_time() {
        assert_eq!(after(&[frame(1000, WorkerPhase::Measuring, 5)])[0].done(), None);
        assert_eq!(after(&[frame(1000, WorkerPhase::Warmup, 5)])[0], Measured::default());
    }

    #[test]
    fn a_second_load_is_measured_from_its_own_start() {
        use WorkerPhase::{Done, Measuring};
        let workers = after(&[
            frame(1, Measuring, 1000),
            frame(2, Measuring, 2000),
            frame(3, Done, 2000),
            frame(4, Measuring, 10),
            frame(5, Measuring, 30),
        ]);
        let done = workers[0].done().unwrap();
        assert_eq!((done.ns, done.bytes), (1, 20));
    }
}
