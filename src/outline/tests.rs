//! Frames and findings in, moments out.

use super::{Kind, Look, Outline, Towards};
use crate::rules::testing::{described, rail, session, two_sockets};
use crate::rules::{Finding, Severity};
use crate::timeline::Timeline;
use probes::model::{Frame, LoadOp, RailFrame};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;

/// An outline of one frame a second; each of these states and findings is one.
fn outline(seconds: &[(&str, bool, &[&'static str])]) -> Outline {
    let mut timeline = Timeline::new(Arc::new(session(two_sockets(vec![rail("mlx5_0")]))));
    let mut outline = Outline::default();
    for ((state, loaded, codes), at) in seconds.iter().zip(0..) {
        let rails = vec![RailFrame { state: Some((*state).to_owned()), ..RailFrame::default() }];
        let load = loaded.then(|| Arc::new(described(LoadOp::Read)));
        let frame = Frame { seq: at, at_ns: at * SECOND, rails, load, ..Frame::default() };
        outline.frame(&frame);
        timeline.push(frame);
        let found = codes.iter().map(|code| Finding::new(code, Severity::Warning, ["mlx5_0"], ""));
        outline.look(&timeline, &found.collect::<Vec<_>>());
    }
    outline
}

fn texts(outline: &Outline) -> Vec<(u64, &str)> {
    outline.moments().iter().map(|moment| (moment.at_ns / SECOND, moment.text.as_str())).collect()
}

#[test]
fn a_finding_begins_once_and_again_when_it_was_gone() {
    let outline = outline(&[
        ("ACTIVE", false, &[]),
        ("ACTIVE", false, &["mtu-differs"]),
        ("ACTIVE", false, &["mtu-differs", "half-rate"]),
        ("ACTIVE", false, &["half-rate"]),
        ("ACTIVE", false, &["mtu-differs", "half-rate"]),
    ]);
    let begins =
        [(1, "mtu-differs mlx5_0 begins"), (2, "half-rate mlx5_0 begins"), (4, "mtu-differs mlx5_0 begins")];
    assert_eq!(texts(&outline), begins);
    assert_eq!(outline.worst(0, 1), Look::Clear);
    assert_eq!(outline.worst(3 * SECOND, 4 * SECOND), Look::Found(Severity::Warning));
}

#[test]
fn ports_and_loads_that_change_are_events() {
    let outline = outline(&[
        ("ACTIVE", false, &[]),
        ("ACTIVE", true, &[]),
        ("DOWN", true, &[]),
        ("ACTIVE", true, &[]),
        ("ACTIVE", false, &[]),
    ]);
    let events = [
        (1, "load begins"),
        (2, "link-down mlx5_0: port ACTIVE → DOWN"),
        (3, "link-up mlx5_0: port DOWN → ACTIVE"),
        (4, "load ends"),
    ];
    assert_eq!(texts(&outline), events);
}

#[test]
fn what_a_person_said_is_a_mark() {
    let mut timeline = Timeline::new(Arc::new(session(two_sockets(vec![rail("mlx5_0")]))));
    let mut outline = Outline::default();
    for (at, marks) in (0..).zip([vec![], vec!["switch rebooted".to_owned(), String::new()]]) {
        timeline.push(Frame { seq: at, at_ns: at * SECOND, marks, ..Frame::default() });
        outline.look(&timeline, &[]);
    }
    assert_eq!(texts(&outline), [(1, "mark: switch rebooted"), (1, "mark")]);
    assert!(outline.moments().iter().all(|moment| moment.kind == Kind::Mark));
}

#[test]
fn the_nearest_moment_is_of_the_kind_that_is_asked_for() {
    let outline = outline(&[
        ("ACTIVE", false, &[]),
        ("DOWN", false, &["half-rate"]),
        ("DOWN", false, &["half-rate", "link-down"]),
    ]);
    let at = |ns, towards, is_meant: fn(Kind) -> bool| {
        outline.nearest(ns, towards, is_meant).map(|moment| moment.at_ns / SECOND)
    };
    let begins = |kind| matches!(kind, Kind::Begins(_));
    assert_eq!(at(0, Towards::Later, begins), Some(1));
    assert_eq!(at(SECOND, Towards::Later, begins), Some(2));
    assert_eq!(at(2 * SECOND, Towards::Later, begins), None);
    assert_eq!(at(2 * SECOND, Towards::Earlier, begins), Some(1));
    assert_eq!(at(2 * SECOND, Towards::Earlier, |kind| kind == Kind::Event), Some(1));
    assert_eq!(at(SECOND, Towards::Earlier, |kind| kind == Kind::Event), None);
}

#[test]
fn a_flood_of_moments_does_not_fill_the_memory() {
    let mut seconds = Vec::new();
    for _ in 0..5000 {
        seconds.push(("ACTIVE", false, &["half-rate"][..]));
        seconds.push(("ACTIVE", false, &[][..]));
    }
    assert_eq!(outline(&seconds).moments().len(), super::MOST_MOMENTS);
}
