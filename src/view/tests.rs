//! The screen at the sizes that people have. Times come from the frames, so every picture is the same everywhere.

use super::fixture::{a_mixed_bag, findings_on_two_slow_bonds, two_slow_bonds};
use super::{Colours, Theme, draw};
use crate::app::{App, How, Mode, Msg};
use crate::rules::{Finding, Severity};
use crate::session::{FrameSource, Recorded, SourceError};
use crate::timeline::Timeline;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probes::model::{Frame, Latencies, LoadTarget, Measured, Registered, Session, WorkerPhase};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use widgets::Symbols;

mod lists;

fn app(timeline: &Timeline, how: How, findings: Vec<Finding>) -> App {
    let mut app = App::new(Arc::new(timeline.session().clone()), how, Theme::default());
    for frame in timeline.local().frames() {
        app.update(Msg::Frame(Arc::new(frame.clone())));
    }
    app.show_findings(findings);
    app
}

fn demo() -> App {
    let timeline = two_slow_bonds();
    let folder = tempfile::tempdir().unwrap();
    let recorded =
        Recorded::create(Over(timeline.session().clone()), &folder.path().join("slow-bonds.rsz")).unwrap();
    let how = How { mode: Mode::Demo, recording: Some(recorded.status()), ..How::default() };
    app(&timeline, how, findings_on_two_slow_bonds())
}

/// A session without a frame.
struct Over(Session);

impl FrameSource for Over {
    fn session(&self) -> Arc<Session> {
        Arc::new(self.0.clone())
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        Ok(None)
    }
}

fn mixed_bag() -> App {
    let findings = vec![
        Finding::new(
            "link-down",
            Severity::Warning,
            ["mlx5_bond_3"],
            "mlx5_bond_3: state DOWN, phys_state Polling",
        )
        .advise("check the cable and the switch port of bond3"),
        Finding::new(
            "pcie-downgraded",
            Severity::Warning,
            ["mlx5_bond_5"],
            "mlx5_bond_5: x4 of x16 at 0000:05:00.0",
        )
        .advise("reseat the card or check the slot"),
    ];
    app(&a_mixed_bag(), How::default(), findings)
}

