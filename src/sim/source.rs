//! Frames of a simulated node.

use super::clock::Clock;
use super::noise::Noise;
use super::scenario::Scenario;
use super::transport::{Nic, NicLeg, SimTransport};
use super::{node, traffic};
use crate::session::{FrameSource, SourceError, Stop};
use anyhow::ensure;
use probes::load::{Counts, LoadTransport};
use probes::model::{
    Frame, LegFrame, Load, LoadOp, LoadOrigin, LoadTarget, PERF_GROUPS, PerfFrame, RailFrame, RailId,
    Session, Simulation, Topology, Worker, WorkerFrame, WorkerPhase,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Queue pairs per rail, message size, depths: what `load` has by default.
const QPS: u32 = 4;
const SIZE_BYTES: u64 = 64 << 10;
const DEPTH: u32 = 128;
const READ_DEPTH: u32 = 16;
/// Long enough to be seen on the screen.
const WARMUP_NS: u64 = 500_000_000;
/// As on a live node, what is dear to read is read once a second.
const FULL_EVERY_NS: u64 = 1_000_000_000;
/// Headers that mlx5 counts with each packet of a READ response, bytes: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4.
const RESPONSE_HEADERS: u64 = 58;
/// The same of a READ request, which has an RETH of 16 and no payload (IBTA 1.4, 9.3).
const REQUEST_BYTES: u64 = 74;
/// What a port counts on top of each packet: its frame check sequence.
const FCS_BYTES: u64 = 4;

/// How virtual time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Like time: for the screen.
    RealTime,
    /// As fast as the threads come along: for reports and tests.
    AsFastAsPossible,
}

/// A simulated node under READ load. Real threads, one a rail, move the data in virtual time.
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
}

#[derive(Debug)]
struct SimRail {
    nic: Arc<Nic>,
    counts: Arc<Counts>,
    /// What the NIC had counted before the session, received and sent.
    before_bytes: [u64; 2],
    path_mtu: u64,
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
        let scenario = Scenario::named(scenario)?;
        ensure!(
            interval >= Duration::from_millis(1),
            "--every: the simulator makes at most a thousand frames a second; take 1ms or more"
        );
        let topology = node::topology(scenario);
        let clock = Arc::new(Clock::new(topology.rails.len()));
        let mut simulated = Self {
            load: Arc::new(load(&topology, duration)),
            rails: Vec::new(),
            clock,
            threads: Vec::new(),
            pace,
            until_ns: duration.map_or(u64::MAX, nanoseconds),
            began: None,
            seq: 0,
            last_ns: 0,
            next_full_ns: 0,
            stop: Stop::new(),
            session: Arc::new(Session {
                generated_by: crate::GENERATED_BY.into(),
                // the wall clock would make equal seeds give different sessions
                started_unix_ms: None,
                interval_ns: nanoseconds(interval),
                hosts: vec![Arc::new(topology)],
                clock_offset_ns: None,
                simulated: Some(Simulation { scenario: scenario.name().into(), seed }),
            }),
        };
        simulated.start(scenario, seed)?;
        Ok(simulated)
    }

    /// Lets `stop` end the session, also while it waits for its next frame.
    #[must_use]
    pub fn stopped_by(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    fn start(&mut self, scenario: Scenario, seed: u64) -> std::io::Result<()> {
        let session = self.session.clone();
        for ((at, rail), bond) in session.topology().rails.iter().enumerate().zip(node::BONDS) {
            let rates = traffic::leg_rates_gb_per_s(rail, QPS, scenario.fault(bond));
            let nic = Arc::new(Nic { legs: rates.iter().map(|_| NicLeg::default()).collect() });
            let counts = Arc::new(Counts::default());
            counts.set_phase(WorkerPhase::Warmup);
            let mut noise = Noise::new(seed, u64::from(bond));
            // between some and some hundred terabytes, as after days of use
            let before_bytes = [noise.next() >> 17, noise.next() >> 20];
            let transport = SimTransport::new(self.clock.clone(), nic.clone(), rates, SIZE_BYTES, noise);
            let (clock, thread_counts) = (self.clock.clone(), counts.clone());
            let thread = std::thread::Builder::new()
                .name(format!("rail-{}", rail.device))
                .spawn(move || drive(at, transport, &clock, &thread_counts))?;
            self.threads.push(thread);
            let path_mtu = u64::from(rail.path_mtu.unwrap_or(4096));
            self.rails.push(SimRail { nic, counts, before_bytes, path_mtu });
        }
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
            rails: self.rails.iter().map(|rail| rail.frame(is_full)).collect(),
            // looked up once: nobody but the load is on a simulated node
            processes: (seq == 0).then(Arc::default),
            load: Some(self.load.clone()),
            workers: self.rails.iter().enumerate().map(|(at, rail)| rail.worker(RailId(at))).collect(),
            sampled_in_ns: None,
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

/// The life of a rail's thread.
fn drive(at: usize, mut transport: SimTransport, clock: &Clock, counts: &Counts) {
    let _leaves = Leaves { at, clock };
    while clock.wait_beyond(at, transport.now_ns()) {
        while transport.now_ns() < clock.target_ns() {
            match transport.pump() {
                Ok(pumped) => counts.add(pumped),
                Err(_) => return counts.set_phase(WorkerPhase::Failed),
            }
        }
        if transport.now_ns() >= WARMUP_NS {
            counts.set_phase(WorkerPhase::Measuring);
        }
    }
}

/// Tells the clock when the thread ends, also by a panic.
struct Leaves<'a> {
    at: usize,
    clock: &'a Clock,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.clock.leave(self.at);
    }
}

