//! H3: its PCIe link is low, as it was trained or by its slot.
//!
//! It is one when the slowest hop carries less than the wire, and the rail brings what that hop carries. The data of a READ
//! cross the links of both ends, so those of the other one are held against the rail as well, where it tells of them.

use super::{Answer, Case, Hypothesis, not_measurable};
use crate::ceilings::{Ceilings, line_goodput_gb_per_s, path_payload_gb_per_s, slowest_hop};
use crate::rules::rate;
use probes::model::{Hop, PciePath};

/// Nearer than this to a ceiling, as the healthy rail reaches its own, it is the limit.
pub(in crate::experiments) const AT_CEILING: f64 = 0.85;
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
        let best = self.best();
        let line = line_goodput_gb_per_s(self.rail);
        let reach = AT_CEILING * self.healthy_reach();
        let is_limit = |payload: f64| {
            line.is_none_or(|line| payload < BELOW_WIRE * line)
                && best.is_some_and(|best| best >= reach * payload)
        };
        let far = self.far().and_then(|far| Some((far.host(), far.slowest_link()?)));
        let there = far.map_or_else(String::new, |(host, link)| {
            format!(
                "; on {host} the slowest hop ({}) carries {:.1} GB/s",
                link.address, link.carries_gb_per_s
            )
        });
        let does = best.map_or_else(String::new, |best| format!("; it does {} at best", rate(best)));
        let path = self.rail.pcie.as_ref();
        let own = path.and_then(|path| Some((path, path_payload_gb_per_s(path)?)));
        if let Some((host, link)) = far.filter(|(_, link)| {
            is_limit(link.carries_gb_per_s) && own.is_none_or(|(_, payload)| link.carries_gb_per_s < payload)
        }) {
            let here =
                own.map_or_else(String::new, |(_, payload)| format!(", that of this host {payload:.1}"));
            let carries = link.carries_gb_per_s;
            return Hypothesis {
                code: link.code,
                ..hypothesis(
                    Answer::Yes,
                    format!(
                        "on {host}: the slowest hop there ({}) carries {carries:.1} GB/s{here}{does}",
                        link.address
                    ),
                )
            };
        }
        let Some((path, payload)) = own else {
            let why = not_measurable("its PCIe path is not known");
            return hypothesis(Answer::Unknown, format!("{why}{there}"));
        };
        let place =
            slowest_hop(path).map_or(path.address.as_str(), |(hop, _)| hop.address.as_str()).to_owned();
        let answer = if is_limit(payload) { Answer::Yes } else { Answer::No };
        let wire = line.map_or_else(String::new, |line| format!(", its wire {line:.1}"));
        hypothesis(answer, format!("the slowest hop ({place}) carries {payload:.1} GB/s{wire}{does}{there}"))
    }
}

impl Case<'_> {
    /// The share of its ceiling that the healthy rail reaches at best, at most 1: on this host nothing reaches more.
    fn healthy_reach(&self) -> f64 {
        let reach = self.control.and_then(|device| {
            let (_, rail) = self.topology.rail(device)?;
            let rates = self.seen.iter().filter_map(|seen| seen.of(device)?.gb_per_s);
            Some(rates.reduce(f64::max)? / Ceilings::of(rail).lowest()?)
        });
        reach.map_or(1.0, |reach| reach.min(1.0))
    }
}

/// What a link that carries too little is called: trained low, by its slot, or all that there is.
pub(in crate::experiments) fn code_of(path: &PciePath, hop: &Hop) -> &'static str {
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

#[cfg(test)]
mod tests {
    use crate::experiments::Answer;
    use crate::experiments::far::{FarLink, FarRail};
    use crate::experiments::testing::{Host, answer, four_rails};

    #[test]
    fn a_low_link_of_the_other_end_is_named_as_its() {
        let link = |carries_gb_per_s, code| FarLink {
            link: "up/down".to_owned(),
            address: "0000:c1:00.0".to_owned(),
            carries_gb_per_s,
            code,
        };
        let host = Host::of(four_rails(), |_, device| Some(if device == "mlx5_1" { 26.0 } else { 48.0 }));
        let seeing = |carries: f64| {
            move |mut seen: crate::experiments::Seen| {
                for rail in &mut seen.rails {
                    let carries = if rail.device == "mlx5_1" { carries } else { 57.6 };
                    rail.far = Some(FarRail {
                        hostname: Some("storage-1".to_owned()),
                        links: vec![link(carries, "pcie-downgraded")],
                        ..FarRail::default()
                    });
                }
                seen
            }
        };
        let host = host.seeing(seeing(28.8));
        let (_, rails) = host.diagnose();
        let (holds, because) = answer(&rails, "mlx5_1", "H3");
        assert_eq!((holds, rails[0].cause), (Answer::Yes, Some("pcie-downgraded")), "{because}");
        let says =
            "on storage-1: the slowest hop there (0000:c1:00.0) carries 28.8 GB/s, that of this host 57.6";
        assert!(because.starts_with(says), "{because}");
        let (_, rails) = host.seeing(seeing(57.6)).diagnose();
        assert_eq!(answer(&rails, "mlx5_1", "H3").0, Answer::No);
    }

    #[test]
    fn a_rail_reaches_of_its_low_link_what_the_healthy_one_reaches_of_its_own() {
        let of = |healthy: f64| {
            let mut topology = four_rails();
            topology.rails[1].pcie.as_mut().unwrap().hops[0].current_width = Some(8);
            let host =
                Host::of(topology, move |_, device| Some(if device == "mlx5_1" { 24.0 } else { healthy }));
            let (_, rails) = host.diagnose();
            answer(&rails, "mlx5_1", "H3").0
        };
        // 24.0 of 28.8 GB/s are 83 %, where 85 % of what a healthy rail reaches are asked
        assert_eq!(of(49.0), Answer::No);
        assert_eq!(of(46.0), Answer::Yes);
    }
}
