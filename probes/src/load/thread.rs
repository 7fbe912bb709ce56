//! The life of one thread of a load.

mod judging;

use super::connect::{ConnectedRail, Traffic};
use super::control::{Control, Happening, Worker, lock};
use super::drive::{Idle, drive};
use super::pattern::Wrong;
use super::placement::Placement;
use super::rail::{self, OpenRail};
use super::verbs::VerbsTransport;
use super::{Endpoint, LoadError, LoadTransport, Params, Role, Transport};
use crate::bind;
use crate::ffi::verbs::RelaxedOrdering;
use crate::model::{CpuSet, LoadOp, Rail, WorkerPhase};
use crate::perf::Meter;
use judging::{LAST_WORD, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

/// What a thread tells once its rail is open.
pub(super) struct Opened {
    pub(super) endpoint: Endpoint,
    pub(super) cpus: Option<CpuSet>,
    pub(super) buffer_node: Option<u32>,
    pub(super) page_bytes: Option<u64>,
    pub(super) relaxed_ordering: RelaxedOrdering,
}

impl Opened {
    /// What there is to tell of this rail, opened by a thread that is bound to `cpus`.
    pub(super) fn of(open: &OpenRail, cpus: Option<&CpuSet>) -> Self {
        Self {
            endpoint: open.endpoint.clone(),
            cpus: cpus.cloned(),
            buffer_node: open.buffer_node,
            page_bytes: open.page_bytes,
            relaxed_ordering: open.relaxed_ordering,
        }
    }
}

/// What a thread is told.
pub(super) enum Order {
    /// Connect with this peer.
    Connect(Endpoint),
    /// Open the rail anew.
    Open,
    /// Go on, after it was opened anew.
    Go,
    /// The peer's thread is at rest: nothing of it is out.
    Release,
    /// What the peer found where our data went; `None`: it could not look.
    Verdict(Option<Wrong>),
}

/// What one thread starts with.
pub(super) struct Thread {
    pub(super) rail: Rail,
    pub(super) place: Result<Placement, String>,
    pub(super) params: Params,
    pub(super) role: Role,
    pub(super) control: Arc<Control>,
    pub(super) worker: Arc<Worker>,
    pub(super) opened: Sender<Result<Opened, LoadError>>,
    pub(super) connected: Sender<Result<u32, LoadError>>,
    pub(super) orders: Receiver<Order>,
}

/// How it ended that a thread drove its rail.
enum End {
    /// As planned, or nobody wants it any more.
    Done,
    /// By an error, which is told.
    Failed,
    /// Because it is to be opened anew.
    Again,
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
        let mut is_first = true;
        loop {
            let end = self.once(place, cpus.as_ref(), is_first);
            *lock(&self.worker.exposed) = None;
            match end {
                End::Done => return WorkerPhase::Done,
                End::Failed => {
                    self.worker.counts.set_phase(WorkerPhase::Failed);
                    loop {
                        match self.orders.recv() {
                            Ok(Order::Open) => break,
                            // meant for the queue pairs that failed
                            Ok(_) => {}
                            Err(_) => return WorkerPhase::Failed,
                        }
                    }
                }
                End::Again => {}
            }
            is_first = false;
        }
    }

    /// Opens the rail, connects it, carries traffic over it until the end, and closes it.
    fn once(&self, place: &Placement, cpus: Option<&CpuSet>, is_first: bool) -> End {
        self.worker.unhalt();
        let open = match rail::open(&self.rail, &self.params, self.role, place) {
            Ok(open) => open,
            Err(error) => {
                let _ = self.opened.send(Err(error));
                return End::Failed;
            }
        };
        // nobody listens to a load that was given up meanwhile; then no peer comes either
        let _ = self.opened.send(Ok(Opened::of(&open, cpus)));
        let peer = match self.orders.recv() {
            Ok(Order::Connect(peer)) => peer,
            Ok(Order::Open) => return End::Again,
            Ok(_) => return End::Failed,
            Err(_) => return if is_first { End::Done } else { End::Failed },
        };
        let connected = match open.connect(&peer, self.role) {
            Ok(connected) => connected,
            Err(error) => {
                let _ = self.connected.send(Err(error));
                return End::Failed;
            }
        };
        *lock(&self.worker.exposed) = connected.exposed.clone().map(|region| (region, connected.layout));
        let _ = self.connected.send(Ok(connected.read_depth));
        if is_first {
            if self.control.wait_while(WorkerPhase::Waiting, None) == WorkerPhase::Done {
                return End::Done;
            }
            if let Some(meter) = &mut *lock(&self.worker.meter) {
                meter.start();
            }
        } else {
            match self.orders.recv() {
                Ok(Order::Go) => {}
                Ok(Order::Open) => return End::Again,
                _ => return End::Failed,
            }
            if self.control.phase() == WorkerPhase::Done {
                return End::Failed;
            }
            self.worker.restarts.fetch_add(1, Ordering::Relaxed);
        }
        self.carry(connected)
    }

    /// Carries the traffic until the end, and looks at the data.
    fn carry(&self, rail: ConnectedRail) -> End {
        let (control, worker) = (&*self.control, &*self.worker);
        let mut transport = match rail.traffic {
            Traffic::Reader(transport) => transport,
            Traffic::Target(_queue_pairs) => {
                while control.phase() != WorkerPhase::Done && !worker.is_halted() {
                    let phase = control.phase();
                    worker.counts.set_phase(phase);
                    control.sleep(phase, worker);
                }
                return if worker.is_halted() { End::Failed } else { End::Done };
            }
        };
        let share = self.params.share_of_operations();
        let idle = Idle::of_driver(self.rail.driver.as_deref());
        if let Some(rate) = self.params.rate_gb_per_s {
            transport.hold_to(Some(rate));
        }
        let driven = drive(&mut *transport, control, worker, idle, share);
        let end =
            driven.and_then(|()| if self.params.bidirectional { rest(&mut transport, idle) } else { Ok(()) });
        if worker.is_halted() {
            return End::Failed;
        }
        if let Err(error) = end {
            drop(transport);
            let counts = if let LoadError::Completion { counts, .. } = &error {
                counts.clone()
            } else {
                BTreeMap::new()
            };
            let text = worker.unit.name(error).to_string();
            worker.report(counts, text.clone());
            worker.counts.set_phase(WorkerPhase::Failed);
            worker.tell(Happening::Failed(text));
            return End::Failed;
        }
        if let Some(meter) = &mut *lock(&worker.meter) {
            meter.finish();
        }
        let operations = transport.operations();
        if self.params.bidirectional {
            worker.tell(Happening::AtRest(operations.clone()));
            // until then its requests need our queue pairs
            let verdict = self.last_word(true);
            drop(transport);
            self.judge(rail.local.as_ref(), &rail.layout, &operations, verdict);
        } else {
            // destroys the queue pairs: from here on no data move
            drop(transport);
            let verdict = if self.params.op == LoadOp::Write {
                worker.tell(Happening::AtRest(operations.clone()));
                self.last_word(false)
            } else {
                Verdict::NotWanted
            };
            self.judge(rail.local.as_ref(), &rail.layout, &operations, verdict);
        }
        End::Done
    }
}

/// Waits until nothing is out any more; what completes now is of no measured time and counts nowhere.
///
/// # Errors
///
/// The rail is done for.
fn rest(transport: &mut VerbsTransport, idle: Idle) -> Result<(), LoadError> {
    transport.stop_posting();
    let since = Instant::now();
    while !transport.is_at_rest() && since.elapsed() < LAST_WORD {
        let pumped = transport.pump()?;
        if pumped.empty_polls > 0 && idle == Idle::Yield {
            std::thread::yield_now();
        }
    }
    Ok(())
}

/// Tells when its thread panics, so that nobody waits for a worker that is no more.
pub(super) struct Obituary<'a>(pub(super) &'a Worker);

impl Drop for Obituary<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let text = format!("{}: its thread panicked; this is a fault of railscope", self.0.device);
            self.0.report([], self.0.unit.name(LoadError::Other(text)).to_string());
            self.0.counts.set_phase(WorkerPhase::Failed);
        }
    }
}
