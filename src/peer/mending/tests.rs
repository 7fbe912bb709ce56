use super::Mending;
use crate::peer::link::Timing;
use std::time::Duration;
use tokio::time::Instant;

fn seconds(wait: Option<Duration>) -> Option<u64> {
    wait.map(|wait| wait.as_secs())
}

#[test]
fn tries_come_after_a_second_and_then_twice_as_late_each() {
    let mut now = Instant::now();
    let mut mending = Mending::new(Timing::default(), None);
    let mut waits = vec![mending.failed(3, now).unwrap()];
    assert!(mending.due(now).is_empty());
    for _ in 0..6 {
        now += *waits.last().unwrap();
        assert_eq!(mending.due(now), [3]);
        assert!(mending.due(now).is_empty(), "it is being opened");
        waits.push(mending.refused(3, now).unwrap());
    }
    assert_eq!(waits.iter().map(Duration::as_secs).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 16, 16]);
}

#[test]
fn who_fails_again_soon_is_no_new_case() {
    let now = Instant::now();
    let mut mending = Mending::new(Timing::default(), None);
    mending.failed(0, now);
    mending.refused(0, now);
    assert_eq!(mending.back(0, now + Duration::from_secs(3)).as_secs(), 3);
    assert_eq!(seconds(mending.failed(0, now + Duration::from_secs(4))), Some(4));
    mending.back(0, now + Duration::from_secs(20));
    assert_eq!(seconds(mending.failed(0, now + Duration::from_secs(40))), Some(1));
}

#[test]
fn a_load_that_is_about_to_end_is_not_mended() {
    let now = Instant::now();
    let mut mending = Mending::new(Timing::default(), Some(now + Duration::from_secs(4)));
    assert_eq!(seconds(mending.failed(0, now)), Some(1));
    assert_eq!(seconds(mending.refused(0, now + Duration::from_secs(2))), None);
    assert!(mending.due(now + Duration::from_mins(1)).is_empty());
}

#[test]
fn an_answer_that_was_not_asked_for_is_none() {
    let now = Instant::now();
    let mut mending = Mending::new(Timing::default(), None);
    assert!(mending.answered(0).is_none());
    mending.failed(0, now);
    assert!(mending.answered(0).is_none());
    assert_eq!(mending.due(now + Duration::from_secs(1)), [0]);
}

#[test]
fn who_is_well_follows_the_peers_thread_once_and_who_is_away_does_not() {
    let now = Instant::now();
    let mut mending = Mending::new(Timing::default(), Some(now + Duration::from_secs(9)));
    assert!(mending.invited(0, now) && mending.follows(0) && mending.is_opening(0));
    assert!(!mending.invited(0, now), "it is under way");
    mending.back(0, now);
    assert!(!mending.is_away(0) && !mending.follows(0));
    mending.failed(1, now);
    assert!(!mending.invited(1, now) && !mending.follows(1));
    assert!(!mending.invited(2, now + Duration::from_millis(8500)), "the load is about to end");
}

#[test]
fn who_cannot_follow_has_failed() {
    let now = Instant::now();
    let mut mending = Mending::new(Timing::default(), None);
    mending.invited(0, now);
    assert_eq!(mending.refusal(0, now, "the port is DOWN"), "tried again: the port is DOWN; next in 1 s");
    assert!(!mending.follows(0) && mending.is_away(0));
}

#[test]
fn nothing_is_tried_once_the_load_ends() {
    let now = Instant::now();
    let mut mending = Mending::new(Timing::default(), None);
    mending.failed(0, now);
    mending.close(now);
    assert!(mending.due(now + Duration::from_secs(1)).is_empty());
    assert_eq!(mending.failed(1, now), None);
}
