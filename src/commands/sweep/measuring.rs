//! One load and its two samples.

use super::far_side::FarSide;
use crate::cli::LoadKnobs;
use crate::commands::way::Way;
use crate::peer::client::{Connected, connect_until};
use crate::peer::{End, Ended, PeerError, Target, perftest};
use crate::printable::tell;
use crate::session::Stop;
use crate::settings::Common;
use anyhow::{Context, bail};
use probes::counters::Sampler;
use probes::load::{Params, RunningLoad};
use probes::model::{Frame, Topology, WorkerFrame, WorkerPhase};
use probes::root::Root;
use probes::times::nanoseconds;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a load is asked whether it is in its measured time, or over.
const LOOK: Duration = Duration::from_millis(2);
/// The engine's own end lies so far behind ours: it only ends a load that nobody attends to.
const GRACE: Duration = Duration::from_secs(10);

/// A check of the data takes no longer, the peer's answer included.
const AT_REST: Duration = Duration::from_mins(1);

/// Where all points are measured.
pub(in crate::commands) trait Bench {
    /// One load, sampled at both ends of the window; `None` when it was told to stop meanwhile.
    ///
    /// # Errors
    ///
    /// There was no load, or it ended before the window did.
    fn measure(&self, params: &Params, window: Duration) -> anyhow::Result<Option<Measured>>;
}

/// The rails of this host and those of a peer.
pub(in crate::commands) struct Peer {
    root: Root,
    end: End,
    target: Target,
    /// Told by signals.
    stop: Stop,
    /// Whether it was said who the peer is and which rails go together.
    introduced: Cell<bool>,
}

/// What one load gave.
pub(in crate::commands) struct Measured {
    /// This host, with the counters that the frames have.
    pub(in crate::commands) topology: Topology,
    pub(in crate::commands) from: Frame,
    pub(in crate::commands) to: Frame,
    /// What the threads had counted when all were at rest and their data checked.
    pub(in crate::commands) last: Vec<WorkerFrame>,
    pub(in crate::commands) here: String,
    /// `None` in a simulation.
    pub(in crate::commands) peer: Option<String>,
    pub(in crate::commands) perftest: Vec<String>,
    pub(in crate::commands) failures: Vec<String>,
    /// What the peer's rails counted meanwhile.
    pub(in crate::commands) far: FarSide,
}

impl Peer {
    /// The same, with the peer telling of itself what it can.
    pub(in crate::commands) fn seen(self) -> Self {
        let end = End { root: Some(self.root.clone()), ..self.end };
        Self { end, ..self }
    }

    /// The peer and the rails that the flags name.
    ///
    /// # Errors
    ///
    /// As [`request::target`] and [`End::of`].
    pub(in crate::commands) fn new(knobs: &LoadKnobs, common: &Common, stop: Stop) -> anyhow::Result<Self> {
        let way = Way::of(knobs, common)?;
        Ok(Self { introduced: Cell::new(false), ..Self::over(way, stop) })
    }

    /// Over this way, on which nothing is left to say of who is who.
    pub(in crate::commands) fn over(way: Way, stop: Stop) -> Self {
        Self::of_end(way.root, way.end, way.target, stop)
    }

    /// This end, about which nothing is left to say.
    pub(in crate::commands) fn of_end(root: Root, end: End, target: Target, stop: Stop) -> Self {
        Self { root, end: End { root: None, ..end }, target, stop, introduced: Cell::new(true) }
    }

    /// This host, with the rails that the flags name.
    pub(in crate::commands) fn topology(&self) -> &Topology {
        &self.end.topology
    }

    /// The whole host, with the counters that the frames of a load have.
    pub(in crate::commands) fn sampled_topology(&self) -> Topology {
        let mut topology = (*self.end.topology).clone();
        let _ = Sampler::open(&self.root, &mut topology);
        topology
    }

    /// Rails that can be loaded.
    pub(in crate::commands) fn devices(&self) -> Vec<String> {
        self.end.offers.iter().map(|offer| offer.device.clone()).collect()
    }

    /// The same with these rails only, and nothing more to say of who is who.
    pub(in crate::commands) fn only(&self, rails: &[String]) -> Self {
        let mut end = self.end.clone();
        end.offers.retain(|offer| rails.contains(&offer.device));
        Self {
            root: self.root.clone(),
            end,
            target: self.target.clone(),
            stop: self.stop.clone(),
            introduced: Cell::new(true),
        }
    }

    /// The first sample when all rails are in their measured time, the second when the window is over.
    fn both(&self, samples: &mut Samples<'_>, warmup: Duration, window: Duration) -> Option<(Frame, Frame)> {
        let late = samples.began + warmup + GRACE;
        loop {
            let workers = samples.load.workers();
            let in_phase = |phase| workers.iter().any(|worker| worker.phase == phase);
            let waits = in_phase(WorkerPhase::Waiting) || in_phase(WorkerPhase::Warmup);
            if in_phase(WorkerPhase::Measuring) && (!waits || Instant::now() > late) {
                break;
            }
            if samples.load.is_over() || Instant::now() > late || !self.stop.wait_until(Instant::now() + LOOK)
            {
                return None;
            }
        }
        let from = samples.take();
        let end = samples.began + Duration::from_nanos(from.at_ns) + window;
        while Instant::now() < end {
            if !self.stop.wait_until(end.min(Instant::now() + 10 * LOOK)) {
                return None;
            }
            if samples.load.is_over() {
                return None;
            }
        }
        Some((from, samples.take()))
    }
}

