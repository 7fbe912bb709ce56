//! Planned loads that tell the causes of a slow rail apart, and the table they end in.
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | which load comes next, from what was seen so far |
//! | [`seen`] | what one load showed, rail by rail |
//! | [`legs`] | which flow labels are tried until each leg of a bond received |
//! | [`hypotheses`] | the seven causes, each held against what was seen |
//! | [`diagnosis`] | the verdict on each rail |
//! | [`text`] | how it is shown |
//!
//! All of it is pure; what measures is `commands/diagnose.rs`.

pub mod diagnosis;
pub mod hypotheses;
pub mod legs;
pub mod plan;
pub mod seen;
pub mod text;

#[cfg(test)]
mod tests;

pub use diagnosis::{Diagnosis, RailDiagnosis};
pub use hypotheses::{Answer, Hypothesis};
pub use plan::{Base, Kind, Step, left, next};
pub use seen::{RailSeen, Seen};
