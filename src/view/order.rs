//! What rails are sorted by, in a number.

use super::figure::Figure;
use super::{rail, scale};
use crate::app::SortBy;
use crate::timeline::Timeline;
use probes::model::RailId;

/// Below this share of its ceiling a rail without a load of ours does next to nothing.
const IDLE: f64 = 0.01;

/// The number that stands for a rail in this order; `None` where it has none.
#[must_use]
pub fn sort_value(timeline: &Timeline, id: RailId, by: SortBy) -> Option<f64> {
    let host = timeline.local();
    let topology = timeline.topology();
    let rate = || Figure::of(host, topology, id).rate();
    match by {
        SortBy::Name => None,
        SortBy::Rate => rate().map(|(_, rate)| rate),
        SortBy::Share => {
            let (kind, rate) = rate()?;
            let rail = &topology.rails[id.0];
            let share = rate / scale::bounds(host.ceilings(id, rail), rail, Some(kind)).lowest()?;
            // of a rail that nothing loads, a low share says nothing: those come last
            let is_idle = share < IDLE && !host.load().is_some_and(|load| load.drives(&rail.device));
            (!is_idle).then_some(share)
        }
        SortBy::Errors => rail::errors(host, id, &topology.rails[id.0]).map(|errors| errors as f64),
    }
}
