//! The simulator: a node with its rails, their load and their counters, from the ceilings model.
//!
//! The screen, the recorder, the rules and the reports cannot tell it from a live node, except that the
//! session says `simulated`. Traffic is max–min fair shares over wires and PCIe paths
//! ([`crate::ceilings::max_min_shares`]) with seeded noise; real threads, as many as are asked for, move it in virtual time.
//! Equal seeds give equal sessions, to the last byte.
//!
//! | file | holds |
//! |---|---|
//! | `scenario` | the named nodes, and what is wrong with which rail |
//! | `node` | their host, NUMA nodes, bonds, PCIe paths |
//! | `planted` | a node and what is wrong with it, from a seed |
//! | `machine` | the machines that such nodes are of |
//! | `world` | a node as it really is, with what no survey finds |
//! | `flows` | flows over all that traffic crosses, and the rates they get |
//! | `counted` | what a NIC counts of its traffic |
//! | `window` | both ends of a load, made at once, for experiments |
//! | `card` | what is the same of every simulated card |
//! | `noise` | seeded noise |
//! | `clock` | virtual time, shared by the rail threads and the source |
//! | `transport` | the load of one rail, and what its NIC counts |
//! | `rail` | what the NIC and the threads of one rail have counted |
//! | `thread` | the life of a rail's thread |
//! | `setup` | the load that is asked for |
//! | `source` | the source of frames |
//! | `part` | simulations one after the other in one session |

mod card;
mod clock;
mod counted;
mod far_end;
mod flows;
mod machine;
mod node;
mod noise;
mod part;
mod planted;
mod rail;
mod scenario;
mod setup;
mod source;
#[cfg(test)]
mod tests;
mod thread;
mod transport;
mod window;
mod world;

pub use machine::Machine;
pub use part::{AtRest, SimulatedPart, SoFar, go_on};
pub use planted::{Cause, Planted, Truth};
pub use scenario::Scenario;
pub use setup::Setup;
pub use source::{Pace, Simulated};
pub use window::Window;
pub use world::World;
