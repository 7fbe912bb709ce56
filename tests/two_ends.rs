//! `serve` and `load` together: the whole way over a stand-in verbs library, and what scripts see when it fails.

use assert_cmd::cargo::cargo_bin;
use probes::load::{Memory, Params, Place};
use probes::model::{Bond, Gid, GidChoice, GidType, Leg, LinkLayer, LoadOp, Rail, Topology};
use probes::root::Root;
use railscope::commands::headless;
use railscope::peer::client::connect;
use railscope::peer::engine::Verbs;
use railscope::peer::link::Timing;
use railscope::peer::message::Hello;
use railscope::peer::offer::offers;
use railscope::peer::server::{Say, listen, serve};
use railscope::peer::{Door, End, Ended, Target};
use railscope::report;
use railscope::rules::Limits;
use railscope::session::{Live, Stop};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Set in the process that has the stand-in for its verbs library.
const INSIDE: &str = "STANDIN_INSIDE";

/// Runs `body` in a process that has the stand-in for its verbs library. `test` is the name of the calling test.
fn over_the_stand_in(test: &str, environment: &[(&str, &str)], body: fn()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let directory = tempfile::tempdir().unwrap();
    let [verbs, cuda, mlx5] = ["verbs", "cuda", "mlx5"].map(|name| stand_in(directory.path(), name));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    child.env("RAILSCOPE_IBVERBS", verbs).env("RAILSCOPE_CUDA", cuda).env("RAILSCOPE_MLX5", mlx5);
    child.env("STANDIN_MLX5_SET", directory.path().join("set"));
    let output = child.envs(environment.iter().copied()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// Compiles the stand-in for a library.
fn stand_in(directory: &Path, name: &str) -> PathBuf {
    let library = directory.join(format!("lib{name}-standin.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("probes/tests/standin/{name}.c"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-shared", "-fPIC", "-pthread", "-o"]).args([&library, &source]);
    let compiled = gcc.status().expect("this test needs gcc and the headers of libibverbs-dev");
    let source = source.display();
    assert!(compiled.success(), "gcc could not compile {source}; are the headers of libibverbs-dev there?");
    library
}

/// One end with the stand-in's two devices.
fn end(host: &str, boot_id: &str) -> End {
    let rail = |at: u8| Rail {
        device: format!("stand{at}"),
        port: 1,
        link_layer: Some(LinkLayer::Ethernet),
        state: Some("ACTIVE".into()),
        gids: vec![Gid {
            index: 1,
            address: format!("::ffff:10.0.{at}.1").parse().unwrap(),
            kind: Some(GidType::RoceV2),
            netdev: None,
        }],
        gid: Some(GidChoice { index: 1, reason: "the only one".into() }),
        ..Rail::default()
    };
    let topology = Topology { rails: vec![rail(0), rail(1)], ..Topology::default() };
    End {
        me: Hello { host: host.into(), version: "0.1.0".into(), boot_id: Some(boot_id.into()) },
        offers: offers(&topology, &[], None, None).unwrap(),
        topology: Arc::new(topology),
        engine: Arc::new(Verbs),
        timing: Timing::default(),
        gpu: None,
        door: Door::default(),
    }
}

/// A server on a thread of its own.
struct Server {
    address: SocketAddr,
    said: mpsc::Receiver<String>,
    stop: oneshot::Sender<&'static str>,
    thread: JoinHandle<()>,
}

impl Server {
    fn start(end: End) -> Self {
        let (hear, said) = mpsc::channel();
        let hear = Mutex::new(hear);
        // nobody listens any more once the test is over
        let say: Say = Arc::new(move |line: &str| drop(hear.lock().unwrap().send(line.to_owned())));
        let (stop, stopped) = oneshot::channel();
        let (bound, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
                bound.send(listener.local_addr().unwrap()).unwrap();
                serve(listener, end, say, async { stopped.await.unwrap() }).await;
            });
        });
        Self { address: address.recv().unwrap(), said, stop, thread }
    }

    fn target(&self) -> Target {
        Target { host: self.address.ip().to_string(), port: self.address.port() }
    }

    fn stop(self) {
        self.stop.send("Ctrl-C").unwrap();
        self.thread.join().unwrap();
    }

    /// Stops only when it has said its two lines about a client: that it came, and how it went.
    fn stop_after_one_client(self) -> [String; 2] {
        let line = || self.said.recv_timeout(Duration::from_mins(1)).expect("the server says how it went");
        let said = [line(), line()];
        self.stop();
        said
    }
}

