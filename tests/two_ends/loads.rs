//! Loads from start to end, and what both ends say of them.

use super::{Server, end, load, load_of, nobody, params};
use crate::standin::over_the_stand_ins;
use probes::load::Params;
use probes::model::LoadOp;
use probes::root::Root;
use railscope::commands::headless;
use railscope::peer::Ended;
use railscope::peer::client::connect;
use railscope::peer::server::Say;
use railscope::session::{Live, Stop};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

#[test]
fn a_load_reads_the_peers_data_over_two_rails() {
    over_the_stand_ins(&[], || {
        let server = Server::start(end("n2", "there"));
        let (report, ended) = load(&server, end("n1", "here"));
        assert!(matches!(ended, Ended::Here), "{ended:?}");
        let block = &report["load"];
        for (key, expected) in [
            ("op", serde_json::json!("read")),
            ("transport", "verbs".into()),
            ("loopback", false.into()),
            ("size_bytes", 4096.into()),
            ("qps", 2.into()),
            ("read_depth", 16.into()),
            ("workers", 2.into()),
            ("errors", serde_json::json!({})),
        ] {
            assert_eq!(block[key], expected, "{key} of {block}");
        }
        for rail in report["rails"].as_array().unwrap() {
            assert!(rail["load_gb_per_s"].as_f64().unwrap() > 0.0, "{rail}");
        }
        let said = server.stop_after_one_client();
        assert_eq!(said[0], "n1 (127.0.0.1): reads 4K x 2 queue pairs a rail from stand0, stand1");
        assert!(
            said[1].starts_with("n1 (127.0.0.1): done; ") && said[1].contains("2 of 2 rails"),
            "{said:?}"
        );
    });
}

#[test]
fn workers_of_a_rail_are_one_rail_in_the_report() {
    over_the_stand_ins(&[], || {
        let server = Server::start(end("n2", "there"));
        // so many operations, however long a thread has to wait for a CPU
        let counted = Params { workers: 2, operations: Some(2000), duration_s: None, ..params() };
        let (report, _) = load_of(&server, end("n1", "here"), counted, nobody());
        let block = &report["load"];
        assert_eq!((&block["workers"], &block["qps"]), (&4.into(), &2.into()));
        let threads = block["threads"].as_array().unwrap();
        assert_eq!((&threads[1]["device"], &threads[1]["number"]), (&"stand0".into(), &2.into()));
        assert_eq!(threads[1]["qps"], 1);
        let bytes = |at: usize| threads[at]["bytes"].as_u64().unwrap();
        assert!((0..4).all(|at| bytes(at) > 0), "{threads:?}");
        let said = server.stop_after_one_client();
        assert_eq!(
            said[0],
            "n1 (127.0.0.1): reads 4K x 2 queue pairs and 2 threads a rail from stand0, stand1"
        );
        assert!(said[1].contains("2 of 2 rails"), "{said:?}");
    });
}

#[test]
fn a_write_load_is_checked_by_the_server() {
    over_the_stand_ins(&[], || {
        let server = Server::start(end("n2", "there"));
        let write = Params { op: LoadOp::Write, ..params() };
        let (report, ended) = load_of(&server, end("n1", "here"), write, nobody());
        assert!(matches!(ended, Ended::Here), "{ended:?}");
        let block = &report["load"];
        assert_eq!((&block["op"], &block["errors"]), (&"write".into(), &serde_json::json!({})));
        assert_eq!(block["read_depth"], serde_json::Value::Null);
        assert!(report["rails"][1]["load_gb_per_s"].as_f64().unwrap() > 0.0);
        let said = server.stop_after_one_client();
        assert_eq!(said[0], "n1 (127.0.0.1): writes 4K x 2 queue pairs a rail to stand0, stand1");
        assert!(said[1].starts_with("n1 (127.0.0.1): done; "), "{said:?}");
    });
}

#[test]
fn data_that_were_written_and_are_not_there_are_said_by_both_ends() {
    let no_data = [("STANDIN_NO_DATA", "1")];
    over_the_stand_ins(&no_data, || {
        let server = Server::start(end("n2", "there"));
        let write = Params { op: LoadOp::Write, ..params() };
        let (report, _) = load_of(&server, end("n1", "here"), write, nobody());
        // two queue pairs on each of two rails
        assert_eq!(report["load"]["errors"], serde_json::json!({"DATA_MISMATCH": 4}));
        let line = || server.said.recv_timeout(Duration::from_mins(1)).unwrap();
        let said = [line(), line(), line()];
        let expected = "DATA_MISMATCH: 2 messages in its buffer are not what n1 (127.0.0.1) wrote (1024 words of 8 bytes)";
        for rail in ["stand0", "stand1"] {
            assert!(said.contains(&format!("{rail}: {expected}")), "{said:?}");
        }
        server.stop();
    });
}

