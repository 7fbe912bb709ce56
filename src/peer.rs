//! The two ends of a load: what they say to each other, and how they end together.

pub mod matching;
pub mod offer;
mod subnet;
