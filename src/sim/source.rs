//! Frames of a simulated node.

use super::clock::Clock;
use super::flows::{held_by, legs_of, rates_gb_per_s};
use super::noise::Noise;
use super::rail::{SimRail, SimUnit};
use super::scenario::Scenario;
use super::setup::Setup;
use super::thread::drive;
use super::transport::{Nic, NicLeg, SimTransport};
use super::world::World;
use crate::session::{AsItIs, FrameSource, SourceError, Stop, Throttle};
use anyhow::ensure;
use probes::load::Counts;
use probes::model::{Frame, Load, RailId, Session, Simulation, Topology, WorkerPhase};
use probes::times::nanoseconds;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// As on a live node, what is dear to read is read once a second.
const FULL_EVERY_NS: u64 = 1_000_000_000;

/// How virtual time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Like time: for the screen.
    RealTime,
    /// As fast as the threads come along: for reports and tests.
    AsFastAsPossible,
}

/// A simulated node under READ load. Real threads, as many as are asked for, move the data in virtual time.
#[derive(Debug)]
pub struct Simulated {
    session: Arc<Session>,
    load: Arc<Load>,
    rails: Vec<SimRail>,
    clock: Arc<Clock>,
    threads: Vec<JoinHandle<()>>,
    pace: Pace,
    until_ns: u64,
    began: Option<Instant>,
    seq: u64,
    last_ns: u64,
    next_full_ns: u64,
    stop: Stop,
    throttle: Throttle,
    as_it_is: AsItIs,
}

impl Simulated {
    /// Starts the node and its load.
    ///
    /// # Errors
    ///
    /// There is no such scenario, the interval is below a millisecond, or the system gives no threads.
    pub fn new(
        scenario: &str,
        seed: u64,
        interval: Duration,
        pace: Pace,
        duration: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let world = Scenario::world(scenario, seed)?;
        let setup = Setup { misplaced: true, in_all: duration, ..Setup::default() };
        Self::of(&world, &setup, world.scenario.1, interval, pace)
    }

    /// Starts a load on the rails of a node, each of which must have a known bound.
    ///
    /// # Errors
    ///
    /// The interval is below a millisecond, or the system gives no threads.
    pub fn with(
        topology: Topology,
        setup: &Setup,
        seed: u64,
        interval: Duration,
        pace: Pace,
    ) -> anyhow::Result<Self> {
        Self::of(&World::of(topology), setup, seed, interval, pace)
    }

    /// Starts a load on the rails of this node.
    ///
    /// # Errors
    ///
    /// As [`Simulated::with`].
    pub fn of(
        world: &World,
        setup: &Setup,
        seed: u64,
        interval: Duration,
        pace: Pace,
    ) -> anyhow::Result<Self> {
        ensure!(
            interval >= Duration::from_millis(1),
            "--every: the simulator makes at most a thousand frames a second; take 1ms or more"
        );
        let able = world.loaded(setup);
        let clock = Arc::new(Clock::new(able.len() * setup.shares().len()));
        let mut simulated = Self {
            load: Arc::new(setup.load(world, &able)),
            rails: Vec::new(),
            clock,
            threads: Vec::new(),
            pace,
            until_ns: setup.until().map_or(u64::MAX, nanoseconds),
            began: None,
            seq: 0,
            last_ns: 0,
            next_full_ns: 0,
            stop: Stop::new(),
            throttle: Throttle::new(),
            as_it_is: AsItIs::default(),
            session: Arc::new(Session {
                generated_by: crate::GENERATED_BY.into(),
                // the wall clock would make equal seeds give different sessions
                started_unix_ms: None,
                interval_ns: nanoseconds(interval),
                hosts: vec![Arc::new(world.topology.clone())],
                clock_offset_ns: None,
                simulated: Some(Simulation { scenario: world.scenario.0.clone(), seed }),
            }),
        };
        simulated.start(world, setup, seed)?;
        Ok(simulated)
    }

