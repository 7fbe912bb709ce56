//! What is found live is found in the recording: after every frame, and after going to any place.

use super::nodes::{Story, any_story};
use super::{Listed, frames};
use crate::rules::{Finding, Limits, diagnose};
use crate::session::{FrameSource, Recorded, Replay};
use crate::timeline::Timeline;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeSet;

fn found(timeline: &Timeline) -> Vec<Finding> {
    diagnose(timeline.topology(), timeline, &Limits::default())
}

/// Findings after each frame of a source, and the times of the frames on the first host's clock.
fn course(source: &mut impl FrameSource) -> Vec<(u64, Vec<Finding>)> {
    let session = source.session();
    let mut timeline = Timeline::new(session.clone());
    let judged = frames(source).into_iter().map(|frame| {
        let at_ns = session.on_first_clock(frame.host, frame.at_ns);
        timeline.push(frame);
        (at_ns, found(&timeline))
    });
    judged.collect()
}

/// Records a story while it is judged, judges what was recorded, and goes to some places of it; what was found live.
fn live_is_as_replayed(story: &Story) -> Result<Vec<Finding>, TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rsz");
    let source = Listed { session: story.session.clone(), frames: story.frames() };
    let mut recorded = Recorded::create(source, &path).unwrap();
    let live = course(&mut recorded);
    prop_assert_eq!(recorded.trouble(), None);
    let mut replay = Replay::open(&path).unwrap();
    let replayed = course(&mut replay);
    prop_assert_eq!(replayed.len(), live.len());
    for (at, (replayed, live)) in replayed.iter().zip(&live).enumerate() {
        prop_assert_eq!(replayed, live, "frame {}", at);
    }
    // back and forth, so that nothing of one place is left at the next
    let places = [live.len() / 2, live.len() - 1, live.len() / 3];
    for (at_ns, _) in places.map(|at| &live[at]) {
        let (_, live) = live.iter().rev().find(|(time, _)| time <= at_ns).unwrap();
        let there = replay.seek(*at_ns).unwrap().timeline(replay.session());
        prop_assert_eq!(&found(&there), live, "at {} ns", at_ns);
    }
    Ok(live.into_iter().flat_map(|(_, found)| found).collect())
}

#[test]
fn two_hundred_sessions_are_judged_live_as_they_are_replayed_after_every_frame() {
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let codes = RefCell::new(BTreeSet::new());
    let ran = TestRunner::new_with_rng(config, rng).run(&any_story(), |story| {
        let found = live_is_as_replayed(&story)?;
        codes.borrow_mut().extend(found.into_iter().map(|finding| finding.code));
        Ok(())
    });
    if let Err(failed) = ran {
        panic!("{failed}");
    }
    // sessions in which nothing is found would be judged alike by any program
    let codes = codes.into_inner();
    assert!(codes.len() >= 20, "{} codes: {codes:?}", codes.len());
}
