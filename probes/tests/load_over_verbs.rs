//! Loads over a stand-in verbs library: reader and target in one process, data really copied.
//!
//! Each test runs in a process of its own (this binary, started again for that one test), because the library is
//! chosen, and its faults are set, by the environment.

use probes::ffi::verbs;
use probes::load::{
    Endpoint, Happening, LoadError, Opening, Params, Place, Role, Running, RunningLoad, Shape, WorkingSet,
    Wrong, open,
};
use probes::model::{Gid, GidChoice, GidType, LoadOp, Rail, RailId, Topology, WorkerFrame, WorkerPhase};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Set in the process that runs a test's body.
const INSIDE: &str = "STANDIN_INSIDE";

/// Compiles the stand-in once per run.
fn stand_in() -> &'static PathBuf {
    static LIBRARY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = LIBRARY.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("libibverbs-standin.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/standin/verbs.c");
        let done = Command::new("gcc")
            .args(["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-pthread", "-o"])
            .arg(&library)
            .arg(source)
            .status()
            .expect("these tests need gcc and the headers of libibverbs-dev");
        assert!(done.success(), "gcc could not compile {source}; are the headers of libibverbs-dev there?");
        (directory, library)
    });
    library
}

/// Runs `body` in a process that has the stand-in for its verbs library. `test` is the name of the calling test.
fn over_the_stand_in(test: &str, environment: &[(&str, &str)], body: fn()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    child.env(INSIDE, "1").env("RAILSCOPE_IBVERBS", stand_in()).envs(environment.iter().copied());
    let output = child.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// The two devices as a survey would find them.
fn topology() -> Topology {
    let rail = |at: u8| Rail {
        device: format!("stand{at}"),
        port: 1,
        gids: vec![Gid {
            index: 1,
            address: format!("::ffff:10.0.{at}.1").parse().unwrap(),
            kind: Some(GidType::RoceV2),
            netdev: None,
        }],
        gid: Some(GidChoice { index: 1, reason: "the only one".into() }),
        ..Rail::default()
    };
    Topology { rails: vec![rail(0), rail(1)], ..Topology::default() }
}

fn params() -> Params {
    Params { qps: 2, size_bytes: 4096, depth: 16, place: Place::None, warmup_s: 0.0, ..Params::default() }
}

const BOTH: [RailId; 2] = [RailId(0), RailId(1)];

fn good(endpoints: Vec<Result<Endpoint, LoadError>>) -> Vec<Option<Endpoint>> {
    endpoints.into_iter().map(|endpoint| Some(endpoint.unwrap())).collect()
}

/// Both ends, connected, not yet started.
fn connected(params: &Params) -> (Running, Running) {
    let topology = topology();
    let mut target = open(&topology, &BOTH, params, Role::Target);
    let mut reader = open(&topology, &BOTH, params, Role::Reader);
    let (there, here) = (good(target.endpoints()), good(reader.endpoints()));
    let target = target.connect(here).unwrap();
    let reader = reader.connect(there).unwrap();
    (target, reader)
}

/// Waits, bounded, until `done` says so; the machine may be busy.
fn wait_for(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
        std::thread::yield_now();
    }
}

fn run_until(reader: &Running, operations: u64) {
    reader.go();
    wait_for("every rail moves", || reader.workers().iter().all(|worker| worker.operations >= operations));
    reader.stop();
    wait_for("the load ends", || reader.is_over());
}

fn rail(workers: &[WorkerFrame], at: usize) -> &WorkerFrame {
    workers.iter().find(|worker| worker.rail == Some(RailId(at))).unwrap()
}

