//! The way to a `railscope serve`: what every load begins from, be it of `load`, `sweep` or `diagnose`.

use crate::cli::LoadKnobs;
use crate::peer::{Door, End, Target, request};
use crate::settings::Common;
use probes::root::Root;

/// This end of a load, and where the other one is.
#[derive(Clone)]
pub struct Way {
    /// Where this host is read.
    pub root: Root,
    /// This end, with the rails of `--rails`.
    pub end: End,
    /// The peer.
    pub target: Target,
}

impl Way {
    /// As the flags have it.
    ///
    /// # Errors
    ///
    /// As [`request::target`] and [`End::of`]; the token cannot be read, or there is no such GPU.
    pub fn of(knobs: &LoadKnobs, common: &Common) -> anyhow::Result<Self> {
        Self::among(common.overlay.rails.as_deref(), knobs, common)
    }

    /// The same in a session of these rails, all where none is named.
    ///
    /// # Errors
    ///
    /// As [`Way::of`] and [`End::among`].
    pub fn among(known: Option<&[String]>, knobs: &LoadKnobs, common: &Common) -> anyhow::Result<Self> {
        let target = request::target(knobs).map_err(anyhow::Error::msg)?;
        let door = Door::with_token(knobs.token.as_deref()).map_err(anyhow::Error::msg)?;
        let (root, end) = End::among(known, common, knobs.gid_index)?;
        Ok(Self { root, end: End { door, ..end }.with_memory(knobs.memory)?, target })
    }

    /// To this peer, behind this door, with data in the host's memory.
    ///
    /// # Errors
    ///
    /// As [`End::of`].
    pub fn to(target: Target, door: Door, gid_index: Option<u32>, common: &Common) -> anyhow::Result<Self> {
        let (root, end) = End::of(common, gid_index)?;
        Ok(Self { root, end: End { door, ..end }, target })
    }
}
