//! H1: one leg of the bond carries everything.
//!
//! The bytes of the legs tell. Where the NIC keeps them to itself, a rail that brings more than the fastest leg's wire
//! carries uses more than one; one that brings less may or may not. The legs of the other end tell by which of them the data
//! left: all by one, and no leg here can receive more than that one sends.

use super::{Answer, Case, Hypothesis, inconclusive, not_measurable};
use crate::ceilings::line_goodput_gb_per_s;
use crate::experiments::label_sets::search;
use crate::experiments::plan::Kind;
use crate::rules::{lets_every_leg_carry, rate};
use probes::model::Bond;

/// A rate that much above one leg's wire is none of one leg.
const BEYOND_ONE: f64 = 1.05;

impl Case<'_> {
    pub(super) fn one_leg(&self) -> Hypothesis {
        let hypothesis = |answer, because: String| Hypothesis {
            id: "H1",
            says: "one leg of the bond carries everything",
            answer,
            because,
            code: "bond-leg-imbalance",
        };
        let Some(bond) = self.rail.bond.as_ref().filter(|bond| bond.legs.len() > 1) else {
            return hypothesis(Answer::No, "it has one port".to_owned());
        };
        if !lets_every_leg_carry(bond) {
            let mode = bond.mode.as_deref().unwrap_or("of an unknown mode");
            let says = format!(
                "the bond ({mode}) does not let every leg carry now, by design or as one is down or kept out"
            );
            return hypothesis(Answer::No, says);
        }
        let rates = self.shown(&Kind::Alone).and_then(|seen| {
            seen.legs_gb_per_s.as_ref().ok_or_else(|| "the bytes of its legs cannot be read".to_owned())
        });
        let (there, is_one_there) = self.legs_there();
        match rates {
            Err(_) if is_one_there => hypothesis(Answer::Yes, format!("on {there}")),
            Ok(rates) => {
                let sum: f64 = rates.iter().sum();
                let most = rates.iter().copied().fold(0.0, f64::max);
                let share = if sum > 0.0 { most / sum } else { 0.0 };
                let is_one = share > self.limits.leg_share;
                let answer = if is_one { Answer::Yes } else { Answer::No };
                let there = match (there.as_str(), is_one_there) {
                    ("", _) => String::new(),
                    (there, true) if is_one => format!("; it leaves so: on {there}"),
                    (there, _) => format!("; on {there}"),
                };
                let names = bond.legs.iter().map(|leg| leg.netdev.as_str());
                let each = names.zip(rates).map(|(name, brings)| format!("{name} {}", rate(*brings)));
                hypothesis(
                    answer,
                    format!(
                        "its legs bring {} GB/s: {:.0} % on one (limit {:.0} %){}{there}",
                        each.collect::<Vec<_>>().join(", "),
                        share * 100.0,
                        self.limits.leg_share * 100.0,
                        self.legs_alone() + &self.other_labels(),
                    ),
                )
            }
            Err(why) => match (self.leg_gb_per_s(bond), self.best()) {
                (Some(leg), Some(best)) if best > BEYOND_ONE * leg => hypothesis(
                    Answer::No,
                    format!("{why}, but it brings {} GB/s and one leg's wire carries {leg:.1}", rate(best)),
                ),
                (Some(leg), Some(best)) => hypothesis(
                    Answer::Inconclusive,
                    inconclusive(&format!(
                        "it brings {} GB/s at best and one leg's wire carries {leg:.1}, but {why}{}",
                        rate(best),
                        self.legs_alone()
                    )),
                ),
                (leg, _) => {
                    let leg =
                        leg.map_or_else(String::new, |leg| format!("; one leg's wire carries {leg:.1}"));
                    hypothesis(Answer::Unknown, format!("{}{leg}{}", not_measurable(&why), self.legs_alone()))
                }
            },
        }
    }

    /// By which legs the data left the other end, in words that begin with its host, and whether it was one; nothing where
    /// that is not told.
    fn legs_there(&self) -> (String, bool) {
        let Some((far, legs)) = self.far().and_then(|far| Some((far, far.legs_gb_per_s.as_ref()?))) else {
            return (String::new(), false);
        };
        let sum: f64 = legs.iter().sum();
        let most = legs.iter().copied().fold(0.0, f64::max);
        let share = if sum > 0.0 { most / sum } else { 0.0 };
        let each: Vec<String> = legs.iter().map(|sends| rate(*sends)).collect();
        let says =
            format!("{}: its legs send {} GB/s: {:.0} % on one", far.host(), each.join(", "), share * 100.0);
        (says, share > self.limits.leg_share)
    }

    /// Payload that the wire of the fastest leg carries, GB/s.
    fn leg_gb_per_s(&self, bond: &Bond) -> Option<f64> {
        let fastest = bond.legs.iter().filter_map(|leg| leg.speed_gbit_per_s).reduce(f64::max)?;
        Some(line_goodput_gb_per_s(self.rail)? * fastest / self.rail.line_gbit_per_s?)
    }

    /// What each leg does when all queue pairs are set to it.
    fn legs_alone(&self) -> String {
        let count = self.rail.bond.as_ref().map_or(0, |bond| bond.legs.len());
        let each = (1..=u32::try_from(count).unwrap_or(0)).map(|leg| match self.rates(&Kind::Leg(leg)) {
            Ok(alone) => format!("; sent on leg {leg} alone {}", rate(alone.mean())),
            Err(_) => String::new(),
        });
        each.collect()
    }

    /// Which legs received with other queue pair numbers and flow labels, where all had come over one.
    fn other_labels(&self) -> String {
        let Some(search) = search(self.rail, self.seen) else { return String::new() };
        let sought = search.result();
        match (sought.unseen(), sought.tries) {
            (_, 0) => String::new(),
            (Some(why), _) => format!("; that each leg receives is not measurable here, because {why}"),
            (None, tries) => {
                format!(
                    "; with queue pair numbers and flow labels anew each leg received (try {tries}): the hash decides"
                )
            }
        }
    }
}
