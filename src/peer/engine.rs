//! What the two ends need of a load engine; the real one is [`probes::load`].

use probes::load::{Endpoint, LoadError, Params, Role, RunningLoad};
use probes::model::{RailId, Topology};
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
pub trait Traffic: RunningLoad {
    /// Lets the threads begin.
    fn go(&self);
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

impl Traffic for probes::load::Running {
    fn go(&self) {
        probes::load::Running::go(self);
    }
}