#[test]
fn both_directions_at_once_are_measured_by_each_end() {
    over_the_stand_ins(&[], || {
        for op in [LoadOp::Read, LoadOp::Write] {
            let server = Server::start(end("n2", "there"));
            let both = Params { op, bidirectional: true, duration_s: Some(1.0), ..params() };
            let (report, ended) = load_of(&server, end("n1", "here"), both, nobody());
            assert!(matches!(ended, Ended::Here), "{ended:?}");
            let block = &report["load"];
            assert_eq!((&block["bidirectional"], &block["errors"]), (&true.into(), &serde_json::json!({})));
            assert!(block["peer_gb_per_s"].as_f64().unwrap() > 0.0, "{block}");
            let said = server.stop_after_one_client();
            assert!(said[1].starts_with("n1 (127.0.0.1): done; "), "{said:?}");
            assert!(said[1].ends_with(" GB the other way") && !said[1].contains("; 0.000 GB"), "{said:?}");
        }
    });
}

#[test]
fn a_rail_that_fails_once_comes_back_and_the_report_says_so() {
    // 12 = IBV_WC_RETRY_EXC_ERR
    let fault = [("STANDIN_FAULT", "stand1:500:12"), ("STANDIN_FAULT_ONCE", "1")];
    over_the_stand_ins(&fault, || {
        let server = Server::start(end("n2", "there"));
        let mut here = end("n1", "here");
        here.timing.retry = Duration::from_millis(20);
        let (hear, heard) = mpsc::channel();
        let hear = Mutex::new(hear);
        let say: Say = Arc::new(move |line: &str| drop(hear.lock().unwrap().send(line.to_owned())));
        let (report, ended) = load_of(&server, here, Params { duration_s: Some(1.6), ..params() }, say);
        assert!(matches!(ended, Ended::Here), "{ended:?}");
        let lines: Vec<String> = heard.try_iter().collect();
        assert!(lines[0].starts_with("stand1: RETRY_EXC_ERR: the peer did not answer"), "{lines:?}");
        assert!(lines[0].ends_with("; it is tried again in 0.02 s"), "{lines:?}");
        assert!(lines[1].starts_with("stand1: back after "), "{lines:?}");
        let threads = report["load"]["threads"].as_array().unwrap();
        assert_eq!((&threads[1]["phase"], &threads[1]["restarts"]), (&"done".into(), &1.into()));
        assert_eq!(report["load"]["restarts"], 1);
        assert!(threads[1]["errors"]["RETRY_EXC_ERR"].as_u64().unwrap() >= 1, "{threads:?}");
        assert!(report["rails"][1]["load_gb_per_s"].as_f64().unwrap() > 0.0);
        server.stop();
    });
}

#[test]
fn a_load_from_the_same_machine_is_marked_as_loopback() {
    over_the_stand_ins(&[], || {
        let server = Server::start(end("n1", "here"));
        let (report, _) = load(&server, end("n1", "here"));
        assert_eq!(report["load"]["loopback"], true);
        server.stop();
    });
}

#[test]
fn memory_that_cannot_be_locked_is_one_error_on_both_ends() {
    let no_memory = [("STANDIN_REG_MR", "12")];
    over_the_stand_ins(&no_memory, || {
        let server = Server::start(end("n2", "there"));
        let said = connect(end("n1", "here"), server.target(), params(), nobody()).err().unwrap().to_string();
        assert!(said.contains("stand0") && said.contains("memlock"), "{said}");
        let said = server.stop_after_one_client();
        assert!(said[1].contains("memlock"), "{said:?}");
    });
}

#[test]
fn a_load_without_a_rail_left_has_failed() {
    // 12 = IBV_WC_RETRY_EXC_ERR
    let every_rail = [("STANDIN_FAULT", "*:500:12")];
    over_the_stand_ins(&every_rail, || {
        let server = Server::start(end("n2", "there"));
        let here = end("n1", "here");
        let topology = (*here.topology).clone();
        let mut connected = connect(here, server.target(), params(), nobody()).unwrap();
        let nothing = tempfile::tempdir().unwrap();
        let load = connected.take_load();
        let every = Duration::from_millis(20);
        let mut source = Live::new(Root::at(nothing.path()), topology, every, None, load, Stop::new());
        assert!(!connected.all_failed());
        connected.go();
        headless::play(&mut source).unwrap();
        assert!(connected.all_failed());
        assert_eq!(connected.failures().len(), 2);
        drop(connected);
        server.stop();
    });
}
