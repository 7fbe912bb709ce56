//! H3: its PCIe link is low, as it was trained or by its slot.
//!
//! It is one when the slowest hop carries less than the wire, and the rail brings what that hop carries.

use super::{Answer, Case, Hypothesis, not_measurable};
use crate::ceilings::{line_goodput_gb_per_s, path_payload_gb_per_s, slowest_hop};
use crate::rules::rate;
use probes::model::{Hop, PciePath};

/// Nearer than this to a ceiling it is the limit.
const AT_CEILING: f64 = 0.85;
/// A hop that carries less of the wire's payload is below it.
const BELOW_WIRE: f64 = 0.98;

impl Case<'_> {
    pub(super) fn low_link(&self) -> Hypothesis {
        let hop = self.rail.pcie.as_ref().and_then(|path| Some((path, slowest_hop(path)?.0)));
        let code = hop.map_or("pcie-limit", |(path, hop)| code_of(path, hop));
        let hypothesis = |answer, because| Hypothesis {
            id: "H3",
            says: "its PCIe link is low, trained or by its slot",
            answer,
            because,
            code,
        };
        let path = self.rail.pcie.as_ref();
        let Some((path, payload)) = path.and_then(|path| Some((path, path_payload_gb_per_s(path)?))) else {
            return hypothesis(Answer::Unknown, not_measurable("its PCIe path is not known"));
        };
        let place =
            slowest_hop(path).map_or(path.address.as_str(), |(hop, _)| hop.address.as_str()).to_owned();
        let line = line_goodput_gb_per_s(self.rail);
        let best = self.best();
        let below_line = line.is_none_or(|line| payload < BELOW_WIRE * line);
        let is_at_it = best.is_some_and(|best| best >= AT_CEILING * payload);
        let answer = if below_line && is_at_it { Answer::Yes } else { Answer::No };
        let wire = line.map_or_else(String::new, |line| format!(", its wire {line:.1}"));
        let does = best.map_or_else(String::new, |best| format!("; it does {} at best", rate(best)));
        hypothesis(answer, format!("the slowest hop ({place}) carries {payload:.1} GB/s{wire}{does}"))
    }
}

/// What a link that carries too little is called: trained low, by its slot, or all that there is.
fn code_of(path: &PciePath, hop: &Hop) -> &'static str {
    let below = |now: Option<f64>, best: Option<f64>| now.zip(best).is_some_and(|(now, best)| now < best);
    let wide = |lanes: Option<u32>| lanes.map(f64::from);
    let least = |one: Option<f64>, other: Option<f64>| one.zip(other).map(|(one, other)| one.min(other));
    let both = [
        (hop.current_gt_per_s, least(hop.max_gt_per_s, hop.upstream_max_gt_per_s)),
        (wide(hop.current_width), least(wide(hop.max_width), wide(hop.upstream_max_width))),
    ];
    let own = [(hop.current_gt_per_s, hop.max_gt_per_s), (wide(hop.current_width), wide(hop.max_width))];
    if both.iter().any(|(now, best)| below(*now, *best)) {
        if hop.address == path.address { "pcie-downgraded" } else { "pcie-path-degraded" }
    } else if own.iter().any(|(now, best)| below(*now, *best)) {
        "pcie-capped-by-slot"
    } else {
        "pcie-limit"
    }
}
