//! Rails on their way: threads that open devices, and the exchange of addresses with the peer.

mod description;
mod starting;

pub use starting::open;

use super::control::{Control, Worker};
use super::running::{Clock, Running, RunningUnit};
use super::thread::{Opened, Order};
use super::{Endpoint, LoadError, Params, Role};
use crate::model::LoadTarget;
use std::net::Ipv6Addr;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Rails that are being opened, or wait for their peers. Dropping it closes them.
pub struct Opening {
    params: Params,
    role: Role,
    control: Arc<Control>,
    units: Vec<OpeningUnit>,
    /// Every address of this host, to recognise a peer that is this host.
    own_gids: Vec<Ipv6Addr>,
    /// Where the data of this end lie.
    target: LoadTarget,
    /// Threads that carry several units.
    threads: Vec<JoinHandle<()>>,
}

/// One unit of an [`Opening`].
struct OpeningUnit {
    worker: Arc<Worker>,
    /// What the thread is to do; dropped, it ends.
    orders: Sender<Order>,
    opened: Receiver<Result<Opened, LoadError>>,
    connected: Receiver<Result<u32, LoadError>>,
    facts: Option<Opened>,
    /// What both ends of its queue pairs can do, bytes; `None` before the peer's end is known.
    path_mtu: Option<u32>,
    /// It could not be opened, which was told: nothing more is heard of it.
    is_lost: bool,
    /// `None`: it could not be started, or carries other units too.
    thread: Option<JoinHandle<()>>,
}

impl Opening {
    /// Waits until each unit is open or has failed.
    pub fn endpoints(&mut self) -> Vec<Result<Endpoint, LoadError>> {
        self.units.iter_mut().map(OpeningUnit::endpoint).collect()
    }

    /// Connects each unit with its peer; `None` leaves a unit out. A unit that cannot be connected fails alone:
    /// [`RunningLoad::failures`] names it. Afterwards every queue pair can answer.
    ///
    /// # Errors
    ///
    /// Not a single unit could be connected.
    pub fn connect(mut self, peers: Vec<Option<Endpoint>>) -> Result<Running, LoadError> {
        let mut kept = Vec::new();
        let mut closing = Vec::new();
        let loopback = peers.iter().flatten().any(|peer| self.own_gids.contains(&peer.gid));
        let mut peers = peers.into_iter();
        for mut unit in std::mem::take(&mut self.units) {
            let peer = peers.next().flatten();
            // asks for the endpoint in case the caller did not
            if unit.is_lost || (unit.facts.is_none() && unit.endpoint().is_err()) {
                closing.push(unit);
                continue;
            }
            match peer {
                Some(peer) => {
                    let own = unit.facts.as_ref().map(|facts| facts.endpoint.path_mtu);
                    unit.path_mtu = own.map(|own| own.min(peer.path_mtu));
                    // a thread that is gone is noticed below
                    let _ = unit.orders.send(Order::Connect(peer));
                    kept.push(unit);
                }
                None => closing.push(unit),
            }
        }
        for unit in closing {
            unit.close();
        }
        let mut first_error = None;
        let mut connected = Vec::new();
        for unit in kept {
            let depth = match unit.connected.recv() {
                Ok(Ok(depth)) => Some(depth),
                Ok(Err(error)) => {
                    let error = unit.worker.unit.name(error);
                    unit.worker.report([], error.to_string());
                    first_error.get_or_insert(error);
                    None
                }
                Err(_) => {
                    first_error.get_or_insert_with(|| died(&unit.worker));
                    None
                }
            };
            connected.push((unit, depth));
        }
        if connected.iter().all(|(_, depth)| depth.is_none()) {
            return Err(first_error
                .unwrap_or_else(|| LoadError::Other("no rail has a peer to connect with".to_owned())));
        }
        Ok(self.start(connected, loopback))
    }

    fn start(&mut self, connected: Vec<(OpeningUnit, Option<u32>)>, loopback: bool) -> Running {
        let load = Arc::new(self.describe(&connected, loopback));
        let workers: Vec<_> = connected.iter().map(|(unit, _)| Arc::clone(&unit.worker)).collect();
        let (mut units, mut threads) = (Vec::new(), std::mem::take(&mut self.threads));
        for (unit, _) in connected {
            let OpeningUnit { worker, orders, opened, connected, thread, .. } = unit;
            threads.extend(thread);
            units.push(RunningUnit {
                worker,
                orders,
                opened: Mutex::new(opened),
                connected: Mutex::new(connected),
            });
        }
        let (warmup_s, duration_s) = (self.params.warmup_s, self.params.duration_s);
        // one end alone decides when a load of one direction ends
        let (warmup_s, duration_s) =
            if self.role.posts(&self.params) { (warmup_s, duration_s) } else { (0.0, None) };
        let clock = Clock { control: Arc::clone(&self.control), workers, warmup_s, duration_s };
        let clock = std::thread::Builder::new().name("load-clock".to_owned()).spawn(move || clock.run());
        threads.push(clock.expect("the process may start one more thread"));
        Running {
            control: Arc::clone(&self.control),
            load,
            params: self.params.clone(),
            units,
            threads,
            mends: AtomicBool::new(false),
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        for unit in std::mem::take(&mut self.units) {
            unit.close();
        }
        for thread in self.threads.drain(..) {
            // a panic of the thread has been printed
            let _ = thread.join();
        }
    }
}

impl OpeningUnit {
    fn endpoint(&mut self) -> Result<Endpoint, LoadError> {
        if self.facts.is_none() {
            // a thread that failed waits for the order to try again, and says nothing before
            let opened = if self.is_lost { None } else { self.opened.recv().ok() };
            self.is_lost = !matches!(opened, Some(Ok(_)));
            let opened = opened.ok_or_else(|| died(&self.worker))?;
            self.facts = Some(opened.map_err(|error| self.worker.unit.name(error))?);
        }
        Ok(self.facts.as_ref().expect("set above").endpoint.clone())
    }

    /// Ends the thread: it finds that no peer will come.
    fn close(self) {
        drop(self.orders);
        // a panic of the thread has been printed, and the rail is closed either way
        let _ = self.thread.map(JoinHandle::join);
    }
}

fn died(worker: &Worker) -> LoadError {
    worker.unit.name(LoadError::Other(format!("{}: its thread ended unexpectedly", worker.device)))
}
