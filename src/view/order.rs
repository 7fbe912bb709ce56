//! What rails are sorted by, in a number.

use super::figure::Figure;
use super::rail;
use crate::app::SortBy;
use crate::timeline::Timeline;
use probes::model::RailId;

/// The number that stands for a rail in this order; `None` where it has none.
#[must_use]
pub fn sort_value(timeline: &Timeline, id: RailId, by: SortBy) -> Option<f64> {
    let host = timeline.local();
    let topology = timeline.topology();
    let rate = || Figure::of(host, topology, id).rate().map(|(_, rate)| rate);
    match by {
        SortBy::Name => None,
        SortBy::Rate => rate(),
        SortBy::Share => {
            let lowest = host.ceilings(id, &topology.rails[id.0]).lowest()?;
            Some(rate()? / lowest)
        }
        SortBy::Errors => rail::errors(host, id, &topology.rails[id.0]).map(|errors| errors as f64),
    }
}
