//! Loads on the rails of this host, against one `railscope serve`.

use super::{Laboratory, Made};
use crate::cli::DiagnoseArgs;
use crate::commands::sweep::measuring::{Bench, Peer};
use crate::commands::way::Way;
use crate::experiments::Step;
use crate::experiments::told::caveat;
use crate::peer::{Door, Target};
use crate::session::Stop;
use crate::settings::Common;
use anyhow::Context;
use probes::model::{Simulation, Topology};
use std::time::Duration;

/// The rails of this host and those of a peer.
pub(super) struct Rails {
    peer: Peer,
    /// This host, with the rails that can be loaded.
    topology: Topology,
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
        let way = Way::to(target, door, args.gid_index, common)?;
        Ok(Self::over(Peer::over(way, stop.clone()), stop))
    }

    /// The rails of this host that can be loaded, and this peer, which tells of its own.
    pub(super) fn over(peer: Peer, stop: Stop) -> Self {
        let peer = peer.seen();
        let mut topology = peer.topology().clone();
        let devices = peer.devices();
        topology.rails.retain(|rail| devices.contains(&rail.device));
        Self { peer, topology, stop }
    }

    /// This host, with the rails that can be loaded.
    pub(super) fn loaded(&self) -> &Topology {
        &self.topology
    }
}

impl Laboratory for Rails {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn whole_topology(&self) -> Topology {
        self.peer.sampled_topology()
    }

    fn simulated(&self) -> Option<Simulation> {
        None
    }

    fn caveat(&self) -> Option<String> {
        None
    }

    fn make(&mut self, step: &Step, window: Duration) -> Option<Result<Made, String>> {
        match self.peer.only(&step.rails).measure(&step.params, window) {
            Ok(None) => None,
            Ok(Some(measured)) => {
                let load = measured.to.load.as_deref();
                let caveat = load.and_then(caveat);
                Some(Ok(Made {
                    from: measured.from,
                    to: measured.to,
                    failures: measured.failures,
                    peer: measured.peer,
                    caveat,
                    far: measured.far,
                }))
            }
            Err(_) if self.stop.is_stopped() => None,
            // one that cannot be had is a cell of the table; the others tell what they can
            Err(why) => Some(Err(format!("{why:#}"))),
        }
    }
}
