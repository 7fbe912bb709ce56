//! `above-port`, `line-limit`: a rail at, or above, what its wire carries.
//!
//! Rates are means of good intervals over the last minute (over the session where that shows too little), in
//! the busier direction, as the NIC counted them. `line-limit` from 95 % of the wire on, payload of our own load held
//! against what the wire can carry of payload, counted bytes against what it can carry of them, headers included;
//! `above-port` above 1.02 × the wire's raw rate where the PCIe path's limit is known (above that the rate is
//! `implausible`).

use super::means::{Over, UnderLoad, counted, counted_since, held};
use super::wording::{called, ports, rate, rounded, span};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::{Event, HostTimeline, LegSums, Timeline};
use probes::model::{Rail, RailId, Topology};
use serde_json::{Map, Value};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["above-port", "line-limit"], check };

/// Above this much of the raw line rate the bytes did not come over this port.
const ABOVE: f64 = 1.02;

/// A rail at its wire: what it does, and what would fill the wire, GB/s.
type Full = (Rail, f64, f64);

/// A bond whose leg has no link would do more with it, so its wire as it is now is no limit to live with.
fn has_a_leg_down(rail: &Rail) -> bool {
    rail.bond.iter().flat_map(|bond| &bond.legs).any(|leg| leg.link_up == Some(false))
}

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let mut full: Vec<Full> = Vec::new();
    let mut found = Vec::new();
    for (id, surveyed) in topology.rails_with_id() {
        let rail = timeline.local().last_seen(id, surveyed);
        let changed_s = changed_s(timeline.local(), &rail);
        let busier = |sums: &LegSums| {
            [sums.rx, sums.tx]
                .iter()
                .filter(|sum| held(timeline.session(), limits, sum))
                .filter_map(crate::timeline::Sum::mean_gb_per_s)
                .reduce(f64::max)
        };
        let means = |over| busier(&counted(timeline.local(), id, over));
        let gb = match changed_s {
            Some(at_s) => busier(&counted_since(timeline.local(), id, at_s)),
            None => means(Over::Window).or_else(|| means(Over::Session)),
        };
        let Some(gb) = gb else { continue };
        let Some(raw) = ceilings::line_raw_gb_per_s(&rail) else { continue };
        if gb > ABOVE * raw {
            found.extend(above((&rail, &called(&rail, &topology.rails)), gb, raw));
        } else if let Some((gb, line)) = of_the_wire(timeline, limits, id, &rail, gb)
            && gb >= limits.line_share * line
            && !has_a_leg_down(&rail)
        {
            full.push((rail, gb, line));
        }
    }
    // rails with the same wire together; a 200G port and a 400G one have little in common
    full.sort_by(|a, b| a.2.total_cmp(&b.2));
    let same = |a: &Full, b: &Full| format!("{:.1}", a.2) == format!("{:.1}", b.2);
    found.extend(full.chunk_by(same).filter_map(|alike| at_the_wire(alike, &topology.rails, limits)));
    found
}

/// When the rail's link, or a leg of its bond, changed last, seconds: what it did before is no matter of the wire it has now.
fn changed_s(local: &HostTimeline, rail: &Rail) -> Option<f64> {
    let of_rail = |event: &&Event| event.is_of(rail) && event.is_of_a_limit();
    local.sums().events.iter().filter(of_rail).map(|event| event.at_s).reduce(f64::max)
}

/// What fills most of the wire, with what would fill it: the payload of our own load, or all that the NIC counted, in
/// which headers are.
fn of_the_wire(
    timeline: &Timeline,
    limits: &Limits,
    id: RailId,
    rail: &Rail,
    counted_gb_per_s: f64,
) -> Option<(f64, f64)> {
    let rail = timeline.local().at_path_mtu(rail);
    let payload = [Over::Window, Over::Session].into_iter().find_map(|over| {
        let load = UnderLoad::of(timeline.local(), id, over).load;
        held(timeline.session(), limits, &load).then(|| load.mean_gb_per_s()).flatten()
    });
    let payload = payload.filter(|_| changed_s(timeline.local(), &rail).is_none());
    let ours = payload.zip(ceilings::line_goodput_gb_per_s(&rail));
    let all = Some(counted_gb_per_s).zip(ceilings::line_counted_gb_per_s(&rail));
    // payload is what one wants to know; counted bytes tell where other traffic fills the wire
    let is_full = |(gb, line): &(f64, f64)| *gb >= limits.line_share * line;
    ours.filter(is_full).or(all)
}

fn above((rail, name): (&Rail, &str), gb: f64, raw: f64) -> Option<Finding> {
    let pcie = ceilings::path_raw_gb_per_s(rail.pcie.as_ref()?)?;
    let message = format!(
        "{name}: {} GB/s, more than the {raw:.1} GB/s of its wire and less than the {pcie:.1} GB/s of its PCIe path: \
         some of it did not leave this host",
        rate(gb),
    );
    Some(
        Finding::on_ports("above-port", Severity::Info, [rail], message)
            .with("rate_gb_per_s", rounded(gb))
            .with("line_raw_gb_per_s", rounded(raw))
            .with("pcie_raw_gb_per_s", rounded(pcie))
            .with("limit_share", ABOVE)
            .advise(
                "loopback inside the card is counted here too (`ethtool -S NETDEV | grep loopback`); quote the \
                 port's own bytes (`rx_bytes_phy`) as the fabric's figure",
            ),
    )
}

