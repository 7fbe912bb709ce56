//! A rail as the newest frames have it: links go down and come back during a session.

use super::HostTimeline;
use probes::model::{Rail, RailFrame, RailId};

impl HostTimeline {
    /// The surveyed rail with the states of its port and legs as last read.
    ///
    /// A port that is not ACTIVE has no line rate. A device that is gone has no state, see [`Self::is_lost`].
    #[must_use]
    pub fn last_seen(&self, id: RailId, surveyed: &Rail) -> Rail {
        let mut rail = surveyed.clone();
        rail.state = self.sums.states.get(id.0).cloned().flatten().or(rail.state);
        rail.phys_state = self.readings(id).find_map(|read| read.phys_state.clone()).or(rail.phys_state);
        if self.is_lost(id) {
            (rail.state, rail.phys_state, rail.line_gbit_per_s) = (None, None, None);
        }
        if !rail.may_carry() {
            rail.line_gbit_per_s = None;
        }
        if let Some(bond) = &mut rail.bond {
            let legs =
                self.readings(id).find(|read| !read.legs.is_empty()).map_or(&[][..], |read| &read.legs);
            for (leg, read) in bond.legs.iter_mut().zip(legs) {
                leg.link_up = read.link_up.or(leg.link_up);
                leg.active = read.active.or(leg.active);
            }
        }
        rail
    }

    /// Port state word as last read, of a device that is still there.
    #[must_use]
    pub fn last_state<'a>(&'a self, id: RailId, surveyed: &'a Rail) -> Option<&'a str> {
        let read = self.sums.states.get(id.0).and_then(Option::as_deref);
        read.or(surveyed.state.as_deref()).filter(|_| !self.is_lost(id))
    }

    /// Whether the device was gone when the newest sample was taken.
    #[must_use]
    pub fn is_lost(&self, id: RailId) -> bool {
        self.readings(id).next().is_some_and(|read| read.lost)
    }

    /// Readings of one rail in the window, newest first.
    fn readings(&self, id: RailId) -> impl Iterator<Item = &RailFrame> {
        self.frames.iter().rev().filter_map(move |frame| frame.rails.get(id.0))
    }
}
