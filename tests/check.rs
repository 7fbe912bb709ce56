//! `check` and `report` as scripts see them: exit codes, stdout, stderr. The node is a copied tree.

use assert_cmd::Command;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Two 400G cards, the second in half of its lanes, and four seconds of 40 GB/s on each.
fn node() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for (at, (device, width)) in [("mlx5_0", "16"), ("mlx5_1", "8")].into_iter().enumerate() {
        card(tree.path(), at, device, width);
    }
    let words: Vec<u64> = (0..5).map(|second| second * 10_000_000_000).collect();
    let step = |words: &u64| {
        let path = |device: &str| format!("sys/class/infiniband/{device}/ports/1/counters/port_rcv_data");
        json!({path("mlx5_0"): words.to_string(), path("mlx5_1"): (words / 2).to_string()})
    };
    let steps: Vec<Value> = words.iter().map(step).collect();
    put(tree.path(), "steps.json", &json!({"interval_s": 1.0, "steps": steps}).to_string());
    tree
}

fn card(tree: &Path, at: usize, device: &str, width: &str) {
    let port_above = format!("sys/devices/pci0000:{at}0/0000:{at}0:01.0");
    let function = format!("{port_above}/0000:{at}1:00.0");
    for (folder, now) in [(&port_above, width), (&function, width)] {
        put(tree, &format!("{folder}/current_link_speed"), "32.0 GT/s PCIe\n");
        put(tree, &format!("{folder}/max_link_speed"), "32.0 GT/s PCIe\n");
        put(tree, &format!("{folder}/current_link_width"), &format!("{now}\n"));
        put(tree, &format!("{folder}/max_link_width"), "16\n");
    }
    put(tree, &format!("{function}/vendor"), "0x15b3\n");
    put(tree, &format!("{function}/device"), "0x1021\n");
    put(tree, &format!("{function}/class"), "0x020700\n");
    let verbs = format!("{function}/infiniband/{device}");
    for (file, text) in [
        ("node_type", "1: CA"),
        ("ports/1/state", "4: ACTIVE"),
        ("ports/1/phys_state", "5: LinkUp"),
        ("ports/1/link_layer", "InfiniBand"),
        ("ports/1/rate", "400 Gb/sec (4X NDR)"),
        ("ports/1/counters/port_rcv_data", "0"),
        ("ports/1/counters/port_xmit_data", "0"),
    ] {
        put(tree, &format!("{verbs}/{file}"), &format!("{text}\n"));
    }
    symlink("../..", tree.join(&verbs).join("device")).unwrap();
    let class = tree.join("sys/class/infiniband");
    fs::create_dir_all(&class).unwrap();
    symlink(format!("../../../{verbs}"), class.join(device)).unwrap();
}

fn put(tree: &Path, file: &str, text: &str) {
    let file = tree.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn railscope(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("railscope").unwrap();
    command.args(arguments);
    command
}

/// `check` of the node with steps, and these flags.
fn check(node: &Path, flags: &[&str]) -> Command {
    let mut command = railscope(&["check"]);
    command.arg("--root").arg(node).arg("--steps").arg(node.join("steps.json")).args(flags);
    command
}

fn stdout(command: &mut Command) -> String {
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn the_exit_code_says_whether_something_was_found() {
    let node = node();
    let code = |flags: &[&str]| check(node.path(), flags).output().unwrap().status.code();
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["--fail-on", "error"]), Some(0));
    assert_eq!(code(&["--fail-on", "never"]), Some(0));
    assert_eq!(code(&["--ignore", "pcie-downgraded"]), Some(0));
    assert_eq!(code(&["--rails", "mlx5_0"]), Some(0));
}

#[test]
fn the_json_names_the_slow_card_and_the_rates() {
    let node = node();
    let report: Value = serde_json::from_str(&stdout(&mut check(node.path(), &["--json"]))).unwrap();
    assert_eq!(report["schema"], "railscope.report/1");
    assert_eq!(report["rails"][0]["rx_gb_per_s"], 40.0);
    assert_eq!(report["rails"][1]["rx_gb_per_s"], 20.0);
    assert_eq!(report["rails"][0]["numa_node"], Value::Null);
    let codes: Vec<&Value> = report["findings"].as_array().unwrap().iter().map(|f| &f["code"]).collect();
    assert_eq!(codes, ["pcie-downgraded"]);
    assert_eq!(report["findings"][0]["devices"], json!(["mlx5_1"]));
    assert_eq!(report["findings"][0]["evidence"]["current_width"], 8);
}