#[test]
fn both_rails_read_the_peers_data() {
    over_the_stand_in("both_rails_read_the_peers_data", &[], || {
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

/// What a thread said when it was at rest: good operations of each queue pair.
fn at_rest(running: &Running) -> Vec<(usize, Vec<u64>)> {
    let mut said = Vec::new();
    wait_for("every thread is at rest", || running.workers().len() == 2);
    let start = Instant::now();
    while said.len() < 2 {
        assert!(start.elapsed() < Duration::from_secs(30), "waited in vain for threads at rest: {said:?}");
        for (at, happening) in running.news() {
            match happening {
                Happening::AtRest(operations) => said.push((at, operations)),
                Happening::Failed(why) => panic!("{why}"),
            }
        }
        std::thread::yield_now();
    }
    said
}

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
    over_the_stand_in("a_write_load_moves_the_data_the_other_way", &[], || {
        let (found, worker) = write();
        assert_eq!(found, [Wrong::default(); 2]);
        assert_eq!((worker.phase, worker.errors.len()), (WorkerPhase::Done, 0));
    });
}

#[test]
fn writes_that_the_peer_did_not_look_at_are_said() {
    over_the_stand_in("writes_that_the_peer_did_not_look_at_are_said", &[], || {
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
    over_the_stand_in("writes_without_their_data_are_an_error", &[("STANDIN_NO_DATA", "1")], || {
        let (found, worker) = write();
        assert_eq!(found, [Wrong { messages: 2, words: 1024 }; 2]);
        assert_eq!(worker.errors["DATA_MISMATCH"], 2);
    });
}

#[test]
fn both_ends_read_at_the_same_time_and_check_their_own_data() {
    over_the_stand_in("both_ends_read_at_the_same_time_and_check_their_own_data", &[], || {
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

#[test]
fn a_rail_that_failed_once_is_opened_anew_and_goes_on() {
    // 12 = IBV_WC_RETRY_EXC_ERR
    let fault = [("STANDIN_FAULT", "stand1:1003:12"), ("STANDIN_FAULT_ONCE", "1")];
    over_the_stand_in("a_rail_that_failed_once_is_opened_anew_and_goes_on", &fault, || {
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
    over_the_stand_in("a_rail_that_cannot_be_opened_anew_says_why_and_stays_failed", &fault, || {
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
fn every_shape_of_queue_keeps_running() {
    over_the_stand_in("every_shape_of_queue_keeps_running", &[], || {
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
    over_the_stand_in("workers_of_a_rail_share_its_queue_pairs_and_fail_alone", &fault, || {
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
    });
}

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
    over_the_stand_in("a_striped_load_reads_whole_batches_over_all_rails", &[], || {
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
    over_the_stand_in("a_striped_load_writes_too", &[], || {
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
    over_the_stand_in("striped_reads_without_their_data_are_an_error_of_each_rail", &fault, || {
        let (_target, reader) = connected(&striped(8));
        run_until(&reader, 100);
        assert!(reader.workers().iter().all(|worker| worker.errors["DATA_MISMATCH"] > 0));
    });
}

#[test]
fn a_striped_load_goes_on_over_the_rails_left() {
    // 12 = IBV_WC_RETRY_EXC_ERR; with one rail the batch needs two rounds
    let fault = [("STANDIN_FAULT", "stand1:1003:12")];
    over_the_stand_in("a_striped_load_goes_on_over_the_rails_left", &fault, || {
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
    over_the_stand_in("a_rail_that_cannot_be_opened_is_left_out_of_a_striped_load", &[], || {
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
    over_the_stand_in("a_striped_load_that_is_called_off_ends_its_thread", &[], || {
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

#[test]
fn a_rate_is_not_exceeded() {
    over_the_stand_in("a_rate_is_not_exceeded", &[], || {
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
    over_the_stand_in("a_working_set_is_gone_over_and_checked", &[], || {
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
    over_the_stand_in("every_place_of_a_working_set_is_looked_at", &[("STANDIN_NO_DATA", "1")], || {
        let (_target, reader) = connected(&Params { working_set: WorkingSet::Bytes(128 * 4096), ..params() });
        run_until(&reader, 2000);
        assert_eq!(rail(&reader.workers(), 0).errors["DATA_MISMATCH"], 128);
    });
}

#[test]
fn the_load_says_what_was_negotiated() {
    over_the_stand_in("the_load_says_what_was_negotiated", &[], || {
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
fn a_failing_rail_stops_alone_and_is_named() {
    // 12 = IBV_WC_RETRY_EXC_ERR
    // and the 16 READs that are timed before the load
    let fault = [("STANDIN_FAULT", "stand1:1019:12")];
    over_the_stand_in("a_failing_rail_stops_alone_and_is_named", &fault, || {
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
    over_the_stand_in("a_device_that_throws_everything_out_is_not_blamed_on_another_error", &fault, || {
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
fn reads_without_their_data_are_an_error() {
    over_the_stand_in("reads_without_their_data_are_an_error", &[("STANDIN_NO_DATA", "1")], || {
        let (_target, reader) = connected(&params());
        run_until(&reader, 200);
        let workers = reader.workers();
        assert_eq!(rail(&workers, 0).errors["DATA_MISMATCH"], 2);
        assert!(reader.failures()[0].contains("READs completed without their data"));
    });
}

#[test]
fn a_load_ends_by_itself_after_its_time() {
    over_the_stand_in("a_load_ends_by_itself_after_its_time", &[], || {
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
    over_the_stand_in("a_load_that_never_started_can_be_stopped", &[], || {
        let (target, reader) = connected(&params());
        drop(reader);
        target.go();
        target.stop();
        wait_for("the target ends", || target.is_over());
    });
}

#[test]
fn a_peer_that_is_gone_is_a_named_error() {
    over_the_stand_in("a_peer_that_is_gone_is_a_named_error", &[], || {
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
    over_the_stand_in("a_rail_that_cannot_connect_fails_alone", &[("STANDIN_RTR", "stand1:22")], || {
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
    over_the_stand_in("a_rail_without_a_peer_is_left_out", &[], || {
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

/// Why the first rail cannot be opened.
fn refusal(params: &Params) -> String {
    let mut opening: Opening = open(&topology(), &[RailId(0)], params, Role::Reader);
    opening.endpoints().remove(0).unwrap_err().to_string()
}

#[test]
fn what_the_device_cannot_do_is_refused_in_words() {
    over_the_stand_in("what_the_device_cannot_do_is_refused_in_words", &[], || {
        let cases = [
            (
                Params { depth: 2000, ..params() },
                "a depth of 2000 was asked for; the device can do 1 to 1024",
            ),
            (
                Params { size_bytes: 1 << 24, ..params() },
                "messages of 16777216 bytes were asked for; the port can do 1 to 8388608",
            ),
            (Params { qps: 0, ..params() }, "0 queue pairs asked for"),
            (Params { qps: 100, depth: 1000, ..params() }, "QPs times depth is 100000"),
            (Params { gid_index: Some(2), ..params() }, "stand0 port 1: GID index 2 is empty"),
            (
                Params { place: Place::Nodes { cpu: 9, mem: 9 }, ..params() },
                "NUMA node 9 cannot be used: which nodes this host has is not known",
            ),
        ];
        for (params, expected) in cases {
            let error = refusal(&params);
            assert!(error.contains(expected), "{error}");
        }
    });
}

#[test]
fn a_port_that_is_down_is_refused() {
    over_the_stand_in("a_port_that_is_down_is_refused", &[("STANDIN_STATE", "stand0:1")], || {
        assert!(refusal(&params()).contains("the port is DOWN"), "{}", refusal(&params()));
    });
}

#[test]
fn too_little_locked_memory_is_explained() {
    // 12 = ENOMEM
    over_the_stand_in("too_little_locked_memory_is_explained", &[("STANDIN_REG_MR", "12")], || {
        let error = refusal(&params());
        assert!(error.starts_with("stand0: ibv_reg_mr: Cannot allocate memory"), "{error}");
        assert!(error.contains("locked"), "{error}");
    });
}

#[test]
fn facts_are_what_the_device_says() {
    over_the_stand_in("facts_are_what_the_device_says", &[], || {
        let devices = verbs::Devices::list().unwrap();
        assert_eq!(devices.names(), ["stand0", "stand1"]);
        let facts = verbs::facts(&devices, "stand1", 1).unwrap();
        assert_eq!(facts.limits.firmware.as_deref(), Some("28.39.1002"));
        assert_eq!((facts.limits.max_initiator_depth, facts.limits.max_responder_depth), (128, 16));
        assert_eq!((facts.port.state, facts.port.active_mtu), ("ACTIVE", Some(4096)));
        let error = verbs::facts(&devices, "mlx5_9", 1).unwrap_err().to_string();
        assert_eq!(error, "mlx5_9: no such RDMA device; the verbs library lists stand0, stand1");
        assert!(verbs::facts(&devices, "stand1", 2).is_err());
    });
}

#[test]
fn a_kernel_without_rdma_has_no_devices() {
    over_the_stand_in("a_kernel_without_rdma_has_no_devices", &[("STANDIN_NO_DEVICES", "1")], || {
        assert_eq!(verbs::Devices::list().unwrap().names(), Vec::<String>::new());
    });
}

#[test]
fn a_library_that_is_not_there_says_what_to_install() {
    let nowhere = [("RAILSCOPE_IBVERBS", "/nowhere/libibverbs.so.1")];
    over_the_stand_in("a_library_that_is_not_there_says_what_to_install", &nowhere, || {
        let error = verbs::Devices::list().map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains("/nowhere/libibverbs.so.1") && error.contains("install libibverbs1"),
            "{error}"
        );
    });
}

#[test]
fn the_gid_table_comes_in_one_call() {
    over_the_stand_in("the_gid_table_comes_in_one_call", &[], || {
        let expected = verbs::GidEntry {
            port: 1,
            index: 1,
            address: "::ffff:10.0.0.1".parse().unwrap(),
            kind: Some(GidType::RoceV2),
            netdev_index: Some(7),
        };
        assert_eq!(verbs::Context::open("stand0").unwrap().gid_table().unwrap(), [expected]);
    });
}
