//! What cannot be done is said in one clear line that names the thing, with exit code 2, and leaves nothing behind.

use assert_cmd::Command;
use std::path::Path;

/// Exit code and stderr of a call.
fn refused(arguments: &[&str]) -> String {
    let output = Command::cargo_bin("railscope").unwrap().args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?} prints to stdout before it fails");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

fn assert_one_line(stderr: &str, parts: &[&str]) {
    assert_eq!(stderr.trim_end().lines().count(), 1, "one line: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "`{part}` is missing in: {stderr}");
    }
}

/// A tree with one InfiniBand-class device in the given state.
fn tree(state: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let port = "sys/class/infiniband/mlx5_0/ports/1";
    put(&format!("{port}/state"), state);
    put(&format!("{port}/phys_state"), if state.contains("ACTIVE") { "5: LinkUp" } else { "3: Disabled" });
    put(&format!("{port}/link_layer"), "InfiniBand");
    put(&format!("{port}/rate"), "400 Gb/sec (4X NDR)");
    put(&format!("{port}/counters/port_rcv_data"), "1");
    put(&format!("{port}/counters/port_xmit_data"), "1");
    put("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002");
    dir
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn an_unknown_rail_is_named_beside_the_known_ones() {
    let dir = tree("4: ACTIVE");
    let stderr = refused(&["check", "--root", text(dir.path()), "--rails", "mlx5_7"]);
    assert_one_line(&stderr, &["mlx5_7", "rails here: mlx5_0"]);
}

#[test]
fn zero_queue_pairs_are_refused_with_the_range() {
    let stderr = refused(&["load", "127.0.0.1", "--qps", "0"]);
    assert!(stderr.contains("--qps") && stderr.contains("1..=4096"), "{stderr}");
}

#[test]
fn a_file_that_is_no_recording_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("notes.txt");
    std::fs::write(&file, "not a recording\n").unwrap();
    for command in ["replay", "report"] {
        assert_one_line(&refused(&[command, text(&file)]), &["notes.txt", "recording"]);
    }
    assert_one_line(&refused(&["report", text(&dir.path().join("none.rsz"))]), &["none.rsz", "no such file"]);
    assert_one_line(&refused(&["report", text(dir.path())]), &["is a folder"]);
}

#[test]
fn a_recording_is_never_written_over_another_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kept.rsz");
    std::fs::write(&file, "precious").unwrap();
    let arguments = ["demo", "--headless", "--for", "1s", "--record", text(&file)];
    assert_one_line(&refused(&arguments), &["kept.rsz", "exists already"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn a_folder_that_is_not_there_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("none/session.rsz");
    let arguments = ["demo", "--headless", "--for", "1s", "--record", text(&file)];
    assert_one_line(&refused(&arguments), &["session.rsz", "folder does not exist"]);
    assert!(!dir.path().join("none").exists());
}

#[test]
fn a_folder_one_may_not_write_to_is_named() {
    // not even root may make files here
    let arguments = ["demo", "--headless", "--for", "1s", "--record", "/sys/kernel/session.rsz"];
    assert_one_line(
        &refused(&arguments),
        &["/sys/kernel/session.rsz", "choose a folder that you may write to"],
    );
}

#[test]
fn a_truncated_recording_is_judged_as_far_as_it_goes_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("whole.rsz");
    let record = ["demo", "--headless", "--for", "3s", "--fail-on", "never", "--record", text(&file)];
    Command::cargo_bin("railscope").unwrap().args(record).assert().success();
    let bytes = std::fs::read(&file).unwrap();
    let cut = dir.path().join("cut.rsz");
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let output = Command::cargo_bin("railscope").unwrap().args(["report", text(&cut)]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{stderr}");
    assert_one_line(&stderr, &["cut.rsz", "cut short"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("mlx5_bond_8"));
}

#[test]
fn a_misspelt_key_in_the_config_file_is_named_with_its_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("railscope.toml");
    std::fs::write(&config, "evry = \"1s\"\n").unwrap();
    let stderr = refused(&["demo", "--headless", "--for", "1s", "--config", text(&config)]);
    assert!(stderr.contains("railscope.toml") && stderr.contains("unknown field `evry`"), "{stderr}");
}

#[test]
fn an_unknown_scenario_is_named_beside_the_known_ones() {
    let stderr = refused(&["demo", "--scenario", "mixd", "--headless"]);
    assert_one_line(&stderr, &["mixd", "healthy", "mixed"]);
}

#[test]
fn a_tree_without_rdma_says_what_is_missing_and_what_to_try() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sys/class/net")).unwrap();
    let stderr = refused(&["check", "--root", text(dir.path())]);
    assert_one_line(&stderr, &["no RDMA driver is loaded", "railscope demo", "railscope replay FILE"]);
}

#[test]
fn what_has_no_end_is_refused_and_not_read_for_ever() {
    let dir = tree("4: ACTIVE");
    let root = text(dir.path());
    assert_one_line(
        &refused(&["check", "--root", root, "--config", "/dev/zero"]),
        &["/dev/zero", "larger than"],
    );
    for command in ["report", "replay"] {
        assert_one_line(&refused(&[command, "/dev/zero"]), &["/dev/zero", "a device"]);
    }
}

#[test]
fn a_limit_that_is_no_share_is_refused() {
    let dir = tree("4: ACTIVE");
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[limits]\nimbalance-share = nan\n").unwrap();
    let stderr = refused(&["check", "--root", text(dir.path()), "--config", text(&config)]);
    assert_one_line(&stderr, &["config.toml", "imbalance-share", "from 0 to 1"]);
}

#[test]
fn nothing_in_a_tree_reaches_the_terminal_as_a_command() {
    let dir = tree("4: ACTIVE");
    let device = dir.path().join("sys/class/infiniband/mlx5_\u{1b}[31m/ports/1");
    std::fs::create_dir_all(&device).unwrap();
    std::fs::write(device.join("state"), "4: \u{1b}]0;title\u{7}").unwrap();
    let root = text(dir.path());
    for arguments in [
        &["probe", "--root", root][..],
        &["check", "--root", root],
        &["check", "--root", root, "--json"],
        &["check", "--root", root, "--rails", "mlx5_\u{1b}[32m"],
    ] {
        let output = Command::cargo_bin("railscope").unwrap().args(arguments).output().unwrap();
        for stream in [output.stdout, output.stderr] {
            assert!(!stream.iter().any(|byte| matches!(byte, 0x1b | 7)), "{arguments:?}");
        }
    }
}

#[test]
fn a_command_that_looks_once_refuses_the_flags_of_those_that_watch() {
    let tree = tree("4: ACTIVE\n");
    for flags in [["--record", "x.rsz"], ["--for", "5s"], ["--every", "1s"]] {
        let stderr = refused(&["probe", "--root", text(tree.path()), flags[0], flags[1]]);
        assert_one_line(&stderr, &[flags[0], "looks once", "railscope record"]);
    }
}
