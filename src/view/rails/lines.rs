//! Which lines the rails take.

use super::legs;
use crate::timeline::HostTimeline;
use crate::view::groups::Group;
use probes::model::{RailId, Topology};

/// One line of this part of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Blank,
    Node { group: usize },
    Rail { id: RailId, position: usize },
    Leg { id: RailId, leg: usize },
}

/// Whose legs are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Legs {
    All,
    /// Of the rail at this position, because a key chose it.
    One(usize),
    None,
}

/// Every line, from the top.
pub(super) fn of(
    topology: &Topology,
    host: &HostTimeline,
    groups: &[Group],
    of: Legs,
    blanks: bool,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut position = 0;
    for (at, group) in groups.iter().enumerate() {
        if blanks && at > 0 {
            lines.push(Line::Blank);
        }
        lines.push(Line::Node { group: at });
        for &id in &group.rails {
            lines.push(Line::Rail { id, position });
            let wanted = of == Legs::All || of == Legs::One(position);
            position += 1;
            let count = topology.rails[id.0].bond.as_ref().map_or(0, |bond| bond.legs.len());
            if wanted && count > 0 && legs::rates(host, id).is_some() {
                lines.extend((0..count).map(|leg| Line::Leg { id, leg }));
            }
        }
    }
    lines
}
