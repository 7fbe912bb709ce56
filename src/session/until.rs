//! A source that ends before its own end.

use super::{FrameSource, SourceError, Stop};
use probes::model::{Frame, Session};
use std::sync::Arc;
use std::time::Duration;

/// A source that ends after some time of the session, or when it is told to: for recordings, which have no clock.
#[derive(Debug)]
pub struct Until<S> {
    source: S,
    end_ns: u64,
    stop: Stop,
    is_over: bool,
}

impl<S> Until<S> {
    /// `None` is the source's own end.
    #[must_use]
    pub fn new(source: S, time: Option<Duration>, stop: Stop) -> Self {
        Self { source, end_ns: time.map_or(u64::MAX, probes::times::nanoseconds), stop, is_over: false }
    }

    pub(super) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Time after which nothing is passed on, nanoseconds.
    pub(super) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// It was brought back before its end.
    pub(super) fn goes_on(&mut self) {
        self.is_over = false;
    }
}

impl<S: FrameSource> FrameSource for Until<S> {
    fn session(&self) -> Arc<Session> {
        self.source.session()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        if self.is_over || self.stop.is_stopped() {
            return Ok(None);
        }
        let Some(frame) = self.source.next_frame()? else { return Ok(None) };
        // hosts take turns, so what comes after is later as well
        self.is_over = super::on_first_clock(&self.session(), &frame) > self.end_ns;
        Ok((!self.is_over).then_some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::Until;
    use crate::session::{FrameSource, Stop};
    use crate::sim::{Pace, Simulated};
    use std::time::Duration;

    fn endless() -> Simulated {
        Simulated::new("healthy", 1, Duration::from_millis(100), Pace::AsFastAsPossible, None).unwrap()
    }

    #[test]
    fn a_source_ends_after_the_time_that_was_asked_for() {
        let mut source = Until::new(endless(), Some(Duration::from_millis(250)), Stop::new());
        let times: Vec<u64> = std::iter::from_fn(|| source.next_frame().unwrap())
            .map(|frame| frame.at_ns / 1_000_000)
            .collect();
        assert_eq!(times, [0, 100, 200]);
        assert_eq!(source.next_frame().unwrap(), None, "and stays ended");
    }

    #[test]
    fn a_source_ends_when_it_is_told_to() {
        let stop = Stop::new();
        let mut source = Until::new(endless(), None, stop.clone());
        assert!(source.next_frame().unwrap().is_some());
        stop.stop();
        assert_eq!(source.next_frame().unwrap(), None);
    }
}
