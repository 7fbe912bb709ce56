//! A load over TCP, in another process: it is started anew with other knobs, given way to a diagnosis, and started again.

use crate::person::Person;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A tree with two RoCE rails, at these last two octets of 127.0.
fn tree(addresses: [&str; 2]) -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for (at, address) in addresses.iter().enumerate() {
        let gid = format!("0000:0000:0000:0000:0000:ffff:7f00:{address}");
        for (file, text) in [
            ("state", "4: ACTIVE"),
            ("phys_state", "5: LinkUp"),
            ("link_layer", "Ethernet"),
            ("rate", "400 Gb/sec (4X NDR)"),
            ("gids/0", &gid),
            ("gid_attrs/types/0", "RoCE v2"),
        ] {
            let file = tree.path().join(format!("sys/class/infiniband/mlx5_{at}/ports/1")).join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
    }
    tree
}

/// A `railscope serve` over TCP, ended with the test.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(tree: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_railscope"))
            .args(["serve", "--listen", "127.0.0.1:0", "--transport", "tcp", "--root"])
            .arg(tree)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let invitation = lines.find(|line| line.contains("railscope load")).unwrap();
        let address = invitation.split_whitespace().find(|word| word.contains(':')).unwrap();
        let port = address.rsplit(':').next().unwrap().to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }

    fn signals(&self, name: &str) {
        // the shell's own: the program comes with procps, which a bare system lacks
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // one that is stopped dies of nothing else
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A person at the Load view of a load against it, with these flags as well.
fn loads(server: &Server, here: &Path, more: &[&str]) -> Person {
    let here = here.to_str().unwrap();
    let flags =
        ["load", "--root", here, "127.0.0.1", "-p", &server.port, "--transport", "tcp", "--place", "none"];
    let knobs = ["-q", "2", "-s", "4K", "-t", "8", "--warmup", "100ms"];
    let mut person = Person::runs(&[&flags[..], &knobs[..], more].concat());
    person.sees("2 QPs over TCP, loopback, measuring");
    person.types("5");
    person.sees("Change it");
    person
}

#[test]
fn a_load_is_started_anew_gives_way_to_a_diagnosis_and_is_started_again() {
    let (there, here) = (tree(["0002", "0004"]), tree(["0001", "0003"]));
    let server = Server::start(there.path());
    let session = here.path().join("anew.rsz");
    let file = session.to_str().unwrap();
    let mut person = loads(&server, here.path(), &["--record", file]);
    person.types("S-q 0\r");
    person.sees("0 is not in");
    person.sees("2 QPs over TCP, loopback, measuring");
    person.types("\x15-q 4 -s 16K\r");
    person.sees("READ 16K \u{d7} 4 QPs over TCP, loopback, measuring");
    person.types("S-d nothing\r");
    person.sees("REFUSED");
    person.sees("NO LOAD");
    person.types("S\x15-q 3\r");
    person.sees("READ 16K \u{d7} 3 QPs over TCP, loopback, measuring");
    person.types("S-d mlx5_1\r");
    person.sees("load 4 of this session");
    person.sees("READ 16K \u{d7} 3 QPs over TCP, loopback, measuring");
    person.types("d");
    person.sees("H1  H2  H3  H4  H5  H6  H7");
    person.sees("a functional check");
    person.types("\x1b");
    person.sees("[5 Load]");
    person.sees("READ 16K \u{d7} 3 QPs over TCP, loopback, measuring");
    person.types("q");
    assert_eq!(person.is_left(), 0);
    let report =
        Command::new(env!("CARGO_BIN_EXE_railscope")).args(["report", "--format", "json", file]).output();
    let report: serde_json::Value = serde_json::from_slice(&report.unwrap().stdout).unwrap();
    assert_eq!(report["load"]["earlier_loads"], 4, "{}", report["load"]);
    // the second rail of the host, though the only one of the load
    assert_eq!(report["load"]["threads"][0]["device"], "mlx5_1");
    assert!(report["rails"][1]["load_gb_per_s"].as_f64() > Some(0.0), "{}", report["rails"]);
    assert_eq!(report["rails"][0]["load_gb_per_s"], serde_json::Value::Null);
    assert_eq!(report["load"]["qps"], 3);
    assert!(report["session"]["planned_loads"].as_u64() >= Some(1), "{}", report["session"]);
    let marks: Vec<&str> =
        report["events"].as_array().unwrap().iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(marks[0].starts_with("load started anew with -q 4 -s 16K"), "{marks:?}");
    assert!(marks[1].starts_with("no load with -d nothing: "), "{marks:?}");
    assert_eq!(marks[4], "diagnosis begins");
}

#[test]
fn a_peer_that_is_stopped_is_named_and_neither_a_start_nor_a_key_hangs() {
    let (there, here) = (tree(["0002", "0004"]), tree(["0001", "0003"]));
    let server = Server::start(there.path());
    let mut person = loads(&server, here.path(), &[]);
    server.signals("STOP");
    person.types("S\r");
    person.sees("NO LOAD: 127.0.0.1");
    person.sees("says nothing for 3 s");
    person.types("S\r");
    person.sees("being started");
    person.types("q");
    // the start that was refused last is what could not be done
    assert_eq!(person.is_left(), 2);
}

#[test]
fn a_peer_that_dies_ends_the_screen_with_its_name() {
    let (there, here) = (tree(["0002", "0004"]), tree(["0001", "0003"]));
    let server = Server::start(there.path());
    let mut person = loads(&server, here.path(), &[]);
    server.signals("KILL");
    person.sees("its railscope was killed or crashed");
    assert_eq!(person.is_left(), 2);
}

#[test]
fn a_diagnosis_of_the_demo_stays_on_its_screen_and_in_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.rsz");
    let file = file.to_str().unwrap();
    let mut person = Person::runs(&["demo", "--scenario", "mixed", "--record", file]);
    person.sees("measuring");
    person.types("d");
    person.sees("SLOW     mlx5_bond_3");
    person.types("5");
    person.sees("mlx5_bond_4: alone");
    person.types("6");
    person.sees("SLOW     mlx5_bond_3");
    person.types("d");
    person.sees("what it showed stays here");
    person.sees("made before it ended");
    person.types("5");
    person.sees("load 2 of this session");
    person.types("6");
    person.sees("SLOW     mlx5_bond_3");
    person.types("q");
    assert_eq!(person.is_left(), 0);
    let report = Command::new(env!("CARGO_BIN_EXE_railscope")).args(["report", file]).output().unwrap();
    let report = String::from_utf8(report.stdout).unwrap();
    assert!(report.contains("SLOW  mlx5_bond_3: one leg of the bond"), "{report}");
    assert!(report.contains("mark: load started anew with the same knobs"), "{report}");
    assert!(!report.contains("counter-reset"), "{report}");
}
