//! The two ends of a load: what they say to each other, and how they end together.
//!
//! | module | holds |
//! |---|---|
//! | [`message`] | what is said, and in which order |
//! | [`matching`] | which rail reads from which |
//! | [`link`] | the connection with its heartbeat |
//! | [`server`] | `serve` |
//! | [`client`] | `load`: a thread that agrees with the server, and attends to it while the load runs |
//! | `telling`, `sight` | the server's own samples, and how the client sees them |
//! | [`gpus`] | memory of GPUs that the data lie in |
//! | [`engine`] | what both need of a load engine |

mod agreement;
mod attendance;
pub mod client;
mod clock;
mod crowding;
mod diary;
mod end;
pub mod engine;
mod error;
#[cfg(test)]
mod fake;
pub mod gpus;
pub mod invitation;
mod joining;
pub mod link;
pub mod lookout;
pub mod matching;
mod mending;
pub mod message;
pub mod offer;
mod party;
pub mod perftest;
mod plan;
mod preset;
mod proving;
pub mod request;
mod returning;
mod seats;
pub mod server;
mod sight;
mod subnet;
mod target;
mod telling;
#[cfg(test)]
mod tests;
mod token;
mod traffic;
mod watching;
mod wire;

pub use agreement::Agreed;
pub use attendance::Ended;
pub use end::{Door, End};
pub use error::PeerError;
pub use sight::Sight;
pub use target::Target;
pub use token::Token;
