//! What the two ends need of a load engine; the real one is [`probes::load`].

use probes::load::{Endpoint, Happening, LoadError, Params, Role, Running, RunningLoad, Wrong};
use probes::model::{Measured, RailId, Topology};
use std::sync::Arc;

/// Opens rails. Every call may block for as long as registering memory takes.
pub trait Engine: Send + Sync + 'static {
    /// Starts opening these rails.
    fn open(&self, topology: &Topology, rails: &[RailId], params: &Params, role: Role) -> Box<dyn Opened>;
}

/// Rails that are being opened.
pub trait Opened: Send {
    /// Waits until each is open or has failed, in the order in which they were asked for.
    fn endpoints(&mut self) -> Vec<Result<Endpoint, LoadError>>;

    /// Connects each rail with its peer, `None` leaves it out; afterwards every queue pair can receive.
    ///
    /// # Errors
    ///
    /// No rail could be connected.
    fn connect(self: Box<Self>, peers: Vec<Option<Endpoint>>) -> Result<Arc<dyn Traffic>, LoadError>;
}

/// Connected rails; dropping the last reference stops and frees them.
///
/// Threads are named by their positions in [`probes::model::Load::workers`].
pub trait Traffic: RunningLoad {
    /// Lets the threads begin.
    fn go(&self);

    /// Says that threads which fail after they had moved something are opened anew: the load is not over for them.
    fn mend(&self);

    /// What has happened to threads since it was last asked for.
    fn news(&self) -> Vec<(usize, Happening)>;

    /// Opens a thread's rail anew; what it had before is closed. Blocks meanwhile.
    ///
    /// # Errors
    ///
    /// What stands in the way: the device is gone, its port is not ACTIVE.
    fn reopen(&self, at: usize) -> Result<Endpoint, LoadError>;

    /// Connects a thread that was opened anew with its peer. Blocks meanwhile.
    ///
    /// # Errors
    ///
    /// The ends do not fit together, or a queue pair cannot reach its peer.
    fn reconnect(&self, at: usize, peer: Endpoint) -> Result<(), LoadError>;

    /// Lets a thread go on that was opened and connected anew.
    fn resume(&self, at: usize);

    /// Looks at the data that the peer wrote into a thread's memory with so many good operations of each queue pair.
    /// `None` when that memory is no more. Blocks meanwhile.
    fn check(&self, at: usize, operations: &[u64]) -> Option<Wrong>;

    /// Tells a thread what the peer found where its data went.
    fn verdict(&self, at: usize, found: Option<Wrong>);

    /// Tells a thread that nothing of the peer's is out: it may let go of its queue pairs.
    fn release(&self, at: usize);

    /// What this end's own operations did in the measured time so far; `None` before it begins.
    fn measured(&self) -> Option<Measured>;
}

/// Real rails, over verbs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verbs;

impl Engine for Verbs {
    fn open(&self, topology: &Topology, rails: &[RailId], params: &Params, role: Role) -> Box<dyn Opened> {
        Box::new(probes::load::open(topology, rails, params, role))
    }
}

impl Opened for probes::load::Opening {
    fn endpoints(&mut self) -> Vec<Result<Endpoint, LoadError>> {
        probes::load::Opening::endpoints(self)
    }

    fn connect(self: Box<Self>, peers: Vec<Option<Endpoint>>) -> Result<Arc<dyn Traffic>, LoadError> {
        Ok(Arc::new((*self).connect(peers)?))
    }
}

impl Traffic for Running {
    fn go(&self) {
        Running::go(self);
    }

    fn mend(&self) {
        Running::mend(self);
    }

    fn news(&self) -> Vec<(usize, Happening)> {
        Running::news(self)
    }

    fn reopen(&self, at: usize) -> Result<Endpoint, LoadError> {
        Running::reopen(self, at)
    }

    fn reconnect(&self, at: usize, peer: Endpoint) -> Result<(), LoadError> {
        Running::reconnect(self, at, peer)
    }

    fn resume(&self, at: usize) {
        Running::resume(self, at);
    }

    fn check(&self, at: usize, operations: &[u64]) -> Option<Wrong> {
        Running::check(self, at, operations)
    }

    fn verdict(&self, at: usize, found: Option<Wrong>) {
        Running::verdict(self, at, found);
    }

    fn release(&self, at: usize) {
        Running::release(self, at);
    }

    fn measured(&self) -> Option<Measured> {
        Running::measured(self)
    }
}