impl Bench for Peer {
    fn measure(&self, params: &Params, window: Duration) -> anyhow::Result<Option<Measured>> {
        if self.stop.is_stopped() {
            return Ok(None);
        }
        let asked = Params { duration_s: Some((window + GRACE).as_secs_f64()), ..params.clone() };
        // what happens to rails meanwhile stands in `failures`
        let say = Arc::new(|_: &str| {});
        let mut connected = connect_until(&self.stop, self.end.clone(), self.target.clone(), asked, say)?;
        if !self.introduced.replace(true) {
            introduce(&connected);
        }
        let load = connected.take_load().context("a load can be watched once")?;
        let mut topology = (*self.end.topology).clone();
        let sampler = Sampler::open(&self.root, &mut topology);
        let mut both_ends = Samples { root: &self.root, sampler, load: &*load, began: Instant::now() };
        connected.go();
        let both = self.both(&mut both_ends, Duration::try_from_secs_f64(params.warmup_s)?, window);
        // what comes last counts too: the check of the data, and rails that fail while they come to rest
        let (last, mut failures) = at_its_end(&*load, &self.stop, AT_REST);
        let both = both.or_else(|| {
            // rails that failed all are a point too, one without a rate
            let frame = both_ends.take();
            (!failures.is_empty()).then(|| (frame.clone(), frame))
        });
        drop(load);
        let perftest = words(&mut connected, window);
        let (here, peer) = (self.end.me.host.clone(), Some(connected.agreed.peer.host.clone()));
        let agreed = connected.agreed.clone();
        let ended = connected.finish();
        // after the goodbye, so that what came last is there too
        let far = FarSide::of(&agreed);
        if self.stop.is_stopped() {
            return Ok(None);
        }
        match ended {
            // what was measured may be of a host that froze: the point is failed, and the next will tell
            Ended::Lost(error @ PeerError::NoGoodbye { .. }) if both.is_some() => {
                failures.push(error.to_string());
            }
            Ended::Lost(error) => return Err(anyhow::Error::new(error).context("the load was cut short")),
            Ended::There(reason) => bail!("ended by the peer: {reason}"),
            Ended::Here => {}
        }
        let (from, to) = both.context("no rail got to its measured time")?;
        Ok(Some(Measured { topology, from, to, last, here, peer, perftest, failures, far }))
    }
}

/// Ends a load and waits until its threads are at rest and have checked their data, so long at most; what they had
/// counted then, and why some failed.
fn at_its_end(load: &dyn RunningLoad, stop: &Stop, at_most: Duration) -> (Vec<WorkerFrame>, Vec<String>) {
    load.stop();
    let late = Instant::now() + at_most;
    while !load.is_over() && Instant::now() < late && stop.wait_until(Instant::now() + LOOK) {}
    let mut failures = load.failures();
    if !load.is_over() && !stop.is_stopped() {
        failures.push(format!("not at rest {} s after its end: its data are not checked", at_most.as_secs()));
    }
    (load.workers(), failures)
}

/// The two samples of a load.
struct Samples<'a> {
    root: &'a Root,
    sampler: Sampler,
    load: &'a dyn RunningLoad,
    began: Instant,
}

impl Samples<'_> {
    /// Everything at one moment: the workers first, whose counts are the rate's.
    fn take(&mut self) -> Frame {
        let at = self.began.elapsed();
        let workers = self.load.workers();
        let mut rails = self.sampler.bytes(self.root, |_| true);
        self.sampler.further(self.root, &mut rails);
        Frame {
            at_ns: nanoseconds(at),
            rails,
            workers,
            load: Some(Arc::clone(&self.load.load())),
            ..Frame::default()
        }
    }
}

/// Who the peer is and which rails go together, before anything moves.
fn introduce(connected: &Connected) {
    let agreed = &connected.agreed;
    let here = if agreed.loopback { ", which is this machine: loopback, no fabric" } else { "" };
    tell(format_args!("loads with {} ({}){here}", agreed.peer.host, agreed.address));
    // its first line is of this point alone
    for line in agreed.introduction(&[]).into_iter().skip(1).chain(connected.crowding()) {
        tell(line);
    }
}

/// The same in perftest's words, with the window as its time.
fn words(connected: &mut Connected, window: Duration) -> Vec<String> {
    let used = connected.used();
    connected.agreed.plan.params.duration_s = Some(window.as_secs_f64());
    perftest::commands(&connected.agreed, &used)
}

#[cfg(test)]
mod tests;
