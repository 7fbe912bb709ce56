//! `lacp-leg-out`: a leg that has a link, and that LACP keeps out of the bond, at this end or at the switch.

use super::Bonded;
use crate::rules::wording::{list, verb};
use crate::rules::{Finding, Severity};
use probes::model::{Bond, Leg};
use serde_json::{Map, Value, json};

/// LACP port state bits and what their absence means (IEEE 802.1AX, 6.4.2.3).
const NEEDED: [(u32, &str); 3] = [(8, "in sync"), (16, "collecting"), (32, "distributing")];

/// In 802.3ad, legs with a link that the driver keeps out (another aggregator than the active one, or a port state without
/// in sync (8), collecting (16) and distributing (32)), and legs that it lets carry though the switch's port is none of these.
pub(super) fn leg_out(bonded: &Bonded) -> Option<Finding> {
    let bond = &bonded.bond;
    if bond.mode.as_deref() != Some("802.3ad") {
        return None;
    }
    let with_link = || bond.legs.iter().filter(|leg| leg.link_up != Some(false));
    let out: Vec<&Leg> = with_link().filter(|leg| leg.active == Some(false)).collect();
    let refused: Vec<&Leg> = with_link().filter(|leg| leg.active == Some(true) && is_refused(leg)).collect();
    let first = out.first().or(refused.first())?;
    let inside = bond.legs.iter().filter(|leg| leg.active == Some(true)).count();
    let why = |legs: &[&Leg]| list(legs.iter().map(|leg| format!("{}{}", leg.netdev, why_out(leg, bond))));
    let mut said = Vec::new();
    if !out.is_empty() {
        said.push(format!(
            "LACP lets {inside} of {} legs of {} carry traffic; the others have a link and carry nothing: {}",
            bond.legs.len(),
            bond.netdev,
            why(&out),
        ));
    }
    if !refused.is_empty() {
        said.push(format!(
            "{} of {}: this host sends over {}, and the switch does not take {} into the bond, so what goes there is lost",
            why(&refused),
            bond.netdev,
            verb(refused.len(), "this leg", "these legs"),
            verb(refused.len(), "it", "them"),
        ));
    }
    let message = format!("{}: {}", bonded.names(), said.join("; "));
    let states: Map<String, Value> = bond
        .legs
        .iter()
        .map(|leg| {
            let state = json!({
                "aggregator_id": leg.aggregator_id,
                "actor_port_state": leg.actor_port_state,
                "partner_port_state": leg.partner_port_state,
            });
            (leg.netdev.clone(), state)
        })
        .collect();
    Some(
        Finding::on_ports("lacp-leg-out", Severity::Warning, &bonded.rails, message)
            .with("bond", bond.netdev.clone())
            .with("legs_refused", refused.iter().map(|leg| leg.netdev.clone()).collect::<Vec<_>>())
            .with("legs_out", out.iter().map(|leg| leg.netdev.clone()).collect::<Vec<_>>())
            .with("legs_in", inside)
            .with("active_aggregator_id", bond.active_aggregator_id)
            .with("legs", states)
            .advise(advice(first, bond)),
    )
}

/// What to do about a leg that is out.
fn advice(leg: &Leg, bond: &Bond) -> String {
    let Leg { netdev, .. } = leg;
    let look = format!("look with `cat /proc/net/bonding/{}`, and at {netdev} on the switch", bond.netdev);
    if let Some((own, others)) = other_speed(leg, bond) {
        return format!(
            "LACP joins legs of one speed: see why {netdev} runs at {own} Gb/s and not at {others} (cable, transceiver, \
             the switch port's setting), with `ethtool {netdev}`; {look}"
        );
    }
    format!(
        "put the switch ports of all legs into one LACP port-channel, with the same LACP rate at both ends; {look}"
    )
}

/// The speed of a leg, and that of the legs that carry, Gb/s, where they differ: the speed is a part of the key that legs of
/// one aggregator have in common (`__get_link_speed` in `drivers/net/bonding/bond_3ad.c`).
fn other_speed(leg: &Leg, bond: &Bond) -> Option<(f64, f64)> {
    let own = leg.speed_gbit_per_s?;
    let mut carrying =
        bond.legs.iter().filter(|leg| leg.active == Some(true)).filter_map(|leg| leg.speed_gbit_per_s);
    let others = carrying.next()?;
    (own.total_cmp(&others).is_ne() && carrying.all(|speed| speed.total_cmp(&others).is_eq()))
        .then_some((own, others))
}

/// LACP port state bits: the other end may join links, and what is known of the other end is made up, for want of its
/// packets (IEEE 802.1AX, 6.4.2.3: Aggregation, Defaulted).
const AGGREGATION: u32 = 4;
const DEFAULTED: u32 = 64;

/// Whether the switch, which was heard, does not collect what this leg sends. A partner that was never heard has a state that
/// the driver made up.
fn is_refused(leg: &Leg) -> bool {
    let heard = leg.actor_port_state.is_some_and(|state| state & DEFAULTED == 0);
    let partner = leg.partner_port_state.filter(|state| heard && state & AGGREGATION != 0);
    partner.is_some_and(|state| NEEDED[..2].iter().any(|(bit, _)| state & bit == 0))
}

