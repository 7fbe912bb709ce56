//! The limits that rules hold rates and shares against; each can be set in the config file.

use serde::Deserialize;

/// Limits of the rules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// `rail-imbalance`: slowest rail as a share of the median.
    pub imbalance_share: f64,
    /// `bond-leg-imbalance`: share of the bond's bytes on one leg.
    pub leg_share: f64,
    /// Leg shares are judged when at least this share of the line moves.
    pub moving_share: f64,
    /// `cross-numa`: share of a process's large mappings on far nodes.
    pub far_memory_share: f64,
    /// A rate rule needs this much time under load, seconds.
    pub hold_s: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            imbalance_share: 0.85,
            leg_share: 0.80,
            moving_share: 0.05,
            far_memory_share: 0.20,
            hold_s: 3.0,
        }
    }
}
