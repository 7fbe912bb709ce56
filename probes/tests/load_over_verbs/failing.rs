//! Rails that fail, and rails that come back.

use super::{BOTH, connected, good, params, rail, run_until, topology, wait_for};
use crate::standin::over_the_stand_ins;
use probes::load::{Happening, Role, RunningLoad, open};
use probes::model::WorkerPhase;

#[test]
fn a_rail_that_failed_once_is_opened_anew_and_goes_on() {
    // 12 = IBV_WC_RETRY_EXC_ERR
    let fault = [("STANDIN_FAULT", "stand1:1003:12"), ("STANDIN_FAULT_ONCE", "1")];
    over_the_stand_ins(&fault, || {
        let (target, reader) = connected(&params());
        target.go();
        reader.mend();
        reader.go();
        wait_for("one rail fails", || rail(&reader.workers(), 1).phase == WorkerPhase::Failed);
        let news = reader.news();
        assert!(
            matches!(&news[..], [(1, Happening::Failed(why))] if why.starts_with("stand1: RETRY_EXC_ERR"))
        );

        let here = reader.reopen(1).unwrap();
        let there = target.reopen(1).unwrap();
        target.reconnect(1, here).unwrap();
        reader.reconnect(1, there).unwrap();
        for end in [&target, &reader] {
            end.resume(1);
        }
        wait_for("it goes on", || rail(&reader.workers(), 1).operations > 3000);
        assert!(!reader.is_over());
        reader.stop();
        wait_for("the load ends", || reader.is_over());
        let workers = reader.workers();
        let back = rail(&workers, 1);
        assert_eq!((back.phase, back.restarts), (WorkerPhase::Done, 1));
        assert_eq!(back.bytes, back.operations * 4096);
        assert!(back.errors["RETRY_EXC_ERR"] >= 1 && !back.errors.contains_key("DATA_MISMATCH"));
        assert!(reader.failures()[0].ends_with("(it came back)"), "{:?}", reader.failures());
    });
}

#[test]
fn a_rail_that_cannot_be_opened_anew_says_why_and_stays_failed() {
    let fault = [("STANDIN_FAULT", "stand1:1003:12"), ("STANDIN_DOWN_AFTER_FAULT", "1")];
    over_the_stand_ins(&fault, || {
        let (_target, reader) = connected(&params());
        reader.mend();
        reader.go();
        wait_for("one rail fails", || rail(&reader.workers(), 1).phase == WorkerPhase::Failed);
        for _ in 0..2 {
            let why = reader.reopen(1).unwrap_err().to_string();
            assert!(why.starts_with("stand1 port 1: the port is DOWN"), "{why}");
        }
        assert_eq!(rail(&reader.workers(), 1).phase, WorkerPhase::Failed);
        assert!(!reader.is_over(), "it may come back");
        reader.stop();
        wait_for("the load ends", || reader.is_over());
    });
}

#[test]
fn a_failing_rail_stops_alone_and_is_named() {
    // 12 = IBV_WC_RETRY_EXC_ERR
    // and the 16 READs that are timed before the load
    let fault = [("STANDIN_FAULT", "stand1:1019:12")];
    over_the_stand_ins(&fault, || {
        let (_target, reader) = connected(&params());
        reader.go();
        wait_for("one rail fails", || rail(&reader.workers(), 1).phase == WorkerPhase::Failed);
        let before = rail(&reader.workers(), 0).operations;
        wait_for("the other goes on", || rail(&reader.workers(), 0).operations > before + 1000);
        assert!(!reader.is_over());
        let workers = reader.workers();
        let failed = rail(&workers, 1);
        assert_eq!(failed.operations, 1003, "what completed before the error counts, nothing else");
        assert_eq!(failed.bytes, 1003 * 4096);
        assert!(failed.round_trip_ns.is_some_and(|ns| ns > 0), "{failed:?}");
        assert!(failed.errors["RETRY_EXC_ERR"] >= 1, "{:?}", failed.errors);
        assert!(failed.errors["WR_FLUSH_ERR"] >= 1, "{:?}", failed.errors);
        // 32 requests were out; three of a chain of four went well, and their places were not refilled
        assert_eq!(failed.errors.values().sum::<u64>(), 32 - 3, "each once: {:?}", failed.errors);
        let failures = reader.failures();
        assert_eq!(failures.len(), 1);
        assert!(failures[0].starts_with("stand1: RETRY_EXC_ERR: the peer did not answer"), "{failures:?}");
    });
}

#[test]
fn a_device_that_throws_everything_out_is_not_blamed_on_another_error() {
    // 5 = IBV_WC_WR_FLUSH_ERR
    let fault = [("STANDIN_FAULT", "stand0:64:5")];
    over_the_stand_ins(&fault, || {
        let (_target, reader) = connected(&params());
        reader.go();
        wait_for("one rail fails", || rail(&reader.workers(), 0).phase == WorkerPhase::Failed);
        let failures = reader.failures();
        assert!(
            failures[0].starts_with("stand0: WR_FLUSH_ERR: the device threw out all requests"),
            "{failures:?}"
        );
    });
}

#[test]
fn a_peer_that_is_gone_is_a_named_error() {
    over_the_stand_ins(&[], || {
        let (target, reader) = connected(&params());
        drop(target);
        reader.go();
        wait_for("both rails fail", || reader.is_over());
        assert!(reader.workers().iter().all(|w| w.errors.contains_key("RETRY_EXC_ERR") && w.operations == 0));
    });
}

#[test]
fn a_rail_that_cannot_connect_fails_alone() {
    // 22 = EINVAL
    over_the_stand_ins(&[("STANDIN_RTR", "stand1:22")], || {
        let topology = topology();
        let (mut target, mut reader) = (
            open(&topology, &BOTH, &params(), Role::Target),
            open(&topology, &BOTH, &params(), Role::Reader),
        );
        let (there, here) = (good(target.endpoints()), good(reader.endpoints()));
        let target = target.connect(here).expect("one rail is left");
        let reader = reader.connect(there).expect("one rail is left");
        let failures = reader.failures();
        assert!(failures[0].starts_with("stand1: ibv_modify_qp to RTR: Invalid argument"), "{failures:?}");
        assert!(failures[0].contains("::ffff:10.0.1.1 (GID index 1, RoCE v2)"), "{failures:?}");
        reader.go();
        wait_for("the good rail moves", || rail(&reader.workers(), 0).operations > 100);
        wait_for("the other fails", || rail(&reader.workers(), 1).phase == WorkerPhase::Failed);
        drop(target);
    });
}

#[test]
fn a_rail_without_a_peer_is_left_out() {
    over_the_stand_ins(&[], || {
        let topology = topology();
        let (mut target, mut reader) = (
            open(&topology, &BOTH, &params(), Role::Target),
            open(&topology, &BOTH, &params(), Role::Reader),
        );
        let (mut there, mut here) = (good(target.endpoints()), good(reader.endpoints()));
        (there[0], here[0]) = (None, None);
        let _target = target.connect(here).expect("one rail is left");
        let reader = reader.connect(there).expect("one rail is left");
        run_until(&reader, 100);
        assert_eq!(reader.load().devices, ["stand1"]);
        assert_eq!(reader.workers().len(), 1);
    });
}
