//! `load` over what is no RDMA: TCP between two processes, with rails whose addresses are of the loopback network; and
//! the ceilings model, without a peer.

use assert_cmd::cargo::cargo_bin;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A tree with two RoCE rails, at these last two octets of 127.0.
fn tree(addresses: [&str; 2]) -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for (at, address) in addresses.iter().enumerate() {
        let device = format!("sys/class/infiniband/mlx5_{at}");
        let gid = format!("0000:0000:0000:0000:0000:ffff:7f00:{address}");
        for (file, text) in [
            ("ports/1/state", "4: ACTIVE"),
            ("ports/1/phys_state", "5: LinkUp"),
            ("ports/1/link_layer", "Ethernet"),
            ("ports/1/rate", "400 Gb/sec (4X NDR)"),
            ("ports/1/gids/0", &gid),
            ("ports/1/gid_attrs/types/0", "RoCE v2"),
        ] {
            let file = tree.path().join(&device).join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
    }
    tree
}

fn railscope(command: &str, flags: &[&str], tree: &Path) -> Command {
    let mut railscope = Command::new(cargo_bin("railscope"));
    railscope.arg(command).arg("--root").arg(tree).args(flags).stdin(Stdio::null());
    railscope
}

/// A server in a process of its own, ended with the test.
struct Server {
    child: Child,
    port: String,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Server {
    fn start(tree: &Path, flags: &[&str]) -> Self {
        let flags = [&["--listen", "127.0.0.1:0", "--transport", "tcp"], flags].concat();
        let mut child = railscope("serve", &flags, tree).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let greeting: Vec<String> =
            lines.by_ref().map(Result::unwrap).take_while(|line| line != "Ctrl-C ends it").collect();
        let invitation = greeting.iter().find(|line| line.contains("railscope load")).unwrap();
        let (address, flags) = invitation.trim().split_once(" --").unwrap();
        assert_eq!(flags, "transport tcp", "what is to be typed works: {greeting:?}");
        let port = address.rsplit(':').next().unwrap().to_owned();
        Self { child, port, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A load over TCP with these flags as well, to its end; its report is JSON.
fn load_over_tcp(server: &Server, tree: &Path, flags: &str) -> Output {
    let each = "--transport tcp --place none --headless --json";
    let flags: Vec<&str> = ["127.0.0.1", "-p", &server.port]
        .into_iter()
        .chain(each.split_whitespace())
        .chain(flags.split_whitespace())
        .collect();
    railscope("load", &flags, tree).output().unwrap()
}

#[test]
fn a_load_over_tcp_is_a_whole_session_that_nobody_takes_for_a_measurement() {
    let (there, here) = (tree(["0002", "0004"]), tree(["0001", "0003"]));
    let mut server = Server::start(there.path(), &[]);
    let session = here.path().join("tcp.rsz");
    let file = session.to_str().unwrap();
    let flags = format!("-q 2 -s 4K -t 8 --warmup 100ms --for 600ms --every 50ms --record {file}");
    let output = load_over_tcp(&server, here.path(), &flags);
    let (report, told) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{told}{report}");
    assert!(told.contains("a functional check, not a performance figure"), "{told}");
    assert!(!told.contains("ib_read_bw"), "{told}");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let load = &report["load"];
    assert_eq!((&load["transport"], &load["functional_check"]), (&"tcp".into(), &true.into()), "{load}");
    assert_eq!((&load["errors"], &load["loopback"]), (&serde_json::json!({}), &true.into()), "{load}");
    for rail in report["rails"].as_array().unwrap() {
        assert!(rail["load_gb_per_s"].as_f64().unwrap() > 0.0, "{rail}");
    }
    let codes: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    for of_a_rate in ["rail-imbalance", "slow-unexplained", "unstable", "read-depth", "half-rate"] {
        assert!(!codes.contains(&of_a_rate), "{codes:?}");
    }

    let printed = Command::new(cargo_bin("railscope")).args(["report", file]).output().unwrap();
    let (text, _) = said(&printed);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("READ over tcp, a functional check, NOT a performance figure"), "{text}");
    assert_eq!(text.matches("loopback, not fabric; over TCP, a functional check").count(), 2, "{text}");
    assert!(text.contains(" load 4K "), "{text}");
    let replayed =
        Command::new(cargo_bin("railscope")).args(["replay", "--headless", "--json", file]).output();
    let replayed: serde_json::Value = serde_json::from_str(&said(&replayed.unwrap()).0).unwrap();
    assert_eq!((&replayed["load"], &replayed["rails"]), (load, &report["rails"]));

    let came = server.line();
    assert!(came.contains("from mlx5_0, mlx5_1 over TCP (a functional check)"), "{came}");
    let went = server.line();
    assert!(went.contains("over 2 of 2 rails"), "{went}");
}

#[test]
fn writes_over_tcp_are_checked_by_the_end_that_receives_them() {
    let (there, here) = (tree(["0002", "0004"]), tree(["0001", "0003"]));
    let mut server = Server::start(there.path(), &[]);
    let flags = "--op write -s 4K -t 8 --warmup 0s --for 400ms --every 50ms";
    let output = load_over_tcp(&server, here.path(), flags);
    let (report, told) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{told}{report}");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["load"]["op"], &report["load"]["errors"]), (&"write".into(), &serde_json::json!({})));
    assert!(report["rails"][0]["load_gb_per_s"].as_f64().unwrap() > 0.0, "{report}");
    assert!(server.line().contains("over TCP (a functional check)"));
    assert!(server.line().contains("over 2 of 2 rails"));
}

#[test]
fn a_counted_load_over_tcp_ends_by_itself() {
    let (there, here) = (tree(["0002", "0004"]), tree(["0001", "0003"]));
    let server = Server::start(there.path(), &[]);
    let flags = "-n 50 --warmup 0s --rails mlx5_0";
    let (report, told) = said(&load_over_tcp(&server, here.path(), flags));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap_or_else(|_| panic!("{told}"));
    let operations = report["load"]["threads"][0]["operations"].as_u64().unwrap();
    assert!(operations >= 50, "{report}");
}

#[test]
fn a_simulated_load_needs_no_peer_and_says_what_it_is() {
    let here = tree(["0001", "0003"]);
    let load = |flags: &[&str]| {
        let flags = [&["--transport", "sim", "--for", "5s", "--headless"], flags].concat();
        said(&railscope("load", &flags, here.path()).output().unwrap())
    };
    let (text, told) = load(&["--rails", "mlx5_1", "--size", "1M"]);
    assert!(told.contains("nothing is measured"), "{told}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("SIMULATED: scenario ceilings, seed 1. Nothing here is a measurement."), "{text}");
    assert!(text.contains("READ, simulated, 1 MiB messages"), "{text}");
    assert!(text.contains("mlx5_1") && !text.contains("mlx5_0"), "{text}");
    let (json, _) = load(&["--json"]);
    assert_eq!(json, load(&["--json"]).0, "equal seeds, equal reports");
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["load"]["transport"], &report["load"]["simulated"]), (&"sim".into(), &true.into()));
    let (_, told) = load(&["n2"]);
    assert_eq!(
        told.trim(),
        "railscope: --transport sim: nobody is at the other end; leave PEER and --port out"
    );
}

#[test]
fn a_published_load_runs_in_the_simulation_and_says_what_it_leaves_out() {
    let here = tree(["0001", "0003"]);
    let flags = ["--transport", "sim", "--preset", "peercache-128k", "--headless", "--json"];
    let (json, told) = said(&railscope("load", &flags, here.path()).output().unwrap());
    let report: serde_json::Value = serde_json::from_str(&json).unwrap_or_else(|_| panic!("{told}"));
    let load = &report["load"];
    assert_eq!((&load["size_bytes"], &load["workers_per_rail"]), (&(128 << 10).into(), &4.into()), "{load}");
    assert_eq!((&load["warmup_s"], &load["duration_s"]), (&2.0.into(), &10.0.into()), "{load}");
    assert!(
        told.contains("peercache-128k: published were 40.4 GB/s for one process over eight rails"),
        "{told}"
    );
    assert!(told.contains("batches over all rails need --transport verbs"), "{told}");
    let (_, told) = said(&railscope("load", &["--preset", "kv"], here.path()).output().unwrap());
    assert!(told.contains("[possible values: peercache-1m, peercache-128k]"), "{told}");
}

#[test]
fn a_published_load_runs_over_tcp() {
    let (there, here) = (tree(["0002", "0004"]), tree(["0001", "0003"]));
    let server = Server::start(there.path(), &[]);
    let flags = "--preset peercache-128k --warmup 100ms --for 400ms --every 50ms";
    let (report, told) = said(&load_over_tcp(&server, here.path(), flags));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap_or_else(|_| panic!("{told}"));
    assert_eq!((&report["load"]["errors"], &report["load"]["workers"]), (&serde_json::json!({}), &8.into()));
    assert!(told.contains("published were 40.4 GB/s"), "{told}");
}

#[test]
fn a_recording_says_why_rails_failed_as_the_live_run_did() {
    let (there, here) = (tree(["0002", "0004"]), tree(["0001", "0003"]));
    let mut server = Server::start(there.path(), &[]);
    let session = here.path().join("cut.rsz");
    let file = session.to_str().unwrap();
    let flags = format!(
        "127.0.0.1 -p {} --transport tcp --place none --headless --json --warmup 0s --every 20ms --record {file}",
        server.port
    );
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let load =
        railscope("load", &flags, here.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(server.line().contains("over TCP"));
    // it is made when the load runs
    while !session.exists() {
        std::thread::yield_now();
    }
    drop(server);
    let output = load.wait_with_output().unwrap();
    let (report, told) = said(&output);
    assert_eq!(output.status.code(), Some(2), "{told}{report}");
    let live: serde_json::Value = serde_json::from_str(&report).unwrap_or_else(|_| panic!("{told}"));
    let failures = live["load"]["failures"].as_array().unwrap();
    assert!(!failures.is_empty(), "{told}{report}");
    for failure in failures {
        assert!(told.contains(failure["text"].as_str().unwrap()), "{failure} is not among {told}");
    }
    let recorded = Command::new(cargo_bin("railscope")).args(["report", "--format", "json", file]).output();
    let recorded: serde_json::Value = serde_json::from_str(&said(&recorded.unwrap()).0).unwrap();
    assert_eq!(recorded["load"]["failures"], live["load"]["failures"]);
}

#[test]
fn a_server_without_a_verbs_library_ends_and_says_what_to_install() {
    let here = tree(["0001", "0003"]);
    // the loader stops at a library that is none
    std::fs::write(here.path().join("libibverbs.so.1"), "").unwrap();
    let mut serve = railscope("serve", &["--listen", "127.0.0.1:0", "--for", "5s"], here.path());
    let output = serve.env("LD_LIBRARY_PATH", here.path()).output().unwrap();
    let (_, told) = said(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("install libibverbs1 and ibverbs-providers"), "{told}");
    assert!(told.contains("`railscope serve --transport tcp` serves functional checks without it"), "{told}");
}

#[test]
fn a_server_tells_at_once_that_a_rail_is_gone() {
    let there = tree(["0002", "0004"]);
    let mut server = Server::start(there.path(), &[]);
    std::fs::remove_dir_all(there.path().join("sys/class/infiniband/mlx5_1")).unwrap();
    assert!(server.line().starts_with("mlx5_1: the device is GONE"));
}

#[test]
fn a_load_without_a_peer_says_what_is_missing() {
    let here = tree(["0001", "0003"]);
    let (_, told) = said(&railscope("load", &[], here.path()).output().unwrap());
    assert_eq!(told.trim(), "railscope: PEER is missing: name the host that runs `railscope serve`");
}

/// Gives a rail of a tree a PCIe link that trained at four of its sixteen lanes, and the tree a host name.
fn narrow(tree: &Path, device: &str, host: &str) {
    let path = "sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0";
    for (folder, class) in [(path, "0x020000"), ("sys/devices/pci0000:40/0000:40:01.1", "0x060400")] {
        for (file, text) in [
            ("vendor", "0x15b3"),
            ("class", class),
            ("current_link_speed", "32.0 GT/s PCIe"),
            ("max_link_speed", "32.0 GT/s PCIe"),
            ("current_link_width", "4"),
            ("max_link_width", "16"),
        ] {
            std::fs::create_dir_all(tree.join(folder)).unwrap();
            std::fs::write(tree.join(folder).join(file), text).unwrap();
        }
    }
    let link = tree.join("sys/class/infiniband").join(device).join("device");
    std::os::unix::fs::symlink(Path::new("../../..").join(path.strip_prefix("sys/").unwrap()), link).unwrap();
    std::fs::create_dir_all(tree.join("proc/sys/kernel")).unwrap();
    std::fs::write(tree.join("proc/sys/kernel/hostname"), host).unwrap();
}

#[test]
fn a_cause_on_the_far_node_is_named_as_such_live_and_from_the_recording() {
    let (here, there) = (tree(["0101", "0201"]), tree(["0102", "0202"]));
    narrow(there.path(), "mlx5_1", "n2");
    let server = Server::start(there.path(), &[]);
    let recording = here.path().join("both.rsz");
    let peer = format!("127.0.0.1:{}", server.port);
    let flags =
        ["--transport", "tcp", "--headless", "--json", "--for", "1500ms", "--warmup", "0s", "-s", "4K"];
    let flags = [&[&peer[..]], &flags[..], &["--record", recording.to_str().unwrap()]].concat();
    let live = railscope("load", &flags, here.path()).output().unwrap();
    let said = String::from_utf8_lossy(&live.stderr).into_owned();
    assert!(said.contains("tells what it sees of itself, a sample each second"), "{said}");
    let live: serde_json::Value = serde_json::from_slice(&live.stdout).expect(&said);
    assert_eq!(live["peer"]["host"]["hostname"], "n2");
    let found = live["peer"]["findings"].as_array().unwrap().iter().find(|f| f["code"] == "pcie-downgraded");
    assert_eq!(found.expect("of the peer")["devices"][0], "mlx5_1");
    assert!(live["peer"]["session"]["frames"].as_u64().unwrap() >= 1, "{live}");
    assert!(live["findings"].as_array().unwrap().iter().all(|f| f["code"] != "pcie-downgraded"));
    let again =
        Command::new(cargo_bin("railscope")).args(["report", "--format", "json"]).arg(&recording).output();
    let again: serde_json::Value = serde_json::from_slice(&again.unwrap().stdout).unwrap();
    assert_eq!(again["peer"], live["peer"]);
}
