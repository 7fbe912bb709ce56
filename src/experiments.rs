//! Planned loads that tell the causes of a slow rail apart, and the table they end in.
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | which load comes next, from what was seen so far |
//! | `label_sets` | which of them come next on a slow bond |
//! | `neighbours` | which rails share something, and where else a rail can be used from |
//! | `rounds` | loads made more than once, and whether they differ |
//! | `slow` | which rails are slow |
//! | [`seen`] | what one load showed, rail by rail |
//! | [`counted`] | what a NIC counted meanwhile, by the direction of what it tells of |
//! | [`far`] | what the other end told meanwhile |
//! | [`legs`] | which flow labels are tried until each leg of a bond received |
//! | [`hypotheses`] | the seven causes, each held against what was seen |
//! | [`diagnosis`] | the verdict on each rail |
//! | [`shared`] | rails that stop at one limit together |
//! | [`text`] | how it is shown |
//! | [`told`] | the same from the frames of a session |
//!
//! All of it is pure; what measures is `commands/diagnose.rs`.

pub mod counted;
pub mod diagnosis;
pub mod far;
pub mod hypotheses;
mod label_sets;
pub mod legs;
mod neighbours;
pub mod plan;
mod rounds;
pub mod seen;
pub mod shared;
mod slow;
pub mod text;
pub mod told;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use diagnosis::{Diagnosis, RailDiagnosis};
pub use far::FarRail;
pub use hypotheses::{Answer, Hypothesis};
pub use plan::{Base, Kind, Step, left, next};
pub use seen::{RailSeen, Seen};
pub use shared::SharedLimit;
