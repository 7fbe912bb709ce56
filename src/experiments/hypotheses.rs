//! The causes of a slow rail, each held against what was measured.
//!
//! | file | cause |
//! |---|---|
//! | `one_leg` | H1: one leg of the bond carries everything |
//! | `shared_link` | H2: it shares a PCIe link with other rails |
//! | `low_link` | H3: its PCIe link is low |
//! | `placement` | H4: another node suits it better |
//! | `fabric` | H5: congestion, loss, pauses |
//! | `window_or_cpu` | H6: the READs under way, or the posting thread |
//! | `memory` | H7: host memory does not keep up |

mod fabric;
mod low_link;
mod memory;
mod moved;
mod one_leg;
mod placement;
mod shared_link;
mod window_or_cpu;

pub(super) use low_link::AT_CEILING;

pub(super) use low_link::code_of as link_code;

use super::plan::Kind;
use super::rounds::Rates;
use super::{FarRail, RailSeen, Seen};
use crate::rules::Limits;
use probes::model::{Rail, Topology};
use serde::Serialize;
use std::fmt;

/// What was found of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It is one.
    Yes,
    /// It is none.
    No,
    /// What was measured speaks neither for it nor against it; the reason has the figures.
    Inconclusive,
    /// Nothing could be measured that tells; the reason says why.
    Unknown,
}

impl Answer {
    /// Whether it is neither a cause nor ruled out.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Inconclusive | Self::Unknown)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yes => "YES",
            Self::No => "no",
            Self::Inconclusive | Self::Unknown => "?",
        })
    }
}

/// One possible cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hypothesis {
    /// `H1` to `H7`.
    pub id: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Whether it holds.
    pub answer: Answer,
    /// The measurements that tell, or why it is not measurable here.
    pub because: String,
    /// The finding that it amounts to, for `railscope explain`.
    pub code: &'static str,
}

/// One slow rail and all that was seen.
pub(super) struct Case<'a> {
    pub(super) topology: &'a Topology,
    pub(super) rail: &'a Rail,
    pub(super) seen: &'a [Seen],
    pub(super) limits: &'a Limits,
    /// The healthy rail beside which it is judged.
    pub(super) control: Option<&'a str>,
}

impl Case<'_> {
    /// All seven, in their order.
    pub(super) fn all(&self) -> Vec<Hypothesis> {
        vec![
            self.one_leg(),
            self.shared_link(),
            self.low_link(),
            self.placement(),
            self.fabric(),
            self.window_or_cpu(),
            self.memory(),
        ]
    }

    /// What the first load of this kind showed of the rail, or why there is nothing.
    fn shown(&self, kind: &Kind) -> Result<&RailSeen, String> {
        let device = &self.rail.device;
        let mut loads = self.seen.iter().filter(|seen| seen.step.is(kind, device));
        let shown = loads.find_map(|seen| seen.of(device));
        // what it did not bring either has no rate
        shown.ok_or_else(|| Rates::of(self.seen, kind, device).err().unwrap_or_default())
    }

    /// What the loads of this kind brought on the rail, or why there is nothing.
    fn rates(&self, kind: &Kind) -> Result<Rates, String> {
        Rates::of(self.seen, kind, &self.rail.device)
    }

    /// The most it did in any load, GB/s.
    fn best(&self) -> Option<f64> {
        let rates = self.seen.iter().filter_map(|seen| seen.of(&self.rail.device)?.gb_per_s);
        rates.reduce(f64::max)
    }

    /// What the other end told of its rail in loads of this one by itself; `None` where it told nothing.
    fn far(&self) -> Option<&FarRail> {
        let device = &self.rail.device;
        let mut alone = self.seen.iter().filter(|seen| seen.step.is(&Kind::Alone, device));
        alone.find_map(|seen| seen.of(device)?.far.as_ref())
    }

    /// By how much the rail by itself strays, in words, where that is more than a little.
    fn noise(&self) -> String {
        match self.rates(&Kind::Alone) {
            Ok(alone) if alone.strays() > 0.05 => {
                format!("; the rail by itself differs by {:.0} % from time to time", alone.strays() * 100.0)
            }
            _ => String::new(),
        }
    }
}

/// A cell with figures that decide nothing.
fn inconclusive(figures: &str) -> String {
    format!("inconclusive: {figures}")
}

/// A cell that could not be filled.
fn not_measurable(why: &str) -> String {
    format!("not measurable here: {why}")
}
