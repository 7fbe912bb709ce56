//! What one picture costs: every view of eight and of sixty-four rails with a minute of frames at ten a second. Two
//! milliseconds are the limit, and an hour of pictures must not take more memory than the first.

use probes::model::{Frame, LinkLayer, Rail, RailFrame, Session, Topology};
use railscope::app::{App, How, Msg, View};
use railscope::view::{self, Theme};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;

fn main() {
    divan::main();
    if std::env::args().any(|arg| arg == "--bench") {
        memory_of_an_hour();
    }
}

/// As many as samples come at ten a second; the screen draws fewer.
const PICTURES_AN_HOUR: u32 = 36_000;
/// What an allocator may keep to itself.
const MOST_GROWTH_KIB: u64 = 1024;

/// Draws an hour of pictures, every view in turn, and holds the memory after it against that before.
fn memory_of_an_hour() {
    let mut apps: Vec<App> = View::ALL.into_iter().map(|view| app(64).at_view(view)).collect();
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).expect("a test backend cannot fail");
    let mut draw = |count: u32| {
        for at in 0..count as usize {
            let place = at % apps.len();
            let app = &mut apps[place];
            terminal.draw(|frame| _ = view::draw(app, frame)).expect("a test backend cannot fail");
        }
    };
    draw(PICTURES_AN_HOUR / 100);
    let before_kib = resident_kib();
    draw(PICTURES_AN_HOUR);
    let grown_kib = resident_kib().saturating_sub(before_kib);
    println!(
        "memory: {PICTURES_AN_HOUR} pictures of 64 rails, {before_kib} KiB before, {grown_kib} KiB more after"
    );
    assert!(grown_kib <= MOST_GROWTH_KIB, "it grows by the picture");
}

/// Resident memory. Source: proc(5), `/proc/PID/status`, `VmRSS`.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}

fn app(rails: usize) -> App {
    let rail = |n: usize| Rail {
        device: format!("mlx5_{n}"),
        port: 1,
        state: Some("ACTIVE".into()),
        link_layer: Some(LinkLayer::Ethernet),
        line_gbit_per_s: Some(400.0),
        path_mtu: Some(4096),
        numa_node: Some(u32::from(n >= rails / 2)),
        ..Rail::default()
    };
    let session = Session {
        generated_by: String::new(),
        started_unix_ms: None,
        interval_ns: 100_000_000,
        hosts: vec![Arc::new(Topology { rails: (0..rails).map(rail).collect(), ..Topology::default() })],
        clock_offset_ns: None,
        simulated: None,
    };
    let mut app = App::new(Arc::new(session), How::default(), Theme::default());
    for seq in 0..600 {
        app.update(Msg::Frame(Arc::new(frame(rails, seq))));
    }
    app.prepare();
    app
}

fn frame(rails: usize, seq: u64) -> Frame {
    let rail = |n: usize| RailFrame {
        rx_bytes: Some(seq * (4_000_000_000 + 10_000_000 * n as u64)),
        tx_bytes: Some(seq * 40_000_000),
        ..RailFrame::default()
    };
    Frame { seq, at_ns: seq * 100_000_000, rails: (0..rails).map(rail).collect(), ..Frame::default() }
}

#[divan::bench(args = [(8, 80, 24), (8, 200, 60), (64, 80, 24), (64, 200, 60)])]
fn draw(bencher: divan::Bencher, (rails, width, height): (usize, u16, u16)) {
    let app = app(rails);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test backend cannot fail");
    bencher.bench_local(|| {
        terminal.draw(|frame| _ = view::draw(&app, frame)).expect("a test backend cannot fail");
    });
}

#[divan::bench(args = View::ALL)]
fn draw_view_of_8_rails(bencher: divan::Bencher, view: View) {
    draw_view(bencher, view, 8);
}

#[divan::bench(args = View::ALL)]
fn draw_view_of_64_rails(bencher: divan::Bencher, view: View) {
    draw_view(bencher, view, 64);
}

fn draw_view(bencher: divan::Bencher, view: View, rails: usize) {
    let app = app(rails).at_view(view);
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).expect("a test backend cannot fail");
    bencher.bench_local(|| {
        terminal.draw(|frame| _ = view::draw(&app, frame)).expect("a test backend cannot fail");
    });
}

#[divan::bench(args = [8, 64])]
fn judge(bencher: divan::Bencher, rails: usize) {
    let mut app = app(rails);
    let mut seq = 600;
    bencher.bench_local(|| {
        app.update(Msg::Frame(Arc::new(frame(rails, seq))));
        seq += 1;
        app.prepare();
    });
}
