//! Recordings as people make and lose them: by a command, by a signal, by a crash.

use assert_cmd::Command;
use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use railscope::session::{FrameSource, Replay};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn railscope(arguments: &[&str]) -> std::process::Output {
    Command::cargo_bin("railscope").unwrap().args(arguments).timeout(Duration::from_mins(2)).output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = railscope(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_demo_its_replay_and_its_report_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.rsz");
    let headless = ["--headless", "--json", "--fail-on", "never"];
    let live = stdout(&[&["demo", "--for", "5s", "--record", text(&file)], &headless[..]].concat());
    assert_eq!(stdout(&[&["replay", text(&file)], &headless[..]].concat()), live);
    assert_eq!(stdout(&["report", text(&file), "--format", "json", "--fail-on", "never"]), live);
    let report: serde_json::Value = serde_json::from_str(&live).unwrap();
    let devices: Vec<_> =
        report["rails"].as_array().unwrap().iter().map(|rail| rail["device"].as_str().unwrap()).collect();
    let expected: Vec<_> = (1..=8).map(|bond| format!("mlx5_bond_{bond}")).collect();
    assert_eq!(devices, expected);
    assert_eq!(report["load"]["simulated"], true);
}

#[test]
fn some_rails_of_a_recording_are_judged_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.rsz");
    let healthy_rails = "mlx5_bond_1,mlx5_bond_8";
    stdout(&["demo", "--headless", "--for", "5s", "--fail-on", "never", "--record", text(&file)]);
    let report = stdout(&["report", text(&file), "--rails", healthy_rails]);
    assert!(report.contains("mlx5_bond_8") && !report.contains("mlx5_bond_3"), "{report}");
    let demo = stdout(&["demo", "--headless", "--for", "5s", "--rails", healthy_rails]);
    assert_eq!(demo, report);
}

#[test]
fn the_beginning_of_a_recording_is_judged_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.rsz");
    stdout(&["demo", "--headless", "--for", "5s", "--fail-on", "never", "--record", text(&file)]);
    let part = stdout(&["report", text(&file), "--for", "2s", "--fail-on", "never"]);
    assert!(part.contains("2.0 s, 21 samples"), "{part}");
    for flag in [["--root", "/"], ["--record", "x.rsz"]] {
        let refused = railscope(&[&["report", text(&file)], &flag[..]].concat());
        assert_eq!(refused.status.code(), Some(2), "{flag:?} means nothing to a recording");
    }
}

