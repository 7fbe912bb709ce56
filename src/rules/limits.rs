//! The limits that rules hold rates and shares against; each can be set in the config file.

use serde::Deserialize;

/// An hour in seconds: rates are judged over the last minute or so.
const MOST_HOLD_S: f64 = 3600.0;

/// Limits of the rules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// `rail-imbalance`: slowest rail as a share of the median of the others.
    pub imbalance_share: f64,
    /// `bond-leg-imbalance`: share of the bond's bytes on one leg.
    pub leg_share: f64,
    /// Legs, and rails beside each other, are judged when at least this share of the line, or of what the rail could do, moves.
    pub moving_share: f64,
    /// `cross-numa`: share of a process's large mappings on far nodes.
    pub far_memory_share: f64,
    /// `slow-unexplained`, `relaxed-ordering`: below this share of the lowest ceiling a rail is far below it;
    /// `gpu-link-limit`: from this share on a link is the limit.
    pub far_below_share: f64,
    /// `line-limit`: share of the wire's payload.
    pub line_share: f64,
    /// `ecn-cnp`, `retransmit`, `rx-pause`, `tx-pause`: events as a share of the packets, from which on they count.
    pub packet_share: f64,
    /// `unstable`: coefficient of variation, 0 to 1.
    pub variation: f64,
    /// A rate rule needs this much time under load, seconds.
    pub hold_s: f64,
}

impl Limits {
    /// Whether every limit is one that a rule can be held against.
    ///
    /// # Errors
    ///
    /// Names the key, its value and what it may be.
    pub fn check(&self) -> Result<(), String> {
        for (key, share) in [
            ("imbalance-share", self.imbalance_share),
            ("leg-share", self.leg_share),
            ("moving-share", self.moving_share),
            ("far-memory-share", self.far_memory_share),
            ("far-below-share", self.far_below_share),
            ("line-share", self.line_share),
            ("packet-share", self.packet_share),
            ("variation", self.variation),
        ] {
            // a NaN is in no range, and every comparison with it is false: the rule would be silent
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{key} is {share}; a share is a number from 0 to 1"));
            }
        }
        if !(0.0..=MOST_HOLD_S).contains(&self.hold_s) {
            return Err(format!(
                "hold-s is {}; it is a number of seconds from 0 to {MOST_HOLD_S}",
                self.hold_s
            ));
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            imbalance_share: 0.85,
            leg_share: 0.80,
            moving_share: 0.05,
            far_memory_share: 0.20,
            far_below_share: 0.70,
            line_share: 0.95,
            packet_share: 1e-7,
            variation: 0.25,
            hold_s: 3.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn a_limit_that_no_rate_can_be_held_against_is_refused() {
        let with =
            |imbalance_share: f64, hold_s: f64| Limits { imbalance_share, hold_s, ..Limits::default() };
        assert_eq!(Limits::default().check(), Ok(()));
        assert_eq!(with(1.0, 0.0).check(), Ok(()));
        for share in [f64::NAN, f64::INFINITY, -0.1, 85.0] {
            assert!(with(share, 3.0).check().unwrap_err().starts_with("imbalance-share is "), "{share}");
        }
        for hold_s in [f64::NAN, -1.0, 1e308] {
            assert!(with(0.85, hold_s).check().unwrap_err().starts_with("hold-s is "), "{hold_s}");
        }
    }
}
