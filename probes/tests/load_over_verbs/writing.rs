//! WRITE, and both directions at once.

use super::{at_rest, connected, params, wait_for};
use crate::standin::over_the_stand_ins;
use probes::load::{Params, Running, RunningLoad, Wrong};
use probes::model::{LoadOp, WorkerFrame, WorkerPhase};

/// Runs a WRITE load and has the target look at what arrived; what it found, and the errors of the first thread.
fn write() -> (Vec<Wrong>, WorkerFrame) {
    let (target, reader) = connected(&Params { op: LoadOp::Write, ..params() });
    reader.go();
    wait_for("every rail moves", || reader.workers().iter().all(|worker| worker.operations >= 100));
    reader.stop();
    let mut found = Vec::new();
    for (at, operations) in at_rest(&reader) {
        assert!(!reader.is_over(), "a thread waits for what the target found");
        let wrong = target.check(at, &operations).expect("the target still has its memory");
        reader.verdict(at, Some(wrong));
        found.push(wrong);
    }
    wait_for("the load ends", || reader.is_over());
    assert_eq!(reader.load().read_depth, None);
    (found, reader.workers().remove(0))
}

#[test]
fn a_write_load_moves_the_data_the_other_way() {
    over_the_stand_ins(&[], || {
        let (found, worker) = write();
        assert_eq!(found, [Wrong::default(); 2]);
        assert_eq!((worker.phase, worker.errors.len()), (WorkerPhase::Done, 0));
    });
}

#[test]
fn writes_that_the_peer_did_not_look_at_are_said() {
    over_the_stand_ins(&[], || {
        let (_target, reader) = connected(&Params { op: LoadOp::Write, ..params() });
        reader.go();
        wait_for("every rail moves", || reader.workers().iter().all(|worker| worker.operations >= 100));
        reader.stop();
        for (at, _) in at_rest(&reader) {
            reader.verdict(at, None);
        }
        wait_for("the load ends", || reader.is_over());
        let said = reader.failures();
        let line = "data not checked: the peer did not look at what was written";
        assert!(said.len() == 2 && said.iter().all(|why| why.ends_with(line)), "{said:?}");
    });
}

#[test]
fn writes_without_their_data_are_an_error() {
    over_the_stand_ins(&[("STANDIN_NO_DATA", "1")], || {
        let (found, worker) = write();
        assert_eq!(found, [Wrong { messages: 2, words: 1024 }; 2]);
        assert_eq!(worker.errors["DATA_MISMATCH"], 2);
    });
}

#[test]
fn both_ends_read_at_the_same_time_and_check_their_own_data() {
    over_the_stand_ins(&[], || {
        let (target, reader) = connected(&Params { bidirectional: true, ..params() });
        target.go();
        reader.go();
        let is_measured =
            |end: &Running| end.workers().iter().all(|worker| worker.phase == WorkerPhase::Measuring);
        wait_for("both ends measure", || is_measured(&target) && is_measured(&reader));
        let operations =
            |end: &Running| end.workers().iter().map(|worker| worker.operations).collect::<Vec<_>>();
        let before = [operations(&target), operations(&reader)].concat();
        wait_for("both ends move on every rail", || {
            let now = [operations(&target), operations(&reader)].concat();
            now.iter().zip(&before).all(|(now, before)| now > &(before + 1000))
        });
        for end in [&reader, &target] {
            end.stop();
        }
        let (here, there) = (at_rest(&reader), at_rest(&target));
        assert!(here.iter().chain(&there).all(|(_, operations)| operations.len() == 2));
        for at in 0..2 {
            reader.release(at);
            target.release(at);
        }
        wait_for("both ends end", || reader.is_over() && target.is_over());
        for end in [&reader, &target] {
            assert!(end.workers().iter().all(|w| w.phase == WorkerPhase::Done && w.errors.is_empty()));
            let measured = end.measured().unwrap();
            assert!(measured.bytes > 0 && measured.ns > 0, "{measured:?}");
        }
    });
}
