//! Which PCIe links rails have in common.

use probes::model::Hop;

/// A link by both its ends: the port above it, and the bus below, which functions of one card have in common.
///
/// The port alone is not enough: files of NCCL and of hwloc can name a switch where the port is meant. Without a
/// port it is the card's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link<'a> {
    above: Option<&'a str>,
    below: &'a str,
}

impl<'a> Link<'a> {
    /// The link of a hop.
    #[must_use]
    pub fn of(hop: &'a Hop) -> Self {
        let above = hop.upstream.as_deref();
        let end = if above.is_some() { ':' } else { '.' };
        let below = hop.address.rsplit_once(end).map_or(hop.address.as_str(), |(bus, _)| bus);
        Self { above, below }
    }
}