#[test]
fn a_recorded_check_is_reported_as_it_was_seen() {
    let node = node();
    let file = node.path().join("a.rsz");
    let seen = stdout(&mut check(node.path(), &["--json", "--record", file.to_str().unwrap()]));
    let told = stdout(&mut railscope(&["report", file.to_str().unwrap(), "--format", "json"]));
    assert_eq!(seen, told);
    assert_eq!(seen, stdout(&mut check(node.path(), &["--json"])), "equal trees give equal reports");
    let status = railscope(&["report", file.to_str().unwrap()]).output().unwrap().status;
    assert_eq!(status.code(), Some(1), "a report judges like the check did");
}

#[test]
fn a_recording_that_was_cut_off_is_reported_with_a_warning() {
    let node = node();
    let file = node.path().join("a.rsz");
    check(node.path(), &["--record", file.to_str().unwrap()]).output().unwrap();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 9]).unwrap();
    let output = railscope(&["report", file.to_str().unwrap()]).output().unwrap();
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("a.rsz:") && says.lines().count() == 1, "{says}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("pcie-downgraded"));
}

#[test]
fn what_cannot_be_measured_is_one_clear_line_and_exit_code_2() {
    let node = node();
    let nothing = tempfile::tempdir().unwrap();
    fs::create_dir_all(nothing.path().join("sys/class")).unwrap();
    let nowhere = nothing.path().join("none.rsz");
    let cases: [(Command, &str); 5] = [
        (check(node.path(), &["--ignore", "pcie-downgradet"]), "did you mean `pcie-downgraded`?"),
        (check(node.path(), &["--rails", "mlx5_9"]), "no rail `mlx5_9`"),
        (check(node.path(), &["--record", "/proc/a.rsz"]), "/proc/a.rsz"),
        (railscope(&["check", "--root", nothing.path().to_str().unwrap()]), "no RDMA driver is loaded"),
        (railscope(&["report", nowhere.to_str().unwrap()]), "no such file"),
    ];
    for (mut command, expected) in cases {
        let output = command.output().unwrap();
        let says = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{says}");
        assert!(says.contains(expected) && says.lines().count() == 1, "{says}");
        assert_eq!(output.stdout, b"");
    }
}

#[test]
fn a_code_is_explained_with_the_limit_of_the_config_file() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "own.toml", "[limits]\nleg-share = 0.6\n");
    let config = folder.path().join("own.toml");
    let explain = |words: &[&str]| {
        let mut command = Command::cargo_bin("railscope").unwrap();
        command.arg("explain").args(words).output().unwrap()
    };
    let text = |words: &[&str]| String::from_utf8(explain(words).stdout).unwrap();
    assert!(text(&["bond-leg-imbalance"]).contains("above 80 %"));
    assert!(text(&["bond-leg-imbalance", "--config", config.to_str().unwrap()]).contains("above 60 %"));
    assert!(text(&["gid"]).starts_with("GID\n  The address of an RDMA port"));
    let unknown = explain(&["half-rat"]);
    let says = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(
        (unknown.status.code(), says.contains("did you mean `half-rate`?")),
        (Some(2), true),
        "{says}"
    );
}

#[test]
fn a_check_writes_metrics_for_a_collector_and_a_ticket_for_people() {
    let node = node();
    let file = node.path().join("railscope.prom");
    let name = file.to_str().unwrap();
    let done = check(node.path(), &["--format", "openmetrics", "-o", name]).output().unwrap();
    assert_eq!((done.status.code(), done.stdout.len()), (Some(1), 0));
    let metrics = fs::read_to_string(&file).unwrap();
    let line =
        "railscope_rail_received_bytes_per_second{host=\"\",device=\"mlx5_1\",port=\"1\"} 20000000000\n";
    assert!(metrics.contains(line) && metrics.ends_with("# EOF\n"), "{metrics}");
    let ticket = stdout(&mut check(node.path(), &["--format", "md"]));
    assert!(ticket.starts_with("### unknown host: 1 warning"), "{ticket}");
    let refused = check(node.path(), &["--format", "csv"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("check --record FILE"));
}
