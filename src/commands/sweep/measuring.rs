//! One load and its two samples.

use crate::cli::LoadKnobs;
use crate::peer::client::{Connected, connect};
use crate::peer::{Door, End, Ended, Target, perftest, request};
use crate::printable::tell;
use crate::session::Stop;
use crate::settings::Common;
use anyhow::{Context, bail};
use probes::counters::Sampler;
use probes::load::{Params, RunningLoad};
use probes::model::{Frame, Topology, WorkerPhase};
use probes::root::Root;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a load is asked whether it is in its measured time, or over.
const LOOK: Duration = Duration::from_millis(2);
/// The engine's own end lies so far behind ours: it only ends a load that nobody attends to.
const GRACE: Duration = Duration::from_secs(10);

/// Where all points are measured.
pub(super) trait Bench {
    /// One load, sampled at both ends of the window; `None` when it was told to stop meanwhile.
    ///
    /// # Errors
    ///
    /// There was no load, or it ended before the window did.
    fn measure(&self, params: &Params, window: Duration) -> anyhow::Result<Option<Measured>>;
}

/// The rails of this host and those of a peer.
pub(super) struct Peer {
    root: Root,
    end: End,
    target: Target,
    /// Told by signals.
    stop: Stop,
    /// Whether it was said who the peer is and which rails go together.
    introduced: Cell<bool>,
}

/// What one load gave.
pub(super) struct Measured {
    /// This host, with the counters that the frames have.
    pub(super) topology: Topology,
    pub(super) from: Frame,
    pub(super) to: Frame,
    pub(super) here: String,
    /// `None` in a simulation.
    pub(super) peer: Option<String>,
    pub(super) perftest: Vec<String>,
    pub(super) failures: Vec<String>,
}

impl Peer {
    /// The peer and the rails that the flags name.
    ///
    /// # Errors
    ///
    /// As [`request::target`] and [`End::of`].
    pub(super) fn new(knobs: &LoadKnobs, common: &Common, stop: Stop) -> anyhow::Result<Self> {
        let target = request::target(knobs).map_err(anyhow::Error::msg)?;
        let (root, end) = End::of(common, knobs.gid_index)?;
        let mut end = end.with_memory(knobs.memory)?;
        end.door = Door::with_token(knobs.token.as_deref()).map_err(anyhow::Error::msg)?;
        Ok(Self { root, end, target, stop, introduced: Cell::new(false) })
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
        let mut connected = connect(self.end.clone(), self.target.clone(), asked, say)?;
        if !self.introduced.replace(true) {
            introduce(&connected);
        }
        let load = connected.take_load().context("a load can be watched once")?;
        let mut topology = (*self.end.topology).clone();
        let sampler = Sampler::open(&self.root, &mut topology);
        let mut both_ends = Samples { root: &self.root, sampler, load: &*load, began: Instant::now() };
        connected.go();
        let both = self.both(&mut both_ends, Duration::try_from_secs_f64(params.warmup_s)?, window);
        let failures = both_ends.load.failures();
        drop(load);
        let perftest = words(&mut connected, window);
        let (here, peer) = (self.end.me.host.clone(), Some(connected.agreed.peer.host.clone()));
        let ended = connected.finish();
        if self.stop.is_stopped() {
            return Ok(None);
        }
        match ended {
            Ended::Lost(error) => return Err(anyhow::Error::new(error).context("the load was cut short")),
            Ended::There(reason) => bail!("ended by the peer: {reason}"),
            Ended::Here => {}
        }
        let Some((from, to)) = both else {
            bail!(
                "{}",
                if failures.is_empty() {
                    "no rail got to its measured time".to_owned()
                } else {
                    failures.join("\n")
                }
            );
        };
        Ok(Some(Measured { topology, from, to, here, peer, perftest, failures }))
    }
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
            at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
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
    tell(format_args!("sweeping with {} ({}){here}", agreed.peer.host, agreed.address));
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
