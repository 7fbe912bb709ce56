//! The screen as a person meets it: the program on a terminal of its own, with keys, signals and other sizes.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A program that has not done it by then never will; nothing depends on how long it really takes.
const PATIENCE: Duration = Duration::from_mins(3);

struct Person {
    screen: Arc<Mutex<vt100::Parser>>,
    keys: Box<dyn Write + Send>,
    terminal: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    modes_before: String,
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

impl Person {
    fn runs(args: &[&str]) -> Self {
        let pty = native_pty_system().openpty(size(80, 24)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_railscope"));
        command.args(args);
        for (name, value) in [("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8"), ("RUST_BACKTRACE", "0")] {
            command.env(name, value);
        }
        command.env_remove("NO_COLOR");
        let modes_before = modes(&*pty.master);
        let child = pty.slave.spawn_command(command).unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(24), cells(80), 0)));
        let mut output = pty.master.try_clone_reader().unwrap();
        let painted = screen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                painted.lock().unwrap().process(&bytes[..count]);
            }
        });
        let keys = pty.master.take_writer().unwrap();
        // the other end stays open, so that what was printed last can be read after the program is gone
        std::mem::forget(pty.slave);
        Self { screen, keys, terminal: pty.master, child, modes_before }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn resizes(&self, cols: u16, rows: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(cells(rows), cells(cols));
        self.terminal.resize(size(cols, rows)).unwrap();
    }

    fn contents(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn sees(&self, text: &str) {
        self.waits_until(text, |screen| screen.contents().contains(text));
    }

    fn sees_no_more(&self, text: &str) {
        self.waits_until(text, |screen| !screen.contents().contains(text));
    }

    fn waits_until(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self.screen.lock().unwrap().screen()) {
            assert!(Instant::now() < deadline, "not so after {PATIENCE:?}: {what}\n{}", self.contents());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal by its name.
    fn signals(&self, name: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        // the shell's own kill: the program comes with procps, which a bare system lacks
        let sent =
            std::process::Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; the terminal must be as it was. Gives the exit code.
    fn is_left(&mut self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("still there after {PATIENCE:?}\n{}", self.contents());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        self.waits_until("the main screen is back", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor()
        });
        assert_eq!(modes(&*self.terminal), self.modes_before, "raw mode");
        let screen = self.screen.lock().unwrap();
        assert!(!screen.screen().bracketed_paste());
        assert_eq!(screen.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        status.exit_code()
    }
}

fn modes(terminal: &dyn MasterPty) -> String {
    format!("{:?}", terminal.get_termios().expect("a terminal has modes"))
}

#[test]
fn a_session_of_keys_and_sizes_ends_with_the_terminal_as_it_was() {
    let mut person = Person::runs(&["demo"]);
    person.sees("SIMULATED");
    person.sees("mlx5_bond_8");
    person.sees("Findings");
    person.types("?");
    person.sees("keys and signs");
    person.types("\x1b");
    person.sees_no_more("keys and signs");
    person.types(" ");
    person.sees("HELD at");
    person.types("u");
    person.sees("Gb/s");
    person.resizes(120, 40);
    person.sees("ceiling");
    person.resizes(50, 10);
    person.sees("railscope needs 60x15");
    person.resizes(80, 24);
    person.types(" ");
    person.sees_no_more("HELD at");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn control_c_is_a_key_that_leaves() {
    let mut person = Person::runs(&["demo"]);
    person.sees("mlx5_bond_8");
    person.types("\x03");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn signals_restore_the_terminal_and_close_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["TERM", "INT", "HUP"] {
        let file = folder.path().join(format!("{name}.rsz"));
        let file = file.to_str().unwrap();
        let mut person = Person::runs(&["demo", "--record", file]);
        person.sees("REC");
        person.sees("READ");
        person.signals(name);
        assert_eq!(person.is_left(), 0, "{name}");
        is_whole(Path::new(file));
    }
}

/// A recording that was not closed is said to be cut.
fn is_whole(file: &Path) {
    let report =
        assert_cmd::Command::new(env!("CARGO_BIN_EXE_railscope")).arg("report").arg(file).output().unwrap();
    let said = String::from_utf8_lossy(&report.stderr);
    assert!(report.status.code() != Some(2) && said.is_empty(), "{said}");
}

#[test]
fn a_demo_with_a_time_leaves_by_itself() {
    let mut person = Person::runs(&["demo", "--for", "1s"]);
    assert_eq!(person.is_left(), 0);
}

#[test]
fn a_replay_is_gone_about_in_by_keys_and_mouse() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/mixed.rsz");
    let mut person = Person::runs(&["replay", recording]);
    person.sees("REPLAY, SIMULATED");
    person.types(" ");
    person.sees("PAUSED at");
    person.types("\x1b[H");
    person.sees("PAUSED at 0:00.0");
    // the whole of it was looked through behind the screen
    person.waits_until("it is looked through", |screen| !screen.contents().contains("····"));
    person.types("]]]");
    person.sees("PAUSED at 0:00.3");
    person.types("[");
    person.sees("PAUSED at 0:00.2");
    person.types("g");
    person.sees("go to:");
    person.types("7.5\r");
    person.sees("PAUSED at 0:07.5");
    person.types("g-1s\r");
    person.sees("PAUSED at 0:06.5");
    person.types("gnever\r");
    person.sees("is no time");
    person.types("\x1b");
    person.sees_no_more("go to:");
    person.types("n");
    person.sees("no further finding begins");
    person.types("N");
    person.sees("begins");
    // a click in the middle of the row of the session's length
    person.types("\x1b[<0;40;23M\x1b[<0;40;23m");
    person.sees("PAUSED at 0:04.9");
    person.types("m");
    person.sees("is not changed");
    person.resizes(120, 40);
    person.sees("ceiling");
    person.types("\x1b[F");
    person.sees("PAUSED at 0:10.0");
    person.types("]");
    person.sees("last frame");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}

#[test]
fn what_is_live_steps_back_and_takes_marks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("marked.rsz");
    let file = file.to_str().unwrap();
    let mut person = Person::runs(&["demo", "--record", file]);
    person.sees("0:01");
    person.types("[[[");
    person.sees("HELD at");
    person.types("m");
    person.sees("mark:");
    person.types("cable of bond3\r");
    person.sees("mark set");
    person.sees("1s behind");
    person.types("\x1b[F");
    person.sees_no_more("HELD at");
    person.types("E");
    person.sees("mark: cable of bond3");
    person.types("q");
    assert_eq!(person.is_left(), 0);
    is_whole(Path::new(file));
}

#[test]
fn a_replay_stays_at_its_end_until_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("short.rsz");
    let recorded = assert_cmd::Command::new(env!("CARGO_BIN_EXE_railscope"))
        .args(["demo", "--headless", "--for", "2s", "--record"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(recorded.status.code() != Some(2), "{}", String::from_utf8_lossy(&recorded.stderr));
    let mut person = Person::runs(&["replay", file.to_str().unwrap()]);
    person.sees("REPLAY, SIMULATED");
    person.types("++");
    person.sees("ENDED at 0:02");
    person.types("q");
    assert_eq!(person.is_left(), 0);
}
