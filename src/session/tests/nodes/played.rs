//! What happens in a random session, frame by frame.

use super::super::{load, process};
use super::{Covered, Happens, Remark, Step, Story};
use crate::rules::testing::described;
use probes::model::{
    Failure, Frame, Latencies, LegFrame, Load, LoadOp, Measured, Rail, RailFrame, RailId, Topology, Worker,
    WorkerFrame, WorkerPhase,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What one host has counted so far.
#[derive(Clone, Default)]
struct Host {
    seq: u64,
    rails: Vec<Counted>,
    ours: Option<Arc<Load>>,
    topology: Option<Topology>,
}

#[derive(Clone, Default)]
struct Counted {
    bytes: u64,
    legs: [u64; 2],
    further: [u64; 4],
    worker: u64,
    is_down: bool,
    is_leg_down: bool,
    is_lost: bool,
}

impl Story {
    /// Its frames, as a source would give them.
    pub(in super::super) fn frames(&self) -> VecDeque<Frame> {
        let mut now_ns = 0;
        let mut hosts = vec![Host::default(); self.session.hosts.len()];
        let frame = |step: &Step| {
            now_ns += step.pause_ms * 1_000_000;
            let at_ns = self.session.on_own_clock(step.host, now_ns);
            hosts[step.host].frame(step, &self.usual, at_ns, &self.session.hosts[step.host])
        };
        self.steps.iter().map(frame).collect()
    }
}

impl Host {
    fn frame(&mut self, step: &Step, usual: &[f64], at_ns: u64, first: &Topology) -> Frame {
        self.rails.resize(first.rails.len(), Counted::default());
        let rails = self.rails.iter_mut().enumerate().map(|(at, rail)| {
            rail.go_on(step, usual[at], at);
            rail.read(step, at, &first.rails[at])
        });
        let rails: Vec<RailFrame> = rails.collect();
        let load = match step.covered {
            Covered::Nobody => None,
            Covered::Others => Some(Arc::new(described(LoadOp::Read))),
            Covered::Ours(_) => Some(self.ours.get_or_insert_with(|| our_load(first)).clone()),
        };
        let workers = match step.covered {
            Covered::Ours(phase) if step.host == 0 => {
                self.rails.iter().enumerate().map(|(at, rail)| rail.worker(at, phase, self.seq)).collect()
            }
            _ => Vec::new(),
        };
        let seq = self.seq;
        self.seq += 1;
        let frame = Frame { host: step.host, seq, at_ns, rails, load, workers, ..Frame::default() };
        self.remark(step.remark, frame, first)
    }

    fn remark(&mut self, remark: Remark, mut frame: Frame, first: &Topology) -> Frame {
        let mut look = |change: fn(&mut Rail)| {
            let now = self.topology.get_or_insert_with(|| first.clone());
            change(&mut now.rails[0]);
            Some(Arc::new(now.clone()))
        };
        match remark {
            Remark::None => {}
            Remark::Mark => frame.marks.push("switch port 7 rebooted".into()),
            Remark::Failure => frame.failures.push(Failure::new(Some("mlx5_0"), "mlx5_0: RETRY_EXC_ERR")),
            Remark::Processes(0) => frame.processes = Some(Arc::default()),
            Remark::Processes(bytes) => frame.processes = Some(Arc::new(vec![process(bytes)])),
            Remark::OtherFirmware => frame.topology = look(|rail| rail.firmware = Some("28.43".into())),
            Remark::LostAddress => frame.topology = look(|rail| (rail.gid, rail.gids) = (None, Vec::new())),
            Remark::SlowerLink => frame.topology = look(|rail| rail.line_gbit_per_s = Some(200.0)),
        }
        frame
    }
}

fn our_load(node: &Topology) -> Arc<Load> {
    let worker = |rail: &Rail| Worker {
        device: rail.device.clone(),
        cpus: "0-3".parse().ok(),
        buffer_node: Some(0),
        read_depth: Some(16),
        ..Worker::default()
    };
    let devices = node.rails.iter().map(|rail| rail.device.clone()).collect();
    let workers = node.rails.iter().map(worker).collect();
    Arc::new(Load { devices, workers, perf_gaps: BTreeMap::new(), ..load() })
}

impl Counted {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of tests are small")]
    fn go_on(&mut self, step: &Step, usual: f64, at: usize) {
        let more = (usual * step.shares[at] * step.pause_ms as f64 * 1e6) as u64;
        match step.happens[at] {
            Happens::CounterStartsAnew => self.bytes = 0,
            Happens::Congestion => {
                self.further = [self.further[0] + 4000, self.further[1] + 900, self.further[2], 70_000];
            }
            Happens::PortGoesDown => (self.is_down, self.further[2]) = (true, self.further[2] + 1),
            Happens::PortComesUp => self.is_down = false,
            Happens::LegGoesDown => self.is_leg_down = true,
            Happens::DeviceIsLost => self.is_lost = true,
            _ => {}
        }
        self.bytes += more;
        self.worker += more;
        self.legs[0] += more;
    }

    fn read(&self, step: &Step, at: usize, rail: &Rail) -> RailFrame {
        let happens = step.happens[at];
        if self.is_lost {
            return RailFrame { lost: true, ..RailFrame::default() };
        }
        if happens == Happens::NothingIsRead {
            return RailFrame::default();
        }
        let state = if self.is_down { "DOWN" } else { "ACTIVE" };
        let leg = |(at, bytes): (usize, &u64)| LegFrame {
            rx_rdma_bytes: Some(*bytes),
            tx_rdma_bytes: Some(0),
            link_up: Some(at == 0 || !self.is_leg_down),
            active: Some(at == 0 || !self.is_leg_down),
            ..LegFrame::default()
        };
        RailFrame {
            rx_bytes: Some(self.bytes),
            tx_bytes: Some(self.bytes / 100),
            state: Some(state.into()),
            phys_state: Some(if self.is_down { "Polling" } else { "LinkUp" }.into()),
            counters: match happens {
                Happens::FurtherCountersAreMissing => Vec::new(),
                _ => self.further.map(Some).into(),
            },
            legs: match &rail.bond {
                Some(_) if step.legs_read => self.legs.iter().enumerate().map(leg).collect(),
                _ => Vec::new(),
            },
            lost: false,
        }
    }

    fn worker(&self, at: usize, phase: WorkerPhase, seq: u64) -> WorkerFrame {
        let operations = self.worker >> 16;
        let is_measured = !matches!(phase, WorkerPhase::Waiting | WorkerPhase::Warmup);
        WorkerFrame {
            rail: Some(RailId(at)),
            phase,
            bytes: self.worker,
            operations,
            polls: operations * 2,
            empty_polls: operations,
            measured: is_measured.then(|| Measured { bytes: self.worker, ns: seq * 100_000_000 }),
            latency: Latencies::from_counts([(300, operations / 64)]),
            round_trip_ns: Some(7000),
            ..WorkerFrame::default()
        }
    }
}
