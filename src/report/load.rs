//! The load of the session: what was asked for, what each thread did, what it cost.

use super::PerfRow;
use super::legs::LegOfLoad;
use super::number::{known, round};
use crate::timeline::{Done, LoadFailure, Measured, Timeline, gb_per_s};
use probes::model::{
    CpuSet, Latencies, LegsSought, Load, LoadOp, LoadOrigin, LoadTarget, PerfFrame, RailId, Registered,
    Worker, WorkerFrame, WorkerPhase,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The load of the session.
#[expect(clippy::struct_excessive_bools, reason = "keys of a JSON object, each true or false by itself")]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadBlock {
    /// `ours`, or `described` beside a copied tree.
    pub origin: LoadOrigin,
    /// Loads of this session that came before it, whose figures are not in these; left out of the first.
    #[serde(skip_serializing_if = "is_zero")]
    pub earlier_loads: u32,
    /// `read` or `write`.
    pub op: LoadOp,
    /// Whether the peer did the same in the other direction at the same time.
    pub bidirectional: bool,
    /// What the peer did by its own threads in its measured time; null unless bidirectional.
    pub peer_gb_per_s: Option<f64>,
    /// `verbs`, `tcp` or `sim`; null for a described load.
    pub transport: Option<String>,
    /// Whether it went over TCP: not a performance figure.
    pub functional_check: bool,
    /// Whether the traffic was simulated.
    pub simulated: bool,
    /// Whether the peer was this host.
    pub loopback: bool,
    /// RDMA devices it drove.
    pub devices: Vec<String>,
    /// Message size.
    pub size_bytes: Option<u64>,
    /// Queue pairs a rail.
    pub qps: Option<u32>,
    /// Send queue depth of a queue pair.
    pub depth: Option<u32>,
    /// Work requests posted with one doorbell.
    pub chain: Option<u32>,
    /// Work requests per completion, the same at every message size.
    pub cq_mod: Option<u32>,
    /// Pages of a batch, of a striped load, whose threads wait for all of it before the next; null of any other.
    pub batch: Option<u32>,
    /// Memory that a rail's operations went over; null where it was re-used and stayed in the caches.
    pub working_set_bytes: Option<u64>,
    /// GPU whose memory the data go to, or come from; null for the host's.
    pub gpu: Option<String>,
    /// Most payload per rail that was asked for, GB/s; null: as much as went.
    pub rate_gb_per_s: Option<f64>,
    /// Leg of each bond that the sending end was to send on, from 1; null: the driver's choice.
    pub leg: Option<u32>,
    /// Which legs carried the data then, by this host's counters.
    pub legs: Vec<LegOfLoad>,
    /// How it was sought before the load that each leg of a bond receives; left out where it was not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub legs_sought: Vec<LegsSought>,
    /// Path MTU that both ends agreed on, bytes, the smallest over the rails; null where no queue pair was connected, and
    /// in older sessions.
    pub path_mtu: Option<u32>,
    /// Outstanding READs of a queue pair.
    pub read_depth: Option<u32>,
    /// Threads; null for a described load. Of a striped load each has a row in `threads` for each rail.
    pub workers: Option<usize>,
    /// Threads of one rail, which share its queue pairs; null where threads drive several rails, and for a described load.
    pub workers_per_rail: Option<usize>,
    /// Good completions of all threads in their measured time; null before it began.
    pub operations: Option<u64>,
    /// The same per second, 10^6 messages.
    pub mops: Option<f64>,
    /// Good operations that a poll of the completion queue found, in the measured time; null where nothing was polled.
    pub operations_per_poll: Option<f64>,
    /// Share of those polls that found nothing.
    pub empty_poll_share: Option<f64>,
    /// Placement as asked.
    pub place: Option<String>,
    /// Time-box; null until stopped.
    pub duration_s: Option<f64>,
    /// Time at the start that was not measured.
    pub warmup_s: Option<f64>,
    /// Why it was ended before its time; null when it was not.
    pub ended: Option<String>,
    /// Error completions by status.
    pub errors: BTreeMap<String, u64>,
    /// What went wrong with its rails and what became of them, in the order in which it came: the first hundred. `at_s` is
    /// the sample that saw it.
    pub failures: Vec<LoadFailure>,
    /// How many came after those.
    pub more_failures: u64,
    /// How often a thread that had failed was opened anew and went on.
    pub restarts: u64,
    /// Latency of sampled operations in the measured time; each null where it was not measured.
    pub latency_us: LatencyRow,
    /// Why there is no latency; null where there is one.
    pub latency_unknown: Option<String>,
    /// What all threads cost together.
    pub perf: PerfRow,
    /// Thread by thread.
    pub threads: Vec<ThreadRow>,
}

/// Latency of sampled operations, or of whole batches of a striped load, microseconds: from before the chain of requests was posted until its completion was
/// seen, so with its wait behind what was queued before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencyRow {
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p99_9: Option<f64>,
    /// Samples the percentiles are taken from.
    pub samples: u64,
}