/// Takes what is told about rails, and forgets it.
fn nobody() -> Say {
    Arc::new(|_: &str| {})
}

fn params() -> Params {
    Params {
        qps: 2,
        size_bytes: 4096,
        depth: 16,
        place: Place::None,
        warmup_s: 0.05,
        duration_s: Some(0.3),
        ..Params::default()
    }
}

/// A load from start to end; its report, and how it came to its end.
fn load(server: &Server, end: End) -> (serde_json::Value, Ended) {
    load_of(server, end, params(), nobody())
}

fn load_of(server: &Server, end: End, params: Params, say: Say) -> (serde_json::Value, Ended) {
    let topology = (*end.topology).clone();
    let mut connected = connect(end, server.target(), params, say).unwrap();
    let nothing = tempfile::tempdir().unwrap();
    let every = Duration::from_millis(20);
    let load = connected.take_load();
    let mut source = Live::new(Root::at(nothing.path()), topology, every, None, load, Stop::new());
    connected.go();
    let timeline = headless::play(&mut source).unwrap();
    drop(source);
    let ended = connected.finish();
    (serde_json::to_value(report::build(&timeline, &Limits::default(), &[])).unwrap(), ended)
}

#[test]
fn a_load_reads_the_peers_data_over_two_rails() {
    over_the_stand_in("a_load_reads_the_peers_data_over_two_rails", &[], || {
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
    over_the_stand_in("workers_of_a_rail_are_one_rail_in_the_report", &[], || {
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
fn each_end_may_have_its_data_in_a_gpu() {
    over_the_stand_in("each_end_may_have_its_data_in_a_gpu", &[], || {
        let in_gpu = |end: End| end.with_memory(Memory::Gpu(1)).unwrap();
        let into_gpu = Params { memory: Memory::Gpu(1), ..params() };
        let server = Server::start(end("n2", "there"));
        let (report, _) = load_of(&server, in_gpu(end("n1", "here")), into_gpu, nobody());
        assert_eq!(report["load"]["errors"], serde_json::json!({}));
        assert_eq!(report["load"]["gpu"], "0000:1c:00.0");
        assert_eq!(report["load"]["threads"][1]["registered"], "dmabuf");
        server.stop();

        let server = Server::start(in_gpu(end("n2", "there")));
        let connected = connect(end("n1", "here"), server.target(), params(), nobody()).unwrap();
        let said = connected.agreed.introduction(&[]);
        let of_the_peer = "data of n2: in the memory of its GPU 1, registered as a dmabuf";
        assert!(said.iter().any(|line| line == of_the_peer), "{said:?}");
        drop(connected);
        let (report, _) = load(&server, end("n1", "here"));
        assert_eq!(report["load"]["errors"], serde_json::json!({}));
        server.stop();
    });
}

#[test]
fn a_gpu_that_no_device_reaches_is_one_error_on_both_ends() {
    let no_way = [("STANDIN_CUDA_NO_DMABUF", "1")];
    over_the_stand_in("a_gpu_that_no_device_reaches_is_one_error_on_both_ends", &no_way, || {
        let server = Server::start(end("n2", "there").with_memory(Memory::Gpu(0)).unwrap());
        let said = connect(end("n1", "here"), server.target(), params(), nobody()).err().unwrap().to_string();
        assert!(said.contains("n2 (127.0.0.1): stand0: the memory of GPU 0 (Stand-in H100"), "{said}");
        assert!(
            said.contains("either helps: modprobe nvidia-peermem, or an NVIDIA driver from 515 on"),
            "{said}"
        );
        let said = server.stop_after_one_client();
        assert!(said[1].contains("either helps: modprobe nvidia-peermem"), "{said:?}");
    });
}

#[test]
fn a_write_load_is_checked_by_the_server() {
    over_the_stand_in("a_write_load_is_checked_by_the_server", &[], || {
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
    over_the_stand_in("data_that_were_written_and_are_not_there_are_said_by_both_ends", &no_data, || {
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
    over_the_stand_in("both_directions_at_once_are_measured_by_each_end", &[], || {
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
    over_the_stand_in("a_rail_that_fails_once_comes_back_and_the_report_says_so", &fault, || {
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
    over_the_stand_in("a_load_from_the_same_machine_is_marked_as_loopback", &[], || {
        let server = Server::start(end("n1", "here"));
        let (report, _) = load(&server, end("n1", "here"));
        assert_eq!(report["load"]["loopback"], true);
        server.stop();
    });
}

#[test]
fn memory_that_cannot_be_locked_is_one_error_on_both_ends() {
    let no_memory = [("STANDIN_REG_MR", "12")];
    over_the_stand_in("memory_that_cannot_be_locked_is_one_error_on_both_ends", &no_memory, || {
        let server = Server::start(end("n2", "there"));
        let said = connect(end("n1", "here"), server.target(), params(), nobody()).err().unwrap().to_string();
        assert!(said.contains("stand0") && said.contains("memlock"), "{said}");
        let said = server.stop_after_one_client();
        assert!(said[1].contains("memlock"), "{said:?}");
    });
}

/// The same end with rails that are bonds of two ports.
fn bonded(end: End) -> End {
    let mut topology = (*end.topology).clone();
    for rail in &mut topology.rails {
        let leg = |netdev: &str| Leg { netdev: netdev.into(), ..Leg::default() };
        let legs = vec![leg("eth0"), leg("eth1")];
        rail.driver = Some("mlx5_core".into());
        rail.bond = Some(Bond { netdev: "bond0".into(), legs, ..Bond::default() });
    }
    End { topology: Arc::new(topology), ..end }
}

const WITH_LABELS: (&str, &str) = ("STANDIN_FLOW_LABELS", "1");

/// Which ports were set since the process began, a line for each queue pair.
fn ports_set() -> Vec<String> {
    let text = std::fs::read_to_string(std::env::var_os("STANDIN_MLX5_SET").unwrap()).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn the_server_of_a_read_load_sends_on_the_leg_that_was_asked_for() {
    let name = "the_server_of_a_read_load_sends_on_the_leg_that_was_asked_for";
    over_the_stand_in(name, &[WITH_LABELS], || {
        // the reader need not be a bond
        let server = Server::start(bonded(end("n2", "there")));
        let asked = Params { leg: Some(2), ..params() };
        let (report, ended) = load_of(&server, end("n1", "here"), asked, nobody());
        assert!(matches!(ended, Ended::Here), "{ended:?}");
        let block = &report["load"];
        assert_eq!((&block["leg"], &block["errors"]), (&2.into(), &serde_json::json!({})));
        assert_eq!(block["threads"][0]["leg"], serde_json::Value::Null, "the peer sends");
        assert_eq!(block["legs"][0]["way"], "received");
        assert_eq!(block["legs"][0]["gap"], "it is no bond on this host");
        assert_eq!(ports_set(), ["stand0 2", "stand0 2", "stand1 2", "stand1 2"]);
        server.stop();
    });
}

#[test]
fn the_client_of_a_write_load_sends_on_the_leg_that_was_asked_for() {
    let name = "the_client_of_a_write_load_sends_on_the_leg_that_was_asked_for";
    over_the_stand_in(name, &[WITH_LABELS], || {
        let server = Server::start(end("n2", "there"));
        let asked = Params { leg: Some(2), op: LoadOp::Write, ..params() };
        let (report, _) = load_of(&server, bonded(end("n1", "here")), asked, nobody());
        let block = &report["load"];
        assert_eq!((&block["threads"][0]["leg"], &block["errors"]), (&2.into(), &serde_json::json!({})));
        let ways: Vec<_> = block["legs"].as_array().unwrap().iter().map(|row| &row["way"]).collect();
        assert_eq!(ways, ["sent", "received", "sent", "received"]);
        assert_eq!(ports_set(), ["stand0 2", "stand0 2", "stand1 2", "stand1 2"]);
        server.stop();
    });
}

#[test]
fn both_ends_of_a_load_of_both_directions_send_on_the_leg() {
    let name = "both_ends_of_a_load_of_both_directions_send_on_the_leg";
    over_the_stand_in(name, &[WITH_LABELS], || {
        let server = Server::start(bonded(end("n2", "there")));
        let asked = Params { leg: Some(2), bidirectional: true, ..params() };
        let (report, _) = load_of(&server, bonded(end("n1", "here")), asked, nobody());
        let block = &report["load"];
        assert_eq!((&block["threads"][1]["leg"], &block["errors"]), (&2.into(), &serde_json::json!({})));
        assert_eq!(ports_set(), [["stand0 2"; 4], ["stand1 2"; 4]].concat());
        server.stop();
    });
}

#[test]
fn a_rail_that_is_no_bond_is_left_out_and_the_others_go_on() {
    let name = "a_rail_that_is_no_bond_is_left_out_and_the_others_go_on";
    over_the_stand_in(name, &[WITH_LABELS], || {
        let mut there = bonded(end("n2", "there"));
        Arc::make_mut(&mut there.topology).rails[1].bond = None;
        let server = Server::start(there);
        let asked = Params { leg: Some(2), ..params() };
        let connected = connect(end("n1", "here"), server.target(), asked, nobody()).unwrap();
        let said = connected.agreed.introduction(&[]);
        let left_out =
            "left out: n2 (127.0.0.1): stand1: not a LAG: it is no bond; load it without --leg".to_owned();
        assert!(said.contains(&left_out), "{said:?}");
        assert_eq!(ports_set(), ["stand0 2"; 2]);
        drop(connected);
        server.stop();
    });
}

/// What both ends say to a READ load with a leg that cannot be had from this server.
fn refused_leg(server: End) -> [String; 2] {
    let server = Server::start(server);
    let asked = Params { leg: Some(2), ..params() };
    let here =
        connect(bonded(end("n1", "here")), server.target(), asked, nobody()).err().unwrap().to_string();
    let [_, there] = server.stop_after_one_client();
    [here, there]
}

#[test]
fn a_rail_that_is_no_bond_is_refused_on_both_ends_before_anything_moves() {
    let name = "a_rail_that_is_no_bond_is_refused_on_both_ends_before_anything_moves";
    over_the_stand_in(name, &[WITH_LABELS], || {
        for said in refused_leg(end("n2", "there")) {
            assert!(said.contains("stand0: not a LAG: it is no bond; load it without --leg"), "{said}");
        }
        assert_eq!(ports_set(), Vec::<String>::new());
    });
}

#[test]
fn a_leg_that_the_firmware_of_one_rail_refuses_ends_the_load_before_anything_moves() {
    let name = "a_leg_that_the_firmware_of_one_rail_refuses_ends_the_load_before_anything_moves";
    // 95 = EOPNOTSUPP
    over_the_stand_in(name, &[WITH_LABELS, ("STANDIN_MLX5_REFUSES", "95")], || {
        for said in refused_leg(bonded(end("n2", "there"))) {
            assert!(said.contains("stand1: not a LAG: mlx5dv_modify_qp_lag_port: Operation not"), "{said}");
            assert!(!said.contains("stand0"), "{said}");
        }
    });
}

#[test]
fn a_leg_that_is_set_but_not_used_is_said() {
    let moved = [WITH_LABELS, ("STANDIN_MLX5_ACTIVE", "1")];
    over_the_stand_in("a_leg_that_is_set_but_not_used_is_said", &moved, || {
        for said in refused_leg(bonded(end("n2", "there"))) {
            assert!(said.contains("stand0: leg 2 was set, but the firmware sends from leg 1"), "{said}");
        }
    });
}

#[test]
fn a_device_of_another_maker_is_not_a_lag() {
    let other = [WITH_LABELS, ("STANDIN_MLX5_OTHER", "1")];
    over_the_stand_in("a_device_of_another_maker_is_not_a_lag", &other, || {
        for said in refused_leg(bonded(end("n2", "there"))) {
            assert!(said.contains("stand0: not a LAG: libmlx5 does not know the device"), "{said}");
        }
    });
}

#[test]
fn a_leg_without_its_library_is_refused_in_words() {
    let missing = [WITH_LABELS, ("RAILSCOPE_MLX5", "/nowhere/libmlx5.so.1")];
    over_the_stand_in("a_leg_without_its_library_is_refused_in_words", &missing, || {
        for said in refused_leg(bonded(end("n2", "there"))) {
            assert!(said.contains("stand0: --leg needs libmlx5: /nowhere/libmlx5.so.1: "), "{said}");
            assert!(said.contains("rdma-core 30 and later have it"), "{said}");
        }
    });
}

#[test]
fn a_load_without_a_rail_left_has_failed() {
    // 12 = IBV_WC_RETRY_EXC_ERR
    let every_rail = [("STANDIN_FAULT", "*:500:12")];
    over_the_stand_in("a_load_without_a_rail_left_has_failed", &every_rail, || {
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

/// A tree with one RoCE rail.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let device = "sys/class/infiniband/mlx5_0";
    for (file, text) in [
        ("ports/1/state", "4: ACTIVE"),
        ("ports/1/phys_state", "5: LinkUp"),
        ("ports/1/link_layer", "Ethernet"),
        ("ports/1/rate", "400 Gb/sec (4X NDR)"),
        ("ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:0a00:0001"),
        ("ports/1/gid_attrs/types/0", "RoCE v2"),
    ] {
        let file = tree.path().join(device).join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    tree
}

fn railscope(command: &str, tree: &Path, flags: &[&str]) -> Command {
    let mut railscope = Command::new(cargo_bin("railscope"));
    railscope.arg(command).arg("--root").arg(tree).args(flags).stdin(Stdio::null());
    railscope
}

/// The one line on stderr of what exits with 2 and prints nothing else.
fn refused(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    stderr
}

/// What `load` says to a peer that answers with these bytes.
fn load_from(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(answer).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let tree = tree();
    let said = refused(&railscope("load", tree.path(), &[&peer]).output().unwrap());
    answering.join().unwrap();
    said
}

#[test]
fn a_peer_of_another_version_is_one_line_with_both_versions() {
    let said = load_from(b"railscope 9 3.0.0\n");
    assert!(said.contains("runs railscope 3.0.0 (control protocol 9), this is railscope"), "{said}");
    assert!(said.contains("install the same version on both hosts"), "{said}");
}

#[test]
fn something_else_on_the_port_is_one_line_that_says_what() {
    let said = load_from(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(said.contains("is not railscope (a web server): check the port"), "{said}");
}

#[test]
fn a_peer_that_is_not_there_is_one_line_that_says_what_to_check() {
    // bound and dropped: nobody listens there now
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tree = tree();
    let said = refused(&railscope("load", tree.path(), &[&port.to_string()]).output().unwrap());
    assert!(said.contains(&format!("cannot reach {port}")), "{said}");
    assert!(said.contains("is `railscope serve` running there"), "{said}");
}

#[test]
fn gpu_memory_without_a_driver_or_without_the_gpu_is_one_line_before_anybody_is_asked() {
    let libraries = tempfile::tempdir().unwrap();
    let (tree, cuda) = (tree(), stand_in(libraries.path(), "cuda"));
    let said = |command: &str, cuda: &Path, flags: &[&str]| {
        let mut command = railscope(command, tree.path(), flags);
        command.env_remove("CUDA_VISIBLE_DEVICES").env("RAILSCOPE_CUDA", cuda);
        refused(&command.output().unwrap())
    };
    let nowhere = said("load", Path::new("/nowhere/libcuda.so.1"), &["n2", "--memory", "gpu:0"]);
    assert!(nowhere.contains("memory of GPU 0: /nowhere/libcuda.so.1: "), "{nowhere}");
    assert!(nowhere.contains("needs the NVIDIA driver: install it"), "{nowhere}");
    let few = said("serve", &cuda, &["--listen", "127.0.0.1:0", "--memory", "gpu:4"]);
    assert!(
        few.contains("memory of GPU 4: there is no GPU 4: CUDA counts GPU 0 (Stand-in H100, 0000:1b:00.0), "),
        "{few}"
    );
}

#[test]
fn a_port_that_is_taken_is_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let tree = tree();
    let said = refused(&railscope("serve", tree.path(), &["--listen", &address]).output().unwrap());
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
}

/// Ends the process when a test fails before it does.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serve_prints_the_line_to_type_and_ends_cleanly_on_a_signal() {
    let tree = tree();
    let mut command = railscope("serve", tree.path(), &["--listen", "127.0.0.1:0"]);
    let mut serve = Ending(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(serve.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let greeting: Vec<String> = lines.by_ref().take_while(|line| line != "Ctrl-C ends it").collect();
    assert_eq!(greeting[1], "  mlx5_0 10.0.0.1, node unknown");
    // the tree is none that a verbs library knows
    assert!(greeting[2].starts_with("NO RDMA ") && greeting[2].contains("--transport tcp"), "{greeting:?}");
    assert!(greeting[4].starts_with("  railscope load 127.0.0.1:"), "{greeting:?}");
    let pid = rustix::process::Pid::from_child(&serve.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(lines.collect::<Vec<_>>(), ["railscope serve: stopped"]);
    assert_eq!(serve.0.wait().unwrap().code(), Some(0));
}
