//! Loads on the rails of this host, against one `railscope serve`.

use super::Laboratory;
use crate::cli::DiagnoseArgs;
use crate::commands::sweep::far_side::FarSide;
use crate::commands::sweep::measuring::{Bench, Peer};
use crate::experiments::{Seen, Step};
use crate::peer::{Door, Target};
use crate::session::Stop;
use crate::settings::Common;
use anyhow::Context;
use probes::model::Topology;
use std::cell::RefCell;
use std::time::Duration;

/// The rails of this host and those of a peer.
pub(super) struct Rails {
    peer: Peer,
    /// This host, with the rails that can be loaded.
    topology: Topology,
    /// What the newest load told of the peer, and what its figures are not.
    told: RefCell<(Option<String>, Option<String>)>,
    stop: Stop,
}

impl Rails {
    /// The peer and the rails that the flags name.
    ///
    /// # Errors
    ///
    /// PEER is no host, there is no rail, or the token cannot be read.
    pub(super) fn new(args: &DiagnoseArgs, common: &Common, stop: Stop) -> anyhow::Result<Self> {
        let peer =
            args.peer.as_deref().context("PEER is missing: name the host that runs `railscope serve`")?;
        let target = Target::parse(peer).map_err(anyhow::Error::msg)?;
        let door = Door::with_token(args.token.as_deref()).map_err(anyhow::Error::msg)?;
        let peer = Peer::of(target, door, args.gid_index, common, stop.clone())?.seen();
        let mut topology = peer.topology().clone();
        let devices = peer.devices();
        topology.rails.retain(|rail| devices.contains(&rail.device));
        Ok(Self { peer, topology, told: RefCell::default(), stop })
    }
}

impl Laboratory for Rails {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn peer(&self) -> Option<String> {
        self.told.borrow().0.clone()
    }

    fn caveat(&self) -> Option<String> {
        self.told.borrow().1.clone()
    }

    fn make(&self, step: Step, window: Duration) -> Option<Seen> {
        match self.peer.only(&step.rails).measure(&step.params, window) {
            Ok(None) => None,
            Ok(Some(measured)) => {
                let load = measured.to.load.as_deref();
                let caveat = load.filter(|load| load.loopback).map(|_| "loopback, not fabric".to_owned());
                *self.told.borrow_mut() = (measured.peer.clone(), caveat);
                let seen =
                    Seen::between(step, &measured.topology, &measured.from, &measured.to, measured.failures);
                Some(seen.with_far(measured.far.as_ref().map(FarSide::as_far).map_err(Clone::clone)))
            }
            Err(_) if self.stop.is_stopped() => None,
            // one that cannot be had is a cell of the table; the others tell what they can
            Err(why) => Some(Seen::failed(step, format!("{why:#}"))),
        }
    }
}
