//! Loads over a stand-in verbs library: reader and target in one process, data really copied.

mod asking;
mod failing;
mod reading;
mod refusing;
#[path = "../standin/mod.rs"]
mod standin;
mod striped;
mod writing;

use probes::load::{Endpoint, Happening, LoadError, Params, Place, Role, Running, RunningLoad, open};
use probes::model::{Gid, GidChoice, GidType, Rail, RailId, Topology, WorkerFrame};
use std::time::{Duration, Instant};

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
