//! Both ends of a load's measured time, made at once: what experiments look at, without threads and without waiting.

use super::counted::Messages;
use super::far_end::Arrived;
use super::flows::{Rates, held_by, legs_of, rates_gb_per_s, single_read_ns, thread_gb_per_s};
use super::noise::Noise;
use super::setup::Setup;
use super::world::{Grows, World};
use probes::model::{FarSample, Frame, LegFrame, PerfFrame, RailFrame, RailId, WorkerFrame, WorkerPhase};
use probes::times::nanoseconds;
use std::sync::Arc;
use std::time::Duration;

/// Share of its ceiling that a rail reaches with nothing in its way.
const BEST_SHARE: f64 = 0.985;
/// Polls of a thread in a microsecond.
const POLLS_PER_US: f64 = 5.0;
/// Share of polls that find nothing in a thread that always has something to do.
const BUSY_EMPTY_SHARE: f64 = 0.02;

/// What a load showed.
#[derive(Clone, Debug)]
pub struct Window {
    /// When the measured time began.
    pub from: Frame,
    /// When it ended.
    pub to: Frame,
    /// Rails that failed, and why.
    pub failures: Vec<String>,
    /// What the rails at the other end counted meanwhile.
    pub far: Vec<FarSample>,
    /// Why they are not seen; `None` where they are.
    pub far_gap: Option<String>,
}

/// One load and what it brings.
struct Loaded<'a> {
    world: &'a World,
    setup: &'a Setup,
    /// Rails that it loads, by position.
    rails: Vec<usize>,
    /// What they get, before noise.
    rates: Rates,
    /// What holds each of them back.
    held_by: Vec<Option<Grows>>,
    /// Share of that which each gets in this window.
    shares: Vec<f64>,
}

impl World {
    /// Loads these rails for so long after the warm-up; loads with other labels stray otherwise.
    #[must_use]
    pub fn window(&self, setup: &Setup, devices: &[String], label: &str, time: Duration) -> Window {
        let asked = |at: &usize| devices.contains(&self.topology.rails[*at].device);
        let (able, unable): (Vec<usize>, Vec<usize>) =
            (0..self.topology.rails.len()).filter(asked).partition(|&at| self.unseen[at].refuses.is_none());
        let shares = able.iter().map(|&at| {
            let mut noise = Noise::new(self.scenario.1, hash(label) ^ (at as u64 + 1));
            let wanders = 1.0 + self.unseen[at].wanders * noise.around_zero();
            // a rail is never faster than its ceiling
            (BEST_SHARE - self.noise + self.noise * noise.around_zero()) * wanders.min(1.0 / BEST_SHARE)
        });
        let shares = shares.collect();
        let rates = rates_gb_per_s(self, setup, &able);
        let held_by = held_by(self, setup, &able, &rates);
        let loaded = Loaded { world: self, setup, rates, held_by, shares, rails: able };
        let load = Arc::new(setup.load(self, &loaded.rails));
        let frame = |seq: u64, at: Duration, measured: Duration| Frame {
            seq,
            at_ns: nanoseconds(at),
            rails: (0..self.topology.rails.len()).map(|rail| loaded.rail(rail, at.as_secs_f64())).collect(),
            load: Some(load.clone()),
            workers: loaded
                .workers(measured.as_secs_f64())
                .chain(unable.iter().map(|&rail| WorkerFrame {
                    rail: Some(RailId(rail)),
                    phase: WorkerPhase::Failed,
                    ..WorkerFrame::default()
                }))
                .collect(),
            ..Frame::default()
        };
        let why = |&at: &usize| {
            format!("{}: {}", self.topology.rails[at].device, self.unseen[at].refuses.unwrap_or_default())
        };
        Window {
            from: frame(0, setup.warmup, Duration::ZERO),
            to: frame(1, setup.warmup + time, time),
            failures: unable.iter().map(why).collect(),
            far: loaded.far(setup.warmup, time),
            far_gap: self.far_end.is_none().then(|| "a simulated node has none".to_owned()),
        }
    }
}

