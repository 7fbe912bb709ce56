//! The GIDs of a rail, as the report has them.

use probes::model::{Gid, GidType, Rail};
use serde::Serialize;

/// A GID that a queue pair should use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GidRow {
    /// Position in the table.
    pub index: u32,
    /// `RoCE v2` or `IB/RoCE v1`.
    #[serde(rename = "type")]
    pub kind: Option<GidType>,
    /// Address; IPv4 in its usual form.
    pub address: Option<String>,
    /// Why this one.
    pub reason: String,
}

/// An entry of the GID table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GidEntry {
    /// Position in the table.
    pub index: u32,
    /// `RoCE v2` or `IB/RoCE v1`.
    #[serde(rename = "type")]
    pub kind: Option<GidType>,
    /// Address; IPv4 in its usual form.
    pub address: String,
    /// Netdev the entry belongs to.
    pub netdev: Option<String>,
}

impl GidRow {
    pub(super) fn of(rail: &Rail) -> Option<Self> {
        let choice = rail.gid.as_ref()?;
        let entry = rail.gids.iter().find(|gid| gid.index == choice.index);
        Some(Self {
            index: choice.index,
            kind: entry.and_then(|gid| gid.kind),
            address: entry.map(Gid::written),
            reason: choice.reason.clone(),
        })
    }
}

impl GidEntry {
    pub(super) fn of(gid: &Gid) -> Self {
        Self { index: gid.index, kind: gid.kind, address: gid.written(), netdev: gid.netdev.clone() }
    }
}