fn at_the_wire(full: &[Full], all: &[Rail], limits: &Limits) -> Option<Finding> {
    let rails = || full.iter().map(|(rail, ..)| rail);
    let (_, slowest, line) = full.iter().min_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))?;
    let (share, limit) = (slowest / line * 100.0, limits.line_share * 100.0);
    let each = if full.len() == 1 { "" } else { " each" };
    let message = format!(
        "{}: at the wire: {} of {line:.1} GB/s{each}, {share:.0} % (from {limit:.0} %); only a faster port would do more",
        ports(rails(), all),
        span(full.iter().map(|(_, gb, _)| *gb)),
    );
    let rates: Map<String, Value> =
        full.iter().map(|(rail, gb, _)| (called(rail, all), rounded(*gb).into())).collect();
    Some(
        Finding::on_ports("line-limit", Severity::Info, rails(), message)
            .with("rates_gb_per_s", rates)
            .with("line_gb_per_s", rounded(*line))
            .with("limit_share", limits.line_share)
            .advise("nothing to mend"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, bonded, found, found_in, named, rail, session, two_sockets};
    use super::RULE;
    use crate::timeline::Timeline;
    use probes::model::{Frame, LegFrame, Rail, RailFrame};
    use std::sync::Arc;

    fn codes(rx_gb_per_s: f64) -> Vec<String> {
        named(&found(&RULE, &two_sockets(vec![rail("mlx5_0")]), &Traffic::loaded(&[rx_gb_per_s])))
    }

    #[test]
    fn a_full_wire_is_worth_knowing_and_a_half_full_one_is_not() {
        assert_eq!(codes(48.5), ["line-limit mlx5_0"]);
        assert_eq!(codes(40.0), Vec::<String>::new());
        // headers are counted: 47.0 of 49.7 GB/s, though it would be 96 % of the payload's 49.0
        assert_eq!(codes(47.0), Vec::<String>::new());
        assert_eq!(codes(47.3), ["line-limit mlx5_0"]);
    }

    #[test]
    fn rails_with_unlike_wires_are_quoted_each_with_its_own() {
        let half = Rail { line_gbit_per_s: Some(200.0), ..rail("mlx5_2") };
        let rails = two_sockets(vec![rail("mlx5_0"), half, rail("mlx5_1")]);
        let found = found(&RULE, &rails, &Traffic::loaded(&[49.0, 24.6, 48.0]));
        assert_eq!(named(&found), ["line-limit mlx5_2", "line-limit mlx5_0,mlx5_1"]);
        assert!(found[0].message.starts_with("mlx5_2: at the wire: 24.6 of 24.9 GB/s, 99 %"), "{found:?}");
        assert!(
            found[1]
                .message
                .starts_with("mlx5_0 and mlx5_1: at the wire: 48.0 to 49.0 of 49.7 GB/s each, 97 %"),
            "{found:?}"
        );
    }

    #[test]
    fn more_than_the_wire_did_not_come_over_it() {
        assert_eq!(codes(54.5), ["above-port mlx5_0"]);
        // above the PCIe path it is a measurement error, and named as one elsewhere
        assert_eq!(codes(89.4), Vec::<String>::new());
    }

    #[test]
    fn what_a_bond_did_before_it_lost_a_leg_is_not_above_its_port() {
        // the survey was made anew after the leg was gone
        let one_leg = Rail { line_gbit_per_s: Some(200.0), ..bonded("mlx5_bond_0") };
        let topology = two_sockets(vec![one_leg]);
        let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
        let mut bytes = 0;
        for second in 0..=8_u64 {
            let both = second < 5;
            bytes += if both { 48_600_000_000 } else { 24_300_000_000 };
            let leg = |up| LegFrame { link_up: Some(up), active: Some(up), ..LegFrame::default() };
            let rail = RailFrame {
                rx_bytes: Some(bytes),
                tx_bytes: Some(0),
                legs: vec![leg(true), leg(both)],
                ..RailFrame::default()
            };
            let at_ns = second * 1_000_000_000;
            timeline.push(Frame { seq: second, at_ns, rails: vec![rail], ..Frame::default() });
        }
        let found = found_in(&RULE, &topology, &timeline);
        // nor is the leg that is left a limit to live with
        assert_eq!(named(&found), Vec::<String>::new());
    }

    #[test]
    fn without_a_known_pcie_path_nothing_is_above_the_port() {
        let mut rail = rail("mlx5_0");
        rail.pcie = None;
        let found = found(&RULE, &two_sockets(vec![rail]), &Traffic::loaded(&[54.5]));
        assert_eq!(named(&found), Vec::<String>::new());
    }
}