impl LatencyRow {
    /// Percentiles of these samples; null where so few were taken that none lies above it.
    pub(super) fn of(latency: &Latencies) -> Self {
        let samples = latency.samples();
        let us = |share: f64| {
            let enough = samples as f64 * (1.0 - share) >= 1.0;
            latency.quantile_ns(share).filter(|_| enough || share <= 0.5).and_then(|ns| round(ns / 1e3))
        };
        Self { p50: us(0.5), p90: us(0.9), p99: us(0.99), p99_9: us(0.999), samples }
    }
}

/// One thread of our load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadRow {
    /// Rail it drove.
    pub device: String,
    /// Its number among the threads of its rail, from 1; null for the only one.
    pub number: Option<u32>,
    /// Queue pairs of its own; null in older sessions.
    pub qps: Option<u32>,
    /// Where it is in its run.
    pub phase: WorkerPhase,
    /// CPUs it was bound to; null when it was not.
    pub cpus: Option<CpuSet>,
    /// Node its buffer was bound to; null when it was not.
    pub buffer_node: Option<u32>,
    /// Size of its buffer's pages as asked for; null when not known.
    pub page_bytes: Option<u64>,
    /// How the memory of a GPU was made known to the device, `dmabuf` or `peermem`; null for the host's memory.
    pub registered: Option<Registered>,
    /// Leg from which all of its queue pairs send; null where the driver chose, or the peer sends the data.
    pub leg: Option<u32>,
    /// Outstanding READs a queue pair.
    pub read_depth: Option<u32>,
    /// Payload of good completions, warm-up included.
    pub bytes: u64,
    /// Good completions, warm-up included.
    pub operations: u64,
    /// Share of polls of the completion queue that found nothing.
    pub empty_poll_share: Option<f64>,
    /// Error completions by status.
    pub errors: BTreeMap<String, u64>,
    /// How often it was opened anew after it had failed, and went on.
    pub restarts: u64,
    /// What it cost.
    pub perf: PerfRow,
}

impl LoadBlock {
    /// Whether a thread met an error, or was stopped by one.
    #[must_use]
    pub fn met_errors(&self) -> bool {
        self.threads.iter().any(|thread| !thread.errors.is_empty() || thread.phase == WorkerPhase::Failed)
    }

    /// What was sought of the legs that their own rows do not say.
    pub(super) fn notably_sought(&self) -> impl Iterator<Item = &LegsSought> {
        self.legs_sought.iter().filter(|sought| self.legs.is_empty() && sought.is_notable())
    }

    /// Rails of our load on which not one operation completed, though no error says why.
    #[must_use]
    pub fn silent(&self) -> Vec<&str> {
        if self.origin != LoadOrigin::Ours || self.simulated {
            return Vec::new();
        }
        let of = |device: &str| self.threads.iter().filter(move |thread| thread.device == device).collect();
        let is_silent = |device: &&str| {
            let threads: Vec<&ThreadRow> = of(device);
            threads.iter().all(|thread| {
                let began = matches!(thread.phase, WorkerPhase::Measuring | WorkerPhase::Done);
                thread.operations == 0 && began && thread.errors.is_empty()
            })
        };
        let mut devices: Vec<&str> = self.threads.iter().map(|thread| thread.device.as_str()).collect();
        devices.dedup();
        devices.into_iter().filter(is_silent).collect()
    }