    /// Lets `stop` end the session, also while it waits for its next frame.
    #[must_use]
    pub fn stopped_by(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Lets the rate of its load be changed by `throttle`.
    #[must_use]
    pub fn held_by(mut self, throttle: Throttle) -> Self {
        self.throttle = throttle;
        self
    }

    /// Does what was asked of the load.
    fn hold(&mut self) {
        let Some(rate) = self.throttle.take() else { return };
        self.as_it_is.change(rate);
        for unit in self.rails.iter().flat_map(|rail| &rail.units) {
            let most = rate.gb_per_s.map_or(f64::INFINITY, |rate| rate * unit.part);
            unit.most.store(most.to_bits(), Ordering::Relaxed);
        }
    }

    fn start(&mut self, world: &World, setup: &Setup, seed: u64) -> std::io::Result<()> {
        let able = world.loaded(setup);
        let rates = rates_gb_per_s(world, setup, &able);
        let held_by = held_by(world, setup, &able, &rates);
        for (at, (number, rail)) in (1_u32..).zip(&world.topology.rails).enumerate() {
            let position = able.iter().position(|able| *able == at);
            let of_threads = position.map_or(&[][..], |position| &rates.loaded[position]);
            let mut before_bytes = None;
            let mut units = Vec::new();
            let of_rail: f64 = of_threads.iter().flatten().sum();
            for (worker, rates) in (0..).zip(of_threads.iter().cloned()) {
                let nic = Arc::new(Nic { legs: rates.iter().map(|_| NicLeg::default()).collect() });
                let counts = Arc::new(Counts::default());
                counts.set_phase(WorkerPhase::Warmup);
                let mut noise = Noise::new(seed, u64::from(number) | worker << 32);
                // between some and some hundred terabytes, as after days of use
                before_bytes.get_or_insert_with(|| [noise.next() >> 17, noise.next() >> 20]);
                let transport =
                    SimTransport::new(self.clock.clone(), nic.clone(), rates, setup.size_bytes, noise);
                let part = if of_rail > 0.0 { transport.rate_gb_per_s() / of_rail } else { 0.0 };
                let most = transport.most();
                self.drive(&rail.device, nanoseconds(setup.warmup), transport, &counts)?;
                units.push(SimUnit { most, part, nic, counts });
            }
            let unseen = &world.unseen[at];
            self.rails.push(SimRail {
                legs: legs_of(rail),
                units,
                before_bytes: before_bytes.unwrap_or_default(),
                path_mtu: u64::from(rail.path_mtu.unwrap_or(4096)),
                size_bytes: setup.size_bytes,
                is_bond: rail.bond.is_some(),
                op: setup.op,
                counters: unseen.counters.clone(),
                hides: unseen.hides,
                held_by: position.and_then(|at| held_by[at]),
                others: rates.others[at].clone(),
            });
        }
        Ok(())
    }

    /// Starts the thread of a rail.
    fn drive(
        &mut self,
        device: &str,
        warmup_ns: u64,
        transport: SimTransport,
        counts: &Arc<Counts>,
    ) -> std::io::Result<()> {
        let (clock, counts, at) = (self.clock.clone(), counts.clone(), self.threads.len());
        let thread = std::thread::Builder::new()
            .name(format!("rail-{device}"))
            .spawn(move || drive((at, warmup_ns), transport, &clock, &counts))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Time of the next frame; `None` after the last. The end is a frame too, unless one was near it.
    fn due_ns(&self) -> Option<u64> {
        let every = self.session.interval_ns;
        let due = self.seq.saturating_mul(every);
        if due <= self.until_ns {
            return Some(due);
        }
        let end = self.until_ns;
        (self.last_ns + every.min(end) / 2 < end).then_some(end)
    }

    fn sample(&mut self, at_ns: u64) -> Frame {
        let seq = self.seq;
        self.seq += 1;
        self.last_ns = at_ns;
        let is_last = self.due_ns().is_none();
        let is_full = at_ns >= self.next_full_ns || is_last;
        if is_full {
            self.next_full_ns = at_ns + FULL_EVERY_NS;
        }
        Frame {
            host: 0,
            seq,
            at_ns,
            rails: self.rails.iter().map(|rail| rail.frame(at_ns, is_full)).collect(),
            // looked up once: nobody but the load is on a simulated node
            processes: (seq == 0).then(Arc::default),
            load: Some(self.as_it_is.of(self.load.clone())),
            workers: self
                .rails
                .iter()
                .enumerate()
                .flat_map(|(at, rail)| rail.units.iter().map(move |unit| unit.worker(RailId(at))))
                .collect(),
            ..Frame::default()
        }
    }
}

impl FrameSource for Simulated {
    fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let Some(at_ns) = self.due_ns().filter(|_| !self.stop.is_stopped()) else {
            return Ok(None);
        };
        if self.pace == Pace::RealTime {
            let began = *self.began.get_or_insert_with(Instant::now);
            if !self.stop.wait_until(began + Duration::from_nanos(at_ns)) {
                return Ok(None);
            }
        }
        self.hold();
        if !self.clock.advance(at_ns) {
            return Err(SourceError::Live("a thread of the simulator ended before the session did".into()));
        }
        Ok(Some(self.sample(at_ns)))
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        self.clock.end();
        for thread in self.threads.drain(..) {
            // a panic of it was told by `advance`
            let _ = thread.join();
        }
    }
}
