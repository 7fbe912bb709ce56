//! A person at a terminal: types, looks, resizes, and sends signals to the program that runs there.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A program that has not done it by then never will; nothing depends on how long it really takes.
const PATIENCE: Duration = Duration::from_mins(3);

/// A person, and the program at whose terminal it sits.
pub struct Person {
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
    pub fn runs(args: &[&str]) -> Self {
        Self::on("xterm-256color", args)
    }

    /// The same on a terminal of this kind.
    pub fn on(term: &str, args: &[&str]) -> Self {
        let pty = native_pty_system().openpty(size(80, 24)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_railscope"));
        command.args(args);
        for (name, value) in [("TERM", term), ("LC_ALL", "C.UTF-8"), ("RUST_BACKTRACE", "0")] {
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

    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    pub fn resizes(&self, cols: u16, rows: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(cells(rows), cells(cols));
        self.terminal.resize(size(cols, rows)).unwrap();
    }

    pub fn contents(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    pub fn sees(&self, text: &str) {
        self.waits_until(text, |screen| screen.contents().contains(text));
    }

    pub fn sees_no_more(&self, text: &str) {
        self.waits_until(text, |screen| !screen.contents().contains(text));
    }

    pub fn waits_until(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self.screen.lock().unwrap().screen()) {
            assert!(Instant::now() < deadline, "not so after {PATIENCE:?}: {what}\n{}", self.contents());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal by its name.
    pub fn signals(&self, name: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        // the shell's own kill: the program comes with procps, which a bare system lacks
        let sent =
            std::process::Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; the terminal must be as it was. Gives the exit code.
    pub fn is_left(&mut self) -> u32 {
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
