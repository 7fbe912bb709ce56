//! The two ends of a load: what they say to each other, and how they end together.

pub mod engine;
mod error;
pub mod link;
pub mod matching;
pub mod message;
pub mod offer;
mod subnet;
mod wire;

pub use error::PeerError;
