//! What a load thread costs: cycles, instructions, cache and TLB misses, context switches, moves between CPUs.
//!
//! The thread opens its own counters and starts them; anybody may read them afterwards, so that being measured
//! costs the thread no system call. What this machine does not give is `None`, and [`Meter::gaps`] says why.
//!
//! Counters that belong together count over the same time, in groups of at most four
//! ([`crate::model::PERF_GROUPS`]). A CPU with too few counters for all groups lets them take turns (multiplexing):
//! each group then tells how long it was wanted and how long it counted.

mod event;
mod files;
mod group;
mod meter;
mod refusal;

pub use meter::Meter;
pub use refusal::{MULTIPLEXED, NOT_PERMITTED, NOT_SUPPORTED, USER_SPACE_ONLY, state_of};