impl SimRail {
    fn frame(&self, is_full: bool) -> RailFrame {
        let legs: Vec<LegFrame> = self.nic.legs.iter().map(|leg| self.leg(leg)).collect();
        let sum = |count: fn(&LegFrame) -> Option<u64>| legs.iter().map(count).sum::<Option<u64>>();
        RailFrame {
            rx_bytes: sum(|leg| leg.rx_rdma_bytes),
            tx_bytes: sum(|leg| leg.tx_rdma_bytes),
            state: is_full.then(|| "ACTIVE".into()),
            phys_state: is_full.then(|| "LinkUp".into()),
            counters: if is_full {
                node::QUIET_COUNTERS.iter().map(|(_, total)| Some(*total)).collect()
            } else {
                Vec::new()
            },
            legs: if is_full { legs } else { Vec::new() },
            lost: false,
        }
    }

    fn leg(&self, leg: &NicLeg) -> LegFrame {
        let [rx_before, tx_before] = self.before_bytes.map(|bytes| bytes / self.nic.legs.len() as u64);
        let payload = leg.payload_bytes.load(Ordering::Relaxed);
        let (packets, requests) = (payload / self.path_mtu, leg.requests.load(Ordering::Relaxed));
        let rx = rx_before + payload + packets * RESPONSE_HEADERS;
        let tx = tx_before + requests * REQUEST_BYTES;
        LegFrame {
            rx_rdma_bytes: Some(rx),
            tx_rdma_bytes: Some(tx),
            rx_port_bytes: Some(rx + packets * FCS_BYTES),
            tx_port_bytes: Some(tx + requests * FCS_BYTES),
            link_up: Some(true),
            active: Some(true),
        }
    }

    fn worker(&self, rail: RailId) -> WorkerFrame {
        let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        WorkerFrame {
            rail: Some(rail),
            phase: self.counts.phase(),
            bytes: count(&self.counts.bytes),
            operations: count(&self.counts.operations),
            polls: count(&self.counts.polls),
            empty_polls: count(&self.counts.empty_polls),
            errors: BTreeMap::new(),
            perf: PerfFrame::default(),
            latency: self.counts.latency.read(),
            round_trip_ns: None,
        }
    }
}

fn load(topology: &Topology, duration: Option<Duration>) -> Load {
    let of_cpu = PERF_GROUPS.iter().flat_map(|group| group.counters);
    let gaps = of_cpu.chain(&["context_switches", "migrations", "on_cpu_ns"]);
    Load {
        origin: LoadOrigin::Ours,
        op: LoadOp::Read,
        transport: Some("sim".into()),
        loopback: false,
        target: LoadTarget::Host,
        devices: topology.rails.iter().map(|rail| rail.device.clone()).collect(),
        size_bytes: Some(SIZE_BYTES),
        qps: Some(QPS),
        depth: Some(DEPTH),
        read_depth: Some(READ_DEPTH),
        device_read_depth: Some(READ_DEPTH),
        place: Some("local".into()),
        duration_s: duration.map(|duration| duration.as_secs_f64()),
        warmup_s: Some(WARMUP_NS as f64 / 1e9),
        workers: topology
            .rails
            .iter()
            .map(|rail| Worker {
                device: rail.device.clone(),
                cpus: rail.local_cpus.clone(),
                buffer_node: rail.numa_node,
                read_depth: Some(READ_DEPTH),
                ..Worker::default()
            })
            .collect(),
        relaxed_ordering: Some(true),
        perf_gaps: gaps.map(|name| ((*name).to_owned(), "simulated".to_owned())).collect(),
        ..Load::default()
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