/// ` (aggregator 1, the active one is 2; LACP state 7: not in sync, collecting or distributing)`.
fn why_out(leg: &Leg, bond: &Bond) -> String {
    let mut why = Vec::new();
    if let (Some(own), Some(active)) = (leg.aggregator_id, bond.active_aggregator_id)
        && own != active
    {
        why.push(format!("aggregator {own}, the active one is {active}"));
    }
    if let Some((own, others)) = other_speed(leg, bond) {
        why.push(format!("{own} Gb/s, the legs that carry {others}"));
    }
    let unheard = leg.actor_port_state.is_some_and(|state| state & DEFAULTED != 0);
    let partner = leg.partner_port_state.filter(|_| !unheard);
    for (whose, state) in [("LACP state", leg.actor_port_state), ("the switch's LACP state", partner)] {
        let Some(state) = state else { continue };
        let missing: Vec<&str> =
            NEEDED.iter().filter(|(bit, _)| state & bit == 0).map(|(_, name)| *name).collect();
        if let Some((last, others)) = missing.split_last() {
            let words = if others.is_empty() {
                (*last).to_owned()
            } else {
                format!("{} or {last}", others.join(", "))
            };
            why.push(format!("{whose} {state}: not {words}"));
        }
    }
    if unheard {
        why.push("no LACP came from the switch".to_owned());
    }
    if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) }
}

#[cfg(test)]
mod tests {
    use crate::rules::Finding;
    use crate::rules::testing::{Traffic, bond_with, found, named, two_sockets};
    use probes::model::Rail;

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&super::super::RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn a_leg_in_another_aggregator_is_named_with_its_state() {
        let found = findings(vec![bond_with(|bond| {
            bond.active_aggregator_id = Some(2);
            (bond.legs[0].aggregator_id, bond.legs[0].actor_port_state) = (Some(1), Some(7));
            (bond.legs[1].aggregator_id, bond.legs[1].actor_port_state) = (Some(2), Some(63));
            bond.legs[0].active = Some(false);
        })]);
        assert_eq!(named(&found), ["lacp-leg-out mlx5_bond_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_bond_1: LACP lets 1 of 2 legs of bond1 carry traffic; the others have a link and carry nothing: \
             eth0 (aggregator 1, the active one is 2; LACP state 7: not in sync, collecting or \
             distributing)"
        );
        assert_eq!(found[0].evidence["legs"]["eth0"]["actor_port_state"], 7);
    }

    #[test]
    fn a_leg_of_another_speed_and_a_switch_without_lacp_are_told() {
        let out = |change: fn(&mut probes::model::Leg)| {
            let found = findings(vec![bond_with(|bond| {
                bond.active_aggregator_id = Some(1);
                bond.legs[0].aggregator_id = Some(1);
                (bond.legs[1].aggregator_id, bond.legs[1].active) = (Some(2), Some(false));
                change(&mut bond.legs[1]);
            })]);
            assert_eq!(named(&found), ["lacp-leg-out mlx5_bond_1"]);
            (found[0].message.clone(), found[0].advice.clone())
        };
        let (message, advice) = out(|leg| leg.speed_gbit_per_s = Some(100.0));
        assert!(
            message.ends_with("eth1 (aggregator 2, the active one is 1; 100 Gb/s, the legs that carry 200)"),
            "{message}"
        );
        assert!(
            advice.starts_with("LACP joins legs of one speed: see why eth1 runs at 100 Gb/s and not at 200"),
            "{advice}"
        );
        let (message, advice) =
            out(|leg| (leg.actor_port_state, leg.partner_port_state) = (Some(69), Some(1)));
        let switch = "LACP state 69: not in sync, collecting or distributing; no LACP came from the switch)";
        assert!(message.ends_with(switch), "{message}");
        assert!(
            advice.starts_with("put the switch ports of all legs into one LACP port-channel"),
            "{advice}"
        );
    }

    #[test]
    fn legs_that_carry_and_legs_without_a_link_are_not_out() {
        let healthy = bond_with(|bond| bond.legs[0].actor_port_state = Some(61));
        let down = bond_with(|bond| (bond.legs[0].active, bond.legs[0].link_up) = (Some(false), Some(false)));
        let other = bond_with(|bond| {
            bond.mode = Some("balance-xor".into());
            bond.legs[0].active = Some(false);
        });
        for rail in [healthy, down, other] {
            assert_eq!(named(&findings(vec![rail])), Vec::<String>::new());
        }
    }

    /// What is said of a bond whose second leg has these port states at this end and at the switch.
    fn states(actor: u32, partner: u32) -> Vec<Finding> {
        findings(vec![bond_with(|bond| {
            let leg = &mut bond.legs[1];
            (leg.actor_port_state, leg.partner_port_state) = (Some(actor), Some(partner));
        })])
    }

    #[test]
    fn a_leg_that_the_switch_does_not_take_is_told_though_this_host_sends_over_it() {
        let found = states(63, 7);
        assert_eq!(named(&found), ["lacp-leg-out mlx5_bond_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_bond_1: eth1 (the switch's LACP state 7: not in sync, collecting or distributing) of bond1: this host sends over \
             this leg, and the switch does not take it into the bond, so what goes there is lost"
        );
    }

    #[test]
    fn a_switch_that_was_never_heard_and_one_that_is_well_refuse_nothing() {
        for (actor, partner) in [(63, 63), (61, 61), (63, 0), (63, 1), (127, 7)] {
            assert_eq!(named(&states(actor, partner)), Vec::<String>::new(), "{actor} {partner}");
        }
    }
}
