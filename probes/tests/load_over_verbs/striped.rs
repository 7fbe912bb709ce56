//! Batches of pages over all rails.

use super::{BOTH, at_rest, connected, good, params, run_until, topology, wait_for};
use crate::standin::over_the_stand_ins;
use probes::load::{Params, Role, RunningLoad, Shape, WorkingSet, Wrong, open};
use probes::model::{LoadOp, WorkerPhase};

fn striped(batch: u32) -> Params {
    Params { shape: Shape::Striped, batch, ..params() }
}

/// The threads of this process whose names begin so.
fn threads(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with(prefix)).count()
}

#[test]
fn a_striped_load_reads_whole_batches_over_all_rails() {
    over_the_stand_ins(&[], || {
        for (batch, qps, workers, size_bytes, working_set) in [
            (2, 1, 1, 4096, WorkingSet::Hot),
            (7, 2, 1, 64, WorkingSet::Hot),
            (32, 1, 1, 1000, WorkingSet::Bytes(100_000)),
            (9, 3, 2, 4096, WorkingSet::Bytes(1 << 20)),
            (64, 4, 2, 1, WorkingSet::Hot),
        ] {
            let what = format!("{batch} {qps} {workers} {size_bytes} {working_set:?}");
            let params = Params { qps, workers, size_bytes, working_set, ..striped(batch) };
            let (_target, reader) = connected(&params);
            let load = reader.load();
            assert_eq!(
                (load.batch, load.chain, load.workers.len()),
                (Some(batch), None, 2 * workers as usize)
            );
            assert_eq!(threads("striped-"), workers as usize, "{what}");
            run_until(&reader, 500);
            let frames = reader.workers();
            assert!(frames.iter().all(|w| w.phase == WorkerPhase::Done && w.errors.is_empty()), "{what}");
            assert!(frames.iter().all(|w| w.round_trip_ns.is_some()), "READs are timed on each rail: {what}");
            assert_eq!(reader.failures(), Vec::<String>::new(), "{what}");
            for worker in 0..workers as usize {
                let (first, second) = (&frames[worker], &frames[workers as usize + worker]);
                let batches = first.latency.samples();
                assert_eq!(second.latency.samples(), 0, "latency is told once a batch");
                // all of each batch that is over, and no more than one beyond
                for (frame, share) in [(first, batch.div_ceil(2)), (second, batch / 2)] {
                    let pages = frame.operations.checked_sub(batches * u64::from(share));
                    assert!(pages.is_some_and(|beyond| beyond <= share.into()), "{what}: {pages:?}");
                    assert_eq!(frame.bytes, frame.operations * size_bytes);
                }
            }
        }
    });
}

#[test]
fn a_striped_load_writes_too() {
    over_the_stand_ins(&[], || {
        let (target, reader) = connected(&Params { op: LoadOp::Write, ..striped(8) });
        reader.go();
        wait_for("every rail moves", || reader.workers().iter().all(|worker| worker.operations >= 100));
        reader.stop();
        for (at, operations) in at_rest(&reader) {
            assert_eq!(target.check(at, &operations), Some(Wrong::default()));
            reader.verdict(at, Some(Wrong { messages: at as u64, words: 1 }));
        }
        wait_for("the load ends", || reader.is_over());
        let frames = reader.workers();
        assert!(frames[0].errors.is_empty());
        assert_eq!(frames[1].errors["DATA_MISMATCH"], 1);
    });
}

#[test]
fn striped_reads_without_their_data_are_an_error_of_each_rail() {
    let fault = [("STANDIN_NO_DATA", "1")];
    over_the_stand_ins(&fault, || {
        let (_target, reader) = connected(&striped(8));
        run_until(&reader, 100);
        assert!(reader.workers().iter().all(|worker| worker.errors["DATA_MISMATCH"] > 0));
    });
}

#[test]
fn a_striped_load_goes_on_over_the_rails_left() {
    // 12 = IBV_WC_RETRY_EXC_ERR; with one rail the batch needs two rounds
    let fault = [("STANDIN_FAULT", "stand1:1003:12")];
    over_the_stand_ins(&fault, || {
        let (_target, reader) = connected(&Params { workers: 2, ..striped(32) });
        reader.go();
        wait_for("a rail fails", || reader.workers()[2..].iter().all(|w| w.phase == WorkerPhase::Failed));
        let before = reader.workers()[0].operations + reader.workers()[1].operations;
        let batches = |at: usize| reader.workers()[at].latency.samples();
        let then = batches(0);
        wait_for("the other rail goes on", || {
            reader.workers()[..2].iter().all(|worker| worker.operations > before + 500)
        });
        assert!(batches(0) > then, "batches are complete without it");
        assert!(!reader.is_over());
        reader.stop();
        wait_for("the load ends", || reader.is_over());
        let frames = reader.workers();
        assert!(
            frames[..2].iter().all(|w| w.phase == WorkerPhase::Done && w.errors.is_empty()),
            "{frames:?}"
        );
        let failures = reader.failures();
        assert!(failures[0].starts_with("worker 1 of stand1: RETRY_EXC_ERR"), "{failures:?}");
        assert!(
            failures[0].ends_with("; not tried again in a striped load, whose other rails go on"),
            "{failures:?}"
        );
    });
}

#[test]
fn a_rail_that_cannot_be_opened_is_left_out_of_a_striped_load() {
    over_the_stand_ins(&[], || {
        let mut topology = topology();
        topology.rails[0].device = "nothing0".to_owned();
        let params = striped(8);
        let mut reader = open(&topology, &BOTH, &params, Role::Reader);
        let mut target = open(&self::topology(), &BOTH, &params, Role::Target);
        let (here, there) = (reader.endpoints(), good(target.endpoints()));
        assert!(here[0].as_ref().unwrap_err().to_string().contains("nothing0"), "{here:?}");
        let here = here.into_iter().map(Result::ok).collect();
        let _target = target.connect(here).unwrap();
        let reader = reader.connect(there).unwrap();
        assert_eq!(reader.load().devices, ["stand1"]);
        run_until(&reader, 100);
        assert_eq!(reader.workers()[0].phase, WorkerPhase::Done);
        assert!(reader.workers()[0].latency.samples() > 0);
    });
}

#[test]
fn a_striped_load_that_is_called_off_ends_its_thread() {
    over_the_stand_ins(&[], || {
        let mut reader = open(&topology(), &BOTH, &striped(8), Role::Reader);
        good(reader.endpoints());
        assert_eq!(threads("striped-"), 1);
        drop(reader);
        assert_eq!(threads("striped-"), 0);
        let (_target, reader) = connected(&striped(8));
        drop(reader);
        assert_eq!(threads("striped-"), 0);
    });
}
