//! What each finding code means, when it fires and what to do: `railscope explain CODE`.
//!
//! The limits quoted are those in force, so a text that names `{leg-share}` shows the figure of the config file.

mod address;
mod bond;
mod counters;
mod device;
mod fabric;
mod pcie;
mod placement;
mod rate;
mod terms;

#[cfg(test)]
mod tests;

pub use terms::{TERMS, Term};

use super::Limits;
use serde::Serialize;

/// All there is to know about one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The code.
    pub code: &'static str,
    /// How bad it is; in words where that depends on the case.
    pub severity: &'static str,
    /// What is the matter, and what it costs.
    pub means: &'static str,
    /// When it fires, with its formula and limits; `{key}` stands for a limit of the config file.
    pub fires: &'static str,
    /// What it is silent without, or about.
    pub silent: &'static str,
    /// What to do.
    pub mend: &'static str,
    /// Where the facts come from.
    pub source: &'static str,
}

/// Codes that have something in common.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// What they are about.
    pub name: &'static str,
    /// The codes, most serious matters first.
    pub codes: &'static [Explanation],
}

/// Every code, by family.
pub const FAMILIES: &[Family] = &[
    Family { name: "bond", codes: bond::CODES },
    Family { name: "address", codes: address::CODES },
    Family { name: "PCIe", codes: pcie::CODES },
    Family { name: "placement", codes: placement::CODES },
    Family { name: "rate", codes: rate::CODES },
    Family { name: "counters", codes: counters::CODES },
    Family { name: "fabric", codes: fabric::CODES },
    Family { name: "device", codes: device::CODES },
];

/// What this code means; `None` where it is none.
#[must_use]
pub fn of(code: &str) -> Option<&'static Explanation> {
    FAMILIES.iter().flat_map(|family| family.codes).find(|known| known.code.eq_ignore_ascii_case(code))
}

/// What this word of the trade means, in whatever case it is written; `None` where it is not known here.
#[must_use]
pub fn term(word: &str) -> Option<&'static Term> {
    TERMS.iter().find(|term| term.words.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// A text with its limits filled in: `{leg-share}` becomes `80 %`.
#[must_use]
pub fn with_limits(text: &str, limits: &Limits) -> String {
    in_words(limits)
        .iter()
        .fold(text.to_owned(), |text, (key, figure)| text.replace(&format!("{{{key}}}"), figure))
}

/// The limits by their keys in the config file, as a text quotes them.
fn in_words(limits: &Limits) -> [(&'static str, String); 9] {
    let percent = |share: f64| format!("{} %", (share * 1000.0).round() / 10.0);
    [
        ("imbalance-share", limits.imbalance_share.to_string()),
        ("leg-share", percent(limits.leg_share)),
        ("moving-share", percent(limits.moving_share)),
        ("far-memory-share", percent(limits.far_memory_share)),
        ("far-below-share", percent(limits.far_below_share)),
        ("line-share", percent(limits.line_share)),
        ("packet-share", format!("1 in {:.0}", 1.0 / limits.packet_share)),
        ("variation", limits.variation.to_string()),
        ("hold-s", format!("{} s", limits.hold_s)),
    ]
}
