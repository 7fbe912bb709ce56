//! Judgement: pure functions over a topology and a timeline.
//!
//! A rule never sees a clock, a file or the environment, so live and replayed sessions are judged alike.
//! A rule whose data is missing says nothing; the survey's gap says why.

mod acs;
mod beside;
mod bond_legs;
mod bonds;
mod cards;
mod codes;
mod counters;
mod cross_numa;
pub mod explain;
pub(crate) mod fabric;
mod finding;
mod firmware;
mod first;
mod gids;
mod gpu_link;
mod gpudirect;
mod growth;
mod half_rate;
mod host;
mod implausible;
mod infiniband;
mod levels;
mod limits;
mod links;
mod means;
mod mtu;
mod not_pinned;
mod numa_balancing;
mod numa_limits;
mod numa_map;
mod pcie;
mod pcie_limits;
mod pcie_settings;
mod poll_cores;
mod prio;
mod rail_imbalance;
mod read_below_write;
mod read_depth;
mod read_window;
mod shared_port;
mod shared_rail;
mod slow;
mod spread;
mod subnets;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod two_ports;
mod unstable;
mod verbs_access;
mod wording;

pub(crate) use bond_legs::lets_every_leg_carry;
pub use codes::{UnknownCode, all_known, codes, did_you_mean};
pub use fabric::{Strain, strain_of};
pub use finding::{Finding, Severity};
pub use first::bring_causes;
pub use limits::Limits;
pub(crate) use wording::rate;

use crate::timeline::Timeline;
use probes::model::Topology;

/// One rule (or a family that shares its arithmetic).
pub struct Rule {
    /// Codes it may report; on the screen, in JSON and in `--ignore` alike.
    pub codes: &'static [&'static str],
    /// Looks at one host of a session.
    pub check: fn(&Topology, &Timeline, &Limits) -> Vec<Finding>,
}

/// Every rule.
pub const ALL: &[Rule] = &[
    bond_legs::RULE,
    bonds::RULE,
    half_rate::RULE,
    gids::RULE,
    subnets::RULE,
    mtu::RULE,
    pcie::RULE,
    pcie_limits::RULE,
    pcie_settings::RULE,
    acs::RULE,
    cross_numa::RULE,
    not_pinned::RULE,
    poll_cores::RULE,
    shared_rail::RULE,
    rail_imbalance::RULE,
    implausible::RULE,
    levels::RULE,
    unstable::RULE,
    read_depth::RULE,
    read_window::RULE,
    read_below_write::RULE,
    gpu_link::RULE,
    slow::RULE,
    fabric::RULE,
    prio::RULE,
    links::RULE,
    counters::RULE,
    host::RULE,
    numa_limits::RULE,
    numa_map::RULE,
    numa_balancing::RULE,
    cards::RULE,
    shared_port::RULE,
    firmware::RULE,
    infiniband::RULE,
    verbs_access::RULE,
    gpudirect::RULE,
];

/// Everything the rules find: worst first, causes before their effects, then by code and device.
#[must_use]
pub fn diagnose(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let mut found = slow::found_by_others(topology, timeline, limits);
    // what is unexplained depends on what the others found
    let unexplained = slow::unexplained(topology, timeline, limits, || found.as_slice().into());
    found.extend(unexplained);
    first::sort(&mut found);
    found
}
