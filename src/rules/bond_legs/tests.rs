//! Bonds whose legs carry unequally, or have no link.

use super::RULE;
use crate::rules::testing::{Traffic, bonded, described, found, named, session, two_sockets};
use crate::rules::{Finding, Limits};
use crate::timeline::Timeline;
use probes::model::{
    Frame, LegFrame, LegsSought, Load, LoadOp, LoadOrigin, Rail, RailFrame, RailId, WorkerFrame, WorkerPhase,
};
use std::sync::Arc;

fn findings(rail: Rail, legs: [f64; 2]) -> Vec<Finding> {
    let traffic = Traffic { legs_rx_gb_per_s: legs.into(), ..Traffic::loaded(&[legs.iter().sum::<f64>()]) };
    found(&RULE, &two_sockets(vec![rail]), &traffic)
}

#[test]
fn one_leg_that_carries_everything_is_named() {
    let found = findings(bonded("mlx5_bond_1"), [24.5, 0.1]);
    assert_eq!(named(&found), ["bond-leg-imbalance mlx5_bond_1"]);
    assert_eq!(
        found[0].message,
        "mlx5_bond_1: one leg carries nearly everything: eth0 receives 24.5 of 24.6 GB/s, 100 % \
         (limit 80 %); eth0 and eth1 could carry 49.7 GB/s together"
    );
    assert_eq!(found[0].evidence["leg_share"], 0.996);
}

#[test]
fn shares_of_a_trickle_prove_nothing() {
    assert_eq!(named(&findings(bonded("mlx5_bond_1"), [2.0, 0.0])), Vec::<String>::new());
    assert_eq!(named(&findings(bonded("mlx5_bond_1"), [24.0, 7.0])), Vec::<String>::new());
}

/// Legs without a speed, and what one leg and the other receive while our own load runs or does not.
fn without_speeds(ours: bool) -> Vec<Finding> {
    let mut rail = bonded("rxe_bond");
    rail.line_gbit_per_s = None;
    rail.bond.as_mut().unwrap().legs.iter_mut().for_each(|leg| leg.speed_gbit_per_s = None);
    let topology = two_sockets(vec![rail]);
    let mut timeline = Timeline::new(Arc::new(session(topology)));
    for at in 0..5_u64 {
        let bytes = at * 2_000_000;
        let leg = |rx| LegFrame {
            rx_rdma_bytes: Some(rx),
            tx_rdma_bytes: Some(0),
            link_up: Some(true),
            ..LegFrame::default()
        };
        let rail = RailFrame {
            rx_bytes: Some(bytes),
            tx_bytes: Some(0),
            legs: vec![leg(bytes), leg(0)],
            ..RailFrame::default()
        };
        let worker = WorkerFrame {
            rail: Some(RailId(0)),
            bytes,
            phase: WorkerPhase::Measuring,
            ..WorkerFrame::default()
        };
        let load = Load { origin: LoadOrigin::Ours, ..described(LoadOp::Read) };
        timeline.push(Frame {
            at_ns: at * 1_000_000_000,
            rails: vec![rail],
            workers: if ours { vec![worker] } else { Vec::new() },
            load: ours.then(|| Arc::new(load)),
            ..Frame::default()
        });
    }
    super::check(timeline.topology(), &timeline, &Limits::default())
}

#[test]
fn legs_whose_speed_nothing_tells_are_judged_under_our_own_load_only() {
    let found = without_speeds(true);
    assert_eq!(named(&found), ["bond-leg-imbalance rxe_bond"]);
    assert_eq!(
        found[0].message,
        "rxe_bond: one leg carries nearly everything: eth0 receives 0.0020 of 0.0020 GB/s, 100 % (limit 80 %); \
         eth0 and eth1 may all carry, at a speed that nothing tells"
    );
    assert_eq!(named(&without_speeds(false)), Vec::<String>::new());
}

#[test]
fn an_idle_leg_of_active_backup_is_by_design() {
    let mut rail = bonded("mlx5_bond_1");
    rail.bond.as_mut().unwrap().mode = Some("active-backup".into());
    assert_eq!(named(&findings(rail, [24.5, 0.0])), Vec::<String>::new());
}

#[test]
fn one_leg_that_was_asked_for_is_no_finding() {
    let load = Some(Load { leg: Some(1), ..described(LoadOp::Read) });
    let asked = Traffic { legs_rx_gb_per_s: vec![24.5, 0.0], load, ..Traffic::loaded(&[24.5]) };
    let found = found(&RULE, &two_sockets(vec![bonded("mlx5_bond_1")]), &asked);
    assert_eq!(named(&found), Vec::<String>::new());
}

#[test]
fn one_leg_that_had_everything_whatever_the_labels_is_still_named() {
    let legs_sought = vec![LegsSought {
        device: "mlx5_bond_1".into(),
        tries: 8,
        heard: vec!["eth0".into()],
        silent: vec!["eth1".into()],
        ..LegsSought::default()
    }];
    let load = Some(Load { legs_sought, ..described(LoadOp::Read) });
    let all = Traffic { legs_rx_gb_per_s: vec![24.5, 0.0], load, ..Traffic::loaded(&[24.5]) };
    let found = found(&RULE, &two_sockets(vec![bonded("mlx5_bond_1")]), &all);
    assert_eq!(named(&found), ["bond-leg-imbalance mlx5_bond_1"]);
    assert!(
        found[0]
            .message
            .ends_with("so it was in 8 tries with other queue pair numbers and flow labels before")
    );
    assert_eq!(found[0].evidence["label_tries"], 8);
}

#[test]
fn a_leg_without_link_is_said_instead_of_its_empty_share() {
    let mut rail = bonded("mlx5_bond_1");
    rail.bond.as_mut().unwrap().legs[1].link_up = Some(false);
    let found = findings(rail, [24.5, 0.0]);
    assert_eq!(named(&found), ["bond-leg-down mlx5_bond_1"]);
    assert_eq!(found[0].message, "mlx5_bond_1: no link on eth1 of bond1, so eth0 carries all of its traffic");
}

#[test]
fn a_bond_that_is_down_altogether_has_no_leg_of_its_own_to_blame() {
    let mut rail = bonded("mlx5_bond_1");
    for leg in &mut rail.bond.as_mut().unwrap().legs {
        leg.link_up = Some(false);
    }
    assert_eq!(named(&findings(rail, [0.0, 0.0])), Vec::<String>::new());
}