    /// The newest load in the timeline's window; `None` when there was none.
    #[must_use]
    pub fn of(timeline: &Timeline) -> Option<Self> {
        let newest = timeline.local().frames().rev().find(|frame| frame.load.is_some())?;
        let load = newest.load.as_deref()?;
        let simulated = timeline.session().simulated.is_some() || load.is_simulated();
        let device_of = |rail: RailId| Some(timeline.topology().rails.get(rail.0)?.device.clone());
        let measured = &timeline.local().sums().workers;
        let threads: Vec<ThreadRow> = newest
            .workers
            .iter()
            .enumerate()
            .map(|(at, worker)| ThreadRow::of(worker, load.workers.get(at), measured.get(at), device_of))
            .collect();
        let all = together(measured, load);
        // a simulation polls nothing, and TCP has no queue to poll
        let polls = !simulated && !load.is_functional_check();
        let polled = all.as_ref().filter(|done| polls && done.polls > 0);
        let mut latency = Latencies::default();
        for rail in &timeline.local().sums().rails {
            latency.add(&rail.latency);
        }
        let mut errors = BTreeMap::new();
        for (status, count) in newest.workers.iter().flat_map(|worker| &worker.errors) {
            let sum: &mut u64 = errors.entry(status.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        Some(Self {
            origin: load.origin,
            earlier_loads: load.earlier,
            op: load.op,
            bidirectional: load.bidirectional,
            peer_gb_per_s: newest
                .peer
                .filter(|_| load.bidirectional)
                .and_then(|peer| gb_per_s(peer.bytes, peer.ns))
                .and_then(round),
            transport: load.transport.clone(),
            functional_check: load.is_functional_check(),
            simulated,
            loopback: load.loopback,
            devices: devices(load, timeline),
            size_bytes: load.size_bytes,
            qps: load.qps,
            depth: load.depth,
            chain: load.chain,
            cq_mod: load.cq_mod,
            batch: load.batch,
            rate_gb_per_s: known(load.rate_gb_per_s),
            leg: load.leg,
            legs: LegOfLoad::all(load, timeline),
            legs_sought: load.legs_sought.clone(),
            working_set_bytes: load.working_set_bytes,
            gpu: match &load.target {
                LoadTarget::Host => None,
                LoadTarget::Gpu(name) => Some(name.clone()),
            },
            path_mtu: load.path_mtu,
            read_depth: load.read_depth,
            workers: (load.origin == LoadOrigin::Ours).then(|| match load.batch {
                None => newest.workers.len(),
                Some(_) => load.workers.iter().map(|worker| worker.number).collect::<BTreeSet<_>>().len(),
            }),
            workers_per_rail: (load.origin == LoadOrigin::Ours && load.batch.is_none())
                .then(|| most_of_a_rail(&newest.workers))
                .flatten(),
            operations: all.as_ref().map(|done| done.operations),
            mops: all
                .as_ref()
                .filter(|done| done.ns > 0)
                .and_then(|done| round(done.operations as f64 * 1e3 / done.ns as f64)),
            operations_per_poll: polled.and_then(|done| round(done.operations as f64 / done.polls as f64)),
            empty_poll_share: polled.and_then(|done| round(done.empty_polls as f64 / done.polls as f64)),
            place: load.place.clone(),
            duration_s: known(load.duration_s),
            warmup_s: known(load.warmup_s),
            ended: load.ended.clone(),
            errors,
            failures: timeline.local().sums().failures.clone(),
            more_failures: timeline.local().sums().more_failures,
            restarts: newest.workers.iter().fold(0, |sum, worker| sum.saturating_add(worker.restarts)),
            latency_us: LatencyRow::of(&latency),
            latency_unknown: latency.is_empty().then(|| no_latency(load, simulated).to_owned()),
            perf: PerfRow::of(all.as_ref(), &load.perf_gaps),
            threads,
        })
    }
}

/// What all workers did in their measured time; `None` where one has none: a part is no sum.
fn together(workers: &[Measured], load: &Load) -> Option<Done> {
    let done: Option<Vec<Done>> = workers.iter().map(Measured::done).collect();
    let done = done?;
    let all = done.iter().cloned().reduce(|sum, more| sum.plus(&more))?;
    if load.batch.is_none() {
        return Some(all);
    }
    // a thread drives several rails, and what it costs is counted with one of them
    let counted = done.into_iter().map(|done| done.perf).filter(|perf| *perf != PerfFrame::default());
    let perf = counted.reduce(|sum, more| sum.plus(&more)).unwrap_or_default();
    Some(Done { perf, ..all })
}

/// Threads of the rail that has the most; `None` without any.
fn most_of_a_rail(workers: &[WorkerFrame]) -> Option<usize> {
    let of = |rail| workers.iter().filter(|worker| worker.rail == rail).count();
    workers.iter().map(|worker| of(worker.rail)).max()
}

/// Why no latency is known.
fn no_latency(load: &Load, simulated: bool) -> &'static str {
    match (simulated, load.is_functional_check(), load.origin) {
        (true, ..) => "not modelled",
        (_, true, _) => "not timed over TCP",
        (_, _, LoadOrigin::Described) => "not ours to time",
        _ => "no sampled operation completed in the measured time",
    }
}

fn devices(load: &Load, timeline: &Timeline) -> Vec<String> {
    if load.devices.is_empty() {
        timeline.topology().rails.iter().map(|rail| rail.device.clone()).collect()
    } else {
        load.devices.clone()
    }
}

impl ThreadRow {
    fn of(
        did: &WorkerFrame,
        asked: Option<&Worker>,
        measured: Option<&Measured>,
        device_of: impl Fn(RailId) -> Option<String>,
    ) -> Self {
        let device = did.rail.and_then(device_of).or_else(|| asked.map(|worker| worker.device.clone()));
        Self {
            device: device.unwrap_or_default(),
            number: asked.and_then(|worker| worker.number),
            qps: asked.and_then(|worker| worker.qps),
            phase: did.phase,
            cpus: asked.and_then(|worker| worker.cpus.clone()),
            buffer_node: asked.and_then(|worker| worker.buffer_node),
            page_bytes: asked.and_then(|worker| worker.page_bytes),
            registered: asked.and_then(|worker| worker.registered),
            leg: asked.and_then(|worker| worker.leg),
            read_depth: asked.and_then(|worker| worker.read_depth),
            bytes: did.bytes,
            operations: did.operations,
            empty_poll_share: (did.polls > 0)
                .then(|| did.empty_polls as f64 / did.polls as f64)
                .and_then(round),
            errors: did.errors.clone(),
            restarts: did.restarts,
            perf: PerfRow::of(measured.and_then(Measured::done).as_ref(), &BTreeMap::new()),
        }
    }
}
