//! Simulations one after the other, as parts of one session: time, and what the NICs count, go on where they were.

use crate::session::{FrameSource, SourceError, Stop};
use probes::model::{Frame, Load, RailFrame, Session};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How far the session has come; copies mean the same session.
#[derive(Clone, Debug, Default)]
pub struct SoFar(Arc<Mutex<Option<Frame>>>);

impl SoFar {
    fn last(&self) -> Option<Frame> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, frame: &Frame) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(frame.clone());
    }
}

/// A simulation as a part of a session.
pub struct SimulatedPart {
    source: Box<dyn FrameSource>,
    so_far: SoFar,
    /// Loads of the session before its own.
    earlier: u32,
    /// Where it begins; `None` before its first frame.
    begins: Option<Begins>,
    /// Its load as it came, and as it is given on: the same in nearly every frame.
    load: Option<(Arc<Load>, Arc<Load>)>,
}

/// Where a part begins: what is to be added to its times, and to what its rails count.
struct Begins {
    at_ns: u64,
    rails: Vec<(RailFrame, RailFrame)>,
}

impl SimulatedPart {
    /// A source whose times and counts begin anew; before its own there were so many loads.
    #[must_use]
    pub fn new(source: Box<dyn FrameSource>, so_far: SoFar, earlier: u32) -> Self {
        Self { source, so_far, earlier, begins: None, load: None }
    }

    fn of_whole(&mut self, mut frame: Frame) -> Frame {
        let interval_ns = self.source.session().interval_ns;
        let begins = self.begins.get_or_insert_with(|| match self.so_far.last() {
            Some(last) => Begins {
                at_ns: last.at_ns.saturating_add(interval_ns),
                rails: last.rails.into_iter().zip(frame.rails.iter().cloned()).collect(),
            },
            None => Begins { at_ns: 0, rails: Vec::new() },
        });
        frame.at_ns = frame.at_ns.saturating_add(begins.at_ns);
        for (rail, (last, first)) in frame.rails.iter_mut().zip(&begins.rails) {
            go_on(rail, last, first);
        }
        if let (Some(load), None) = (&frame.load, &frame.experiment) {
            let same = self.load.as_ref().filter(|(came, _)| Arc::ptr_eq(came, load));
            let given = same.map_or_else(
                || Arc::new(Load { earlier: self.earlier, ..(**load).clone() }),
                |(_, given)| given.clone(),
            );
            self.load = Some((load.clone(), given.clone()));
            frame.load = Some(given);
        }
        self.so_far.keep(&frame);
        frame
    }
}

impl FrameSource for SimulatedPart {
    fn session(&self) -> Arc<Session> {
        self.source.session()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let frame = self.source.next_frame()?;
        Ok(frame.map(|frame| self.of_whole(frame)))
    }
}

/// Lets what a rail counts go on from `last`, where this part counts from `first`; what is unknown stays so.
pub fn go_on(rail: &mut RailFrame, last: &RailFrame, first: &RailFrame) {
    let grown = |now: &mut Option<u64>, last: Option<u64>, first: Option<u64>| {
        if let (Some(count), Some(last), Some(first)) = (*now, last, first) {
            *now = Some(last.saturating_add(count.saturating_sub(first)));
        }
    };
    grown(&mut rail.rx_bytes, last.rx_bytes, first.rx_bytes);
    grown(&mut rail.tx_bytes, last.tx_bytes, first.tx_bytes);
    for (now, (last, first)) in rail.counters.iter_mut().zip(last.counters.iter().zip(&first.counters)) {
        grown(now, *last, *first);
    }
    for (now, (last, first)) in rail.legs.iter_mut().zip(last.legs.iter().zip(&first.legs)) {
        grown(&mut now.rx_rdma_bytes, last.rx_rdma_bytes, first.rx_rdma_bytes);
        grown(&mut now.tx_rdma_bytes, last.tx_rdma_bytes, first.tx_rdma_bytes);
        grown(&mut now.rx_port_bytes, last.rx_port_bytes, first.rx_port_bytes);
        grown(&mut now.tx_port_bytes, last.tx_port_bytes, first.tx_port_bytes);
    }
}

/// The simulated node while nothing moves, until it is told to stop.
pub struct AtRest {
    session: Arc<Session>,
    so_far: SoFar,
    every: Duration,
    began: Instant,
    seq: u64,
    stop: Stop,
}

impl AtRest {
    /// After what the session was so far.
    #[must_use]
    pub fn after(session: Arc<Session>, so_far: SoFar, every: Duration, stop: Stop) -> Self {
        Self { session, so_far, every, began: Instant::now(), seq: 0, stop }
    }
}

impl FrameSource for AtRest {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        self.began += self.every;
        if !self.stop.wait_until(self.began) {
            return Ok(None);
        }
        let Some(last) = self.so_far.last() else { return Ok(None) };
        let every_ns = u64::try_from(self.every.as_nanos()).unwrap_or(u64::MAX);
        let frame = Frame {
            seq: self.seq,
            at_ns: last.at_ns.saturating_add(every_ns),
            rails: last.rails,
            ..Frame::default()
        };
        self.seq += 1;
        self.so_far.keep(&frame);
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::{SimulatedPart, SoFar};
    use crate::session::FrameSource;
    use crate::sim::{Pace, Simulated};
    use crate::timeline::Timeline;
    use std::time::Duration;

    fn part(so_far: &SoFar, earlier: u32) -> SimulatedPart {
        let (every, all) = (Duration::from_millis(100), Duration::from_secs(2));
        let source = Simulated::new("mixed", 1, every, Pace::AsFastAsPossible, Some(all)).unwrap();
        SimulatedPart::new(Box::new(source), so_far.clone(), earlier)
    }

    #[test]
    fn a_second_simulation_goes_on_in_time_and_in_what_is_counted() {
        let so_far = SoFar::default();
        let (mut first, mut second) = (part(&so_far, 0), part(&so_far, 1));
        let mut timeline = Timeline::new(first.session());
        let mut frames = 0;
        while let Some(frame) = first.next_frame().unwrap() {
            frames += 1;
            timeline.push(frame);
        }
        while let Some(mut frame) = second.next_frame().unwrap() {
            frame.seq += frames;
            timeline.push(frame);
        }
        let host = timeline.local();
        assert_eq!(host.latest().unwrap().at_ns, 4_100_000_000);
        let resets =
            host.intervals().any(|interval| interval.rails.iter().any(|rail| rail.rx_gb_per_s.is_none()));
        assert!(!resets, "nothing counts backwards");
        assert_eq!(host.latest().unwrap().load.as_ref().unwrap().earlier, 1);
    }
}