fn press(app: &mut App, code: KeyCode) {
    app.update(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

fn screen(app: &App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| _ = draw(app, frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn eight_rails_and_their_findings_fit_80_by_24() {
    insta::assert_snapshot!(screen(&demo(), 80, 24));
}

#[test]
fn legs_show_at_120_by_40() {
    insta::assert_snapshot!(screen(&demo(), 120, 40));
}

#[test]
fn room_is_used_at_200_by_60() {
    insta::assert_snapshot!(screen(&demo(), 200, 60));
}

#[test]
fn every_unknown_says_that_it_is_unknown_and_why() {
    insta::assert_snapshot!("unknowns_80x24", screen(&mixed_bag(), 80, 24));
    insta::assert_snapshot!("unknowns_120x40", screen(&mixed_bag(), 120, 40));
}

#[test]
fn ascii_terminals_get_seven_bits() {
    let mut app = demo();
    app.set_theme(Theme { colours: Colours::None, symbols: Symbols::Ascii });
    press(&mut app, KeyCode::Down);
    let screen = screen(&app, 80, 24);
    insta::assert_snapshot!(screen);
    let ours = screen.chars();
    assert_eq!(ours.filter(|char| !char.is_ascii()).collect::<String>(), "");
}

#[test]
fn the_help_lists_every_key() {
    let mut app = demo();
    press(&mut app, KeyCode::Char('?'));
    let screen = screen(&app, 120, 40);
    insta::assert_snapshot!(screen);
    for binding in crate::app::BINDINGS {
        let keys = app.keys().in_short(binding.action);
        assert!(screen.contains(&keys) && screen.contains(binding.help), "{binding:?}");
    }
}

#[test]
fn what_of_the_help_has_no_room_is_scrolled_to() {
    let mut app = demo();
    press(&mut app, KeyCode::Char('?'));
    for (width, height) in [(60, 15), (80, 24)] {
        press(&mut app, KeyCode::Char('H'));
        let mut seen = String::new();
        for _ in 0..80 {
            seen += &drawn(&mut app, width, height);
            press(&mut app, KeyCode::Down);
        }
        for binding in crate::app::BINDINGS {
            assert!(seen.contains(binding.help), "{binding:?}");
        }
        assert!(seen.contains("Signs") && seen.contains("figures are means of a second"), "{width}");
        let end = drawn(&mut app, width, height);
        assert!(end.contains("figures are means of a second") && end.contains("scroll"), "{end}");
    }
    press(&mut app, KeyCode::Char('H'));
    insta::assert_snapshot!("help_80x24", drawn(&mut app, 80, 24));
    insta::assert_snapshot!("help_60x15", drawn(&mut app, 60, 15));
    insta::assert_snapshot!("help_200x60", drawn(&mut app, 200, 60));
}

/// As the loop draws: the keys that scroll know then what was seen.
fn drawn(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut seen = crate::view::Seen::default();
    terminal.draw(|frame| seen = draw(app, frame)).unwrap();
    app.drawn(seen);
    terminal.backend().to_string()
}

#[test]
fn a_held_picture_says_so_and_shows_the_selected_finding_in_full() {
    let mut app = demo();
    press(&mut app, KeyCode::Char(' '));
    press(&mut app, KeyCode::Right);
    press(&mut app, KeyCode::Char('L'));
    insta::assert_snapshot!(screen(&app, 80, 24));
}

#[test]
fn the_worst_finding_on_the_selected_rail_is_shown_in_full() {
    let mut app = demo();
    let advice = "numactl --cpunodebind=1 --membind=1 python3 serve.py";
    let finding = |app: &App| screen(app, 80, 22).contains(advice);
    assert!(!finding(&app));
    for _ in 0..6 {
        press(&mut app, KeyCode::Down);
    }
    assert!(finding(&app), "{}", screen(&app, 80, 22));
}

#[test]
fn a_long_path_shows_its_end() {
    let title = "/var/tmp/tickets/2026/11/29/gpu17/slow-bonds.rsz".to_owned();
    let app = app(&two_slow_bonds(), How { title, mode: Mode::Replay, ..How::default() }, Vec::new());
    assert!(screen(&app, 80, 24).contains("  …26/11/29/gpu17/slow-bonds.rsz  "), "{}", screen(&app, 80, 24));
}

#[test]
fn sixty_four_rails_scroll_and_keep_their_node_in_view() {
    let node = super::fixture::Node::with_rails(64);
    let mut app = app(&Timeline::new(node.session()), How::default(), Vec::new());
    let top = screen(&app, 80, 24);
    assert!(top.contains("rails 1-14 of 64") && top.contains("NUMA 0"), "{top}");
    press(&mut app, KeyCode::Char('L'));
    let end = screen(&app, 80, 24);
    assert!(end.contains("rails 51-64 of 64") && end.contains("▸mlx5_bond_64"), "{end}");
    assert!(end.contains("NUMA 1") && !end.contains("mlx5_bond_50"), "{end}");
}

/// The second line of the screen, flush left, when the workers of a load of eight rails are in these phases.
fn load_line(phases: [WorkerPhase; 2]) -> String {
    let [first, others] = phases;
    let timeline = two_slow_bonds();
    let mut app = app(&timeline, How { mode: Mode::Load, ..How::default() }, Vec::new());
    let mut frame = timeline.local().latest().unwrap().clone();
    frame.at_ns += 100_000_000;
    for (at, worker) in frame.workers.iter_mut().enumerate() {
        worker.phase = if at == 0 { first } else { others };
    }
    app.update(Msg::Frame(Arc::new(frame)));
    screen(&app, 100, 24).lines().nth(1).unwrap().trim_matches('"').split("   ").next().unwrap().to_owned()
}

#[test]
fn the_load_says_how_far_it_is() {
    use WorkerPhase::{Done, Failed, Measuring, Waiting, Warmup};
    let lines = [
        ([Waiting, Waiting], "READ 64K × 4 QPs, connecting"),
        ([Waiting, Warmup], "READ 64K × 4 QPs, warming up 2 s"),
        ([Measuring, Measuring], "READ 64K × 4 QPs, measuring 10/30 s"),
        ([Failed, Measuring], "READ 64K × 4 QPs, measuring 10/30 s, 1 of 8 failed"),
        ([Done, Done], "READ 64K × 4 QPs, done, 10 s measured"),
    ];
    for (phases, line) in lines {
        assert_eq!(load_line(phases), line);
    }
}

/// Eight bonds to a peer on this host, both ways, with what threads on a real CPU count.
pub(super) fn a_real_load() -> App {
    let timeline = two_slow_bonds();
    let mut session = timeline.session().clone();
    session.simulated = None;
    let mut real = Timeline::new(Arc::new(session));
    for frame in timeline.local().frames() {
        let mut frame = frame.clone();
        let mut load = frame.load.as_deref().cloned().unwrap_or_default();
        load.transport = Some("verbs".into());
        (load.bidirectional, load.loopback) = (true, true);
        load.target = LoadTarget::Gpu("gpu3".into());
        load.perf_gaps =
            [("on_cpu_ns".to_owned(), "not permitted: perf_event_paranoid is 3".to_owned())].into();
        for worker in &mut load.workers {
            worker.registered = Some(Registered::Dmabuf);
        }
        frame.load = Some(Arc::new(load));
        let ns = frame.at_ns;
        frame.peer = Some(Measured { bytes: ns * 301, ns });
        for (at, worker) in frame.workers.iter_mut().enumerate() {
            worker.restarts = u64::from(at == 3 && frame.seq > 50);
            worker.latency = Latencies::from_counts([
                (Latencies::bucket(41_000), frame.seq * 97),
                (Latencies::bucket(88_000), frame.seq * 3),
            ]);
            worker.perf.cycles = Some(ns * 26 / 10);
            worker.perf.instructions = Some(ns * 52 / 10);
            (worker.perf.enabled_ns, worker.perf.running_ns) = (Some(ns), Some(ns));
        }
        real.push(frame);
    }
    app(&real, How { mode: Mode::Load, ..How::default() }, findings_on_two_slow_bonds())
}

#[test]
fn what_a_load_did_and_cost_stands_under_its_rate() {
    insta::assert_snapshot!("load_80x24", screen(&a_real_load(), 80, 24));
    let wide = screen(&a_real_load(), 120, 40);
    let line = "p50 41.5 µs p99 87.0 µs  peer READ 301.0 GB/s  1 restart  in gpu3 (dmabuf)  IPC 2.00  0.062 cycles/B  \
                GHz: not permitted";
    assert!(wide.contains(line), "{wide}");
    let low = screen(&a_real_load(), 80, 15);
    assert!(
        low.contains("READ 335.5 GB/s payload  loopback, not fabric") && low.contains("p50 41.5"),
        "{low}"
    );
}

#[test]
fn a_terminal_too_small_is_told() {
    insta::assert_snapshot!(screen(&demo(), 40, 5));
}

#[test]
fn every_unit_has_its_room() {
    let mut app = demo();
    press(&mut app, KeyCode::Char('u'));
    let bits = screen(&app, 120, 40);
    assert!(bits.contains(" 387.8  99% 392.1 wire "), "{bits}");
    press(&mut app, KeyCode::Char('u'));
    let binary = screen(&app, 120, 40);
    assert!(binary.contains("GiB/s ceil"), "{binary}");
}

#[test]
fn a_node_without_a_rail_is_still_judged() {
    let node = super::fixture::Node::with_rails(0);
    let findings =
        vec![Finding::new("dead-hca", Severity::Error, ["0000:41:00.0"], "no RDMA device on 0000:41:00.0")];
    let mut app = app(&Timeline::new(node.session()), How::default(), findings);
    press(&mut app, KeyCode::Down);
    let screen = screen(&app, 80, 24);
    assert!(screen.contains("0 rails") && screen.contains("ERROR dead-hca"), "{screen}");
}

#[test]
fn no_size_makes_the_screen_panic() {
    for mut app in [demo(), mixed_bag()] {
        for help in 0..2 {
            for width in [1, 30, 59, 60, 61, 67, 75, 80, 109, 110, 160, 250] {
                for height in [1, 14, 15, 16, 20, 24, 33, 70] {
                    screen(&app, width, height);
                }
            }
            press(&mut app, KeyCode::Char('?'));
            assert_eq!(app.popups().help().is_some(), help == 0);
        }
    }
}