#[test]
fn a_copied_tree_is_recorded_and_the_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let port = folder.path().join("tree/sys/class/infiniband/mlx5_0/ports/1");
    std::fs::create_dir_all(port.join("counters")).unwrap();
    std::fs::write(port.join("state"), "4: ACTIVE\n").unwrap();
    std::fs::write(port.join("counters/port_rcv_data"), "1000\n").unwrap();
    let (tree, file) = (folder.path().join("tree"), folder.path().join("node.rsz"));
    let said = stdout(&["record", text(&file), "--root", text(&tree)]);
    let bytes = std::fs::metadata(&file).unwrap().len();
    assert_eq!(
        said,
        format!("{0}: 1 frame, {bytes} bytes; look at it with: railscope replay {0}\n", file.display())
    );
    let mut replay = Replay::open(&file).unwrap();
    assert_eq!(replay.next_frame().unwrap().unwrap().rails[0].rx_bytes, Some(4000));
    assert_eq!(replay.warning(), None);
    let refused = railscope(&["record", text(&file), "--record", "b.rsz", "--root", text(&tree)]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_recording_is_masked_when_it_ends_and_nothing_else_stays() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let device = tree.join("sys/class/infiniband/mlx5_0");
    for (file, text) in [
        ("ports/1/state", "4: ACTIVE"),
        ("ports/1/counters/port_rcv_data", "1000"),
        ("ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:0a4d:0201"),
        ("ports/1/gid_attrs/types/0", "RoCE v2"),
        ("sys_image_guid", "b859:9f03:00a7:1234"),
        ("../../../../proc/sys/kernel/hostname", "gpu17"),
    ] {
        let file = device.join(file);
        std::fs::create_dir_all(&device).unwrap();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{text}\n")).unwrap();
    }
    let file = folder.path().join("share.rsz");
    let said = stdout(&["record", text(&file), "--mask", "--root", text(&tree)]);
    assert!(said.contains("1 frame") && said.contains("masked: 1 GUIDs, 1 IP addresses"), "{said}");
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the tree and the recording: {names:?}");
    let lines = zstd::decode_all(std::fs::File::open(&file).unwrap()).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    for secret in ["gpu17", "a7:1234", "10.77.2", "a4d"] {
        assert!(!lines.contains(secret), "{secret}: {lines}");
    }
    assert_eq!(Replay::open(&file).unwrap().warning(), None);
    let again = railscope(&["record", text(&file), "--mask", "--root", text(&tree)]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"));
}

/// A demo on a terminal of its own that records in real time.
struct Demo {
    file: PathBuf,
    child: Box<dyn Child + Send + Sync>,
    screen: Box<dyn Read + Send>,
    _terminal: Box<dyn portable_pty::MasterPty + Send>,
}

impl Demo {
    fn start(folder: &Path) -> Self {
        let file = folder.join("demo.rsz");
        let size = PtySize { rows: 24, cols: 80, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(assert_cmd::cargo::cargo_bin("railscope"));
        command.args(["demo", "--record", text(&file)]);
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        let screen = pair.master.try_clone_reader().unwrap();
        Self { file, child, screen, _terminal: pair.master }
    }

    /// Reads the screen until the file holds a block; a picture comes ten times a second.
    fn wait_for_a_block(&mut self) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while frames(&self.file) == 0 {
            assert!(Instant::now() < deadline, "no block within a minute");
            let read = self.screen.read(&mut [0; 4096]).unwrap();
            assert!(read > 0, "the demo ended by itself");
        }
    }

    /// Sends the signal, and waits until the program is gone: its exit code, and what it drew after that.
    fn end(mut self, signal: &str) -> (u32, String) {
        let pid = self.child.process_id().unwrap().to_string();
        let sent =
            std::process::Command::new("sh").args(["-c", &format!("kill {signal} {pid}")]).status().unwrap();
        assert!(sent.success());
        let (mut drawn, mut part) = (Vec::new(), [0; 4096]);
        // an error, not an end, is how a terminal says that nobody is at its other side
        while let Ok(count) = self.screen.read(&mut part) {
            if count == 0 {
                break;
            }
            drawn.extend_from_slice(&part[..count]);
        }
        let ended = self.child.wait().unwrap();
        (ended.exit_code(), String::from_utf8_lossy(&drawn).into_owned())
    }
}

fn frames(file: &Path) -> usize {
    let Ok(mut replay) = Replay::open(file) else { return 0 };
    std::iter::from_fn(|| replay.next_frame().unwrap()).count()
}

#[test]
fn a_signal_closes_the_recording_and_gives_the_terminal_back() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let mut demo = Demo::start(folder.path());
        demo.wait_for_a_block();
        let file = demo.file.clone();
        let (code, drawn) = demo.end(signal);
        assert_eq!(code, 0, "{signal}: {drawn}");
        assert_eq!(Replay::open(&file).unwrap().warning(), None, "{signal}");
        // the main screen again, with its cursor. Source: xterm's control sequences, "DEC Private Mode Reset"
        for given_back in ["\u{1b}[?1049l", "\u{1b}[?25h", "\u{1b}[?2004l"] {
            assert!(drawn.contains(given_back), "{signal}: {given_back:?} is not in {drawn:?}");
        }
    }
}

#[test]
fn a_signal_ends_a_recording_without_a_screen_whole_and_with_its_report() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("demo.rsz");
        let program = assert_cmd::cargo::cargo_bin("railscope");
        let child = std::process::Command::new(program)
            .args(["demo", "--headless", "--json", "--for", "24h", "--record", text(&file)])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        while frames(&file) == 0 {
            assert!(Instant::now() < deadline, "no block within a minute");
            std::thread::yield_now();
        }
        let kill = format!("kill {signal} {}", child.id());
        assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{signal}: two bonds of it are slow");
        assert_eq!(report["session"]["frames"], frames(&file), "{signal}");
        assert_eq!(Replay::open(&file).unwrap().warning(), None, "{signal}");
    }
}

#[test]
fn a_killed_program_loses_the_open_block_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = Demo::start(folder.path());
    demo.wait_for_a_block();
    let (file, before) = (demo.file.clone(), frames(&demo.file));
    demo.end("-KILL");
    assert!(frames(&file) >= before);
    let warning = Replay::open(&file).unwrap().warning().expect("an end without an end mark is said");
    assert!(warning.contains("cut"), "{warning}");
}
