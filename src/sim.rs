//! The simulator: a node with eight rails, its load and its counters, from the ceilings model.
//!
//! The screen, the recorder, the rules and the reports cannot tell it from a live node, except that the
//! session says `simulated`. Traffic is max–min fair shares over wires and PCIe paths
//! ([`crate::ceilings::max_min_shares`]) with seeded noise; real threads, one a rail, move it in virtual time.
//! Equal seeds give equal sessions, to the last byte.
//!
//! | file | holds |
//! |---|---|
//! | `scenario` | what is wrong with which rail |
//! | `node` | the node: host, NUMA nodes, bonds, PCIe paths |
//! | `traffic` | flows and the rates they get |
//! | `clock` | virtual time, shared by the rail threads and the source |
//! | `transport` | the load of one rail, and what its NIC counts |
//! | `setup` | the load that is asked for |
//! | `source` | the source of frames |

mod clock;
mod node;
mod noise;
mod scenario;
mod setup;
mod source;
#[cfg(test)]
mod tests;
mod traffic;
mod transport;

pub use scenario::Scenario;
pub use setup::Setup;
pub use source::{Pace, Simulated};
