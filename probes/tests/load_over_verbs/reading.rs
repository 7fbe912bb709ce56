//! What a load that goes well does and tells.

use super::{BOTH, connected, params, rail, run_until, wait_for};
use crate::standin::over_the_stand_ins;
use probes::load::{Params, RunningLoad, WorkingSet};
use probes::model::WorkerPhase;
use std::time::Instant;

#[test]
fn both_rails_read_the_peers_data() {
    over_the_stand_ins(&[], || {
        let (_target, reader) = connected(&params());
        run_until(&reader, 1000);
        for worker in reader.workers() {
            assert_eq!((worker.phase, worker.errors.len()), (WorkerPhase::Done, 0));
            assert_eq!(worker.bytes, worker.operations * 4096);
            let samples = worker.latency.samples();
            assert!(samples > 0 && samples < worker.operations, "{samples} of {}", worker.operations);
        }
        assert_eq!(reader.failures(), Vec::<String>::new());
    });
}

#[test]
fn every_shape_of_queue_keeps_running() {
    over_the_stand_ins(&[], || {
        for (qps, depth, chain, cq_mod, size_bytes) in [
            (1, 1, None, None, 1),
            (1, 1, Some(9), Some(1), 64),
            (3, 7, None, Some(2), 1000),
            (2, 128, None, Some(1), 8),
            (2, 64, None, Some(100), 70_001),
            (2, 64, Some(1), Some(16), 8),
            (2, 50, Some(4), Some(24), 8),
            (2, 16, Some(16), None, 8),
        ] {
            let (_target, reader) = connected(&Params { qps, depth, chain, cq_mod, size_bytes, ..params() });
            run_until(&reader, 500);
            for worker in reader.workers() {
                assert_eq!(worker.phase, WorkerPhase::Done, "{qps} {depth} {chain:?} {cq_mod:?}");
                assert!(worker.errors.is_empty(), "{qps} {depth} {chain:?} {cq_mod:?}: {:?}", worker.errors);
            }
        }
    });
}

#[test]
fn workers_of_a_rail_share_its_queue_pairs_and_fail_alone() {
    // 12 = IBV_WC_RETRY_EXC_ERR
    let fault = [("STANDIN_FAULT", "stand1:1003:12")];
    over_the_stand_ins(&fault, || {
        let params = Params { qps: 3, workers: 2, ..params() };
        let (_target, reader) = connected(&params);
        let load = reader.load();
        assert_eq!((load.qps, load.devices.len()), (Some(3), 2));
        let shares: Vec<_> = load.workers.iter().map(|worker| (worker.to_string(), worker.qps)).collect();
        assert_eq!(
            shares,
            [
                ("worker 1 of stand0".into(), Some(2)),
                ("worker 2 of stand0".into(), Some(1)),
                ("worker 1 of stand1".into(), Some(2)),
                ("worker 2 of stand1".into(), Some(1)),
            ]
        );
        reader.go();
        wait_for("both workers of a rail fail", || {
            reader.workers()[2..].iter().all(|worker| worker.phase == WorkerPhase::Failed)
        });
        let before = reader.workers()[0].operations + reader.workers()[1].operations;
        wait_for("the other rail goes on", || {
            reader.workers()[..2].iter().all(|worker| worker.operations > before + 500)
        });
        let failures = reader.failures();
        assert!(failures[0].starts_with("worker 1 of stand1: RETRY_EXC_ERR"), "{failures:?}");
        assert!(failures[1].starts_with("worker 2 of stand1: RETRY_EXC_ERR"), "{failures:?}");
        let told = reader.fresh_failures();
        let words: Vec<_> = told.iter().map(|failure| failure.text.clone()).collect();
        assert_eq!((told[0].device.as_deref(), words), (Some("stand1"), failures));
        assert_eq!(reader.fresh_failures(), []);
    });
}

#[test]
fn a_rate_is_not_exceeded() {
    over_the_stand_ins(&[], || {
        let params = Params { rate_gb_per_s: Some(0.01), workers: 2, ..params() };
        let (_target, reader) = connected(&params);
        let start = Instant::now();
        run_until(&reader, 500);
        let most = start.elapsed().as_secs_f64() * 0.01e9;
        for rail in BOTH {
            let workers = reader.workers().into_iter().filter(|worker| worker.rail == Some(rail));
            let bytes: u64 = workers.map(|worker| worker.bytes).sum();
            // beyond the rate: what two queues hold when the clock starts and when it stops
            assert!((bytes as f64) < most + 4.0 * 16.0 * 4096.0, "{bytes} of {most}");
        }
        assert_eq!(reader.load().rate_gb_per_s, Some(0.01));
        assert!(
            reader.workers().iter().all(|worker| worker.latency.samples() > 0),
            "latency is what a cap is for"
        );
    });
}

#[test]
fn a_working_set_is_gone_over_and_checked() {
    over_the_stand_ins(&[], || {
        // 300 places in all, uneven shares of them, and messages that are no multiple of a cache line
        let working_set = WorkingSet::Bytes(300 * 1024);
        for params in [
            Params { working_set, size_bytes: 1000, qps: 3, workers: 2, ..params() },
            Params { working_set, ..params() },
        ] {
            let (_target, reader) = connected(&params);
            run_until(&reader, 2000);
            assert_eq!(reader.failures(), Vec::<String>::new());
            assert!(reader.workers().iter().all(|worker| worker.errors.is_empty()));
            assert_eq!(reader.load().working_set_bytes, Some(300 * 1024));
        }
    });
}

#[test]
fn every_place_of_a_working_set_is_looked_at() {
    over_the_stand_ins(&[("STANDIN_NO_DATA", "1")], || {
        let (_target, reader) = connected(&Params { working_set: WorkingSet::Bytes(128 * 4096), ..params() });
        run_until(&reader, 2000);
        assert_eq!(rail(&reader.workers(), 0).errors["DATA_MISMATCH"], 128);
    });
}

#[test]
fn the_load_says_what_was_negotiated() {
    over_the_stand_ins(&[], || {
        let (target, reader) = connected(&params());
        let load = reader.load();
        assert_eq!(load.devices, ["stand0", "stand1"]);
        // the initiator could do 128, the responder answers 16
        assert_eq!((load.read_depth, load.device_read_depth), (Some(16), Some(128)));
        assert!(load.loopback);
        assert_eq!(load.place.as_deref(), Some("none"));
        assert_eq!(load.relaxed_ordering, Some(true));
        assert!(target.workers().iter().all(|worker| worker.bytes == 0));
    });
}

#[test]
fn reads_without_their_data_are_an_error() {
    over_the_stand_ins(&[("STANDIN_NO_DATA", "1")], || {
        let (_target, reader) = connected(&params());
        run_until(&reader, 200);
        let workers = reader.workers();
        assert_eq!(rail(&workers, 0).errors["DATA_MISMATCH"], 2);
        assert!(reader.failures()[0].contains("READs completed without their data"));
    });
}

#[test]
fn a_load_ends_by_itself_after_its_time() {
    over_the_stand_ins(&[], || {
        let params = Params { warmup_s: 0.05, duration_s: Some(0.2), ..params() };
        let (_target, reader) = connected(&params);
        reader.go();
        wait_for("the load ends", || reader.is_over());
        assert!(
            reader.workers().iter().all(|worker| worker.phase == WorkerPhase::Done && worker.operations > 0)
        );
    });
}

#[test]
fn a_load_that_never_started_can_be_stopped() {
    over_the_stand_ins(&[], || {
        let (target, reader) = connected(&params());
        drop(reader);
        target.go();
        target.stop();
        wait_for("the target ends", || target.is_over());
    });
}
