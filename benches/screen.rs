//! The whole program on a terminal of its own: from a key to the picture with 64 rails, and the CPU it takes with 8.
//!
//! Both at ten samples a second, of a copied tree whose counters are stepped at the pace of their own times.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// From a key to its picture, at most.
const MOST_WAIT: Duration = Duration::from_millis(20);
/// Share of a core, at most.
const MOST_CPU: f64 = 0.02;
/// Keys pressed, for the median.
const KEYS: usize = 60;
/// Time over which the CPU is counted.
const WATCHED: Duration = Duration::from_secs(20);
/// Longer than all of it takes.
const STEPS: u64 = 900;
const SIZE: PtySize = PtySize { rows: 60, cols: 200, pixel_width: 0, pixel_height: 0 };

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let waits = key_to_picture(folder.path());
    let median = waits[waits.len() / 2];
    println!(
        "key to picture, 64 rails, 200x60: median {:.1} ms, 95 % {:.1} ms (limit {} ms)",
        median.as_secs_f64() * 1e3,
        waits[waits.len() * 95 / 100].as_secs_f64() * 1e3,
        MOST_WAIT.as_millis()
    );
    let share = cpu(folder.path());
    println!(
        "CPU of the whole program, 8 rails, 200x60, 10 samples a second: {:.2} % of a core (limit {} %)",
        100.0 * share,
        100.0 * MOST_CPU
    );
    assert!(median < MOST_WAIT && share < MOST_CPU, "beyond its limit");
}

/// A program on a terminal, whose screen is read along.
struct Person {
    screen: Arc<(Mutex<vt100::Parser>, Condvar)>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    _terminal: Box<dyn MasterPty + Send>,
}

impl Person {
    fn watches(tree: &Path, rails: u64) -> Self {
        let pty = native_pty_system().openpty(SIZE).expect("a terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_railscope"));
        command.args(["top", "--root"]);
        command.arg(tree);
        command.arg("--steps");
        command.arg(tree.join("steps.json"));
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        command.env_remove("NO_COLOR");
        let child = pty.slave.spawn_command(command).expect("the program starts");
        let cells = |count| NonZeroU16::new(count).expect("above 0");
        let parser = vt100::Parser::new(cells(SIZE.rows), cells(SIZE.cols), 0);
        let screen = Arc::new((Mutex::new(parser), Condvar::new()));
        let (mut output, painted) = (pty.master.try_clone_reader().expect("its output"), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                painted.0.lock().expect("no panic").process(&bytes[..count]);
                painted.1.notify_all();
            }
        });
        let keys = pty.master.take_writer().expect("its keys");
        let person = Self { screen, keys, child, _terminal: pty.master };
        person.sees(&format!("mlx5_{}", rails.min(8) - 1));
        person
    }

    fn sees(&self, text: &str) {
        let (screen, painted) = &*self.screen;
        let deadline = Instant::now() + Duration::from_mins(1);
        let mut shown = screen.lock().expect("no panic");
        while !shown.screen().contents().contains(text) {
            assert!(Instant::now() < deadline, "not seen: {text}\n{}", shown.screen().contents());
            shown = painted.wait_timeout(shown, Duration::from_millis(50)).expect("no panic").0;
        }
    }

    fn types(&mut self, key: u8) {
        self.keys.write_all(&[key]).and_then(|()| self.keys.flush()).expect("the terminal is there");
    }

    fn leaves(mut self) {
        self.types(b'q');
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.child.try_wait().expect("a child").is_none() {
            if Instant::now() > deadline {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Waits of as many keys, the shortest first. Each asks for the next unit of rates, which stands in the header.
fn key_to_picture(folder: &Path) -> Vec<Duration> {
    let tree = tree(folder, 64);
    let mut person = Person::watches(&tree, 64);
    person.sees("GB/s  every 100ms");
    let mut waits = Vec::new();
    for unit in ["Gb/s", "GiB/s", "GB/s"].iter().cycle().take(KEYS) {
        // at any phase of the samples and pictures
        std::thread::sleep(Duration::from_millis(130 + 7 * (waits.len() as u64 % 13)));
        let pressed = Instant::now();
        person.types(b'u');
        person.sees(&format!("{unit}  every 100ms"));
        waits.push(pressed.elapsed());
    }
    person.leaves();
    waits.sort();
    waits
}

/// Share of a core that the program takes while it is watched.
fn cpu(folder: &Path) -> f64 {
    let tree = tree(folder, 8);
    let person = Person::watches(&tree, 8);
    let pid = person.child.process_id().expect("it runs");
    std::thread::sleep(Duration::from_secs(3));
    let (began, from) = (Instant::now(), cpu_s(pid));
    std::thread::sleep(WATCHED);
    let share = (cpu_s(pid) - from) / began.elapsed().as_secs_f64();
    person.leaves();
    share
}

/// CPU seconds of all threads so far. Source: proc(5), `/proc/PID/stat`, fields 14 and 15; a tick is a hundredth.
fn cpu_s(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let after_name = stat.rsplit(") ").next().expect("a name in brackets");
    let fields: Vec<&str> = after_name.split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / 100.0
}

/// A tree of so many InfiniBand rails, with steps of a tenth of a second.
fn tree(folder: &Path, rails: u64) -> std::path::PathBuf {
    let tree = folder.join(format!("{rails}-rails"));
    let put = |file: String, text: &str| {
        let file = tree.join(file);
        fs::create_dir_all(file.parent().expect("in a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    };
    for rail in 0..rails {
        let port = format!("sys/class/infiniband/mlx5_{rail}/ports/1");
        for (file, text) in [
            ("state", "4: ACTIVE"),
            ("phys_state", "5: LinkUp"),
            ("link_layer", "InfiniBand"),
            ("rate", "400 Gb/sec (4X NDR)"),
            ("counters/port_rcv_data", "0"),
            ("counters/port_xmit_data", "0"),
            ("counters/symbol_error", "0"),
            ("counters/link_downed", "0"),
            ("counters/port_rcv_errors", "0"),
            ("counters/port_xmit_wait", "0"),
        ] {
            put(format!("{port}/{file}"), text);
        }
    }
    let step = |step: u64| {
        let counter = |rail: u64| {
            let port = format!("sys/class/infiniband/mlx5_{rail}/ports/1/counters");
            // four bytes a word, some 45 GB/s, a little different from rail to rail
            let words = step * (1_100_000_000 + 3_000_000 * (rail % 7)) + 5_000_000 * (step * 31 % 11);
            format!(r#""{port}/port_rcv_data":"{words}","{port}/port_xmit_data":"{}""#, words / 50)
        };
        format!("{{{}}}", (0..rails).map(counter).collect::<Vec<_>>().join(","))
    };
    let steps: Vec<String> = (0..STEPS).map(step).collect();
    put("steps.json".to_owned(), &format!(r#"{{"interval_s":0.1,"steps":[{}]}}"#, steps.join(",")));
    tree
}