impl Loaded<'_> {
    /// What the threads did in so many seconds.
    fn workers(&self, seconds: f64) -> impl Iterator<Item = WorkerFrame> {
        self.rails.iter().enumerate().flat_map(move |(position, &at)| {
            let does = thread_gb_per_s(self.world, self.setup, at);
            self.rates.loaded[position].iter().map(move |legs| {
                let rate = legs.iter().sum::<f64>();
                let bytes = whole(rate * self.shares[position] * seconds * 1e9);
                let operations = bytes / self.setup.size_bytes.max(1);
                // a thread that does all it can is never without work, whatever else strays
                let empty = does.map_or(0.0, |does| (1.0 - rate / does).max(BUSY_EMPTY_SHARE));
                // how busy a thread is that can do whatever comes is not simulated
                let polls = does.map_or(0.0, |_| POLLS_PER_US * seconds * 1e6);
                let single_ns = single_read_ns(self.world, self.setup, at);
                WorkerFrame {
                    rail: Some(RailId(at)),
                    phase: WorkerPhase::Measuring,
                    bytes: operations * self.setup.size_bytes,
                    operations,
                    polls: whole(polls),
                    empty_polls: whole(polls * empty),
                    perf: PerfFrame { on_cpu_ns: Some(whole(seconds * 1e9)), ..PerfFrame::default() },
                    round_trip_ns: single_ns.filter(|_| !self.world.unseen[at].hides.round_trip).map(whole),
                    ..WorkerFrame::default()
                }
            })
        })
    }

    /// What the rails at the other end counted in a time after the warm-up.
    fn far(&self, warmup: Duration, time: Duration) -> Vec<FarSample> {
        let Some(far_end) = &self.world.far_end else { return Vec::new() };
        let sample = |(position, &at): (usize, &usize)| {
            let gb = |seconds: f64| self.rates.of(position) * self.shares[position] * seconds;
            let arrived = Arrived {
                gb: [gb(warmup.as_secs_f64()), gb((warmup + time).as_secs_f64())],
                held_by: self.held_by[position],
                ns: nanoseconds(time),
            };
            far_end.sample(at, &self.world.topology.rails[at], arrived)
        };
        self.rails.iter().enumerate().map(sample).collect()
    }

    /// What a rail has counted after so many seconds.
    fn rail(&self, at: usize, seconds: f64) -> RailFrame {
        let (rail, unseen) = (&self.world.topology.rails[at], &self.world.unseen[at]);
        let position = self.rails.iter().position(|loaded| *loaded == at);
        let count = legs_of(rail);
        let payload = |leg: usize| -> f64 {
            position.map_or(0.0, |position| {
                let of_threads = self.rates.loaded[position].iter().map(|legs| legs[leg]);
                of_threads.sum::<f64>() * self.shares[position] * seconds * 1e9
            })
        };
        let leg = |leg: usize| {
            let others = whole(self.rates.others[at][leg] * seconds * 1e9);
            let messages = Messages {
                op: self.setup.op,
                size_bytes: self.setup.size_bytes,
                path_mtu: u64::from(rail.path_mtu.unwrap_or(4096)),
                payload_bytes: whole(payload(leg)),
                requests: whole((0..count).map(payload).sum::<f64>()) / self.setup.size_bytes / count as u64,
                before_bytes: [(at as u64 + 3) << 42 | others, (at as u64 + 1) << 38],
            };
            messages.counted()
        };
        let legs: Vec<LegFrame> = (0..count).map(leg).collect();
        let sum = |count: fn(&LegFrame) -> Option<u64>| {
            legs.iter().map(count).sum::<Option<u64>>().filter(|_| !unseen.hides.bytes)
        };
        let held_by = position.and_then(|position| self.held_by[position]);
        let gb = (0..count).map(payload).sum::<f64>() / 1e9;
        RailFrame {
            rx_bytes: sum(|leg| leg.rx_rdma_bytes),
            tx_bytes: sum(|leg| leg.tx_rdma_bytes),
            state: Some("ACTIVE".into()),
            phys_state: Some("LinkUp".into()),
            counters: unseen.counters.iter().map(|counter| Some(counter.after(gb, held_by))).collect(),
            legs: if rail.bond.is_some() && !unseen.hides.legs { legs } else { Vec::new() },
            lost: false,
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of some seconds")]
fn whole(count: f64) -> u64 {
    count as u64
}

/// FNV-1a: the same in every run, which the standard hasher does not promise.
///
/// Source: Fowler, Noll and Vo, draft-eastlake-fnv.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
