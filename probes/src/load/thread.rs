//! The life of one thread of a load.

use super::cap::Capped;
use super::connect::{ConnectedRail, Traffic};
use super::control::{Control, Worker, lock};
use super::drive::{Idle, drive};
use super::layout::Layout;
use super::placement::Placement;
use super::rail;
use super::{Endpoint, LoadError, Params, Role, Transport, pattern};
use crate::bind;
use crate::ffi::verbs::{Region, RelaxedOrdering};
use crate::model::{CpuSet, LoadOp, Rail, WorkerPhase};
use crate::perf::Meter;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// What a thread tells once its rail is open.
pub(super) struct Opened {
    pub(super) endpoint: Endpoint,
    pub(super) cpus: Option<CpuSet>,
    pub(super) buffer_node: Option<u32>,
    pub(super) relaxed_ordering: RelaxedOrdering,
}

/// What one rail's thread starts with.
pub(super) struct Thread {
    pub(super) rail: Rail,
    pub(super) place: Result<Placement, String>,
    pub(super) params: Params,
    pub(super) role: Role,
    pub(super) control: Arc<Control>,
    pub(super) worker: Arc<Worker>,
    pub(super) opened: Sender<Result<Opened, LoadError>>,
    pub(super) connected: Sender<Result<u32, LoadError>>,
    pub(super) peer: Receiver<Endpoint>,
}

impl Thread {
    /// The whole life of the thread.
    pub(super) fn run(self) {
        let worker = Arc::clone(&self.worker);
        let _obituary = Obituary(&worker);
        let phase = self.life();
        if let Some(meter) = &mut *lock(&worker.meter) {
            meter.finish();
        }
        worker.counts.set_phase(phase);
    }

    /// All the thread does, from binding itself to the last check; says how it ended.
    fn life(self) -> WorkerPhase {
        // first of all, so that everything below is allocated on the wanted node
        let (place, cpus) = match &self.place {
            Ok(place) => {
                let cpus = place.cpus.clone().filter(|cpus| bind::this_thread(cpus).is_ok());
                (place, cpus)
            }
            Err(error) => {
                let _ = self.opened.send(Err(LoadError::Other(error.clone())));
                return WorkerPhase::Failed;
            }
        };
        *lock(&self.worker.meter) = Some(Meter::open());
        if self.params.transport == Transport::Tcp {
            return self.over_tcp(cpus);
        }
        let open = match rail::open(&self.rail, &self.params, self.role, place) {
            Ok(open) => open,
            Err(error) => {
                let _ = self.opened.send(Err(error));
                return WorkerPhase::Failed;
            }
        };
        let opened = Opened {
            endpoint: open.endpoint.clone(),
            cpus,
            buffer_node: open.buffer_node,
            relaxed_ordering: open.relaxed_ordering,
        };
        // nobody listens to a load that was given up meanwhile; then no peer comes either
        let _ = self.opened.send(Ok(opened));
        let Ok(peer) = self.peer.recv() else { return WorkerPhase::Done };
        let connected = match open.connect(&peer, self.role) {
            Ok(connected) => connected,
            Err(error) => {
                let _ = self.connected.send(Err(error));
                return WorkerPhase::Failed;
            }
        };
        let _ = self.connected.send(Ok(connected.read_depth));
        let idle = Idle::of_driver(self.rail.driver.as_deref());
        carry(connected, &self.params, &self.control, &self.worker, idle)
    }
}

/// Tells when its thread panics, so that nobody waits for a worker that is no more.
struct Obituary<'a>(&'a Worker);

impl Drop for Obituary<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let text = format!("{}: its thread panicked; this is a fault of railscope", self.0.device);
            self.0.report([], self.0.unit.name(LoadError::Other(text)).to_string());
            self.0.counts.set_phase(WorkerPhase::Failed);
        }
    }
}

/// Waits for the start, carries the traffic until the end, and looks at the data.
fn carry(
    rail: ConnectedRail,
    params: &Params,
    control: &Control,
    worker: &Worker,
    idle: Idle,
) -> WorkerPhase {
    if control.wait_while(WorkerPhase::Waiting, None) == WorkerPhase::Done {
        return WorkerPhase::Done;
    }
    if let Some(meter) = &mut *lock(&worker.meter) {
        meter.start();
    }
    let mut transport = match rail.traffic {
        Traffic::Reader(transport) => transport,
        Traffic::Target(_queue_pairs) => {
            while control.phase() != WorkerPhase::Done {
                let phase = control.phase();
                worker.counts.set_phase(phase);
                control.wait_while(phase, None);
            }
            return WorkerPhase::Done;
        }
    };
    let share = params.share_of_operations();
    let end = match params.rate_gb_per_s {
        None => drive(&mut *transport, control, worker, idle, share),
        Some(rate) => drive(&mut Capped::new(&mut *transport, rate), control, worker, idle, share),
    };
    if let Some(meter) = &mut *lock(&worker.meter) {
        meter.finish();
    }
    let operations = transport.operations();
    // destroys the queue pairs: from here on no data arrive
    drop(transport);
    if let Err(error) = end {
        let counts =
            if let LoadError::Completion { counts, .. } = &error { counts.clone() } else { BTreeMap::new() };
        worker.report(counts, worker.unit.name(error).to_string());
        return WorkerPhase::Failed;
    }
    if params.op == LoadOp::Read {
        check(&rail.region, &rail.layout, params, &operations, worker);
    }
    WorkerPhase::Done
}

/// Looks whether the data of READs that went well are there.
fn check(region: &Region, layout: &Layout, params: &Params, operations: &[u64], worker: &Worker) {
    let wrong = match pattern::wrong(region.buffer(), layout, params.size_bytes, operations) {
        Ok(wrong) => wrong,
        Err(error) => {
            let text = format!("{}: the data that were read cannot be checked: {error}", worker.device);
            worker.report([], worker.unit.name(LoadError::Other(text)).to_string());
            return;
        }
    };
    if wrong.messages > 0 {
        let text = format!(
            "{}: {} messages in the buffer are not what the peer holds ({} words of 8 bytes): READs completed without \
             their data",
            worker.device, wrong.messages, wrong.words
        );
        let text = worker.unit.name(LoadError::Other(text)).to_string();
        worker.report([("DATA_MISMATCH".to_owned(), wrong.messages)], text);
    }
}
