//! The two ends of a load: what they say to each other, and how they end together.
//!
//! | module | holds |
//! |---|---|
//! | [`request`], `preset`, `target`, [`invitation`] | what was typed, and what is to be typed on the other host |
//! | `end`, [`offer`], [`engine`] | one end: its host, the rails it offers, what drives them |
//! | [`link`], [`message`], `wire` | the connection with its heartbeat, what is said in which order, and its bytes |
//! | `token`, `proving` | that both ends know the secret |
//! | [`matching`], `subnet`, `plan` | which rail reads from which, and what is asked for |
//! | [`client`], `agreement`, `joining` | `load`, on a thread of its own, until every queue pair is ready |
//! | `attendance`, `mending`, `diary` | `load` while the load runs |
//! | [`server`], `seats`, [`lookout`] | `serve`: its clients, its memory, its rails while nobody uses them |
//! | `watching`, `returning` | `serve` while a client's load runs |
//! | `party`, `traffic`, [`gpus`], `crowding` | the threads of an end, and what they run on |
//! | `telling`, `sight`, `clock` | the server's own samples, and how the client sees them |
//! | [`perftest`] | the same load in perftest's words |

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
